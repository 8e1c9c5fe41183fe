# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The target cuda on simulated GPUs: whole arrays of the host, and GPU memory that
is never copied."""
import os
import subprocess
import sys

import pytest
import ringconv as rc

HERE = os.path.dirname(os.path.abspath(__file__))
GPUSIM = os.path.join(os.path.dirname(os.path.abspath(rc.__file__)), "..", "..", "bin", "ringconv-gpusim")
pytestmark = [
    pytest.mark.skipif(not os.path.exists(GPUSIM), reason="left out: the target cuda (no ringconv-gpusim)"),
    pytest.mark.skipif(os.environ.get("RINGCONV_TEST_LEVEL") == "quick", reason="not in the quick suite"),
]

BEGIN = """
import ctypes, sys
import numpy as np, ringconv as rc
sys.path.insert(0, sys.argv[1])
from conftest import conv2d
random = np.random.default_rng(3)
x, w = (random.uniform(-1, 1, s).astype(np.float32) for s in ((1, 3, 7, 10), (4, 3, 3, 3)))
def build(ranks):
    return rc.func(lambda x, w: rc.conv2d(x, w, padding=1), rc.arg(x.shape, cut=[None, None, None, "w"]),
                   rc.parameter(w.shape), mesh={"w": ranks})
def close(y, factor=1):
    assert np.abs(y - conv2d(factor * x, w, padding=1)).max() < 1e-5
"""

WHOLE = BEGIN + """
program = rc.compile(build(2), target="cuda")
assert program.target == "cuda"
ranks = program.ranks()
close(ranks.run(x, w))
close(ranks.run(3 * x), 3)
print("whole arrays agree")
"""

# A library of GPU arrays, as small as the protocol allows.
DEVICE = BEGIN + """
cuda = ctypes.CDLL("libcuda.so.1")
def call(name, *arguments):
    assert getattr(cuda, name)(*arguments) == 0, name
call("cuInit", 0)
context, pointer = ctypes.c_void_p(), ctypes.c_uint64
call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
call("cuCtxSetCurrent", context)

class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_uint64), ("device", ctypes.c_int32), ("number", ctypes.c_int32),
                ("rank", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.c_void_p), ("offset", ctypes.c_uint64),
                ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]

class GPUArray:
    def __init__(self, array):
        self.array, self.data = np.ascontiguousarray(array), pointer()
        call("cuMemAlloc_v2", ctypes.byref(self.data), ctypes.c_size_t(array.nbytes))
        call("cuMemcpyHtoD_v2", self.data, self.array.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(array.nbytes))
    def __dlpack_device__(self):
        return 2, 0
    def __dlpack__(self, stream=None):
        self.shape = (ctypes.c_int64 * self.array.ndim)(*self.array.shape)
        self.tensor = Tensor(self.data.value, 2, 0, self.array.ndim, 2, 8 * self.array.itemsize, 1, self.shape)
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self.tensor))  # lives until a deleter, which it has not
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self.shape))
        capsule = ctypes.pythonapi.PyCapsule_New
        capsule.restype, capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return capsule(ctypes.addressof(self.tensor), b"dltensor", None)
    def get(self):
        call("cuMemcpyDtoH_v2", self.array.ctypes.data_as(ctypes.c_void_p), self.data, ctypes.c_size_t(self.array.nbytes))
        return self.array

local = rc.compile(build(1), target="cuda").local()
xs, ws, y = GPUArray(x), GPUArray(w), GPUArray(np.zeros((1, 4, 7, 10), np.float32))
assert local.run(xs, ws, out=y) is y
close(y.get())
stream = ctypes.c_void_p()
call("cuStreamCreate", ctypes.byref(stream), 1)
local.run(GPUArray(2 * x), out=y, stream=stream.value)
call("cuStreamSynchronize", stream)
close(y.get(), 2)
def refused(text, *arrays, **words):
    try:
        local.run(*arrays, **words)
    except (TypeError, ValueError) as error:
        assert text in str(error), error
    else:
        assert not text
refused("input 0: expected an array in GPU memory, got", [1.0], out=y)
refused("expected an array in GPU memory, got DLPack device type 1", x, out=y)
refused("output 0: expected an array in GPU memory, got NoneType", xs)
refused("input 0: expected shape", ws, out=y)
refused("expected f32 elements, got f8", GPUArray(x.astype(np.float64)), out=y)
print("GPU memory agrees")
"""


def gpusim(program, devices):
    return subprocess.run([GPUSIM, "--quiet", f"--devices={devices}", sys.executable, "-c", program, HERE],
                          capture_output=True, text=True)  # fmt: skip


def test_whole_arrays_on_two_gpus():
    done = gpusim(WHOLE, 2)
    assert done.returncode == 0 and "whole arrays agree" in done.stdout, done.stderr


def test_gpu_memory_in_place():
    done = gpusim(DEVICE, 1)
    assert done.returncode == 0 and "GPU memory agrees" in done.stdout, done.stderr
