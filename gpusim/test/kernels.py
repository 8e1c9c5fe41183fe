# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels that nvcc made from kernels.cu against NumPy."""
import math
import os

import numpy as np

from gpusim import HERE, Module, Suite, launch, start, sync, to_device, to_host
import gpusim

suite = Suite()


def trapping():
    start()
    p = to_device(np.array([1] * 31 + [-1], np.int32))
    launch(Module(open(os.path.join(HERE, "kernels.ptx"), "rb").read()).function("trapIfNegative"),
           (1,), (32,), [p])
    sync()


code, text = gpusim.faults(trapping)
suite.check("trap", code == 3 and "719" in text and "thread (31,0,0)" in text, text)
start()
module = Module(open(os.path.join(HERE, "kernels.ptx"), "rb").read())
rng = np.random.default_rng(7)


def run(name, grid, block, args, out, shared=0):
    """`args` are arrays or integers; returns the array `out` afterwards."""
    device = [to_device(a) if isinstance(a, np.ndarray) else a for a in args]
    launch(module.function(name), grid, block, device, shared)
    sync()
    return to_host(device[out], args[out])


def f32(*shape):
    return rng.standard_normal(shape).astype(np.float32)


a, b = f32(10007), f32(10007)
suite.close("vectorAdd", run("vectorAdd", (40,), (256,), [a, b, np.zeros_like(a), len(a)], 2), a + b)

m, n, k = 70, 45, 53
a, b = f32(m, k), f32(k, n)
got = run("matmul", (3, 5), (16, 16), [a, b, np.zeros((m, n), np.float32), m, n, k], 2)
suite.close("matmul", got, a.astype(float) @ b, 1e-5, 1e-5)

a = rng.random(50001).astype(np.float32)
got = run("reduceSum", (13,), (256,), [a, np.zeros(1, np.float32), len(a)], 1)
suite.close("reduceSum", got, [a.astype(float).sum()], 1e-5)

c, h, w, kk = 5, 19, 23, 4
x, f = f32(c, h, w), f32(kk, c, 3, 3)
pad = np.pad(x.astype(float), ((0, 0), (1, 1), (1, 1)))
want = sum(np.einsum("chw,kc->khw", pad[:, r:r + h, s:s + w], f[:, :, r, s])
           for r in range(3) for s in range(3))
got = run("conv3x3", (3, 5, kk), (8, 4), [x, f, np.zeros((kk, h, w), np.float32), c, h, w], 2)
suite.close("conv3x3", got, want, 1e-5, 1e-5)

m, n, k = 48, 40, 80
a, b = f32(m, k).astype(np.float16), f32(n, k).astype(np.float16)
got = run("tensorMatmul", (n // 8, m // 16), (32,), [a, b, np.zeros((m, n), np.float32), m, n, k], 2)
suite.close("tensorMatmul", got, a.astype(float) @ b.astype(float).T, 1e-5, 1e-5)

x = np.concatenate([f32(900), np.array([0, 1, -1, 0.5, 5, -5, 20, -20], np.float32)])
got = run("mathF32", (4,), (256,), [x, np.zeros((10, len(x)), np.float32), len(x)], 1)
d = x.astype(float)
want = [np.exp(d), np.log(abs(d) + 0.5), np.tanh(d), np.sin((x * np.float32(1000)).astype(float)),
        abs(d) ** float(np.float32(0.3)), [math.erf(v) for v in d], d / (d * d + 2),
        np.sqrt(abs(d)), np.fmod(d, float(np.float32(0.7))), 1 / np.sqrt(d * d + 1)]
for name, g, v in zip("exp log tanh sin pow erf div sqrt fmod rsqrt".split(), got, want):
    suite.close("f32 " + name, g, v, 1e-5, 1e-6)

x = rng.standard_normal(500)
got = run("mathF64", (2,), (256,), [x, np.zeros((5, len(x))), len(x)], 1)
want = [np.exp(x), x / (3 + x * x), np.sqrt(abs(x)), np.sin(x * 1e6), np.log(abs(x) + 1)]
for name, g, v in zip("exp div sqrt sin log".split(), got, want):
    suite.close("f64 " + name, g, v, 1e-13, 1e-12)


def control(i, v):
    steps, n = 0, i + 1
    while n != 1:
        n = 3 * n + 1 if n % 2 else n // 2
        steps += 1
    t = v * (v & 7) + steps
    return [t + 1, t * 3, t - 7, t ^ 0x55, -t, t << 1, t + steps][steps % 7]


a = rng.integers(0, 1000, 300).astype(np.int32)
got = run("control", (3,), (128,), [a, len(a)], 0)
suite.close("control", got, np.array([control(i, int(v)) for i, v in enumerate(a)], np.int32))

a = rng.integers(0, 100, 96).astype(np.int32)
device = [to_device(v) for v in (a, np.zeros(16, np.int32), np.zeros(96, np.int32), np.zeros(96, np.int32))]
launch(module.function("warpStuff"), (1,), (96,), device)
sync()
suite.close("histogram", to_host(device[1], np.zeros(16, np.int32)),
            np.bincount(a & 15, minlength=16).astype(np.int32))
warps = a.reshape(3, 32)
suite.close("scan", to_host(device[2], a), np.cumsum(warps, 1).astype(np.int32).ravel())
vote = ((warps & 1).sum(1) + 100 * (warps == 77).any(1) + 1000 * warps.max(1))
suite.close("votes", to_host(device[3], a), np.repeat(vote, 32).astype(np.int32))


suite.finish()
