# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Second half of opcodes.py: floating point, conversions, warps, memory.

# A rounding of exact fractions, independent of any machine arithmetic --------
FORMAT = {"f16": (11, -24, 16), "bf16": (8, -133, 128), "f32": (24, -149, 128), "f64": (53, -1074, 1024),
          "tf32": (11, -136, 128)}


def rounded(v, fmt, mode="rn"):
    """Fraction to a float of the format: (bits, exponent of the smallest ulp, top exponent)."""
    p, smallest, topexp = FORMAT[fmt]
    if v == 0:
        return 0.0
    e = 0
    a = abs(v)
    e = a.numerator.bit_length() - a.denominator.bit_length()
    while Fraction(2) ** e <= a:
        e += 1
    while Fraction(2) ** (e - 1) > a:
        e -= 1
    ulp = max(e - p, smallest)
    q = v / Fraction(2) ** ulp
    low = q.numerator // q.denominator
    rest = q - low
    up = {"rn": rest > Fraction(1, 2) or (rest == Fraction(1, 2) and low % 2), "rz": v < 0 and rest > 0,
          "rm": False, "rp": rest > 0, "rna": rest > Fraction(1, 2) or (rest == Fraction(1, 2) and v > 0)}[mode]
    r = (low + bool(up)) * Fraction(2) ** ulp
    if abs(r) >= Fraction(2) ** topexp:
        finite = mode == "rz" or (mode == "rm" and v > 0) or (mode == "rp" and v < 0)
        big = float(Fraction(2) ** topexp - Fraction(2) ** (topexp - p)) if finite else math.inf
        return math.copysign(big, float(v) if abs(v) < 10**300 else (1 if v > 0 else -1))
    return float(r) if r else math.copysign(0.0, -1.0 if v < 0 else 1.0)


def exact(fn, fmt, mode, *xs):
    """fn on fractions where all is finite, else on floats."""
    xs = [float(x) for x in xs]
    if all(math.isfinite(x) for x in xs):
        v = fn(*[Fraction(x) for x in xs])
        if v:
            return rounded(v, fmt, mode)
    with np.errstate(all="ignore"):
        return float(fn(*[np.float64(x) for x in xs]))


def same(name, got, want):
    """Equal as numbers with signs of zero; NaN equals NaN."""
    got, want = np.asarray(got), np.asarray(want).astype(got.dtype)
    ok = (np.isnan(got) & np.isnan(want)) | ((got == want) & (np.signbit(got) == np.signbit(want)))
    bad = np.flatnonzero(~ok)
    suite.check(name, not len(bad), f"{len(bad)} differ: got {got[bad[:3]]} want {want[bad[:3]]}")


A, S, M, F3 = (lambda a, b: a + b), (lambda a, b: a - b), (lambda a, b: a * b), (lambda a, b, c: a * b + c)
for t in ("f32", "f64"):
    dtype = FLOATS[t]
    x, y, z = floats(dtype), floats(dtype), floats(dtype)
    for mode in ("", "rn", "rz", "rm", "rp"):
        dot = "." + mode if mode else ""
        for op, fn, args in (("add", A, (x, y)), ("sub", S, (x, y)), ("mul", M, (x, y)), ("fma", F3, (x, y, z))):
            if op == "fma" and not mode:
                continue
            got = execute(f"{op}{dot}.{t} {{d}}, {', '.join('{%s}' % c for c in 'abc'[:len(args)])};", list(args), np.dtype(dtype))
            want = np.array([exact(fn, t, mode or "rn", *v) for v in zip(*args)])
            # The sign of an exact zero depends on the mode; compare it loosely.
            zero = (want == 0) & (got == 0)
            same(f"{op}{dot}.{t}", np.where(zero, 0, got).astype(dtype), np.where(zero, 0, want))
        if mode:
            got = execute(f"div.{mode}.{t} {{d}}, {{a}}, {{b}};", [x, y], np.dtype(dtype))
            with np.errstate(all="ignore"):
                want = [rounded(Fraction(float(a)) / Fraction(float(b)), t, mode) if np.isfinite(a) and np.isfinite(b) and b and a else float(a / b) for a, b in zip(x, y)]
            same(f"div.{mode}.{t}", got, want)
            got = execute(f"rcp.{mode}.{t} {{d}}, {{a}};", [x], np.dtype(dtype))
            with np.errstate(all="ignore"):
                want = [rounded(1 / Fraction(float(a)), t, mode) if np.isfinite(a) and a else float(dtype(1) / a) for a in x]
            same(f"rcp.{mode}.{t}", got, want)
            got = execute(f"sqrt.{mode}.{t} {{d}}, {{a}};", [abs(x)], np.dtype(dtype))
            want = []
            for a in abs(x):
                if np.isfinite(a) and a:
                    scale = 2 * FORMAT[t][0] + 1100
                    n = Fraction(float(a)) * Fraction(4) ** scale
                    r = math.isqrt(n.numerator // n.denominator)
                    sticky = 0 if Fraction(r * r) == n else Fraction(1, 2)
                    want.append(rounded((r + sticky) / Fraction(2) ** scale, t, mode))
                else:
                    want.append(float(np.sqrt(a)))
            same(f"sqrt.{mode}.{t}", got, want)
    same(f"neg.{t}", execute(f"neg.{t} {{d}}, {{a}};", [x], np.dtype(dtype)), -x)
    same(f"abs.{t}", execute(f"abs.{t} {{d}}, {{a}};", [x], np.dtype(dtype)), abs(x))
    same(f"copysign.{t}", execute(f"copysign.{t} {{d}}, {{a}}, {{b}};", [x, y], np.dtype(dtype)), np.copysign(y, x))
    pick = {"min": lambda a, b: (a if np.signbit(a) else b) if a == b else min(a, b),
            "max": lambda a, b: (b if np.signbit(a) else a) if a == b else max(a, b)}
    for op, fn in pick.items():
        want = [b if np.isnan(a) else a if np.isnan(b) else fn(a, b) for a, b in zip(x, y)]
        same(f"{op}.{t}", execute(f"{op}.{t} {{d}}, {{a}}, {{b}};", [x, y], np.dtype(dtype)), want)
        if t == "f32":
            want = [np.nan if np.isnan(a) or np.isnan(b) else w for a, b, w in zip(x, y, want)]
            same(f"{op}.NaN.{t}", execute(f"{op}.NaN.{t} {{d}}, {{a}}, {{b}};", [x, y], np.dtype(dtype)), want)
    for kind, fn in (("finite", np.isfinite), ("infinite", np.isinf), ("number", lambda v: ~np.isnan(v)), ("notanumber", np.isnan),
                     ("normal", lambda v: np.isfinite(v) & (abs(v) >= np.finfo(dtype).tiny)),
                     ("subnormal", lambda v: (v != 0) & (abs(v) < np.finfo(dtype).tiny))):
        got = execute(f"testp.{kind}.{t} %p1, {{a}};\nselp.u32 {{d}}, 1, 0, %p1;", [x], np.dtype("u4"))
        suite.close(f"testp.{kind}.{t}", got, fn(x).astype("u4"))

x = np.where(np.isfinite(floats(np.float32)), floats(np.float32), 1).astype(np.float32)
x = np.clip(np.nan_to_num(x, nan=1, posinf=2, neginf=-2), -100, 100).astype(np.float32)
d = x.astype(float)
for op, want in (("sin.approx", np.sin(d)), ("cos.approx", np.cos(d)), ("ex2.approx", np.exp2(d)),
                 ("ex2.approx.ftz", np.exp2(d)), ("tanh.approx", np.tanh(d))):
    suite.close(op, execute(f"{op}.f32 {{d}}, {{a}};", [x], np.dtype("f4")), want, 2e-6, 1e-37)
p = abs(x) + np.float32(1e-3)
for op, want in (("lg2.approx", np.log2(p.astype(float))), ("rsqrt.approx", 1 / np.sqrt(p.astype(float))),
                 ("rcp.approx", 1 / p.astype(float)), ("sqrt.approx", np.sqrt(p.astype(float))), ("rcp.approx.ftz", 1 / p.astype(float))):
    suite.close(op, execute(f"{op}.f32 {{d}}, {{a}};", [p], np.dtype("f4")), want, 2e-6, 1e-6)
for op in ("div.approx", "div.full"):
    suite.close(op, execute(f"{op}.f32 {{d}}, {{a}}, {{b}};", [x, p], np.dtype("f4")), d / p.astype(float), 1e-6, 1e-37)
suite.close("rsqrt.f64", execute("rsqrt.approx.f64 {d}, {a};", [p.astype(float)], np.dtype("f8")), 1 / np.sqrt(p.astype(float)), 1e-14)
tiny = np.array([1e-40, -1e-40, 1.5e-38, 1, 0, -0.0, 3e-39, 2] * 16, np.float32)
flush = lambda v: np.where(abs(v) < np.finfo(np.float32).tiny, np.copysign(np.float32(0), v), v).astype(np.float32)
same("add.ftz", execute("add.ftz.f32 {d}, {a}, {b};", [tiny, tiny], np.dtype("f4")), flush(flush(tiny) + flush(tiny)))
same("mul.ftz", execute("mul.rn.ftz.f32 {d}, {a}, {b};", [tiny, tiny * 0 + np.float32(0.5)], np.dtype("f4")), flush(flush(tiny) * np.float32(0.5)))
x, y = floats(np.float32), floats(np.float32)
with np.errstate(all="ignore"):
    want = np.nan_to_num(np.clip(x + y, 0, 1), nan=0)
same("add.sat", execute("add.sat.f32 {d}, {a}, {b};", [x, y], np.dtype("f4")), np.abs(want))

with np.errstate(all="ignore"):
    same("mul.sat", execute("mul.rn.sat.f32 {d}, {a}, {b};", [x, y], np.dtype("f4")), np.abs(np.nan_to_num(np.clip(x * y, 0, 1), nan=0)))
    same("fma.sat", execute("fma.rn.sat.f32 {d}, {a}, {b}, 0f00000000;", [x, y], np.dtype("f4")), np.abs(np.nan_to_num(np.clip(x * y, 0, 1), nan=0)))
h1, h2 = floats(np.float16), floats(np.float16)
same("set.lt.f16.f16", execute("set.lt.f16.f16 {d}, {a}, {b};", [h1, h2], np.dtype("f2")), (h1 < h2).astype(np.float16))
same("cvt.rn.relu.f16.f32", abs(execute("cvt.rn.relu.f16.f32 {d}, {a};", [x], np.dtype("f2"))), abs(np.where(np.isnan(x), x, np.maximum([exact(lambda a: a, "f16", "rn", a) for a in x], 0))))
for op, fn in (("add", A), ("mul", M)):
    with np.errstate(all="ignore"):
        want = np.nan_to_num(np.clip(np.array([exact(fn, "f16", "rn", *v) for v in zip(h1, h2)]), 0, 1), nan=0)
    same(f"{op}.sat.f16", abs(execute(f"{op}.sat.f16 {{d}}, {{a}}, {{b}};", [h1, h2], np.dtype("f2"))), abs(want))

# .ftz: subnormal inputs and results are zeros of the same sign --------------
def flushed(v, tiny=np.finfo(np.float32).tiny):
    return np.where(np.abs(v) < tiny, np.copysign(0, v), v)


x, y, z = (np.where(rng.random(160) < 0.4, (rng.standard_normal(160) * 2.0**-127), floats(np.float32)).astype(np.float32) for _ in range(3))
fx, fy, fz = (flushed(v).astype(np.float32) for v in (x, y, z))
for op, fn in (("neg", lambda a: -a), ("abs", abs)):
    same(f"{op}.ftz.f32", execute(f"{op}.ftz.f32 {{d}}, {{a}};", [x], np.dtype("f4")), fn(fx))
for op, fn in (("add.rn", A), ("sub.rz", S), ("mul.rm", M)):
    want = flushed(np.array([exact(fn, "f32", op[-2:], *v) for v in zip(fx, fy)]))
    got = execute(f"{op}.ftz.f32 {{d}}, {{a}}, {{b}};", [x, y], np.dtype("f4"))
    same(f"{op}.ftz.f32", np.where(want == 0, abs(got), got), np.where(want == 0, 0, want))
want = flushed(np.array([exact(F3, "f32", "rn", *v) for v in zip(fx, fy, fz)]))
got = execute("fma.rn.ftz.f32 {d}, {a}, {b}, {c};", [x, y, z], np.dtype("f4"))
same("fma.rn.ftz.f32", np.where(want == 0, abs(got), got), np.where(want == 0, 0, want))
for op, fn in pick.items():
    want = [b if np.isnan(a) else a if np.isnan(b) else fn(a, b) for a, b in zip(fx, fy)]
    same(f"{op}.ftz.f32", execute(f"{op}.ftz.f32 {{d}}, {{a}}, {{b}};", [x, y], np.dtype("f4")), want)
    want = [np.nan if np.isnan(a) or np.isnan(b) else w for a, b, w in zip(x, y, want)]
    same(f"{op}.ftz.NaN.f32", execute(f"{op}.ftz.NaN.f32 {{d}}, {{a}}, {{b}};", [x, y], np.dtype("f4")), want)
with np.errstate(all="ignore"):
    p, d = fx.astype(float), np.clip(np.nan_to_num(fx), -9, 9).astype(float)
    for op, arg, want in (("rsqrt.approx.ftz", x, 1 / np.sqrt(p)), ("lg2.approx.ftz", x, np.log2(p)), ("rcp.approx.ftz", x, 1 / p),
                          ("sqrt.approx.ftz", x, np.sqrt(p)), ("sin.approx.ftz", d, np.sin(d)), ("cos.approx.ftz", d, np.cos(d)),
                          ("tanh.approx.f32", d, np.tanh(d))):
        name = op if op.endswith("f32") else op + ".f32"
        got = execute(f"{name} {{d}}, {{a}};", [arg.astype(np.float32)], np.dtype("f4"))
        suite.close(name, got, flushed(want.astype(np.float32)), 2e-6)
for c, fn in CMP.items():
    got = execute(f"setp.{c}.ftz.f32 %p1, {{a}}, {{b}};\nselp.u32 {{d}}, 1, 0, %p1;", [x, y], np.dtype("u4"))
    nan = np.isnan(x) | np.isnan(y)
    suite.close(f"setp.{c}.ftz.f32", got, (fn(fx, fy) & ~nan).astype("u4"))
h, k = ((rng.integers(0, 4, 160) << 15 | rng.integers(0, 2200, 160)) & 0xffff for _ in range(2))
small = lambda v: np.where(v & 0x7c00, v, v & 0x8000).astype(np.uint16).view(np.float16)
got = execute("set.lt.ftz.u32.f16 {d}, {a}, {b};", [h.astype(np.uint16), k.astype(np.uint16)], np.dtype("u4"))
suite.close("set.lt.ftz.u32.f16", got, np.where(small(h) < small(k), 0xffffffff, 0).astype("u4"))
got = execute("setp.le.ftz.f16x2 %p1|%p2, {a}, {b};\nselp.u32 %r30, 1, 0, %p1;\nselp.u32 %r31, 2, 0, %p2;\nadd.u32 {d}, %r30, %r31;",
              [(h | k << 16).astype("u4"), (k | h << 16).astype("u4")], np.dtype("u4"))
suite.close("setp.le.ftz.f16x2", got, ((small(h) <= small(k)) + 2 * (small(k) <= small(h))).astype("u4"))

# f16 and bf16 ---------------------------------------------------------------
bf = lambda v: (np.asarray(v, np.uint16).astype(np.uint32) << 16).view(np.float32)
to_bf = lambda v: (np.asarray(v, np.float32).view(np.uint32) >> 16).astype(np.uint16)
for t in ("f16", "bf16"):
    widen = (lambda v: v.view(np.float16).astype(np.float64)) if t == "f16" else (lambda v: bf(v).astype(np.float64))
    make = lambda: (floats(np.float16).view(np.uint16) if t == "f16" else to_bf(floats(np.float32)))
    x, y, z = make(), make(), make()
    X, Y, Z = widen(x), widen(y), widen(z)
    packs = lambda v, w: v.astype("u4") | w.astype("u4") << np.uint32(16)
    unpack = lambda v: (v.astype("u2"), (v >> np.uint32(16)).astype("u2"))
    ops = [("add", A, (X, Y)), ("sub", S, (X, Y)), ("mul", M, (X, Y)), ("fma.rn", F3, (X, Y, Z))]
    for op, fn, args in ops:
        names = ", ".join("{%s}" % c for c in "abc"[:len(args)])
        want = np.array([exact(fn, t, "rn", *v) for v in zip(*args)])
        got = widen(execute(f"{op}.{t} {{d}}, {names};", [x, y, z][:len(args)], np.dtype("u2")))
        zero = (want == 0) & (got == 0)
        same(f"{op}.{t}", np.where(zero, 0, got), np.where(zero, 0, want))
        both = execute(f"{op}.{t}x2 {{d}}, {names};", [packs(v, w) for v, w in ((x, y), (y, z), (z, x))][:len(args)], np.dtype("u4"))
        lo, hi = map(widen, unpack(both))
        high = np.array([exact(fn, t, "rn", *v) for v in zip(*[Y, Z, X][:len(args)])])
        for part, g, w in (("low", lo, want), ("high", hi, high)):
            zero = (w == 0) & (g == 0)
            same(f"{op}.{t}x2 {part}", np.where(zero, 0, g), np.where(zero, 0, w))
    got = widen(execute(f"fma.rn.relu.{t} {{d}}, {{a}}, {{b}}, {{c}};", [x, y, z], np.dtype("u2")))
    want = np.array([exact(F3, t, "rn", *v) for v in zip(X, Y, Z)])
    same(f"fma.relu.{t}", abs(got), np.where(np.isnan(want), want, np.maximum(want, 0)))
    for op, fn in pick.items():
        want = [b if np.isnan(a) else a if np.isnan(b) else fn(a, b) for a, b in zip(X, Y)]
        same(f"{op}.{t}", widen(execute(f"{op}.{t} {{d}}, {{a}}, {{b}};", [x, y], np.dtype("u2"))), want)
        want = [np.nan if np.isnan(a) or np.isnan(b) else w for a, b, w in zip(X, Y, want)]
        got = execute(f"{op}.NaN.{t}x2 {{d}}, {{a}}, {{b}};", [packs(x, x), packs(y, y)], np.dtype("u4"))
        same(f"{op}.NaN.{t}x2", widen(unpack(got)[1]), want)
    for op, fn in (("neg", lambda v: -v), ("abs", abs)):
        got = unpack(execute(f"{op}.{t}x2 {{d}}, {{a}};", [packs(x, y)], np.dtype("u4")))
        same(f"{op}.{t}x2", np.concatenate([widen(v) for v in got]), fn(np.concatenate([X, Y])))
    same(f"neg.{t}", widen(execute(f"neg.{t} {{d}}, {{a}};", [x], np.dtype("u2"))), -X)
    same(f"abs.{t}", widen(execute(f"abs.{t} {{d}}, {{a}};", [x], np.dtype("u2"))), abs(X))
    small = (rng.standard_normal(64)).astype(np.float16).view(np.uint16) if t == "f16" else to_bf(rng.standard_normal(64))
    for op, fn in (("tanh.approx", np.tanh), ("ex2.approx" + (".ftz" if t == "bf16" else ""), np.exp2)):
        got = widen(execute(f"{op}.{t} {{d}}, {{a}};", [small], np.dtype("u2")))
        suite.close(f"{op}.{t}", got, fn(widen(small)), 2 ** -FORMAT[t][0], 1e-4)
        got = unpack(execute(f"{op}.{t}x2 {{d}}, {{a}};", [packs(small, small[::-1])], np.dtype("u4")))
        suite.close(f"{op}.{t}x2", np.array([widen(v) for v in got]), fn(np.array([widen(small), widen(small[::-1])])), 2 ** -FORMAT[t][0], 1e-4)
    nans = np.isnan(X) | np.isnan(Y), np.isnan(Y) | np.isnan(Z)
    tests = {c + suffix: [(fn(*v) | n if suffix else fn(*v) & ~n) for v, n in zip(((X, Y), (Y, Z)), nans)]
             for c, fn in CMP.items() for suffix in ("", "u")}
    tests.update(num=[~n for n in nans], nan=list(nans))
    for c, (low, high) in tests.items():
        got = execute(f"setp.{c}.{t} %p1, {{a}}, {{b}};\nselp.u32 {{d}}, 1, 0, %p1;", [x, y], np.dtype("u4"))
        suite.close(f"setp.{c}.{t}", got, low.astype("u4"))
        got = execute(f"set.{c}.u32.{t}x2 {{d}}, {{a}}, {{b}};", [packs(x, y), packs(y, z)], np.dtype("u4"))
        suite.close(f"set.{c}.u32.{t}x2", got, (low * 0xffff + high * 0xffff0000).astype("u4"))
    got = execute(f"set.lt.{t}.{t} {{d}}, {{a}}, {{b}};", [x, y], np.dtype("u2"))
    suite.close(f"set.lt.{t}.{t}", widen(got), (X < Y).astype(float))
    got = execute(f"setp.lt.{t}x2 %p1|%p2, {{a}}, {{b}};\nselp.u32 %r30, 1, 0, %p1;\nselp.u32 %r31, 2, 0, %p2;\nadd.u32 {{d}}, %r30, %r31;", [packs(x, y), packs(y, z)], np.dtype("u4"))
    suite.close(f"setp.lt.{t}x2", got, ((X < Y) + 2 * (Y < Z)).astype("u4"))
    one = 0x3c00 if t == "f16" else 0x3f80
    got = execute(f"set.gt.{t}x2.{t}x2 {{d}}, {{a}}, {{b}};", [packs(x, y), packs(y, z)], np.dtype("u4"))
    suite.close(f"set.gt.{t}x2", got, ((X > Y) * one + (Y > Z) * (one << 16)).astype("u4"))

# Halfway products that a far smaller addend decides: 7*37 = 259 and 9*29 = 261
# lie between two bf16 numbers, and 2^-100 is lost in a double.
hard = [np.tile(to_bf(v), 8) for v in ([7, 7, 9, 9], [37, 37, 29, 29], [-2.0**-100, 2.0**-100, -2.0**-100, 2.0**-100])]
suite.close("fma.bf16 decided by a tiny addend", bf(execute("fma.rn.bf16 {d}, {a}, {b}, {c};", hard, np.dtype("u2"))), np.tile(np.array([258, 260, 260, 262], "f4"), 8))

# Conversions ----------------------------------------------------------------
INT = {t: np.dtype(("i" if t[0] == "s" else "u") + str(int(t[1:]) // 8)) for t in ("u8", "s8") + ALL}
for src in INT:
    x = ints(int(src[1:]), src[0] == "s")
    wide = x.astype(np.uint16 if x.itemsize == 1 else x.dtype)  # 8-bit values travel in 16-bit registers
    for dst in INT:
        want = wrap([int(v) for v in x], INT[dst])
        out = np.dtype("u2") if INT[dst].itemsize == 1 else INT[dst]
        got = execute(f"cvt.{dst}.{src} {{d}}, {{a}};", [wide], out)
        if INT[dst].itemsize == 1:  # the register gets the extended value
            want = wrap([int(v) for v in want], "u2")
        suite.close(f"cvt.{dst}.{src}", got, want)
        bits, signed = int(dst[1:]), dst[0] == "s"
        low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
        got = execute(f"cvt.sat.{dst}.{src} {{d}}, {{a}};", [wide], out)
        suite.close(f"cvt.sat.{dst}.{src}", got, wrap([min(max(int(v), low), high) for v in x], out))
    for dst in ("f16", "bf16", "f32", "f64"):
        for mode in ("rn", "rz", "rm", "rp"):
            out = {"f16": "f2", "bf16": "u2", "f32": "f4", "f64": "f8"}[dst]
            got = execute(f"cvt.{mode}.{dst}.{src} {{d}}, {{a}};", [wide], np.dtype(out))
            got = bf(got) if dst == "bf16" else got
            same(f"cvt.{mode}.{dst}.{src}", got, [rounded(Fraction(int(v)), dst, mode) for v in x])
values = {"f32": floats(np.float32), "f64": floats(np.float64), "f16": floats(np.float16), "bf16": to_bf(floats(np.float32))}
values["f32"][:8] = values["f64"][:8] = [2**31, -2**31 - 512, 4e9, 1e20, -3.5, 3.5, -0.5, 254.5]
intmode = {"rni": "rn", "rzi": "rz", "rmi": "rm", "rpi": "rp"}


def to_integer(v, mode):
    q = Fraction(float(v))
    low = q.numerator // q.denominator
    rest = q - low
    up = {"rni": rest > Fraction(1, 2) or (rest == Fraction(1, 2) and low % 2), "rzi": q < 0 and rest > 0,
          "rmi": False, "rpi": rest > 0}[mode]
    return low + bool(up)


for src, x in values.items():
    v = bf(x).astype(float) if src == "bf16" else x.astype(float)
    for dst in ("s8", "u8") + ALL:
        bits, signed = int(dst[1:]), dst[0] == "s"
        low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
        for mode in intmode:
            want = []
            for a in v:
                if np.isnan(a):
                    want.append(1 << bits - 1 if src == "f64" or bits == 64 else 0)
                elif np.isinf(a):
                    want.append(high if a > 0 else low)
                else:
                    want.append(min(max(to_integer(a, mode), low), high))
            out = np.dtype("u2") if bits == 8 else INT[dst]
            got = execute(f"cvt.{mode}.{dst}.{src} {{d}}, {{a}};", [x], out)
            keep = ~np.isnan(v) if bits == 8 else slice(None)
            suite.close(f"cvt.{mode}.{dst}.{src}", got[keep], wrap(want, out)[keep])
    for dst in ("f16", "bf16", "f32", "f64", "tf32"):
        narrows = FORMAT[dst][0] < FORMAT[src][0] or (dst == "tf32" and src == "f32")
        if dst == "tf32" and src != "f32":
            continue
        if src != dst and {src, dst} == {"f16", "bf16"}:
            continue
        for mode in (("rna",) if dst == "tf32" else ("rn", "rz", "rm", "rp") if narrows else ("",)):
            if dst == src:
                continue
            dot = "." + mode if mode else ""
            out = {"f16": "f2", "bf16": "u2", "f32": "f4", "f64": "f8", "tf32": "f4"}[dst]
            got = execute(f"cvt{dot}.{dst}.{src} {{d}}, {{a}};", [x], np.dtype(out))
            got = bf(got) if dst == "bf16" else got
            want = [exact(lambda a: a, dst, mode or "rn", a) for a in v]
            same(f"cvt{dot}.{dst}.{src}", got, want)
    if src != "bf16":
        for mode in intmode:
            got = execute(f"cvt.{mode}.{src}.{src} {{d}}, {{a}};", [x], x.dtype)
            want = [np.copysign(float(to_integer(a, mode)), a) if np.isfinite(a) else a for a in v]
            same(f"cvt.{mode}.{src}.{src}", got, want)
x, y = values["f32"], floats(np.float32)
for t in ("f16", "bf16"):
    conv = lambda v: np.array([exact(lambda a: a, t, "rn", a) for a in v])
    for relu in ("", ".relu"):
        got = execute(f"cvt.rn{relu}.{t}x2.f32 {{d}}, {{a}}, {{b}};", [x, y], np.dtype("u4"))
        lo, hi = (got & np.uint32(0xffff)).astype("u2"), (got >> np.uint32(16)).astype("u2")
        for part, g, w in (("high", hi, conv(x)), ("low", lo, conv(y))):
            g = g.view(np.float16) if t == "f16" else bf(g)
            w = np.where(np.isnan(w), w, np.maximum(w, 0) + 0.0) if relu else w
            same(f"cvt.rn{relu}.{t}x2.f32 {part}", abs(g) if relu else g, abs(w) if relu else w)
    got = execute(f"cvt.rz.{t}x2.f32 {{d}}, {{a}}, {{b}};", [x, y], np.dtype("u4"))
    g = (got >> np.uint32(16)).astype("u2")
    same(f"cvt.rz.{t}x2.f32", g.view(np.float16) if t == "f16" else bf(g), [exact(lambda a: a, t, "rz", a) for a in x])
# .satfinite: what is finite but too large becomes the largest number, and so
# does an infinity; NaN stays.
big = np.concatenate([x, np.array([65519, 65520, 7e4, -7e4, 3.4e38, -3.4e38, np.inf, -np.inf, np.nan] + [1] * 23, np.float32)])
for t in ("f16", "bf16", "tf32"):
    most = float((2 - Fraction(2) ** (1 - FORMAT[t][0])) * Fraction(2) ** (FORMAT[t][2] - 1))
    for mode in ("rna",) if t == "tf32" else ("rn", "rz"):
        for relu in ("",) if t == "tf32" else ("", ".relu"):
            want = np.array([exact(lambda a: a, t, mode, a) for a in big])
            want = np.where(np.isinf(want), np.copysign(most, want), want)
            want = np.where(want < 0, 0, want) if relu else want
            name = f"cvt.{mode}{relu}.satfinite.{t}.f32"
            got = execute(name + " {d}, {a};", [big], np.dtype({"f16": "f2", "bf16": "u2", "tf32": "f4"}[t]))
            got = bf(got) if t == "bf16" else got
            same(name, abs(got) if relu else got, abs(want) if relu else want)
same("cvt.sat.f32.f32", execute("cvt.sat.f32.f32 {d}, {a};", [x], np.dtype("f4")), abs(np.nan_to_num(np.clip(x, 0, 1), nan=0)))
exec(open(__file__.replace("opcodes.py", "opcodes_warp.py")).read())
