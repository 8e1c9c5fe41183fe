# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Third part of opcodes.py: moves, memory, atomics, lanes, matrices.

def warp(body, inputs, outs, block=32, extra="", target="sm_90", shared=0):
    """One block; every thread stores what it likes. Returns the outputs."""
    f = Module(ptx_module("mov.u32 %r1, %tid.x;\n" + body, params=len(inputs) + len(outs), extra=extra, target=target)).function("k")
    device = [to_device(a) for a in list(inputs) + list(outs)]
    launch(f, (1,), (block,), device, shared)
    sync()
    got = [to_host(p, o) for p, o in zip(device[len(inputs):], outs)]
    return got if len(got) > 1 else got[0]


u4 = np.dtype("u4")
x, y = ints(32, False, 96), ints(32, False, 96)
w64 = ints(64, False, 96)
# Moves -----------------------------------------------------------------------
suite.close("mov.b32", execute("mov.b32 {d}, {a};", [x], u4), x)
suite.close("mov.b64", execute("mov.b64 {d}, {a};", [w64], w64.dtype), w64)
suite.close("mov unpack 2x32", execute("mov.b64 {{%r30, %r31}}, {a};\nmov.b64 {d}, {{%r31, %r30}};", [w64], w64.dtype),
            (w64 >> np.uint64(32)) | (w64 << np.uint64(32)))
suite.close("mov unpack 2x16", execute("mov.b32 {{%h30, %h31}}, {a};\nmov.b32 {d}, {{%h31, %h30}};", [x], u4), (x >> np.uint32(16)) | (x << np.uint32(16)))
suite.close("mov unpack 4x16", execute("mov.b64 {{%h30, %h31, %h32, %h33}}, {a};\nmov.b64 {d}, {{%h33, %h32, %h31, %h30}};", [w64], w64.dtype),
            sum(((w64 >> np.uint64(16 * k)) & np.uint64(0xffff)) << np.uint64(48 - 16 * k) for k in range(4)))
suite.close("mov.pred", execute("setp.gt.u32 %p1, {a}, 9;\nmov.pred %p2, %p1;\nselp.u32 {d}, 1, 0, %p2;", [x], u4), (x > 9).astype(u4))
suite.close("guard", execute("mov.u32 {d}, 5;\nsetp.gt.u32 %p1, {a}, 9;\n@!%p1 mov.u32 {d}, 6;", [x], u4), np.where(x > 9, 5, 6).astype(u4))
for space in ("global", "shared", "local"):
    extra = ".shared .align 8 .b8 sv[64];\n.global .align 8 .b8 gv[64];"
    local = ".local .align 8 .b8 lv[64];\n"
    name = {"global": "gv", "shared": "sv", "local": "lv"}[space]
    got = warp(f"""{local}mov.u64 %rd1, {name};
cvta.{space}.u64 %rd2, %rd1;
isspacep.{space} %p1, %rd2;
cvta.to.{space}.u64 %rd3, %rd2;
setp.eq.u64 %p2, %rd1, %rd3;
and.pred %p1, %p1, %p2;
st.u32 [%rd2+8], 4711;
ld.{space}.u32 %r2, [%rd3+8];
selp.u32 %r3, %r2, 0, %p1;
st.global.u32 [%in0], %r3;""", [], [np.zeros(1, u4)], block=1, extra=extra)
    suite.close(f"cvta {space}", got, np.array([4711], u4))
got = warp("activemask.b32 %r2;\nst.global.u32 [%in0], %r2;", [], [np.zeros(1, u4)], block=20)
suite.close("activemask", got, np.array([(1 << 20) - 1], u4))
lane = np.arange(32)
for name, want in (("%laneid", lane), ("%lanemask_eq", 1 << lane), ("%lanemask_lt", (1 << lane) - 1), ("%lanemask_le", (2 << lane) - 1),
                   ("%lanemask_gt", 2**32 - (2 << lane)), ("%lanemask_ge", 2**32 - (1 << lane)), ("%ntid.x", lane * 0 + 32), ("WARP_SZ", lane * 0 + 32)):
    got = warp(f"mov.u32 %r2, {name};\nmul.wide.u32 %rd1, %r1, 4;\nadd.s64 %rd1, %in0, %rd1;\nst.global.u32 [%rd1], %r2;", [], [np.zeros(32, u4)])
    suite.close(name, got, want.astype(u4))

# Loads and stores --------------------------------------------------------------
head = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 o, .param .u8 a, .param .s16 b, .param .f32 c, .param .align 8 .b8 d[16]) {"
f = Module(head + """.reg .b64 %rd<9>; .reg .b32 %r<9>; .reg .b16 %h<5>;
ld.param.u64 %rd1, [o]; ld.param.u8 %r1, [a]; ld.param.s16 %r2, [b]; ld.param.b32 %r3, [c]; ld.param.v2.u64 {%rd2, %rd3}, [d];
ld.param.u8 %h1, [d+3]; cvt.u32.u16 %r4, %h1;
st.global.v4.u32 [%rd1], {%r1, %r2, %r3, %r4}; st.global.v2.u64 [%rd1+16], {%rd2, %rd3}; }""").function("k")
got = to_device(np.zeros(8, u4))
block = np.arange(3, 19, dtype=np.uint8)
launch(f, (1,), (1,), [got, ctypes.c_uint8(200), ctypes.c_int16(-3), ctypes.c_float(2.5), (ctypes.c_uint8 * 16)(*block)])
suite.close("ld.param", to_host(got, np.zeros(8, u4)), np.concatenate([np.array([200, 2**32 - 3, 0x40200000, block[3]], u4), block.view(u4)]))
raw = rng.integers(0, 256, 32 * 32, dtype=np.uint8)
for t, np_t in (("u8", "u1"), ("s8", "i1"), ("u16", "u2"), ("s16", "i2"), ("u32", "u4"), ("s32", "i4")):
    w = np.dtype(np_t).itemsize
    got = warp(f"mul.wide.u32 %rd1, %r1, {w};\nadd.s64 %rd1, %in0, %rd1;\nld.global.{t} %rd2, [%rd1];\nmul.wide.u32 %rd1, %r1, 8;\nadd.s64 %rd1, %in1, %rd1;\nst.global.u64 [%rd1], %rd2;",
               [raw], [np.zeros(32, "i8")])
    suite.close(f"ld.{t} to 64 bits", got, raw.view(np_t)[:32].astype("i8"))
for vec, t, regs in (("v2", "b32", "{%r2,%r3}"), ("v4", "b32", "{%r2,%r3,%r4,%r5}"), ("v2", "b64", "{%rd4,%rd5}"), ("v4", "b16", "{%h1,%h2,%h3,%h4}"), ("v2", "b8", "{%h1,%h2}"), ("v2", "f64", "{%fd1,%fd2}")):
    w = int(vec[1]) * int(t[1:]) // 8
    for space in ("global", "shared"):
        there = f"mul.lo.u32 %r9, %r1, {w};\nmov.u32 %r10, buf;\nadd.u32 %r9, %r9, %r10;\nst.shared.{vec}.{t} [%r9], {regs};\nld.shared.{vec}.{t} {regs}, [%r9];\n" if space == "shared" else ""
        got = warp(f"mul.wide.u32 %rd1, %r1, {w};\nadd.s64 %rd2, %in0, %rd1;\nadd.s64 %rd3, %in1, %rd1;\nld.global.{vec}.{t} {regs}, [%rd2];\n{there}st.global.{vec}.{t} [%rd3], {regs};",
                   [raw], [np.zeros(32 * w, np.uint8)], extra=".shared .align 16 .b8 buf[512];")
        suite.close(f"{vec}.{t} {space}", got, raw[:32 * w])

# Atomics -------------------------------------------------------------------------
ATOM = {"add": lambda o, v: o + v, "min": min, "max": max, "and": lambda o, v: o & v, "or": lambda o, v: o | v,
        "xor": lambda o, v: o ^ v, "exch": lambda o, v: v, "inc": lambda o, v: 0 if o >= v else o + 1,
        "dec": lambda o, v: v if o == 0 or o > v else o - 1}
for op, t in [(o, t) for o in ("add", "min", "max") for t in ("u32", "s32", "u64", "s64") if (o, t) != ("add", "s64")] + \
        [(o, t) for o in ("and", "or", "xor", "exch") for t in ("b32", "b64")] + [("inc", "u32"), ("dec", "u32")]:
    bits, signed = int(t[1:]), t[0] == "s"
    v = ints(bits, signed, 32)
    reg, w = ("%rd5", 8) if bits == 64 else ("%r5", 4)
    old = "%rd6" if bits == 64 else "%r6"
    start_value = np.array([1000], v.dtype)
    for space in ("global", "shared"):
        for form in ("atom", "red"):
            if form == "red" and op == "exch":
                continue
            setup = f"mov.u32 %r9, buf;\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 st.shared.b{bits} [%r9], 1000;\nbar.sync 0;\n" if space == "shared" else ""
            place = "[%r9]" if space == "shared" else "[%in1]"
            instr = f"atom.{space}.{op}.{t} {old}, {place}, {reg};" if form == "atom" else f"red.{space}.{op}.{t} {place}, {reg};\nmov.b{bits} {old}, 0;"
            back = f"bar.sync 0;\nld.shared.b{bits} {reg}, [%r9];\nst.global.b{bits} [%in1], {reg};\n" if space == "shared" else ""
            total, olds = warp(f"{setup}mul.wide.u32 %rd1, %r1, {w};\nadd.s64 %rd2, %in0, %rd1;\nadd.s64 %rd3, %in2, %rd1;\nld.global.b{bits} {reg}, [%rd2];\n{instr}\nst.global.b{bits} [%rd3], {old};\n{back}",
                               [v], [start_value, np.zeros(32, v.dtype)], extra=".shared .align 8 .b8 buf[8];")
            state, seen = 1000, []
            for k in v:
                seen.append(state)
                state = int(wrap([ATOM[op](state, int(k))], v.dtype)[0])
            suite.close(f"{form}.{space}.{op}.{t}", total, np.array([state], v.dtype))
            if form == "atom":
                suite.close(f"{form}.{space}.{op}.{t} old", olds, np.array(seen, v.dtype))
for bits in (16, 32, 64):
    reg = {16: "%h", 32: "%r", 64: "%rd"}[bits]
    got = warp(f"atom.global.cas.b{bits} {reg}6, [%in0], 7, 9;\natom.global.cas.b{bits} {reg}6, [%in0], 7, 11;", [], [np.array([7], f"u{bits // 8}")], block=1)
    suite.close(f"cas.b{bits}", got, np.array([9], f"u{bits // 8}"))
for t, dtype, reg in (("f32", "f4", "%f"), ("f64", "f8", "%fd")):
    v = rng.integers(-50, 50, 32).astype(dtype)
    w = np.dtype(dtype).itemsize
    got = warp(f"mul.wide.u32 %rd1, %r1, {w};\nadd.s64 %rd2, %in0, %rd1;\nld.global.{t} {reg}1, [%rd2];\nred.global.add.{t} [%in1], {reg}1;\natom.global.add.{t} {reg}2, [%in1], {reg}1;", [v], [np.zeros(1, dtype)])
    suite.close(f"atom.add.{t}", got, np.array([2 * v.sum()], dtype))
h = rng.integers(-8, 8, 64).astype(np.float16)
got = warp("mul.wide.u32 %rd1, %r1, 4;\nadd.s64 %rd2, %in0, %rd1;\nld.global.b32 %r2, [%rd2];\nred.global.add.noftz.f16x2 [%in1], %r2;", [h], [np.zeros(2, np.float16)])
suite.close("red.add.f16x2", got, h.reshape(32, 2).sum(0).astype(np.float16))
hb = to_bf(h.astype(np.float32))
got = warp("mul.wide.u32 %rd1, %r1, 2;\nadd.s64 %rd2, %in0, %rd1;\nld.global.b16 %h2, [%rd2];\natom.global.add.noftz.bf16 %h3, [%in1], %h2;", [hb], [np.zeros(1, "u2")])
suite.close("atom.add.bf16", bf(got), [h[:32].astype(np.float32).sum()])

# Minimum and maximum of halves: a number wins against NaN; of two NaN the result is NaN. The device orders -0 below +0.
for t, pack in (("f16", lambda v: v.astype(np.float16).view(np.uint16)), ("bf16", lambda v: to_bf(v.astype(np.float32)))):
    widen = (lambda v: v.view(np.float16).astype(float)) if t == "f16" else (lambda v: bf(v).astype(float))
    for values in ([3, -7.5, 2, 0.125], [np.nan, 1, np.nan, -2], [np.nan] * 4, [0.0, -0.0, 0.0, 0.0], [np.inf, -np.inf, 5, 5]):
        for first in (values[0], np.nan, 0.0):
            v = pack(np.resize(np.array(values), 64))
            begin = np.full(2, pack(np.array([first]))[0], np.uint16)
            for op, fn in (("min", np.fmin), ("max", np.fmax)):
                for both in (False, True):
                    w, reg, suffix = (4, "%r2", "x2") if both else (2, "%h2", "")
                    got = warp(f"mul.wide.u32 %rd1, %r1, {w};\nadd.s64 %rd2, %in0, %rd1;\nld.global.b{8 * w} {reg}, [%rd2];\nred.global.{op}.noftz.{t}{suffix} [%in1], {reg};", [v], [begin])
                    count = 64 if both else 32
                    columns = np.vstack([widen(begin), widen(v)[:count].reshape(-1, 2)]) if both else np.concatenate([widen(begin[:1]), widen(v)[:32]])[:, None]
                    with np.errstate(all="ignore"):
                        want = fn.reduce(columns, axis=0)
                    zero = want == 0
                    signs = np.signbit(columns) & (columns == 0)
                    negative = signs.any(0) if op == "min" else (signs | (columns != 0)).all(0) & signs.any(0)
                    want = np.where(zero, np.where(negative, -0.0, 0.0), want)
                    same(f"red.{op}.{t}{suffix} {values} from {first}", widen(got)[:len(want)], want)

# Lanes -----------------------------------------------------------------------------
v = ints(32, False, 32)
ST = "mul.wide.u32 %rd1, %r1, 4;\nadd.s64 %rd2, %in0, %rd1;\nadd.s64 %rd3, %in1, %rd1;\nld.global.u32 %r2, [%rd2];\n"
END = "\nst.global.u32 [%rd3], %r3;"
for mode in ("up", "down", "bfly", "idx"):
    for width in (32, 8):
        for delta in (0, 1, 3, 7, 16):
            clampv = 0 if mode == "up" else 31
            c = (32 - width) << 8 | clampv
            want, flags = [], []
            for l in range(32):
                base = l // width * width
                src = {"up": l - delta, "down": l + delta, "bfly": l ^ delta, "idx": base + delta % width if width < 32 else delta}[mode]
                if mode == "idx" and width < 32:
                    src = base | (delta & (width - 1))
                inside = base <= src < base + width if mode != "bfly" else src < base + width
                want.append(int(v[src if inside else l]))
                flags.append(inside)
            got, pred = warp(ST + f"add.s64 %rd4, %in2, %rd1;\nshfl.sync.{mode}.b32 %r3|%p1, %r2, {delta}, {c}, -1;\nselp.u32 %r4, 1, 0, %p1;\nst.global.u32 [%rd4], %r4;" + END, [v], [np.zeros(32, u4)] * 2)
            suite.close(f"shfl.{mode} {delta} width {width}", got, np.array(want, u4))
            suite.close(f"shfl.{mode} {delta} width {width} predicate", pred, np.array(flags, u4))
odd = v & np.uint32(1)
for mode, want in (("all", int(odd.all())), ("any", int(odd.any())), ("uni", int(odd.all() or not odd.any()))):
    got = warp(ST + f"and.b32 %r4, %r2, 1;\nsetp.ne.u32 %p1, %r4, 0;\nvote.sync.{mode}.pred %p2, %p1, -1;\nselp.u32 %r3, 1, 0, %p2;" + END, [v], [np.zeros(32, u4)])
    suite.close(f"vote.{mode}", got, np.full(32, want, u4))
got = warp(ST + "and.b32 %r4, %r2, 1;\nsetp.ne.u32 %p1, %r4, 0;\nvote.sync.ballot.b32 %r3, !%p1, -1;" + END, [v], [np.zeros(32, u4)])
suite.close("vote.ballot", got, np.full(32, sum((1 - int(b)) << i for i, b in enumerate(odd)), u4))
few = v % np.uint32(5)
want = np.array([sum(int(few[k] == few[l]) << k for k in range(32)) for l in range(32)], u4)
suite.close("match.any.b32", warp(ST + "match.any.sync.b32 %r3, %r2, -1;" + END, [few], [np.zeros(32, u4)]), want)
suite.close("match.any.b64", warp(ST + "cvt.u64.u32 %rd5, %r2;\nmatch.any.sync.b64 %r3, %rd5, -1;" + END, [few], [np.zeros(32, u4)]), want)
suite.close("match.all", warp(ST + "match.all.sync.b32 %r3|%p1, %r2, -1;" + END, [few], [np.zeros(32, u4)]), np.zeros(32, u4))
suite.close("match.all same", warp(ST + "match.all.sync.b32 %r3, 5, -1;" + END, [few], [np.zeros(32, u4)]), np.full(32, 2**32 - 1, u4))
import functools
for op in ("add", "min", "max", "and", "or", "xor"):
    for t in (("u32", "s32") if op in ("add", "min", "max") else ("b32",)):
        a = v.view("i4") if t == "s32" else v
        want = wrap([functools.reduce(ATOM[op], [int(k) for k in a])] * 32, "u4")
        suite.close(f"redux.{op}.{t}", warp(ST + f"redux.sync.{op}.{t} %r3, %r2, -1;" + END, [v], [np.zeros(32, u4)]), want)
suite.close("elect", warp(ST + "elect.sync %r3|%p1, 240;\nselp.u32 %r3, 77, %r3, %p1;" + END.replace("\n", "\n@%p9 ") if False else ST + "setp.ge.u32 %p2, %r1, 4;\nsetp.lt.u32 %p3, %r1, 8;\nand.pred %p2, %p2, %p3;\nmov.u32 %r3, 9;\n@!%p2 bra E;\nelect.sync %r3|%p1, 240;\nselp.u32 %r3, 77, %r3, %p1;\nE:" + END, [v], [np.zeros(32, u4)]),
            np.array([77 if l == 4 else 4 if 4 < l < 8 else 9 for l in range(32)], u4))
got = warp(ST + "setp.gt.u32 %p1, %r2, 1000;\nbar.red.popc.u32 %r3, 0, %p1;\nbar.red.and.pred %p2, 0, %p1;\nbar.red.or.pred %p3, 0, !%p1;\nselp.u32 %r4, 1000, 0, %p2;\nselp.u32 %r5, 2000, 0, %p3;\nadd.u32 %r3, %r3, %r4;\nadd.u32 %r3, %r3, %r5;" + END, [x], [np.zeros(96, u4)], block=96)
big = x > 1000
suite.close("bar.red", got, np.full(96, big.sum() + 1000 * big.all() + 2000 * (~big).any(), u4))

# Matrices ----------------------------------------------------------------------------
tile = rng.integers(0, 65536, 4 * 64, dtype=np.uint16)
FILL = "mul.wide.u32 %rd1, %r1, 16;\nadd.s64 %rd2, %in0, %rd1;\nld.global.v4.b32 {%r10,%r11,%r12,%r13}, [%rd2];\nmov.u32 %r9, buf;\nmad.lo.u32 %r8, %r1, 16, %r9;\nst.shared.v4.b32 [%r8], {%r10,%r11,%r12,%r13};\nbar.warp.sync -1;\n"
BUF = ".shared .align 16 .b8 buf[512];"
m8 = tile.reshape(4, 8, 8)
for num in (1, 2, 4):
    for trans in ("", ".trans"):
        regs = ",".join(f"%r{20 + k}" for k in range(num))
        stores = "".join(f"st.global.b32 [%rd3+{128 * k}], %r{20 + k};\n" for k in range(num))
        got = warp(FILL + f"ldmatrix.sync.aligned.m8n8.x{num}{trans}.shared.b16 {{{regs}}}, [%r8];\nmul.wide.u32 %rd1, %r1, 4;\nadd.s64 %rd3, %in1, %rd1;\n{stores}", [tile], [np.zeros(num * 64, np.uint16)], extra=BUF)
        want = (m8.transpose(0, 2, 1) if trans else m8)[:num].ravel()
        suite.close(f"ldmatrix x{num}{trans}", got, want)
        loads = "".join(f"ld.global.b32 %r{20 + k}, [%rd2+{128 * k}];\n" for k in range(num))
        got = warp(f"mul.wide.u32 %rd1, %r1, 4;\nadd.s64 %rd2, %in0, %rd1;\n{loads}mov.u32 %r9, buf;\nmad.lo.u32 %r8, %r1, 16, %r9;\nstmatrix.sync.aligned.m8n8.x{num}{trans}.shared.b16 [%r8], {{{regs}}};\nbar.warp.sync -1;\nmul.wide.u32 %rd1, %r1, 16;\nadd.s64 %rd3, %in1, %rd1;\nsetp.lt.u32 %p1, %r1, {8 * num};\n@%p1 ld.shared.v4.b32 {{%r10,%r11,%r12,%r13}}, [%r8];\n@%p1 st.global.v4.b32 [%rd3], {{%r10,%r11,%r12,%r13}};",
                   [tile], [np.zeros(num * 64, np.uint16)], extra=BUF)
        suite.close(f"stmatrix x{num}{trans}", got, want)
got = warp(ST.replace("%in1", "%in1") + "movmatrix.sync.aligned.m8n8.trans.b16 %r3, %r2;" + END, [tile[:64].view(u4)], [np.zeros(32, u4)])
suite.close("movmatrix", got.view(np.uint16), m8[0].T.ravel())


def fragments(M, per, blocks, rows16):
    """Registers of a fragment by the ISA's words: element e of register r of
    lane l is row l/4 (+8), column E*(l%4)+e (+4E per column block)."""
    halves_ = (0, 8) if rows16 else (0,)
    regs = []
    for c in range(blocks):
        for hi in halves_:
            regs.append(np.stack([[M[l // 4 + hi, 4 * per * c + per * (l % 4) + e] for e in range(per)] for l in range(32)]))
    return regs


def mma(shape, types, A, B, C, per, a_bits, c_type, suffix="", half_sums=False, into=None):
    """`into` chooses the registers of D from those of A, B and C; otherwise they are those of C."""
    k = A.shape[1]
    blocks = k // (4 * per)
    a, b = fragments(A, per, blocks, True), fragments(B, per, blocks, False)
    flat = lambda regs: np.concatenate([np.ascontiguousarray(r).view(u4).ravel() for r in regs])
    if half_sums:
        c = [np.stack([[C[l // 4 + hi, 2 * (l % 4) + e] for e in (0, 1)] for l in range(32)]).astype(np.float16) for hi in (0, 8)]
    else:
        c = [np.array([C[l // 4 + hi, 2 * (l % 4) + e] for l in range(32)], c_type) for hi in (0, 8) for e in (0, 1)]
    data = np.concatenate([flat(a), flat(b), flat(c)])
    n = [len(a), len(b), len(c)]
    regs = [[f"%r{20 + sum(n[:g]) + i}" for i in range(n[g])] for g in range(3)]
    names = [r for g in regs for r in g]
    loads = "".join(f"ld.global.b32 {r}, [%rd2+{128 * i}];\n" for i, r in enumerate(names))
    vec = lambda g: "{" + ",".join(regs[g]) + "}"
    regs.append([names[n] for n in into] if into else regs[2])
    stores = "".join(f"st.global.b32 [%rd3+{128 * i}], {r};\n" for i, r in enumerate(regs[3]))
    out = warp(f"mul.wide.u32 %rd1, %r1, 4;\nadd.s64 %rd2, %in0, %rd1;\nadd.s64 %rd3, %in1, %rd1;\n{loads}mma.sync.aligned.{shape}.row.col{suffix}.{types} {vec(3)}, {vec(0)}, {vec(1)}, {vec(2)};\n{stores}", [data], [np.zeros(32 * n[2], u4)])
    D = np.zeros(C.shape, np.float64 if c_type != np.int32 else np.int64)
    out = out.view(np.float16).reshape(2, 32, 2) if half_sums else out.view(c_type).reshape(-1, 32)
    for l in range(32):
        for hi in (0, 1):
            for e in (0, 1):
                D[l // 4 + 8 * hi, 2 * (l % 4) + e] = out[hi, l, e] if half_sums else out[2 * hi + e, l]
    return D


for k in (16, 8):
    A, B, C = rng.standard_normal((16, k)), rng.standard_normal((8, k)), rng.standard_normal((16, 8)).astype(np.float32)
    a, b = A.astype(np.float16), B.astype(np.float16)
    want = a.astype(float) @ b.astype(float).T + C
    suite.close(f"mma m16n8k{k} f16", mma(f"m16n8k{k}", "f32.f16.f16.f32", a, b, C, 2, 16, np.float32), want, 1e-6, 1e-6)
    first = 6 if k == 16 else 3  # of C
    for into in ([first + n for n in (1, 0, 3, 2)], [first + n for n in (2, 3, 0, 1)], [first + 3, 0, first, 1], [0, 1, 2, first]):
        suite.close(f"mma m16n8k{k} f16 into registers {into}", mma(f"m16n8k{k}", "f32.f16.f16.f32", a, b, C, 2, 16, np.float32, into=into), want, 1e-6, 1e-6)
    c16 = C.astype(np.float16)
    got = mma(f"m16n8k{k}", "f16.f16.f16.f16", a, b, c16, 2, 16, None, half_sums=True)
    suite.close(f"mma m16n8k{k} f16 sums", got, a.astype(float) @ b.astype(float).T + c16, 1e-3, 1e-3)
    a, b = to_bf(A), to_bf(B)
    want = bf(a).astype(float) @ bf(b).astype(float).T + C
    suite.close(f"mma m16n8k{k} bf16", mma(f"m16n8k{k}", "f32.bf16.bf16.f32", a, b, C, 2, 16, np.float32), want, 1e-6, 1e-6)
for k in (8, 4):
    A, B, C = rng.standard_normal((16, k)).astype("f4"), rng.standard_normal((8, k)).astype("f4"), rng.standard_normal((16, 8)).astype("f4")
    cut = lambda v: (v.view(u4) & np.uint32(0xffffe000)).view("f4").astype(float)
    got = mma(f"m16n8k{k}", "f32.tf32.tf32.f32", A, B, C, 1, 32, np.float32)
    suite.close(f"mma m16n8k{k} tf32", got, cut(A) @ cut(B).T + C, 1e-6, 1e-6)
    suite.check(f"mma m16n8k{k} tf32 truncates", not np.allclose(got, A.astype(float) @ B.astype(float).T + C, 1e-6, 1e-6))
for k in (32, 16):
    for ta in ("s8", "u8"):
        for tb in ("s8", "u8"):
            A = rng.integers(0, 256, (16, k), dtype=np.uint8).view("i1" if ta == "s8" else "u1")
            B = rng.integers(0, 256, (8, k), dtype=np.uint8).view("i1" if tb == "s8" else "u1")
            C = rng.integers(-2**31, 2**31, (16, 8)).astype(np.int32)
            full = A.astype(np.int64) @ B.astype(np.int64).T + C
            suite.close(f"mma m16n8k{k} {ta} {tb}", mma(f"m16n8k{k}", f"s32.{ta}.{tb}.s32", A, B, C, 4, 8, np.int32), full.astype(np.int32).astype(np.int64))
            suite.close(f"mma m16n8k{k} {ta} {tb} satfinite", mma(f"m16n8k{k}", f"s32.{ta}.{tb}.s32", A, B, C, 4, 8, np.int32, ".satfinite"), np.clip(full, -2**31, 2**31 - 1))
A, B, C = rng.standard_normal((8, 4)), rng.standard_normal((8, 4)), rng.standard_normal((8, 8))
data = np.concatenate([A.ravel(), B.ravel(), [C[l // 4, 2 * (l % 4)] for l in range(32)], [C[l // 4, 2 * (l % 4) + 1] for l in range(32)]])
got = warp("mul.wide.u32 %rd1, %r1, 8;\nadd.s64 %rd2, %in0, %rd1;\nadd.s64 %rd3, %in1, %rd1;\n" + "".join(f"ld.global.f64 %fd{i + 1}, [%rd2+{256 * i}];\n" for i in range(4)) +
           "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%fd3,%fd4}, {%fd1}, {%fd2}, {%fd3,%fd4};\nst.global.f64 [%rd3], %fd3;\nst.global.f64 [%rd3+256], %fd4;", [data], [np.zeros(64)])
D = np.zeros((8, 8))
for l in range(32):
    D[l // 4, 2 * (l % 4)], D[l // 4, 2 * (l % 4) + 1] = got[l], got[32 + l]
suite.close("mma m8n8k4 f64", D, A @ B.T + C, 1e-14, 1e-14)

# Asynchronous copies ---------------------------------------------------------------------
for width, mode in ((4, "ca"), (8, "ca"), (16, "ca"), (16, "cg")):
    for sizes in (None, width // 2, 0):
        tail = "" if sizes is None else f", {sizes}"
        regs = {4: "b32 %r2", 8: "b64 %rd5", 16: "v2.b64 {%rd5,%rd6}"}[width].split(" ", 1)
        got = warp(f"mul.wide.u32 %rd1, %r1, {width};\nadd.s64 %rd2, %in0, %rd1;\nadd.s64 %rd3, %in1, %rd1;\nmov.u32 %r9, buf;\nmad.lo.u32 %r9, %r1, {width}, %r9;\ncp.async.{mode}.shared.global [%r9], [%rd2], {width}{tail};\ncp.async.commit_group;\ncp.async.wait_group 0;\nld.shared.{regs[0]} {regs[1]}, [%r9];\nst.global.{regs[0]} [%rd3], {regs[1]};",
                   [raw], [np.zeros(32 * width, np.uint8)], extra=BUF)
        want = raw[:32 * width].reshape(32, width).copy()
        if sizes is not None:
            want[:, sizes:] = 0
        suite.close(f"cp.async.{mode} {width}{tail}", got, want.ravel())
got = warp("mul.wide.u32 %rd1, %r1, 4;\nadd.s64 %rd2, %in0, %rd1;\nadd.s64 %rd3, %in1, %rd1;\nmov.u32 %r9, buf;\nmad.lo.u32 %r9, %r1, 4, %r9;\nsetp.gt.u32 %p1, %r1, 9;\ncp.async.ca.shared.global [%r9], [%rd2], 4, %p1;\ncp.async.wait_all;\nld.shared.b32 %r2, [%r9];\nst.global.b32 [%rd3], %r2;", [raw], [np.zeros(32, u4)], extra=BUF)
suite.close("cp.async ignore-src", got, np.where(np.arange(32) > 9, 0, raw.view(u4)[:32]).astype(u4))

# Control -----------------------------------------------------------------------------------
got = warp("""and.b32 %r2, %r1, 3;
brx.idx %r2, T;
T: .branchtargets A, B, C, B;
A: mov.u32 %r3, 10; bra.uni E;
B: mov.u32 %r3, 20; bra.uni E;
C: mov.u32 %r3, 30;
E: mul.wide.u32 %rd1, %r1, 4;
add.s64 %rd3, %in0, %rd1;
st.global.u32 [%rd3], %r3;""", [], [np.zeros(32, u4)])
suite.close("brx.idx", got, np.array([10, 20, 30, 20] * 8, u4))
# What changes no result must at least be accepted and change none.
got = warp('''membar.gl;
membar.cta;
fence.acq_rel.gpu;
fence.sc.sys;
nanosleep.u32 20;
prefetch.global.L2 [%in0];
createpolicy.fractional.L2::evict_first.b64 %rd5, 1.0;
griddepcontrol.wait;
mov.u32 %r5, %clock;
mov.u64 %rd6, %clock64;
mov.u64 %rd7, %globaltimer;
ld.global.nc.L1::no_allocate.L2::128B.u32 %r6, [%in0];
ld.relaxed.gpu.global.u32 %r7, [%in0];
add.u32 %r6, %r6, %r7;
add.u32 %r6, %r6, 1;
bar.sync 0;
st.release.gpu.global.u32 [%in0], %r6;''', [], [np.array([20], u4)])
suite.close("hints and fences", got, np.array([41], u4))
