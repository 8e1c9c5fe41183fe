# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels from MLIR's gpu dialect (mlir/*.mlir) against NumPy. The PTX that
mlir-opt made is stored in mlir/*.ptx; where mlir-opt and NVIDIA's device library
(the kernels call fma) are present it is made anew as well, so that a newer
compiler is tested too. Further kernels in ptx/
are convolutions of the kind ringconv emits."""
import os
import re
import shutil
import subprocess

import numpy as np

from gpusim import HERE, PLAIN_ENV, Module, Suite, launch, start, sync, to_device, to_host, call

suite = Suite()
start()
rng = np.random.default_rng(3)
MLIR_OPT = shutil.which("mlir-opt") or "/usr/lib/llvm-22/bin/mlir-opt"
TOOLKITS = [os.environ.get(name) for name in ("CUDA_ROOT", "CUDA_HOME", "CUDA_PATH")] + ["/usr/local/cuda"]
PIPELINE = ("--gpu-lower-to-nvvm-pipeline=cubin-chip=sm_80 cubin-features=+ptx80 cubin-format=isa "
            "kernel-bare-ptr-calling-convention=1 opt-level=3")


def compiled(path):
    out = subprocess.run([MLIR_OPT, path, PIPELINE], stdout=subprocess.PIPE, text=True, check=True, env=PLAIN_ENV).stdout
    text = re.search(r'assembly = "((?:[^"\\]|\\.)*)"', out).group(1)
    return re.sub(r"\\([0-9A-Fa-f]{2})", lambda m: chr(int(m.group(1), 16)), text).replace("\\\\", "\\").rstrip("\0")


def lacks():
    """What stands in the way of compiling here, or None."""
    if not os.access(MLIR_OPT, os.X_OK):
        return "mlir-opt"
    toolkit = next((path for path in TOOLKITS if path), None)
    return None if os.path.exists(f"{toolkit}/nvvm/libdevice/libdevice.10.bc") else f"libdevice in {toolkit}"


def versions(name):
    stored = os.path.join(HERE, "mlir", name + ".ptx")
    source = stored.replace(".ptx", ".mlir")
    missing = lacks()
    if not missing:
        fresh = compiled(source)
        if not os.path.exists(stored):
            open(stored, "w").write(fresh)
        yield "fresh", fresh
    else:
        print(f"skipped: no {missing}, the stored PTX only")
    yield "stored", open(stored).read()


def run(ptx, name, grid, block, args, out, shared=0):
    device = [to_device(a) if isinstance(a, np.ndarray) else a for a in args]
    f = Module(ptx).function(name)
    if shared > 48 << 10:
        call("cuFuncSetAttribute", f, 8, shared)
    launch(f, grid, block, device, shared)
    sync()
    return to_host(device[out], args[out])


def f32(*shape):
    return rng.standard_normal(shape).astype(np.float32)


for which, ptx in versions("kernels"):
    a, b = f32(1000), f32(1000)
    suite.close(f"vector add, {which}", run(ptx, "vector_add", (8,), (128,), [a, b, np.zeros(1000, np.float32)], 2), a + b)
    a, b = f32(64, 48), f32(48, 32)
    suite.close(f"tiled matmul, {which}", run(ptx, "matmul", (2, 4), (16, 16), [a, b, np.zeros((64, 32), np.float32)], 2), a.astype(float) @ b, 1e-5, 1e-5)
    a = rng.random(4096).astype(np.float32)
    suite.close(f"reduction, {which}", run(ptx, "reduce", (4,), (128,), [a, np.zeros(1, np.float32)], 1), [a.astype(float).sum()], 1e-5)
    x, w = f32(4, 18, 34), f32(8, 4, 3, 3)
    want = sum(np.einsum("chw,kc->khw", x[:, r:r + 16, s:s + 32].astype(float), w[:, :, r, s]) for r in range(3) for s in range(3))
    suite.close(f"3x3 convolution, {which}", run(ptx, "conv3x3", (16, 8), (32,), [x, w, np.zeros((8, 16, 32), np.float32)], 2), want, 1e-5, 1e-5)
    a, b = f32(16, 16).astype(np.float16), f32(8, 16).astype(np.float16)
    got = run(ptx, "tensor", (1,), (32,), [a, b, np.zeros((16, 8), np.float32)], 2)
    suite.close(f"tensor-core matmul, {which}", got, a.astype(float) @ b.astype(float).T, 1e-5, 1e-5)


def conv(x, w, pad):
    """NHWC, filter KRSC, f64."""
    n, h, wd, c = x.shape
    k, r, s, _ = w.shape
    xp = np.pad(x.astype(float), ((0, 0), (pad, pad), (pad, pad), (0, 0)))
    p, q = h + 2 * pad - r + 1, wd + 2 * pad - s + 1
    return sum(np.einsum("nhwc,kc->nhwk", xp[:, i:i + p, j:j + q], w[:, i, j].astype(float)) for i in range(r) for j in range(s))


def stored(name):
    return open(os.path.join(HERE, "ptx", name)).read()


x, w, bias = f32(1, 14, 14, 64).astype(np.float16), (f32(64, 3, 3, 64) / 8).astype(np.float16), f32(64)
y = run(stored("conv-f16.ptx"), "conv", (2, 1), (128,), [x, w, bias, np.zeros((1, 14, 14, 64), np.float16)], 3, 65536)
suite.close("f16 implicit GEMM", y.astype(float), conv(x, w, 1) + bias, 1e-3, 4e-3)
x, w, bias = f32(1, 16, 12, 12), f32(3, 3, 16, 32), f32(32)
y = run(stored("conv-f32.ptx"), "conv", (2, 1), (128,), [x, w, bias, np.zeros((1, 32, 12, 12), np.float32)], 3, 18432)
want = conv(x.transpose(0, 2, 3, 1), w.transpose(3, 0, 1, 2), 1).transpose(0, 3, 1, 2) + bias.reshape(1, -1, 1, 1)
suite.close("f32 implicit GEMM", y, want, 1e-5, 1e-4)
x, dy = f32(1, 8, 8, 32).astype(np.float16), f32(1, 8, 8, 64).astype(np.float16)
ws = run(stored("wgrad-f16.ptx"), "wgrad", (1, 9, 4), (128,), [x, dy, np.zeros((4, 64, 9, 32), np.float32)], 2, 65536)
xp = np.pad(x.astype(float), ((0, 0), (1, 1), (1, 1), (0, 0)))
want = np.stack([np.einsum("nhwk,nhwc->kc", dy.astype(float), xp[:, r:r + 8, s:s + 8]) for r in range(3) for s in range(3)], 1)
suite.close("filter gradient", ws.sum(0), want, 1e-5, 1e-3)

suite.finish()
