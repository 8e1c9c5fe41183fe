# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Opcodes against values that Python's integers, fractions or NumPy compute."""
import ctypes
import math
import struct
from fractions import Fraction

import numpy as np

from gpusim import Module, Suite, launch, ptx_module, start, sync, to_device, to_host

suite = Suite()
start()
rng = np.random.default_rng(11)
REG = {1: "%h", 2: "%h", 4: "%r", 8: "%rd"}


def execute(instruction, inputs, out, block=None):
    """Runs `instruction` (with {d}, {a}, {b}, {c}, {e}) on element i in thread i."""
    n = len(inputs[0]) if inputs else block
    names, loads = {}, ""
    for k, x in enumerate(inputs):
        w = x.dtype.itemsize
        reg = f"{REG[w]}{10 + k}"
        names["abce"[k]] = reg
        loads += (f"mul.wide.u32 %rd1, %r1, {w};\nadd.s64 %rd1, %in{k}, %rd1;\n"
                  f"ld.global.b{8 * w} {reg}, [%rd1];\n")
    w = out.itemsize
    d = f"{REG[w]}20"
    body = f"""mov.u32 %r2, %ctaid.x;
mov.u32 %r3, %ntid.x;
mov.u32 %r4, %tid.x;
mad.lo.u32 %r1, %r2, %r3, %r4;
{loads}
{instruction.format(d=d, **names)}
mul.wide.u32 %rd2, %r1, {w};
add.s64 %rd2, %in{len(inputs)}, %rd2;
st.global.b{8 * w} [%rd2], {d};"""
    f = Module(ptx_module(body, params=len(inputs) + 1)).function("k")
    assert n % 32 == 0
    result = np.zeros(n, out)
    args = [to_device(x) for x in inputs] + [to_device(result)]
    launch(f, (n // 32,), (32,), args)
    sync()
    return to_host(args[-1], result)


def ints(bits, signed, n=128):
    x = rng.integers(0, 1 << 63, n, dtype=np.uint64) << np.uint64(1)
    edges = [0, 1, 2, 3, 31, 32, 33, (1 << bits) - 1, (1 << bits) - 2, 1 << (bits - 1), (1 << (bits - 1)) - 1, 255]
    x[:len(edges)] = np.array([e & (2**64 - 1) for e in edges], np.uint64)
    x[40:70] &= np.uint64(63)
    x = (x & np.uint64(2**bits - 1)).astype(f"u{bits // 8}")
    rng.shuffle(x)
    return x.view(f"{'i' if signed else 'u'}{bits // 8}")


def wrap(v, dtype):
    bits = 8 * np.dtype(dtype).itemsize
    v = [int(x) & ((1 << bits) - 1) for x in v]
    return np.array(v, f"u{bits // 8}").view(dtype)


def each(fn, *arrays):
    return [fn(*[int(x) for x in xs]) for xs in zip(*arrays)]


def integer(name, types, fn, arity=2, out=None, immediate=""):
    """Checks `name`.TYPE for each type; fn works on Python integers."""
    for t in types:
        bits, signed = int(t[1:]), t[0] == "s"
        x = [ints(bits, signed) for _ in range(arity)]
        dtype = np.dtype(out(bits, signed) if out else x[0].dtype)
        operands = ", ".join("{%s}" % c for c in "abc"[:arity])
        got = execute(f"{name}.{t} {{d}}, {operands}{immediate};", x, dtype)
        bound = [fn(*[int(v) for v in vs], bits) for vs in zip(*x)]
        suite.close(f"{name}.{t}", got, wrap(bound, dtype))


def cdiv(a, b):
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q


ALL = ("u16", "s16", "u32", "s32", "u64", "s64")
BITS = ("b16", "b32", "b64")
integer("add", ALL, lambda a, b, n: a + b)
integer("sub", ALL, lambda a, b, n: a - b)
integer("mul.lo", ALL, lambda a, b, n: a * b)
integer("mul.hi", ALL, lambda a, b, n: a * b >> n)
double = lambda bits, signed: f"{'i' if signed else 'u'}{bits // 4}"
integer("mul.wide", ALL[:4], lambda a, b, n: a * b, out=double)
integer("mad.lo", ALL, lambda a, b, c, n: a * b + c, 3)
integer("mad.hi", ALL, lambda a, b, c, n: (a * b >> n) + c, 3)
for t in ALL[:4]:
    bits, signed = int(t[1:]), t[0] == "s"
    x, y, z = ints(bits, signed), ints(bits, signed), ints(2 * bits, signed)
    suite.close(f"mad.wide.{t}", execute(f"mad.wide.{t} {{d}}, {{a}}, {{b}}, {{c}};", [x, y, z], z.dtype),
                wrap(each(lambda a, b, c: a * b + c, x, y, z), z.dtype))
integer("div", ALL, lambda a, b, n: cdiv(a, b) if b else -1)
integer("rem", ALL, lambda a, b, n: a - b * cdiv(a, b) if b else -1)
integer("min", ALL, lambda a, b, n: min(a, b))
integer("max", ALL, lambda a, b, n: max(a, b))
integer("abs", ("s16", "s32", "s64"), lambda a, n: abs(a), 1)
integer("neg", ("s16", "s32", "s64"), lambda a, n: -a, 1)
integer("sad", ALL, lambda a, b, c, n: abs(a - b) + c, 3)
clamp = lambda v: max(-2**31, min(2**31 - 1, v))
integer("add.sat", ("s32",), lambda a, b, n: clamp(a + b))
integer("sub.sat", ("s32",), lambda a, b, n: clamp(a - b))
low24 = lambda v, s: ((v & 0xffffff) ^ 0x800000) - 0x800000 if s else v & 0xffffff
for s in (False, True):
    integer("mul24.lo", ("s32" if s else "u32",), lambda a, b, n: low24(a, s) * low24(b, s))
    integer("mul24.hi", ("s32" if s else "u32",), lambda a, b, n: low24(a, s) * low24(b, s) >> 16)
halves = lambda v, s: [((v >> k & 0xffff) ^ 0x8000) - 0x8000 if s else v >> k & 0xffff for k in (0, 16)]
pack = lambda lo, hi: (lo & 0xffff) | (hi & 0xffff) << 16
for t, s in (("u16x2", False), ("s16x2", True)):
    x, y = ints(32, False), ints(32, False)
    for name, fn in (("add", lambda p, q: p + q), ("min", min), ("max", max)):
        got = execute(f"{name}.{t} {{d}}, {{a}}, {{b}};", [x, y], np.dtype("u4"))
        suite.close(f"{name}.{t}", got, wrap(each(lambda a, b: pack(*map(fn, halves(a, s), halves(b, s))), x, y), "u4"))

# Carries --------------------------------------------------------------------
for t in ("u32", "s32", "u64"):
    bits = int(t[1:])
    x, y, z, u = (ints(bits, False) for _ in range(4))
    full = 1 << bits
    out = x.dtype
    got = execute(f"add.cc.{t} %r30, {{a}}, {{b}};\naddc.{t} {{d}}, {{c}}, {{e}};".replace("%r30", "%r30" if bits == 32 else "%rd30"), [x, y, z, u], out)
    suite.close(f"addc.{t}", got, wrap(each(lambda a, b, c, e: c + e + (a + b >= full), x, y, z, u), out))
    reg = "%r30" if bits == 32 else "%rd30"
    got = execute(f"sub.cc.{t} {reg}, {{a}}, {{b}};\nsubc.cc.{t} {reg}, {{c}}, {{e}};\nsubc.{t} {{d}}, 0, 0;", [x, y, z, u], out)
    want = each(lambda a, b, c, e: -(c - e - (a < b) < 0), x, y, z, u)
    suite.close(f"subc.{t}", got, wrap(want, out))
    # 128-bit (or 64-bit) product by parts, upper half.
    got = execute(f"mad.lo.cc.{t} {reg}, {{a}}, {{b}}, {{c}};\nmadc.hi.{t} {{d}}, {{a}}, {{b}}, {{e}};", [x, y, z, u], out)
    view = x.dtype.str.replace("u", "i") if t[0] == "s" else x.dtype.str
    want = []
    for a, b, c, e in zip(*[[int(v) for v in k] for k in (x, y, z, u)]):
        sa, sb = (a, b) if t[0] == "u" else [(v ^ full // 2) - full // 2 for v in (a, b)]
        p = sa * sb
        want.append((p >> bits) + e + ((p % full) + c >= full))
    suite.close(f"madc.hi.{t}", got, wrap(want, out))

# Logic and fields -----------------------------------------------------------
integer("and", BITS, lambda a, b, n: a & b)
integer("or", BITS, lambda a, b, n: a | b)
integer("xor", BITS, lambda a, b, n: a ^ b)
integer("not", BITS, lambda a, n: ~a, 1)
integer("cnot", BITS, lambda a, n: int(a == 0), 1)
for t in BITS + ("u16", "s16", "u32", "s32", "u64", "s64"):
    bits, signed = int(t[1:]), t[0] == "s"
    x, k = ints(bits, signed), (ints(32, False) % np.uint32(70)).astype("u4")
    if t[0] == "b":
        suite.close(f"shl.{t}", execute(f"shl.{t} {{d}}, {{a}}, {{b}};", [x, k], x.dtype),
                    wrap(each(lambda a, s: a << s if s < bits else 0, x, k), x.dtype))
    suite.close(f"shr.{t}", execute(f"shr.{t} {{d}}, {{a}}, {{b}};", [x, k], x.dtype),
                wrap(each(lambda a, s: a >> min(s, 80), x, k), x.dtype))
u32 = lambda bits, signed: "u4"
integer("popc", ("b32", "b64"), lambda a, n: bin(a).count("1"), 1, u32)
integer("clz", ("b32", "b64"), lambda a, n: n - a.bit_length(), 1, u32)
integer("brev", ("b32", "b64"), lambda a, n: int(f"{a:0{n}b}"[::-1], 2), 1)
top = lambda a: (~a if a < 0 else a).bit_length() - 1
integer("bfind", ("u32", "s32", "u64", "s64"), lambda a, n: top(a), 1, u32)
integer("bfind.shiftamt", ("u32", "s32", "u64", "s64"), lambda a, n: n - 1 - top(a) if top(a) >= 0 else -1, 1, u32)


def bfe(a, pos, length, bits, signed):
    pos, length = pos & 255, length & 255
    a &= (1 << bits) - 1
    if not length:
        return 0
    sign = a >> min(pos + length - 1, bits - 1) & 1 if signed else 0
    return sum(((a >> (pos + i) & 1 if i < length and pos + i < bits else sign) << i) for i in range(bits))


for t in ("u32", "s32", "u64", "s64"):
    bits, signed = int(t[1:]), t[0] == "s"
    x, p, q = ints(bits, False), ints(32, False) % np.uint32(72), ints(32, False) % np.uint32(72)
    got = execute(f"bfe.{t} {{d}}, {{a}}, {{b}}, {{c}};", [x, p.astype("u4"), q.astype("u4")], x.dtype)
    suite.close(f"bfe.{t}", got, wrap(each(lambda a, b, c: bfe(a, b, c, bits, signed), x, p, q), x.dtype))
for bits in (32, 64):
    x, y, p, q = ints(bits, False), ints(bits, False), ints(32, False) % np.uint32(72), ints(32, False) % np.uint32(72)
    mask = lambda p, q: ((1 << q) - 1) << p if p < bits else 0
    got = execute(f"bfi.b{bits} {{d}}, {{a}}, {{b}}, {{c}}, {{e}};", [x, y, p.astype("u4"), q.astype("u4")], x.dtype)
    suite.close(f"bfi.b{bits}", got, wrap(each(lambda a, b, c, e: (b & ~mask(c, e)) | (a << c & mask(c, e)), x, y, p, q), x.dtype))
x, y, z = (ints(32, False) for _ in range(3))
for d in "lr":
    for mode in ("wrap", "clamp"):
        amount = lambda c: c & 31 if mode == "wrap" else min(c, 32)
        fn = lambda a, b, c: ((b << 32 | a) << amount(c)) >> 32 if d == "l" else (b << 32 | a) >> amount(c)
        suite.close(f"shf.{d}.{mode}", execute(f"shf.{d}.{mode}.b32 {{d}}, {{a}}, {{b}}, {{c}};", [x, y, z], x.dtype), wrap(each(fn, x, y, z), "u4"))


def prmt(a, b, sel):
    data = [(b << 32 | a) >> 8 * k & 255 for k in range(8)]
    r = 0
    for k in range(4):
        s = sel >> 4 * k & 15
        v = data[s & 7]
        r |= ((255 if v & 128 else 0) if s & 8 else v) << 8 * k
    return r


suite.close("prmt", execute("prmt.b32 {d}, {a}, {b}, {c};", [x, y, z], x.dtype), wrap(each(prmt, x, y, z), "u4"))
MODES = {  # rows of the table in the PTX ISA, selectors for c = 0..3, high to low
    "f4e": ["3210", "4321", "5432", "6543"], "b4e": ["5670", "6701", "7012", "0123"],
    "rc8": ["0000", "1111", "2222", "3333"], "ecl": ["3210", "3211", "3222", "3333"],
    "ecr": ["0000", "1110", "2210", "3210"], "rc16": ["1010", "3232", "1010", "3232"]}
for mode, rows in MODES.items():
    got = execute(f"prmt.b32.{mode} {{d}}, {{a}}, {{b}}, {{c}};", [x, y, z & np.uint32(3)], x.dtype)
    suite.close(f"prmt.{mode}", got, wrap(each(lambda a, b, c: prmt(a, b, int(rows[c & 3], 16)), x, y, z), "u4"))
for lut in (0x80, 0x96, 0xe8, 0x3c, 0xb2):
    fn = lambda a, b, c: sum((lut >> ((a >> k & 1) << 2 | (b >> k & 1) << 1 | (c >> k & 1)) & 1) << k for k in range(32))
    suite.close(f"lop3 {lut:#x}", execute(f"lop3.b32 {{d}}, {{a}}, {{b}}, {{c}}, {lut};", [x, y, z], x.dtype), wrap(each(fn, x, y, z), "u4"))
p, q = x & np.uint32(31), y & np.uint32(31)
suite.close("bmsk", execute("bmsk.wrap.b32 {d}, {a}, {b};", [p, q], x.dtype), wrap(each(lambda a, b: ((1 << b) - 1) << a, p, q), "u4"))
for t in ("u32", "s32"):
    fn = lambda a, n: 0 if not n else (a & (1 << n) - 1) - ((1 << n) if t == "s32" and a >> (n - 1) & 1 else 0)
    suite.close(f"szext.{t}", execute(f"szext.wrap.{t} {{d}}, {{a}}, {{b}};", [x, q], x.dtype), wrap(each(fn, x, q), "u4"))
byte = lambda v, k, s: ((v >> 8 * k & 255) ^ 128) - 128 if s else v >> 8 * k & 255
for at in ("u32", "s32"):
    for bt in ("u32", "s32"):
        sa, sb = at == "s32", bt == "s32"
        fn = lambda a, b, c: c + sum(byte(a, k, sa) * byte(b, k, sb) for k in range(4))
        suite.close(f"dp4a.{at}.{bt}", execute(f"dp4a.{at}.{bt} {{d}}, {{a}}, {{b}}, {{c}};", [x, y, z], x.dtype), wrap(each(fn, x, y, z), "u4"))
        for half, base in (("lo", 0), ("hi", 2)):
            fn = lambda a, b, c: c + sum(halves(a, sa)[k] * byte(b, base + k, sb) for k in range(2))
            suite.close(f"dp2a.{half}.{at}.{bt}", execute(f"dp2a.{half}.{at}.{bt} {{d}}, {{a}}, {{b}}, {{c}};", [x, y, z], x.dtype), wrap(each(fn, x, y, z), "u4"))
for op, fn in (("and", lambda a, b: a and b), ("or", lambda a, b: a or b), ("xor", lambda a, b: a != b), ("not", lambda a, b: not a)):
    second = "" if op == "not" else ", %p2"
    got = execute(f"setp.ne.u32 %p1, {{a}}, 0;\nsetp.ne.u32 %p2, {{b}}, 0;\n{op}.pred %p3, %p1{second};\nselp.b32 {{d}}, 7, 9, %p3;", [p & np.uint32(1), q & np.uint32(1)], x.dtype)
    suite.close(f"{op}.pred", got, wrap([7 if fn(bool(a & 1), bool(b & 1)) else 9 for a, b in zip(p, q)], "u4"))

# Comparisons ----------------------------------------------------------------
FLOATS = {"f32": np.float32, "f64": np.float64, "f16": np.float16}


def floats(dtype, n=160):
    info = np.finfo(dtype)
    x = rng.standard_normal(n) * np.exp2(rng.integers(-12, 12, n))
    x = x.astype(dtype)
    edges = [0.0, -0.0, np.inf, -np.inf, np.nan, 1, -1, info.max, info.tiny, info.tiny / 4, 0.5, 1.5, 2.5, -2.5, 0.1]
    x[:len(edges)] = np.array(edges, dtype)
    rng.shuffle(x)
    return x


CMP = {"eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b, "le": lambda a, b: a <= b,
       "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b}
for t in ALL + BITS:
    bits, signed = int(t[1:]), t[0] == "s"
    x, y = ints(bits, signed), ints(bits, signed)
    y[::3] = x[::3]
    names = dict(CMP)
    if t[0] == "u":
        names.update(lo=CMP["lt"], ls=CMP["le"], hi=CMP["gt"], hs=CMP["ge"])
    for c, fn in names.items():
        if t[0] == "b" and c not in ("eq", "ne"):
            continue
        got = execute(f"setp.{c}.{t} %p1, {{a}}, {{b}};\nselp.u32 {{d}}, 1, 0, %p1;", [x, y], np.dtype("u4"))
        suite.close(f"setp.{c}.{t}", got, fn(x, y).astype("u4"))
for t, dtype in FLOATS.items():
    x, y = floats(dtype), floats(dtype)
    y[::3] = x[::3]
    nan = np.isnan(x) | np.isnan(y)
    for c, fn in CMP.items():
        for suffix, want in (("", fn(x, y) & ~nan), ("u", fn(x, y) | nan)):
            got = execute(f"setp.{c}{suffix}.{t} %p1, {{a}}, {{b}};\nselp.u32 {{d}}, 1, 0, %p1;", [x, y], np.dtype("u4"))
            suite.close(f"setp.{c}{suffix}.{t}", got, want.astype("u4"))
            if t == "f32":
                got = execute(f"set.{c}{suffix}.u32.f32 {{d}}, {{a}}, {{b}};", [x, y], np.dtype("u4"))
                suite.close(f"set.{c}{suffix}.u32.f32", got, np.where(want, 0xffffffff, 0).astype("u4"))
    for c, want in (("num", ~nan), ("nan", nan)):
        got = execute(f"setp.{c}.{t} %p1, {{a}}, {{b}};\nselp.u32 {{d}}, 1, 0, %p1;", [x, y], np.dtype("u4"))
        suite.close(f"setp.{c}.{t}", got, want.astype("u4"))
x, y, z = ints(32, True), ints(32, True), ints(32, True)
for op, fn in (("and", np.logical_and), ("or", np.logical_or), ("xor", np.logical_xor)):
    for neg in ("", "!"):
        got = execute(f"setp.gt.s32 %p3, {{c}}, 5;\nsetp.lt.{op}.s32 %p1|%p2, {{a}}, {{b}}, {neg}%p3;\nselp.u32 %r30, 1, 0, %p1;\nselp.u32 %r31, 2, 0, %p2;\nadd.u32 {{d}}, %r30, %r31;", [x, y, z], np.dtype("u4"))
        c = (z > 5) ^ (neg == "!")
        suite.close(f"setp.lt.{op} {neg}", got, (fn(x < y, c) + 2 * fn(~(x < y), c)).astype("u4"))
got = execute("set.lt.f32.s32 {d}, {a}, {b};", [x, y], np.dtype("f4"))
suite.close("set.lt.f32.s32", got, (x < y).astype("f4"))
got = execute("slct.s32.s32 {d}, {a}, {b}, {c};", [x, y, z], x.dtype)
suite.close("slct.s32", got, np.where(z >= 0, x, y))
f = floats(np.float32, 128)
got = execute("slct.b32.f32 {d}, {a}, {b}, {c};", [x, y, f], x.dtype)
suite.close("slct.f32", got, np.where(f >= 0, x, y))
got = execute("slct.b64.s32 {d}, {a}, {b}, {c};", [x.astype("i8"), y.astype("i8"), z], np.dtype("i8"))
suite.close("slct.b64.s32", got, np.where(z >= 0, x, y).astype("i8"))
f = floats(np.float32, 128)
got = execute("slct.b64.f32 {d}, {a}, {b}, {c};", [x.astype("i8"), y.astype("i8"), f], np.dtype("i8"))
suite.close("slct.b64.f32", got, np.where(f >= 0, x, y).astype("i8"))
for bits in (16, 32, 64):
    a, b = ints(bits, False), ints(bits, False)
    got = execute(f"setp.gt.s32 %p3, {{c}}, 5;\nselp.b{bits} {{d}}, {{a}}, {{b}}, %p3;", [a, b, z], a.dtype)
    suite.close(f"selp.b{bits}", got, np.where(z > 5, a, b))
exec(open(__file__.replace("opcodes.py", "opcodes_float.py")).read())
suite.finish()
