# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Streams, events, graphs, pools, modules, capacity, order between streams."""
import ctypes
import os
import struct

import numpy as np

import gpusim
from gpusim import CudaError, Module, Suite, alloc, call, faults, launch, ptx_module, size, start, sync, to_device, to_host

suite = Suite()
N = 4096
ADD = ptx_module("""mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mad.lo.u32 %r0, %r1, 128, %r0;
mul.wide.u32 %rd9, %r0, 4; add.s64 %rd1, %in0, %rd9; add.s64 %rd2, %in1, %rd9;
ld.global.u32 %r1, [%rd1]; ld.global.u32 %r2, [%rd2]; mad.lo.u32 %r1, %r1, 2, %r2; st.global.u32 [%rd1], %r1;""", params=2)


def handle(create, *args):
    h = ctypes.c_void_p()
    call(create, ctypes.byref(h), *args)
    return h


def stream():
    return handle("cuStreamCreate", 1)


def event():
    return handle("cuEventCreate", 0)


def code_of(name, *args):
    return getattr(gpusim.cu, name)(*args)


def step(f, a, b, s=None):
    launch(f, (N // 128,), (128,), [a, b], stream=s)


def two(edge, copies=False):
    """Stream 1 changes a buffer, stream 2 reads it; `edge` is the wait between."""
    def go():
        start()
        f = Module(ADD).function("k")
        s1, s2, e = stream(), stream(), event()
        a, b, c = (to_device(np.ones(N, np.uint32)) for _ in range(3))
        step(f, a, b, s1)
        call("cuEventRecord", e, s1)
        if edge == "event":
            call("cuStreamWaitEvent", s2, e, 0)
        elif edge == "host":
            call("cuStreamSynchronize", s1)
        elif edge == "hostevent":
            call("cuEventSynchronize", e)
        elif edge == "context":
            sync()
        elif edge == "query":
            while code_of("cuEventQuery", e) == 600:
                pass
        if copies:
            call("cuMemcpyDtoDAsync_v2", c, a, size(4 * N), s2)
        else:
            step(f, c, a, s2)
        sync()
        assert edge == "none" or (to_host(c, np.zeros(N, np.uint32)) == (3 if copies else 5)).all()
    return go


for edge in ("event", "host", "hostevent", "context", "query"):
    for copies in (False, True):
        status, text = faults(two(edge, copies))
        suite.check(f"ordered by {edge} {copies}", status == 0 and not text, text)
for seed in range(1, 21):
    for copies in (False, True):
        status, text = faults(two("none", copies), {"GPUSIM_SEED": seed})
        other = "cuMemcpyDtoDAsync" if copies else "kernel 'k'"
        suite.check(f"unordered, seed {seed} {copies}", status == 0 and "unordered access: " in text and other in text and
                    "bytes [0, 16384)" in text and "of allocation #" in text, text)


# The report names the threads at both ends. `index` computes the number %r4 of
# the int that thread %r3 of the grid writes; thread (0,5,0) reads int 100.
WRITER = """mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mad.lo.u32 %r3, %r1, 64, %r0;
{index}
mul.wide.u32 %rd9, %r4, 4; add.s64 %rd1, %in0, %rd9;
st.global.u32 [%rd1], %r3;"""
READER = "mov.u32 %r0, %tid.y; setp.ne.u32 %p1, %r0, 5; @%p1 ret; ld.global.u32 %r1, [%in0+400];"


def line_of(text, opcode):
    return [n + 1 for n, l in enumerate(text.splitlines()) if l.startswith(opcode)][0]


def named_threads(writer, reader):
    def go():
        start()
        a = to_device(np.zeros(256, np.uint32))
        launch(Module(writer).function("writer"), (4,), (64,), [a], stream=stream())
        launch(Module(reader).function("reader"), (1,), (2, 8), [a], stream=stream())
        sync()
    return go


for name, index, place in [
        ("an int a thread", "mov.u32 %r4, %r3;", "block (1,0,0), thread (36,0,0)"),
        ("one thread", "mov.u32 %r4, %r3; setp.ne.u32 %p1, %r3, 100; @%p1 ret;", "block (1,0,0), thread (36,0,0)"),
        ("an int for two threads", "shr.u32 %r4, %r3, 1;", "block (3,0,0), thread (8,0,0)"),
        # Here the note is of the first access to ints 96 to 111 only, that of the thread with the lowest lane.
        ("backwards", "sub.u32 %r4, 255, %r3;", "(its first access to these 64 bytes was")]:
    writer, reader = (ptx_module(b, name=n) for b, n in ((WRITER.format(index=index), "writer"), (READER, "reader")))
    for seed in (1, 2, 3):
        status, text = faults(named_threads(writer, reader), {"GPUSIM_SEED": seed})
        suite.check(f"unordered access names threads: {name}, seed {seed}", status == 0 and place in text and
                    f"at PTX line {line_of(writer, 'st.global')} (st.global.u32), block (" in text and
                    f"at PTX line {line_of(reader, 'mov.u32 %r0, %tid.y')} (ld.global.u32), block (0,0,0), thread (0,5,0)" in text and
                    "kernel 'writer'" in text and "kernel 'reader'" in text and
                    "in bytes [400, 404) of allocation #" in text, text)


def neighbours():
    """Two streams that write alternate bytes of the same sectors: no conflict."""
    start()
    one = ptx_module("mov.u32 %r0, %tid.x; mul.wide.u32 %rd9, %r0, 2; add.s64 %rd1, %in0, %rd9; cvt.u16.u32 %h1, %r0; st.global.u8 [%rd1], %h1;")
    f, a = Module(one).function("k"), alloc(256)
    for k in (0, 1):
        launch(f, (1,), (128,), [ctypes.c_uint64(a.value + k)], stream=stream())
    sync()


status, text = faults(neighbours)
suite.check("neighbouring bytes do not conflict", status == 0 and not text, text)


def legacy():
    """Blocking streams and the legacy stream wait for each other."""
    start()
    f, s = Module(ADD).function("k"), handle("cuStreamCreate", 0)
    a, b = to_device(np.ones(N, np.uint32)), to_device(np.ones(N, np.uint32))
    step(f, a, b, s)
    step(f, b, a)
    step(f, a, b, s)
    sync()
    assert (to_host(a, np.zeros(N, np.uint32)) == 11).all()


status, text = faults(legacy)
suite.check("legacy stream", status == 0 and not text, text)


def pools(good):
    def go():
        start()
        f, s1, s2 = Module(ADD).function("k"), stream(), stream()
        b, p = to_device(np.ones(N, np.uint32)), ctypes.c_uint64()
        call("cuMemAllocAsync", ctypes.byref(p), size(4 * N), s1)
        call("cuMemsetD32Async", p, 7, size(N), s1)
        step(f, p, b, s1)
        call("cuMemFreeAsync", p, s1 if good else s2)
        sync()
        q = ctypes.c_uint64()
        call("cuMemAllocAsync", ctypes.byref(q), size(4 * N), s1)
        call("cuStreamSynchronize", s1)
        call("cuMemFreeAsync", q, s1)
        sync()
        pool, used = ctypes.c_void_p(), ctypes.c_uint64()
        call("cuDeviceGetDefaultMemPool", ctypes.byref(pool), 0)
        call("cuMemPoolGetAttribute", pool, 7, ctypes.byref(used))
        assert used.value == 0
    return go


status, text = faults(pools(True))
suite.check("memory pool", status == 0 and not text, text)
status, text = faults(pools(False))
suite.check("free unordered with its use", "cuMemFreeAsync" in text and ("unordered access" in text or "freed" in text), text)


def capacity():
    start()
    f = Module(ADD).function("k")
    p = alloc(600 << 10)
    q = ctypes.c_uint64()
    assert code_of("cuMemAlloc_v2", ctypes.byref(q), size(600 << 10)) == 2
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
    assert (free.value, total.value) == (424 << 10, 1 << 20)
    call("cuMemFree_v2", p)
    alloc(600 << 10)


status, text = faults(capacity, {"GPUSIM_MEMORY": "1M"})
suite.check("out of memory", status == 0 and not text, text)


def graphs(fork):
    def go():
        start()
        f, s, s2, e1, e2 = Module(ADD).function("k"), stream(), stream(), event(), event()
        a, b, c = (to_device(np.ones(N, np.uint32)) for _ in range(3))
        call("cuStreamBeginCapture_v2", s, 0)
        step(f, a, b, s)                      # a = 2a + b
        call("cuEventRecord", e1, s)
        call("cuStreamWaitEvent", s2, e1, 0)
        step(f, c, a, s2)                     # c = 2c + a
        if fork == "unjoined":
            g = ctypes.c_void_p()
            assert code_of("cuStreamEndCapture", s, ctypes.byref(g)) == 904
            return
        if fork == "race":
            step(f, b, c, s)
        call("cuEventRecord", e2, s2)
        call("cuStreamWaitEvent", s, e2, 0)
        step(f, b, c, s)                      # b = 2b + c
        g, x = ctypes.c_void_p(), ctypes.c_void_p()
        call("cuStreamEndCapture", s, ctypes.byref(g))
        assert (to_host(a, np.zeros(N, np.uint32)) == 1).all()  # nothing ran yet
        call("cuGraphInstantiateWithFlags", ctypes.byref(x), g, ctypes.c_ulonglong(0))
        for _ in range(3):
            call("cuGraphLaunch", x, s)
        sync()
        wa = wb = wc = 1
        for _ in range(3):
            wa = 2 * wa + wb
            wc = 2 * wc + wa
            wb = 2 * wb + wc
        if fork == "good":
            got = [int(to_host(p, np.zeros(N, np.uint32))[N - 1]) for p in (a, b, c)]
            assert got == [wa, wb, wc], (got, wa, wb, wc)
        call("cuGraphExecDestroy", x)
        call("cuGraphDestroy", g)
    return go


for kind in ("good", "unjoined"):
    status, text = faults(graphs(kind))
    suite.check(f"graph {kind}", status == 0 and not text, text)
status, text = faults(graphs("race"))
suite.check("graph with a race inside", "unordered access" in text, text)


def fat(compress):
    """A fat binary by its layout: header, one entry of machine code, one of PTX."""
    text = ADD.replace("sm_90", "sm_80").encode() + b"\0"
    text += b"\0" * (-len(text) % 8)
    entry = lambda kind, data, packed: struct.pack("<HHIQIIHHIQQQQQQ", kind, 0x101, 80, len(data), packed, 64, 0, 8, 80, 0, 0x11, 0, 0, 0, 0) + data
    body = entry(2, b"\x7fELF" + b"\0" * 60, 0) + entry(1, text, len(text) if compress else 0)
    return struct.pack("<IHHQ", 0xba55ed50, 1, 16, len(body)) + body


def modules():
    start()
    Module(fat(False)).function("k")
    data = ctypes.create_string_buffer(fat(False))
    wrapper = struct.pack("<IIQQ", 0x466243b1, 1, ctypes.addressof(data), 0)
    Module(wrapper).function("k")
    for image, want in ((b"\x7fELF\2\1\1\0" + b"\0" * 64, 209), (fat(True), 209), (b"not PTX at all;\0", 218)):
        m = ctypes.c_void_p()
        assert code_of("cuModuleLoadData", ctypes.byref(m), image) == want, image[:8]
    m = Module(ptx_module("", extra=".global .align 8 .u64 table[2] = {5, 7};\n.const .align 4 .f32 pi = 0f40490FDB;"))
    p, n = ctypes.c_uint64(), ctypes.c_size_t()
    call("cuModuleGetGlobal_v2", ctypes.byref(p), ctypes.byref(n), m.handle, b"table")
    assert n.value == 16 and list(to_host(p, np.zeros(2, np.uint64))) == [5, 7]
    assert code_of("cuModuleGetFunction", ctypes.byref(ctypes.c_void_p()), m.handle, b"nothing") == 500
    f, v = m.function("k"), ctypes.c_int()
    call("cuFuncGetAttribute", ctypes.byref(v), 0, f)
    assert v.value == 1024
    q = alloc(8)
    assert code_of("cuLaunchKernel", f, 1, 1, 1, 2048, 1, 1, 0, None, None, None) == 1
    try:
        launch(f, (1,), (32,), [q], shared=60000)
        assert False
    except CudaError as e:
        assert e.code == 1
    call("cuFuncSetAttribute", f, 8, 60000)
    launch(f, (1,), (32,), [q], shared=60000)
    sync()


status, text = faults(modules)
suite.check("modules", status == 0 and text.count("gpusim:") == 1, text)


def copies():
    start()
    class Copy2D(ctypes.Structure):
        _fields_ = [(n, ctypes.c_size_t if "M" not in n else ctypes.c_int) for n in
                    "srcX srcY srcM srcHost srcDevice srcArray srcPitch dstX dstY dstM dstHost dstDevice dstArray dstPitch width height".split()]
    x = np.arange(20 * 30, dtype=np.uint8).reshape(20, 30)
    p, pitch = ctypes.c_uint64(), ctypes.c_size_t()
    call("cuMemAllocPitch_v2", ctypes.byref(p), ctypes.byref(pitch), size(30), size(20), 4)
    up = Copy2D(srcM=1, srcHost=x.ctypes.data, srcPitch=30, dstM=2, dstDevice=p.value, dstPitch=pitch.value, width=30, height=20)
    call("cuMemcpy2D_v2", ctypes.byref(up))
    y, s = np.zeros((7, 11), np.uint8), stream()
    down = Copy2D(srcM=2, srcDevice=p.value, srcPitch=pitch.value, srcX=5, srcY=3, dstM=1, dstHost=y.ctypes.data, dstPitch=11, width=11, height=7)
    call("cuMemcpy2DAsync_v2", ctypes.byref(down), s)
    call("cuStreamSynchronize", s)
    assert (y == x[3:10, 5:16]).all()
    host = ctypes.c_void_p()
    call("cuMemHostAlloc", ctypes.byref(host), size(64), 0)
    q = alloc(64)
    call("cuMemsetD8Async", q, 9, size(64), s)
    call("cuMemcpyDtoHAsync_v2", host, q, size(64), s)
    call("cuStreamSynchronize", s)
    assert ctypes.string_at(host, 64) == b"\x09" * 64
    seen = []
    fn = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: seen.append(1))
    call("cuLaunchHostFunc", s, fn, None)
    call("cuStreamSynchronize", s)
    assert seen == [1]
    call("cuMemFreeHost", host)


status, text = faults(copies)
suite.check("copies, pinned memory, host function", status == 0 and not text, text)


def devices():
    for d in (0, 1, 2):
        c = start(d)
        n = ctypes.c_int()
        call("cuDeviceGetCount", ctypes.byref(n))
        assert n.value == 3
        got = ctypes.c_int()
        call("cuCtxGetDevice", ctypes.byref(got))
        assert got.value == d
        p, v = alloc(16), ctypes.c_int()
        call("cuPointerGetAttribute", ctypes.byref(v), 9, p)
        assert v.value == d
    assert code_of("cuDeviceGet", ctypes.byref(ctypes.c_int()), 3) == 101


status, text = faults(devices, {"GPUSIM_DEVICES": 3})
suite.check("several devices", status == 0 and not text, text)


def cores():
    start()
    f = Module(ADD).function("k")
    a, b = to_device(np.arange(N, dtype=np.uint32)), to_device(np.ones(N, np.uint32))
    step(f, a, b)
    sync()
    assert (to_host(a, np.zeros(N, np.uint32)) == 2 * np.arange(N) + 1).all()


status, text = faults(cores, {"GPUSIM_CORES": 2})
suite.check("blocks on two cores", status == 0 and not text, text)


def host_pointer():
    start()
    ctypes.string_at(alloc(16).value, 4)


status, text = faults(host_pointer)
suite.check("host code that reads device memory dies", status == -11, f"{status} {text}")


def nothing_first():
    gpusim.cu = ctypes.CDLL(os.path.join(gpusim.LIBRARY_DIR, "libcuda.so.1"))
    assert code_of("cuCtxSynchronize") == 3
    call("cuInit", 0)
    assert code_of("cuCtxSynchronize") == 201
    text = ctypes.c_char_p()
    call("cuGetErrorName", 700, ctypes.byref(text))
    assert text.value == b"CUDA_ERROR_ILLEGAL_ADDRESS"
    fn, found = ctypes.c_void_p(), ctypes.c_int()
    call("cuGetProcAddress_v2", b"cuMemAlloc", ctypes.byref(fn), 12000, ctypes.c_ulonglong(0), ctypes.byref(found))
    assert fn.value == ctypes.cast(gpusim.cu.cuMemAlloc_v2, ctypes.c_void_p).value


status, text = faults(nothing_first)
suite.check("errors before initialisation, addresses", status == 0, text)
suite.finish()
