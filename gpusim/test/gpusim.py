# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The simulated driver from Python, for tests: ctypes and NumPy only.

GPUSIM_LIBRARY_DIR names the folder of libcuda.so.1. Reports go to standard
error; `faults` runs a function in a process of its own and returns them."""
import ctypes
import os
import sys
import tempfile
import traceback

import numpy as np

KEEP_PTX = os.environ.get("GPUSIM_KEEP_PTX")
LIBRARY_DIR = os.environ["GPUSIM_LIBRARY_DIR"]
HERE = os.path.dirname(os.path.abspath(__file__))
# Compilers run without the runtime of a sanitizer.
PLAIN_ENV = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
cu = None


class CudaError(Exception):
    def __init__(self, call, code):
        super().__init__(f"{call}: error {code}")
        self.code = code


def call(name, *args):
    code = getattr(cu, name)(*args)
    if code:
        raise CudaError(name, code)


def start(device=0):
    """Loads the driver and makes the primary context current."""
    global cu
    if cu is None:
        cu = ctypes.CDLL(os.path.join(LIBRARY_DIR, "libcuda.so.1"))
    call("cuInit", 0)
    context = ctypes.c_void_p()
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    call("cuCtxSetCurrent", context)
    return context


def size(n):
    return ctypes.c_size_t(int(n))


def alloc(nbytes):
    p = ctypes.c_uint64()
    call("cuMemAlloc_v2", ctypes.byref(p), size(nbytes))
    return p


def to_device(array):
    array = np.ascontiguousarray(array)
    p = alloc(max(array.nbytes, 1))
    call("cuMemcpyHtoD_v2", p, array.ctypes.data_as(ctypes.c_void_p), size(array.nbytes))
    return p


def to_host(p, like):
    out = np.empty_like(like)
    call("cuMemcpyDtoH_v2", out.ctypes.data_as(ctypes.c_void_p), p, size(out.nbytes))
    return out


class Module:
    def __init__(self, ptx):
        if isinstance(ptx, str):
            ptx = ptx.encode()
        if KEEP_PTX:  # for handlers.py
            with tempfile.NamedTemporaryFile(dir=KEEP_PTX, suffix=".ptx", delete=False) as f:
                f.write(ptx)
        self.handle = ctypes.c_void_p()
        call("cuModuleLoadData", ctypes.byref(self.handle), ptx)

    def function(self, name):
        f = ctypes.c_void_p()
        call("cuModuleGetFunction", ctypes.byref(f), self.handle, name.encode())
        return f


def launch(f, grid, block, args, shared=0, stream=None):
    grid = tuple(grid) + (1,) * (3 - len(grid))
    block = tuple(block) + (1,) * (3 - len(block))
    boxes = [ctypes.c_int(a) if isinstance(a, int) else a for a in args]
    pointers = (ctypes.c_void_p * max(len(boxes), 1))(
        *[ctypes.cast(ctypes.pointer(b), ctypes.c_void_p) for b in boxes])
    call("cuLaunchKernel", f, *grid, *block, shared, stream, pointers, None)


def sync():
    call("cuCtxSynchronize")


def ptx_module(body, name="k", params=1, target="sm_90", extra="", regs=""):
    """A kernel with `params` 64-bit parameters loaded into %in0, %in1, ..."""
    head = ",".join(f".param .u64 p{i}" for i in range(params))
    loads = "".join(f"ld.param.u64 %in{i}, [p{i}];\n" for i in range(params))
    return f""".version 8.0
.target {target}
.address_size 64
{extra}
.visible .entry {name}({head}) {{
.reg .pred %p<32>;
.reg .b16 %h<64>;
.reg .b32 %r<128>;
.reg .f32 %f<64>;
.reg .b64 %rd<64>;
.reg .f64 %fd<32>;
.reg .b64 %in<8>;
{regs}
{loads}
{body}
ret;
}}
"""


def faults(function, env=None):
    """Runs `function` in a child; returns (exit status, its standard error).
    The caller must not have started the driver: threads do not survive fork."""
    assert cu is None
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        os.dup2(write, 2)
        for key, value in (env or {}).items():
            os.environ[key] = str(value)
        code = 0
        try:
            function()
        except CudaError as e:
            code = 3
            print("CudaError", e.code, file=sys.stderr)
        except BaseException:
            traceback.print_exc()
            code = 1
        sys.stderr.flush()
        os._exit(code)
    os.close(write)
    with os.fdopen(read) as stream:
        text = stream.read()
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status), text


class Suite:
    """Counts checks; the last line says how many passed."""

    def __init__(self):
        self.passed, self.failed = 0, 0

    def check(self, name, good, note=""):
        if good:
            self.passed += 1
        else:
            self.failed += 1
            print(f"FAIL {name} {note}", flush=True)

    def close(self, name, got, want, rtol=0.0, atol=0.0):
        got, want = np.asarray(got), np.asarray(want)
        same = got.shape == want.shape and np.allclose(
            got, want, rtol=rtol, atol=atol, equal_nan=True)
        if rtol == 0 and atol == 0:
            same = same and got.tobytes() == want.astype(got.dtype).tobytes()
        worst = ""
        if not same and got.shape == want.shape:
            bad = np.flatnonzero(~np.isclose(got, want, rtol=rtol, atol=atol, equal_nan=True))
            i = bad[0] if len(bad) else 0
            worst = f"{len(bad)} differ, first at {i}: got {got.flat[i]!r} want {want.flat[i]!r}"
        self.check(name, same, worst)

    def finish(self):
        print(f"{self.passed} passed, {self.failed} failed", flush=True)
        sys.exit(1 if self.failed else 0)
