# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The rest of the driver's interface: what driver.py does not need for its
own subjects. The last check is that no entry point is without a test."""
import ctypes
import glob
import os
import re

import numpy as np

import gpusim
from gpusim import HERE, Module, Suite, alloc, call, faults, launch, ptx_module, size, start, sync, to_device, to_host

suite = Suite()
byref, c_int, c_uint, c_void, c_u64, c_size = (ctypes.byref, ctypes.c_int, ctypes.c_uint, ctypes.c_void_p,
                                              ctypes.c_uint64, ctypes.c_size_t)
SET = "mov.u32 %r0, %tid.x; mul.wide.u32 %rd9, %r0, 4; add.s64 %rd1, %in0, %rd9; st.global.u32 [%rd1], %r0;"


def code_of(name, *args):
    return getattr(gpusim.cu, name)(*args)


def get(name, type_, *args):
    """The value that a call stores through its first argument."""
    v = type_()
    call(name, byref(v), *args)
    return v.value


def handle(name, *args):
    return c_void(get(name, c_void, *args))


def ok(name, function, env=None, words=()):
    status, text = faults(function, env)
    suite.check(name, status == 0 and (all(w in text for w in words) if words else not text), f"{status} {text}")


def devices():
    context = start()
    text = ctypes.create_string_buffer(64)
    call("cuDeviceGetName", text, 64, 1)
    assert text.value == b"gpusim sm_80"
    call("cuDeviceGetPCIBusId", text, 64, 1)
    assert text.value == b"0000:02:00.0"
    uuids = [ctypes.create_string_buffer(16) for _ in range(2)]
    for d in range(2):
        call("cuDeviceGetUuid_v2", uuids[d], d)
    assert uuids[0].raw != uuids[1].raw
    major, minor = c_int(), c_int()
    call("cuDeviceComputeCapability", byref(major), byref(minor), 0)
    assert (major.value, minor.value) == (8, 0)
    assert [get("cuDeviceGetAttribute", c_int, a, 0) for a in (75, 76, 10, 1, 97)] == [8, 0, 32, 1024, 163 << 10]
    assert code_of("cuDeviceGetAttribute", byref(c_int()), 75, 2) == 101  # no such device
    assert get("cuDeviceTotalMem_v2", c_size, 0) == 2 << 30
    assert get("cuDriverGetVersion", c_int) >= 12000
    assert get("cuDeviceCanAccessPeer", c_int, 0, 1) == 1 and get("cuDeviceCanAccessPeer", c_int, 1, 1) == 0
    message = ctypes.c_char_p()
    call("cuGetErrorString", 2, byref(message))
    assert b"memory" in message.value
    flags, active = c_uint(), c_int()
    call("cuDevicePrimaryCtxGetState", 0, byref(flags), byref(active))
    assert active.value == 1
    call("cuDevicePrimaryCtxGetState", 1, byref(flags), byref(active))
    assert active.value == 0
    call("cuDevicePrimaryCtxSetFlags_v2", 1, 4)
    version = c_uint()
    call("cuCtxGetApiVersion", context, byref(version))
    assert version.value >= 3020
    call("cuCtxSetLimit", 0, size(2048))
    assert get("cuCtxGetLimit", c_size, 0) > 0
    assert code_of("cuGetProcAddress", b"cuMemAlloc", byref(c_void()), 12000, c_u64(0)) == 0
    assert code_of("cuGetProcAddress_v2", b"cuNothing", byref(c_void()), 12000, c_u64(0), None) == 500


ok("devices", devices, {"GPUSIM_DEVICES": 2, "GPUSIM_ARCH": 80})


def contexts():
    first = start()
    own = handle("cuCtxCreate_v2", 8, 1)
    assert get("cuCtxGetCurrent", c_void) == own.value
    assert get("cuCtxGetDevice", c_int) == 1 and get("cuCtxGetFlags", c_uint) == 8
    call("cuCtxPushCurrent_v2", first)
    assert get("cuCtxGetDevice", c_int) == 0
    assert get("cuCtxPopCurrent_v2", c_void) == first.value
    assert get("cuCtxGetCurrent", c_void) == own.value
    call("cuCtxEnablePeerAccess", first, 0)
    assert code_of("cuCtxEnablePeerAccess", first, 0) == 704  # enabled already
    call("cuCtxDisablePeerAccess", first)
    call("cuCtxDestroy_v2", own)
    assert get("cuCtxGetCurrent", c_void) == first.value
    assert code_of("cuCtxSetCurrent", own) == 201
    assert code_of("cuCtxDestroy_v2", first) == 201  # the primary one is released instead
    other = handle("cuCtxCreate_v4", None, 0, 0)
    call("cuCtxDestroy_v2", other)
    # A sticky error goes away with a reset of the device.
    launch(Module(ptx_module("ld.global.u32 %r1, [%in0];")).function("k"), (1,), (1,), [c_u64(64)])
    assert code_of("cuCtxSynchronize") == 700
    call("cuDevicePrimaryCtxReset_v2", 0)
    call("cuCtxSynchronize")
    call("cuDevicePrimaryCtxRelease_v2", 0)


ok("contexts", contexts, {"GPUSIM_DEVICES": 2}, ["null pointer"])


def streams():
    context = start()
    least, greatest = c_int(), c_int()
    call("cuCtxGetStreamPriorityRange", byref(least), byref(greatest))
    assert greatest.value < least.value
    s = handle("cuStreamCreateWithPriority", 1, greatest)
    for name, type_, want in (("Flags", c_uint, 1), ("Priority", c_int, greatest.value), ("Ctx", c_void, context.value)):
        v = type_()
        call("cuStreamGet" + name, s, byref(v))  # cuStreamGetFlags, cuStreamGetPriority, cuStreamGetCtx
        assert v.value == want, name
    ids = set()
    for t in (s, handle("cuStreamCreate", 0)):
        v = c_u64()
        call("cuStreamGetId", t, byref(v))
        ids.add(v.value)
    assert len(ids) == 2
    f, a, seen = Module(ptx_module(SET)).function("k"), alloc(128), []
    assert code_of("cuStreamQuery", s) == 0
    first, last = handle("cuEventCreate", 0), handle("cuEventCreate", 0)
    call("cuEventRecordWithFlags", first, s, 0)
    launch(f, (1,), (32,), [a], stream=s)
    callback = ctypes.CFUNCTYPE(None, c_void, c_int, c_void)(lambda stream, code, data: seen.append((stream, code, data)))
    host = ctypes.CFUNCTYPE(None, c_void)(lambda data: seen.append(data))
    call("cuStreamAddCallback", s, callback, c_void(5), 0)
    call("cuLaunchHostFunc", s, host, c_void(6))
    call("cuEventRecord", last, s)
    while code_of("cuStreamQuery", s) == 600:
        pass
    assert seen == [(s.value, 0, 5), 6], seen
    ms = ctypes.c_float()
    for name in ("cuEventElapsedTime", "cuEventElapsedTime_v2"):
        call(name, byref(ms), first, last)
        assert ms.value >= 0
    untimed = handle("cuEventCreate", 2)
    assert code_of("cuEventElapsedTime", byref(ms), first, untimed) == 400
    call("cuEventDestroy_v2", first)
    assert code_of("cuEventDestroy_v2", first) == 400
    call("cuStreamDestroy_v2", s)
    assert code_of("cuStreamSynchronize", s) == 400
    call("cuProfilerStart")
    call("cuProfilerStop")


ok("streams and events", streams)


def functions():
    start()
    ptx = ptx_module(SET + "mov.u32 %r5, buf;", target="sm_80", extra=".global .align 4 .u32 word = 77;\n.shared .align 4 .b8 buf[1000];").encode()
    module = handle("cuModuleLoadDataEx", ptx, 0, None, None)
    assert get("cuModuleGetFunctionCount", c_uint, module) == 1
    f = handle("cuModuleGetFunction", module, b"k")
    assert get("cuFuncGetModule", c_void, f) == module.value
    assert get("cuFuncGetName", ctypes.c_char_p, f) == b"k"
    call("cuFuncSetCacheConfig", f, 1)
    library = handle("cuLibraryLoadData", ptx, None, None, 0, None, None, 0)
    kernel = handle("cuLibraryGetKernel", library, b"k")
    g = handle("cuKernelGetFunction", kernel)
    inside = handle("cuLibraryGetModule", library)
    assert handle("cuModuleGetFunction", inside, b"k").value == g.value
    p, n = c_u64(), c_size()
    call("cuLibraryGetGlobal", byref(p), byref(n), library, b"word")
    assert n.value == 4 and to_host(p, np.zeros(1, "u4"))[0] == 77

    class Config(ctypes.Structure):
        _fields_ = [(n, c_uint) for n in "gx gy gz bx by bz shared".split()] + [("stream", c_void), ("attrs", c_void), ("numAttrs", c_uint)]
    a = alloc(128)
    pointers = (c_void * 1)(ctypes.cast(byref(a), c_void))
    call("cuLaunchKernelEx", byref(Config(1, 1, 1, 32, 1, 1, 0, None, None, 0)), g, pointers, None)
    sync()
    assert (to_host(a, np.zeros(32, "u4")) == np.arange(32)).all()
    # A packed buffer of parameters instead of pointers to each.
    b, block = alloc(128), (c_u64 * 1)()
    block[0] = b.value
    length = c_size(8)
    extra = (c_void * 5)(1, ctypes.cast(block, c_void), 2, ctypes.cast(byref(length), c_void), 0)
    call("cuLaunchKernel", f, 1, 1, 1, 32, 1, 1, 0, None, None, extra)
    sync()
    assert (to_host(b, np.zeros(32, "u4")) == np.arange(32)).all()
    assert code_of("cuLaunchCooperativeKernel", f, 1, 1, 1, 32, 1, 1, 0, None, pointers) == 801
    # Occupancy by the limits of sm_80: 64 warps, 32 blocks, 164 KB less 1 KB a block.
    blocks = lambda threads, shared: get("cuOccupancyMaxActiveBlocksPerMultiprocessor", c_int, f, threads, size(shared))
    assert blocks(32, 0) == 32 and blocks(1024, 0) == 2 and blocks(64, 40000) == (164 << 10) // ((41000 + 1024 + 127) // 128 * 128)
    grid, best = c_int(), c_int()
    call("cuOccupancyMaxPotentialBlockSize", byref(grid), byref(best), f, None, size(0), 0)
    assert grid.value * best.value == 108 * 2048
    call("cuModuleUnload", module)
    assert code_of("cuModuleGetFunction", byref(c_void()), module, b"k") == 400
    call("cuLibraryUnload", library)
    m = handle("cuModuleLoadFatBinary", ptx)
    call("cuModuleUnload", m)


ok("functions and libraries", functions, {"GPUSIM_ARCH": 80})


def host_memory():
    start()
    p = handle("cuMemAllocHost_v2", size(4096))
    words = np.ctypeslib.as_array((ctypes.c_uint32 * 1024).from_address(p.value))
    assert get("cuMemHostGetDevicePointer_v2", c_u64, p, 0) == p.value
    assert get("cuMemHostGetFlags", c_uint, p) == 0
    f = Module(ptx_module(SET)).function("k")
    launch(f, (1,), (64,), [c_u64(p.value)])
    sync()
    assert (words[:64] == np.arange(64)).all()
    del words
    call("cuMemFreeHost", p)
    own = np.zeros(1024, "u4")
    where = own.ctypes.data_as(c_void)
    call("cuMemHostRegister_v2", where, size(own.nbytes), 0)
    assert code_of("cuMemHostRegister_v2", where, size(own.nbytes), 0) == 712
    launch(f, (1,), (64,), [c_u64(own.ctypes.data)])
    sync()
    assert (own[:64] == np.arange(64)).all()
    call("cuMemHostUnregister", where)
    assert code_of("cuMemHostUnregister", where) == 713
    managed = c_u64(get("cuMemAllocManaged", c_u64, size(256), 1))
    launch(f, (1,), (64,), [managed])
    sync()
    assert list((ctypes.c_uint32 * 64).from_address(managed.value)) == list(range(64))
    call("cuMemFree_v2", managed)
    a = alloc(1000)
    base, n = c_u64(), c_size()
    call("cuMemGetAddressRange_v2", byref(base), byref(n), c_u64(a.value + 500))
    assert (base.value, n.value) == (a.value, 1000)
    kind, device = c_uint(), c_int()
    attributes, data = (c_int * 2)(2, 9), (c_void * 2)(ctypes.cast(byref(kind), c_void), ctypes.cast(byref(device), c_void))
    call("cuPointerGetAttributes", 2, attributes, data, a)
    assert (kind.value, device.value) == (2, 0)


ok("host memory", host_memory)


def fills_and_copies():
    context = start()
    s = handle("cuStreamCreate", 1)
    a = alloc(64 * 16)
    want = np.zeros((16, 64), "u1")

    def same():
        call("cuStreamSynchronize", s)
        assert (to_host(a, want) == want).all()
    call("cuMemsetD8_v2", a, 0, size(1024))
    call("cuMemsetD16_v2", c_u64(a.value + 2), 0x1234, size(5))
    want.reshape(-1)[2:12] = [0x34, 0x12] * 5
    same()
    call("cuMemsetD16Async", c_u64(a.value + 64), 0x4321, size(3), s)
    want.reshape(-1)[64:70] = [0x21, 0x43] * 3
    same()
    for name, stream, row in (("cuMemsetD2D8_v2", (), 4), ("cuMemsetD2D8Async", (s,), 7)):
        call(name, c_u64(a.value + 64 * row + 3), size(64), row, size(9), size(2), *stream)
        want[row:row + 2, 3:12] = row
        same()
    for name, stream, row in (("cuMemsetD2D32_v2", (), 10), ("cuMemsetD2D32Async", (s,), 13)):
        call(name, c_u64(a.value + 64 * row + 4), size(64), 0x01020304 + row, size(3), size(2), *stream)
        want[row:row + 2, 4:16] = [4 + row, 3, 2, 1] * 3
        same()
    assert code_of("cuMemsetD32_v2", c_u64(a.value + 2), 0, size(1)) == 1  # not aligned
    b = alloc(1024)
    for name, args in (("cuMemcpyPeer", (context, a, context, size(1024))), ("cuMemcpyPeerAsync", (context, a, context, size(1024), s)),
                       ("cuMemcpyAsync", (a, size(1024), s)), ("cuMemcpy", (a, size(1024))), ("cuMemcpyDtoD_v2", (a, size(1024)))):
        call("cuMemsetD8_v2", b, 9, size(1024))
        call(name, b, *args)
        call("cuStreamSynchronize", s)
        assert (to_host(b, want) == want).all(), name
    # What an asynchronous copy of pageable memory reads is taken at the call.
    x = np.arange(1024, dtype="u1")
    call("cuMemcpyHtoDAsync_v2", b, x.ctypes.data_as(c_void), size(1024), s)
    x[:] = 0
    call("cuStreamSynchronize", s)
    assert (to_host(b, x) == np.arange(1024).astype("u1")).all()

    class Copy2D(ctypes.Structure):
        _fields_ = [(n, c_size if "M" not in n else c_int) for n in
                    "srcX srcY srcM srcHost srcDevice srcArray srcPitch dstX dstY dstM dstHost dstDevice dstArray dstPitch width height".split()]
    p = Copy2D(srcM=2, srcDevice=b.value, srcPitch=64, srcX=5, srcY=3, dstM=2, dstDevice=a.value, dstPitch=64, dstX=1, dstY=2, width=7, height=4)
    call("cuMemcpy2DUnaligned_v2", byref(p))
    want[2:6, 1:8] = np.arange(1024).astype("u1").reshape(16, 64)[3:7, 5:12]
    same()


ok("fills and copies", fills_and_copies)


def pools():
    start()

    class Props(ctypes.Structure):
        _fields_ = [("kind", c_int), ("handles", c_int), ("locationType", c_int), ("location", c_int), ("security", c_void),
                    ("maxSize", c_size), ("reserved", ctypes.c_ubyte * 56)]
    s, props = handle("cuStreamCreate", 1), Props(kind=1, locationType=1, maxSize=4096)
    pool = handle("cuMemPoolCreate", byref(props))
    call("cuMemPoolSetAccess", pool, None, size(0))
    threshold = c_u64(1 << 20)
    call("cuMemPoolSetAttribute", pool, 4, byref(threshold))
    value = c_u64()
    call("cuMemPoolGetAttribute", pool, 4, byref(value))
    assert value.value == 1 << 20
    p, q = c_u64(), c_u64()
    call("cuMemAllocFromPoolAsync", byref(p), size(3000), pool, s)
    assert code_of("cuMemAllocFromPoolAsync", byref(q), size(3000), pool, s) == 2  # beyond the pool's size
    call("cuMemFreeAsync", p, s)
    call("cuMemAllocFromPoolAsync", byref(q), size(3000), pool, s)  # waits for the room
    call("cuMemFreeAsync", q, s)
    default = handle("cuDeviceGetMemPool", 0)
    call("cuDeviceSetMemPool", 0, pool)
    assert handle("cuDeviceGetMemPool", 0).value == pool.value
    call("cuMemAllocAsync", byref(p), size(2000), s)
    call("cuMemPoolGetAttribute", pool, 7, byref(value))
    call("cuMemFreeAsync", p, s)
    sync()
    assert value.value == 2000
    call("cuMemPoolTrimTo", pool, size(0))
    call("cuDeviceSetMemPool", 0, default)
    call("cuMemPoolDestroy", pool)


ok("pools", pools)


def capture():
    """Streams that join by events, a host function and copies inside a graph."""
    start()
    s, t = handle("cuStreamCreate", 1), handle("cuStreamCreate", 1)
    fork, join = handle("cuEventCreate", 2), handle("cuEventCreate", 2)
    seen, status, mode = [], c_int(), c_int(1)
    host = ctypes.CFUNCTYPE(None, c_void)(lambda data: seen.append(data))
    a, b = alloc(128), alloc(128)
    pinned = handle("cuMemAllocHost_v2", size(128))
    words = np.ctypeslib.as_array((ctypes.c_uint32 * 32).from_address(pinned.value))
    call("cuThreadExchangeStreamCaptureMode", byref(mode))
    call("cuStreamBeginCapture_v2", s, 1)
    call("cuStreamIsCapturing", s, byref(status))
    assert status.value == 1
    call("cuMemsetD32Async", a, 7, size(32), s)
    call("cuEventRecord", fork, s)
    call("cuStreamWaitEvent", t, fork, 0)
    call("cuStreamIsCapturing", t, byref(status))
    assert status.value == 1
    call("cuMemcpyDtoDAsync_v2", b, a, size(128), t)
    call("cuEventRecord", join, t)
    call("cuStreamWaitEvent", s, join, 0)
    call("cuMemcpyDtoHAsync_v2", pinned, b, size(128), s)
    call("cuLaunchHostFunc", s, host, c_void(3))
    assert code_of("cuStreamSynchronize", s) == 900  # not while capturing
    graph = c_void()
    call("cuStreamEndCapture", s, byref(graph))
    count = c_size()
    call("cuGraphGetNodes", graph, None, byref(count))
    assert count.value == 4 and not seen
    run = handle("cuGraphInstantiateWithFlags", graph, c_u64(0))
    call("cuGraphDestroy", graph)
    call("cuGraphUpload", run, s)
    for n in range(3):
        words[:] = 0
        call("cuGraphLaunch", run, s)
        call("cuStreamSynchronize", s)
        assert (words == 7).all() and seen == [3] * (n + 1)
    call("cuGraphExecDestroy", run)
    empty = handle("cuGraphCreate", 0)
    run = handle("cuGraphInstantiateWithFlags", empty, c_u64(0))
    call("cuGraphLaunch", run, s)
    call("cuStreamSynchronize", s)
    call("cuGraphExecDestroy", run)
    call("cuGraphDestroy", empty)
    del words
    call("cuMemFreeHost", pinned)


ok("capture with two streams", capture)

# Every entry point ------------------------------------------------------------
tests = "".join(open(f).read() for f in sorted(glob.glob(os.path.join(HERE, "*.py"))) + [os.path.join(HERE, "ring.c")])
include = os.path.join(HERE, "..", "include", "gpusim")
for kind in ("CUDA", "NCCL"):
    with open(os.path.join(include, kind + "EntryPoints.def")) as f:
        for name in re.findall(r"^GPUSIM_\w+\((\w+),", f.read(), re.M):
            suite.check(f"no test calls {name}", re.search(rf"\b{name.replace('_v2', '')}(_v2)?\b", tests))
suite.finish()
