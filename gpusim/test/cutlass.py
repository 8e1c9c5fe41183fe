# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""CUTLASS's f16 tensor-core GEMM and convolution for sm_80 against NumPy:
kernels that nobody here wrote. Needs nvcc and CUTLASS's headers, from
CUTLASS_INCLUDE or PyPI's nvidia-cutlass, which is fetched into a temporary
folder; skipped without them."""
import ctypes
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

import numpy as np

from gpusim import HERE, PLAIN_ENV, Module, Suite, call, launch, start, sync, to_device, to_host

suite = Suite()


def skip(why):
    print("skipped:", why)
    suite.finish()


nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
if not os.access(nvcc, os.X_OK):
    skip("no nvcc for CUTLASS")
temporary = tempfile.TemporaryDirectory()
folder = temporary.name
include = os.environ.get("CUTLASS_INCLUDE")
if not include:
    got = subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--retries=0", "--no-deps", "--no-binary=:none:", "-d", folder, "nvidia-cutlass"],
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=PLAIN_ENV)
    wheels = glob.glob(os.path.join(folder, "*.whl"))
    if not wheels:
        skip("no headers of CUTLASS (CUTLASS_INCLUDE, or PyPI's nvidia-cutlass)")
    shutil.unpack_archive(wheels[0], os.path.join(folder, "wheel"), "zip")
    found = glob.glob(os.path.join(folder, "wheel/**/cutlass/gemm/device/gemm.h"), recursive=True)
    if not found:
        skip("nvidia-cutlass has no headers")
    include = found[0][:-len("cutlass/gemm/device/gemm.h")]
flags = ["-std=c++17", "-arch=sm_80", "-I", include, "-O2", "-diag-suppress=20012", "-w", os.path.join(HERE, "cutlass.cu")]
tool, ptx = os.path.join(folder, "params"), os.path.join(folder, "kernels.ptx")
for out in (["-ptx", "-o", ptx], ["-cudart=static", "-o", tool]):
    p = subprocess.run([nvcc, *flags, *out], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=PLAIN_ENV)
    if p.returncode:
        suite.check("nvcc compiles CUTLASS", False, p.stdout[-2000:])
        suite.finish()
start()
text = open(ptx).read()
module = Module(text)
entries = re.findall(r"\.entry (\w+)", text)
rng = np.random.default_rng(5)


def run(entry, arguments, out):
    line = subprocess.run([tool, *map(str, arguments)], stdout=subprocess.PIPE, text=True, check=True, env=PLAIN_ENV).stdout.split()
    grid, threads, shared = [int(v) for v in line[1:4]], int(line[4]), int(line[5])
    params = (ctypes.c_ubyte * (len(line[6]) // 2)).from_buffer_copy(bytes.fromhex(line[6]))
    f = module.function(entry)
    call("cuFuncSetAttribute", f, 8, shared)
    launch(f, grid, (threads,), [params], shared)
    sync()
    return to_host(out[0], out[1])


m, n, k = 192, 128, 96
a, b = rng.standard_normal((m, k)).astype(np.float16), rng.standard_normal((n, k)).astype(np.float16)
c = np.zeros((m, n), np.float32)
p = [to_device(v) for v in (a, b, c)]
gemm = [e for e in entries if "Gemm" in e and "Implicit" not in e]
suite.check("the GEMM uses tensor cores", "mma.sync" in text and "cp.async" in text and "ldmatrix" in text)
got = run(gemm[0], [m, n, k] + [v.value for v in p], (p[2], c))
suite.close("CUTLASS GEMM", got, a.astype(float) @ b.astype(float).T, 1e-5, 1e-5)

N, H, W, C, K = 1, 9, 13, 32, 64
x, w = rng.standard_normal((N, H, W, C)).astype(np.float16), rng.standard_normal((K, 3, 3, C)).astype(np.float16)
y = np.zeros((N, H, W, K), np.float32)
p = [to_device(v) for v in (x, w, y)]
conv = [e for e in entries if "Implicit" in e]
got = run(conv[0], ["conv", N, H, W, C, K] + [v.value for v in p], (p[2], y))
xp = np.pad(x.astype(float), ((0, 0), (1, 1), (1, 1), (0, 0)))
want = sum(np.einsum("nhwc,kc->nhwk", xp[:, r:r + H, s:s + W], w[:, r, s].astype(float)) for r in range(3) for s in range(3))
suite.close("CUTLASS convolution", got, want, 1e-5, 1e-4)
suite.finish()
