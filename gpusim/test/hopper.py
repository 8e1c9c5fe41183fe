# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""sm_90a: mbarrier, bulk copies with and without tensor maps, wgmma. Layouts
of shared memory are built here from the tables of the PTX ISA, by chunks of
rows, not by address bits as in the simulator."""
import ctypes
import itertools
import os

import numpy as np

import gpusim
from gpusim import HERE, Module, Suite, call, faults, launch, ptx_module, sync, to_device, to_host
from gpusim import start as start_driver

suite = Suite()
rng = np.random.default_rng(7)
byref = ctypes.byref
DYNAMIC = ".extern .shared .align 1024 .b8 buf[];\n.shared .align 8 .b64 bar[4];"
WAIT = "W{n}: mbarrier.try_wait.parity.shared::cta.b64 %p9, [bar+{at}], {parity};\n@!%p9 bra W{n};\n"


def kernel(body, params):
    return Module(ptx_module("mov.u32 %r0, %tid.x;\nmov.u32 %r1, buf;\nsetp.ne.u32 %p1, %r0, 0;\n" + body, params=params,
                             target="sm_90a", extra=DYNAMIC)).function("k")


def run(body, args, block=32, shared=0):
    f = kernel(body, len(args))
    if shared > 48 << 10:
        call("cuFuncSetAttribute", f, 8, shared)
    launch(f, (1,), (block,), args, shared)
    sync()


def start():
    start_driver()


def ok(name, function, seeds=(1, 2, 3)):
    for seed in seeds:
        status, text = faults(function, {"GPUSIM_SEED": seed})
        suite.check(f"{name}, seed {seed}", status == 0 and not text, text)


def bad(name, body, words, block=32, shared=0):
    def go():
        start()
        run(body, [to_device(np.zeros(4096, "u1"))], block, shared)
    for seed in (1, 2, 3):
        status, text = faults(go, {"GPUSIM_SEED": seed})
        suite.check(f"{name}, seed {seed}", status == 3 and all(w in text for w in words), text)


# mbarrier ---------------------------------------------------------------------
def handover():
    """Warp 0 writes, warps 1 to 3 read after it, and it overwrites after them: ten rounds, two barriers."""
    start()
    out = to_device(np.zeros((10, 96), "u4"))
    run("""@%p1 bra I;
mbarrier.init.shared::cta.b64 [bar], 32;
mbarrier.init.shared.b64 [bar+8], 96;
fence.mbarrier_init.release.cluster;
I: bar.sync 0;
mov.u32 %r5, 0; mov.u32 %r6, 0;
setp.ge.u32 %p2, %r0, 32;
L: @%p2 bra C;
xor.b32 %r7, %r6, 1;
""" + WAIT.format(n=1, at=8, parity="%r7") + """
mad.lo.u32 %r8, %r0, 4, %r1; mad.lo.u32 %r9, %r5, 100, %r0;
st.shared.u32 [%r8], %r9;
mbarrier.arrive.release.cta.shared::cta.b64 %rd5, [bar];
bra N;
C: """ + WAIT.format(n=2, at=0, parity="%r6") + """
and.b32 %r8, %r0, 31; mad.lo.u32 %r8, %r8, 4, %r1;
ld.shared.u32 %r9, [%r8];
mbarrier.arrive.shared::cta.b64 _, [bar+8];
mad.lo.u32 %r10, %r5, 96, %r0; sub.u32 %r10, %r10, 32;
mul.wide.u32 %rd1, %r10, 4; add.s64 %rd1, %in0, %rd1; st.global.u32 [%rd1], %r9;
N: add.u32 %r5, %r5, 1; and.b32 %r6, %r5, 1;
setp.lt.u32 %p3, %r5, 10;
@%p3 bra L;
bar.sync 0;
@%p1 bra E;
mbarrier.inval.shared::cta.b64 [bar];
E:""", [out], 128, 256)
    assert (to_host(out, np.zeros((10, 96), "u4")) == np.arange(10)[:, None] * 100 + np.tile(np.arange(32), 3)).all()


ok("handover", handover, range(1, 6))


def states():
    """A state tells whether its own phase is over; announced bytes hold a phase up."""
    start()
    out = to_device(np.zeros(8, "u4"))
    record = "mov.u32 %r9, 0; mbarrier.test_wait.shared::cta.b64 %p2, [bar], {state}; selp.u32 %r9, 1, 0, %p2; st.global.u32 [%in0+{at}], %r9;\n"
    run("""mbarrier.init.shared::cta.b64 [bar], 2;
mbarrier.arrive.shared::cta.b64 %rd1, [bar];
""" + record.format(state="%rd1", at=0) + """
mbarrier.arrive.expect_tx.shared::cta.b64 %rd2, [bar], 16;
""" + record.format(state="%rd1", at=4) + """
mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [bar], 8;
mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [bar], 16;
""" + record.format(state="%rd2", at=8) + """
mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [bar], 8;
""" + record.format(state="%rd2", at=12) + """
mbarrier.arrive.shared::cta.b64 %rd3, [bar], 2;
""" + record.format(state="%rd3", at=16) + """
mapa.shared::cluster.u32 %r20, %r1, 0; sub.u32 %r20, %r20, %r1;
mov.u64 %rd4, bar; cvta.shared.u64 %rd4, %rd4; mapa.u64 %rd5, %rd4, 0;
mbarrier.arrive.b64 %rd6, [%rd5];
cvt.u32.u64 %r21, %rd6; add.u32 %r20, %r20, %r21;
st.global.u32 [%in0+20], %r20;""", [out], 1)
    assert list(to_host(out, np.zeros(8, "u4"))[:6]) == [0, 0, 0, 1, 1, 2]


ok("states and bytes", states, (1,))
INIT = "@%p1 bra I;\nmbarrier.init.shared::cta.b64 [bar], {n};\nI: bar.sync 0;\n"
bad("arrivals beyond the count", INIT.format(n=20) + "@%p1 ret;\nmbarrier.arrive.shared::cta.b64 _, [bar], 21;", ["more arrivals in a phase than the 20"])
bad("no mbarrier", "st.shared.u64 [bar], 0;\nmbarrier.arrive.shared::cta.b64 _, [bar];", ["no mbarrier.init"])
bad("never complete", INIT.format(n=33) + "mbarrier.arrive.shared::cta.b64 _, [bar];\n" + WAIT.format(n=1, at=0, parity=0),
    ["deadlock", "lacks 1 arrivals and 0 bytes", "PTX line"])
bad("bytes never come", INIT.format(n=32) + "mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 16;\n" + WAIT.format(n=1, at=0, parity=0),
    ["deadlock", "lacks 0 arrivals and 512 bytes"])
bad("use before the barrier", "@%p1 bra I;\nmbarrier.init.shared::cta.b64 [bar], 64;\nI: mbarrier.arrive.shared::cta.b64 _, [bar];", ["mbarrier"], 64)
# The reader does not wait for the writer's mbarrier, but for one that is ready.
bad("a wait for the wrong phase", INIT.format(n=32) + """setp.ge.u32 %p2, %r0, 32;
mad.lo.u32 %r8, %r0, 4, %r1; sub.u32 %r9, %r8, 128;
@%p2 bra C;
st.shared.u32 [%r8], %r0;
mbarrier.arrive.shared::cta.b64 _, [bar];
bra E;
C: """ + WAIT.format(n=1, at=0, parity=1) + "ld.shared.u32 %r10, [%r9];\nE:", [], 64, 512)
bad("mapa beyond the cluster", "mapa.shared::cluster.u32 %r5, %r1, 1;", ["mapa to block 1"])

# Bulk copies in a row -----------------------------------------------------------
LOAD = """@%p1 bra S;
mbarrier.init.shared::cta.b64 [bar], 1;
fence.mbarrier_init.release.cluster;
mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], {bytes};
{copy}
S: bar.sync 0;
"""
BULK = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%in0], 512, [bar];"


def rows():
    start()
    x = rng.integers(0, 256, 512).astype("u1")
    out = to_device(np.zeros(512, "u1"))
    run("cp.async.bulk.prefetch.L2.global [%in0], 512;\n" + LOAD.format(bytes=512, copy=BULK) + WAIT.format(n=1, at=0, parity=0) + """@%p1 bra E;
fence.proxy.async.shared::cta;
cp.async.bulk.global.shared::cta.bulk_group [%in1], [%r1], 496;
cp.async.bulk.global.shared::cta.bulk_group [%in1+496], [%r1], 16;
cp.async.bulk.commit_group;
cp.async.bulk.wait_group.read 0;
cp.async.bulk.wait_group 0;
E:""", [to_device(x), out], 64, 512)
    assert (to_host(out, x) == np.concatenate([x[:496], x[:16]])).all()


ok("bulk copies", rows)
bad("bulk copy that nobody waits for", LOAD.format(bytes=512, copy=BULK) + "ld.shared.u32 %r5, [%r1];", ["has not been waited for"], 32, 512)
bad("bulk copy read by a warp that did not wait", LOAD.format(bytes=512, copy=BULK) + "setp.ge.u32 %p2, %r0, 32; @%p2 bra R;\n" +
    WAIT.format(n=1, at=0, parity=0) + "bra E;\nR: ld.shared.u32 %r5, [%r1];\nE:", [], 64, 512)
bad("bulk copy beyond shared memory", LOAD.format(bytes=512, copy=BULK), ["out of bounds", "dynamic shared memory"], 32, 496)
bad("bulk copy beyond global memory", LOAD.format(bytes=512, copy=BULK.replace("[%in0]", "[%in0+4000]")), ["crosses the end of allocation"], 32, 512)
bad("bulk copy without a barrier", "@%p1 bra E;\n" + BULK + "\nE:", ["no mbarrier.init"], 32, 512)
bad("overwritten while it is read by a bulk copy", """@%p1 bra E;
mov.u32 %r4, 0;
L: mad.lo.u32 %r5, %r4, 4, %r1; st.shared.u32 [%r5], 0; add.u32 %r4, %r4, 1; setp.lt.u32 %p3, %r4, 16; @%p3 bra L;
cp.async.bulk.global.shared::cta.bulk_group [%in0], [%r1], 64;
cp.async.bulk.commit_group;
E: bar.sync 0;
setp.ne.u32 %p4, %r0, 32; @!%p4 st.shared.u32 [%r1], 5;
@%p1 bra F;
cp.async.bulk.wait_group 0;
F:""", ["race in shared memory"], 64, 512)


# Tensor maps ----------------------------------------------------------------------
class TensorMap(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("opaque", ctypes.c_uint64 * 16)]


def array(type_, values):
    return (type_ * len(values))(*[int(v) for v in values])


KIND = {1: 0, 2: 6, 4: 7, 8: 8}
SWIZZLE = {0: 0, 32: 1, 64: 2, 128: 3}


def tiled(p, x, box, element_strides=None, swizzle=0):
    """Map of array x (outermost dimension first) at device address p."""
    m, dims = TensorMap(), x.shape[::-1]
    call("cuTensorMapEncodeTiled", byref(m), KIND[x.itemsize], len(dims), p, array(ctypes.c_uint64, dims),
         array(ctypes.c_uint64, x.strides[::-1][1:]), array(ctypes.c_uint32, box[::-1]),
         array(ctypes.c_uint32, (element_strides or [1] * len(box))[::-1]), 0, SWIZZLE[swizzle], 0, 0)
    return m


def mixed(rows, swizzle):
    """Rows of bytes as they lie in shared memory: chunk c of the n-th 128 bytes changes places."""
    flat = np.ascontiguousarray(rows).reshape(-1).view("u1").copy()
    if not swizzle:
        return flat
    out = np.zeros_like(flat)
    wide = swizzle // 16
    for n in range(len(flat) // 16):
        line, c = divmod(n, 8)
        to = line * 8 + (c // wide * wide | (c % wide) ^ line % wide)
        out[16 * to:16 * to + 16] = flat[16 * n:16 * n + 16]
    return out


def box_of(x, at, box, steps):
    """The values of a box, zeros outside, by looking at each place."""
    out = np.zeros([-(-b // s) for b, s in zip(box, steps)], x.dtype)
    for place in itertools.product(*map(range, out.shape)):
        where = [a + n * s for a, n, s in zip(at, place, steps)]
        if all(0 <= w < d for w, d in zip(where, x.shape)):
            out[place] = x[tuple(where)]
    return out


SHOW = """mov.u32 %r5, %r0;
D: setp.ge.u32 %p5, %r5, {words}; @%p5 bra Z;
mad.lo.u32 %r6, %r5, 4, %r1; ld.shared.u32 %r7, [%r6];
mul.wide.u32 %rd1, %r5, 4; add.s64 %rd1, %in1, %rd1; st.global.u32 [%rd1], %r7;
add.u32 %r5, %r5, 32; bra D;
Z:"""


def tensor_kernel(copy, nbytes, args, mode=""):
    """Loads by `copy`, shows the bytes of shared memory; the map is a parameter of its own."""
    text = ptx_module("mov.b64 %rd20, map; cvta.param.u64 %rd21, %rd20;\nmov.u32 %r0, %tid.x;\nmov.u32 %r1, buf;\nsetp.ne.u32 %p1, %r0, 0;\n" +
                      LOAD.format(bytes=nbytes, copy=copy) + WAIT.format(n=1, at=0, parity=0) + SHOW.format(words=nbytes // 4),
                      params=2, target="sm_90a", extra=DYNAMIC).replace(".param .u64 p1", ".param .u64 p1, .param .align 128 .b8 map[128]")
    f, out = Module(text).function("k"), to_device(np.zeros(nbytes, "u1"))
    launch(f, (1,), (32,), [ctypes.c_uint64(0), out] + args, nbytes)
    sync()
    return to_host(out, np.zeros(nbytes, "u1"))


def tiles():
    start()
    for shape, box, at, steps, dtype, swizzle in [
            ((40,), (16,), (5,), (1,), "f4", 0), ((9, 24), (4, 16), (7, -3), (1, 1), "f2", 0), ((9, 64), (8, 64), (2, 16), (1, 1), "f2", 128),
            ((30, 32), (17, 32), (-2, 0), (1, 1), "f2", 64), ((20, 16), (12, 16), (3, 8), (1, 1), "f2", 32), ((7, 9, 32), (3, 4, 32), (5, -1, 1), (1, 1, 1), "f4", 128),
            ((3, 8, 9, 16), (2, 4, 6, 16), (-1, 2, -2, 0), (1, 2, 3, 1), "u1", 0), ((2, 3, 6, 5, 8), (1, 2, 3, 4, 8), (1, 1, 4, -1, 0), (1, 1, 1, 1, 1), "f8", 64)]:
        x = rng.integers(1, 200, shape).astype(dtype)
        m = tiled(to_device(x), x, box, steps, swizzle)
        want = mixed(box_of(x, at, box, steps), swizzle)
        coords = ", ".join(str(c) for c in at[::-1])
        got = tensor_kernel(f"cp.async.bulk.tensor.{len(shape)}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r1], [%rd21, {{{coords}}}], [bar];",
                            len(want), [m])
        assert (got == want).all(), (shape, box, at, steps, swizzle, np.flatnonzero(got != want)[:4])


ok("tiles", tiles, (1,))


def tile_stores():
    start()
    for shape, box, at, swizzle in [((9, 24), (4, 16), (7, 12), 0), ((9, 64), (8, 64), (-2, 0), 128), ((4, 6, 16), (2, 3, 16), (1, 4, 0), 32)]:
        x, y = rng.integers(1, 200, box).astype("f2"), rng.integers(1, 200, shape).astype("f2")
        source, target = to_device(mixed(x, swizzle)), to_device(y)
        m = to_device(np.frombuffer(bytes(tiled(target, y, box, None, swizzle)), "u1"))
        coords = ", ".join(str(c) for c in at[::-1])
        run(f"""@%p1 bra E;
mov.u32 %r5, 0;
L: cvt.u64.u32 %rd1, %r5; add.s64 %rd1, %in0, %rd1; ld.global.u32 %r6, [%rd1]; add.u32 %r7, %r1, %r5; st.shared.u32 [%r7], %r6;
add.u32 %r5, %r5, 4; setp.lt.u32 %p2, %r5, {x.nbytes}; @%p2 bra L;
fence.proxy.async.shared::cta;
cp.async.bulk.tensor.{len(shape)}d.global.shared::cta.tile.bulk_group [%in1, {{{coords}}}], [%r1];
cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
E:""", [source, m], 32, x.nbytes)
        want = y.copy()
        for place in np.ndindex(*box):
            where = tuple(a + n for a, n in zip(at, place))
            if all(0 <= w < d for w, d in zip(where, shape)):
                want[where] = x[place]
        assert (to_host(target, y) == want).all(), (shape, box, at, swizzle)


ok("stores of tiles", tile_stores, (1,))


def im2col():
    """Rows of the matrix of a convolution, by the definition of the convolution."""
    start()
    for (N, H, W, C), (R, S), pad, stride, dilation, first, pixels, channels, swizzle in [
            ((2, 6, 7, 32), (3, 3), (1, 1), (1, 1), (1, 1), 0, 32, 32, 64), ((2, 6, 7, 64), (3, 3), (1, 2), (1, 1), (1, 1), 19, 64, 64, 128),
            ((2, 9, 8, 16), (3, 5), (0, 2), (2, 1), (1, 1), 11, 24, 16, 32), ((1, 9, 11, 16), (3, 3), (2, 2), (1, 3), (2, 2), 6, 40, 8, 0)]:
        x = rng.integers(1, 200, (N, H, W, C)).astype("f2")
        p, m = to_device(x), TensorMap()
        extent = [(k - 1) * d for k, d in zip((R, S), dilation)]
        upper = [q - e for q, e in zip(pad, extent)]
        out = [(size + 2 * q - e - 1) // s + 1 for size, q, e, s in zip((H, W), pad, extent, stride)]
        call("cuTensorMapEncodeIm2col", byref(m), 6, 4, p, array(ctypes.c_uint64, (C, W, H, N)), array(ctypes.c_uint64, (2 * C, 2 * C * W, 2 * C * W * H)),
             array(ctypes.c_int, (-pad[1], -pad[0])), array(ctypes.c_int, upper[::-1]), channels, pixels,
             array(ctypes.c_uint32, (1, stride[1], stride[0], 1)), 0, SWIZZLE[swizzle], 0, 0)
        places = [(n, a, b) for n in range(N) for a in range(out[0]) for b in range(out[1])] + [(N, 0, 0)] * pixels
        n, a, b = places[first]
        for r, s, c in [(0, 0, 0), (R - 1, S - 1, 0), (1, S - 1, C - channels)]:
            rows = np.zeros((pixels, channels), "f2")
            for row, (i, u, v) in enumerate(places[first:first + pixels]):
                h, w = u * stride[0] - pad[0] + r * dilation[0], v * stride[1] - pad[1] + s * dilation[1]
                if i < N and 0 <= h < H and 0 <= w < W:
                    rows[row] = x[i, h, w, c:c + channels]
            want = mixed(rows, swizzle)
            got = tensor_kernel(f"""cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes
 [%r1], [%rd21, {{{c}, {b * stride[1] - pad[1]}, {a * stride[0] - pad[0]}, {n}}}], [bar], {{{s * dilation[1]}, {r * dilation[0]}}};""", len(want), [m])
            assert (got == want).all(), ((N, H, W, C), r, s, c, np.flatnonzero(got != want)[:4])


ok("im2col", im2col, (1,))


def refusals():
    start()
    x, m = np.zeros((8, 64), "f2"), TensorMap()
    p = to_device(x)
    encode = lambda address=p.value, stride=128, box=(64, 8), steps=(1, 1), interleave=0, swizzle=3, dims=(64, 8): gpusim.cu.cuTensorMapEncodeTiled(
        byref(m), 6, 2, ctypes.c_uint64(address), array(ctypes.c_uint64, dims), array(ctypes.c_uint64, (stride,)), array(ctypes.c_uint32, box),
        array(ctypes.c_uint32, steps), interleave, swizzle, 0, 0)
    assert encode() == 0
    assert [encode(address=p.value + 8), encode(stride=120), encode(box=(300, 8)), encode(box=(5, 8)), encode(steps=(1, 9)), encode(box=(128, 8)),
            encode(dims=(64, 0)), encode(interleave=1)] == [1] * 7 + [801]
    assert gpusim.cu.cuTensorMapEncodeIm2col(byref(m), 6, 2, p, None, None, array(ctypes.c_int, (0,)), array(ctypes.c_int, (0,)), 8, 8, None, 0, 0, 0, 0) == 1
    encode()
    q = to_device(x + 3)
    call("cuTensorMapReplaceAddress", byref(m), q)
    got = tensor_kernel("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd21, {0, 0}], [bar];", 1024, [m])
    assert (got == mixed(x + 3, 128)).all()


ok("limits of tensor maps", refusals, (1,))


# wgmma ------------------------------------------------------------------------------
def smem_of(matrix, swizzle, along_k):
    """The bytes of a matrix (rows, k) in the canonical layout, with the descriptor's leading and stride offsets."""
    rows, k = matrix.shape
    each = 16 // matrix.itemsize  # elements of a chunk
    wide = swizzle // 16 if swizzle else 1
    if along_k:  # lines of `wide` chunks of one row; eight rows make a block, blocks follow along the rows, then along k
        lines = matrix.reshape(rows // 8, 8, k // (each * wide), wide * each).transpose(2, 0, 1, 3)
        block = 8 * 16 * wide
        leading, stride = block * (rows // 8), block
    else:  # lines of `wide` chunks of one k, each of neighbouring rows; eight k make a block
        lines = matrix.T.reshape(k // 8, 8, rows // (each * wide), wide * each).transpose(2, 0, 1, 3)
        block = 8 * 16 * wide
        first, second = block * (k // 8), block  # between groups of rows, between groups of k
        leading, stride = (first, second) if swizzle else (second, first)
    return mixed(lines, swizzle), leading, stride


def descriptor(at, leading, stride, swizzle):
    return at >> 4 | (leading >> 4) << 16 | (stride >> 4) << 32 | {0: 0, 128: 1, 64: 2, 32: 3}[swizzle] << 62


def product(n, a_type, sum_type, a_swizzle, b_swizzle, a_along=True, b_along=True, a_registers=False, signs=(1, 1), keep=True, half_sums=False):
    K = 8 if a_type == "tf32" else 16
    itemsize = 4 if a_type == "tf32" else 2
    depth = max(K, (a_swizzle or 16) // itemsize, (b_swizzle or 16) // itemsize)
    A, B, C = (rng.integers(-8, 9, s).astype("f4") / 8 for s in ((64, depth), (n, depth), (64, n)))
    pack = {"f16": lambda v: v.astype("f2"), "bf16": lambda v: (v.view("u4") >> np.uint32(16)).astype("u2"), "tf32": lambda v: v}[a_type]
    (a_bytes, a_lead, a_stride), (b_bytes, b_lead, b_stride) = smem_of(pack(A), a_swizzle, a_along), smem_of(pack(B), b_swizzle, b_along)
    b_at = -(-len(a_bytes) // 1024) * 1024
    image = np.zeros(b_at + len(b_bytes), "u1")
    image[:len(a_bytes)], image[b_at:] = a_bytes, b_bytes
    # Dynamic shared memory begins at an odd multiple of its alignment here.
    base = 1024
    regs = [f"%f{i}" for i in range(n // 2)] if not half_sums else [f"%r{64 + i}" for i in range(n // 4)]
    loads = "".join(f"mov.b64 %rd30, {512 * i}; add.s64 %rd31, %rd10, %rd30; ld.global.b32 {r}, [%rd31];\n" for i, r in enumerate(regs))
    stores = "".join(f"mov.b64 %rd30, {512 * i}; add.s64 %rd31, %rd11, %rd30; st.global.b32 [%rd31], {r};\n" for i, r in enumerate(regs))
    steps = ""
    for s in range(depth // K):
        # Along k the start moves within the swizzled line, else to the next block.
        step = lambda along, lead, stride, swizzle: (s * K * itemsize if swizzle and along else s * (K * itemsize // 16) * lead if along else
                                                     s * (K // 8) * (stride if swizzle else lead))
        da = descriptor(base + step(a_along, a_lead, a_stride, a_swizzle), a_lead, a_stride, a_swizzle)
        db = descriptor(base + b_at + step(b_along, b_lead, b_stride, b_swizzle), b_lead, b_stride, b_swizzle)
        a_operand = "%rd12"
        steps += f"mov.b64 %rd12, {da}; mov.b64 %rd13, {db};\n"
        if a_registers:
            steps += "".join(f"ld.global.b32 %r{40 + i}, [%rd14+{512 * (4 * s + i)}];\n" for i in range(4))
            a_operand = "{%r40,%r41,%r42,%r43}"
        trans = "" if a_type == "tf32" else f", {int(not b_along)}" if a_registers else f", {int(not a_along)}, {int(not b_along)}"
        steps += f"setp.ne.u32 %p3, {int(keep or s > 0)}, 0;\nwgmma.mma_async.sync.aligned.m64n{n}k{K}.{sum_type}.{a_type}.{a_type} {{{','.join(regs)}}}, {a_operand}, %rd13, %p3, {signs[0]}, {signs[1]}{trans};\n"
    body = f"""mov.u32 %r5, %r0;
L: mul.wide.u32 %rd1, %r5, 16; add.s64 %rd1, %in0, %rd1; ld.global.v4.u32 {{%r6,%r7,%r8,%r9}}, [%rd1];
mad.lo.u32 %r10, %r5, 16, %r1; st.shared.v4.u32 [%r10], {{%r6,%r7,%r8,%r9}};
add.u32 %r5, %r5, 128; setp.lt.u32 %p2, %r5, {len(image) // 16}; @%p2 bra L;
fence.proxy.async.shared::cta;
bar.sync 0;
mul.wide.u32 %rd9, %r0, 4; add.s64 %rd10, %in1, %rd9; add.s64 %rd11, %in2, %rd9; add.s64 %rd14, %in3, %rd9;
{loads}
wgmma.fence.sync.aligned;
{steps}
wgmma.commit_group.sync.aligned;
wgmma.wait_group.sync.aligned 0;
{stores}"""
    # The sums of thread t: rows 16 * warp + t / 4 and eight below, columns 8 * tile + 2 * (t % 4) and the next.
    lane, w = np.arange(128) % 32, np.arange(128) // 32
    row = lambda half: 16 * w + lane // 4 + 8 * half
    column = lambda tile, e: 8 * tile + 2 * (lane % 4) + e
    if half_sums:
        c = [np.stack([C[row(h), column(t, e)] for e in (0, 1)], 1).astype("f2").view("u4")[:, 0] for t in range(n // 8) for h in (0, 1)]
    else:
        c = [C[row(h), column(t, e)].view("u4") for t in range(n // 8) for h in (0, 1) for e in (0, 1)]
    fragments = []
    for s in range(depth // K):  # four registers: rows and rows + 8, then the second half of k
        for part in (0, 1):
            for h in (0, 1):
                columns = s * K + part * K // 2 + (K // 8) * (lane % 4)
                values = np.stack([pack(A)[row(h), columns + e] for e in range(4 // itemsize)], 1)
                fragments.append(np.ascontiguousarray(values).view("u4")[:, 0])
    args = [to_device(image), to_device(np.array(c)), to_device(np.zeros((len(regs), 128), "u4")), to_device(np.array(fragments))]
    run(body, args, 128, len(image))
    got = to_host(args[2], np.zeros((len(regs), 128), "u4"))
    D = np.zeros((64, n))
    for i in range(len(regs)):
        if half_sums:
            for e in (0, 1):
                D[row(i % 2), column(i // 2, e)] = got[i].view("f2").reshape(128, 2)[:, e]
        else:
            D[row(i // 2 % 2), column(i // 4, i % 2)] = got[i].view("f4")
    want = signs[0] * signs[1] * (A.astype(float) @ B.astype(float).T) + (C if keep else 0)
    name = f"m64n{n}k{K} {a_type} {sum_type} {a_swizzle} {b_swizzle} {a_along} {b_along} {a_registers}"
    assert np.allclose(D, want, rtol=2e-3 if half_sums else 1e-6, atol=4e-3 if half_sums else 1e-6), (name, abs(D - want).max())


def products(*cases):
    def go():
        start()
        for c in cases:
            product(*c[0], **c[1])
    return go


same = lambda *a, **k: (a, k)
ok("wgmma along k", products(*[same(n, t, "f32", s, s) for n, t, s in ((64, "f16", 128), (8, "f16", 64), (16, "bf16", 32), (24, "f16", 0), (32, "tf32", 128),
                                                                      (48, "tf32", 64), (128, "bf16", 128))]), (1,))
ok("wgmma across k", products(same(64, "f16", "f32", 128, 128, False, True), same(64, "f16", "f32", 128, 128, True, False), same(32, "bf16", "f32", 64, 64, False, False),
                              same(16, "f16", "f32", 32, 32, False, False), same(16, "f16", "f32", 0, 0, False, False)), (1,))
ok("wgmma with A in registers", products(same(64, "f16", "f32", 128, 128, a_registers=True), same(32, "tf32", "f32", 128, 128, a_registers=True),
                                         same(64, "bf16", "f32", 128, 128, True, False, True)), (1,))
ok("wgmma signs, new sums, f16 sums", products(same(16, "f16", "f32", 128, 128, signs=(-1, 1)), same(16, "f16", "f32", 128, 128, signs=(-1, -1), keep=False),
                                               same(32, "f16", "f16", 128, 128, half_sums=True), same(32, "f16", "f16", 128, 128, half_sums=True, keep=False)), (1,))
SUMS = ",".join(f"%f{i}" for i in range(4))
TILE = """mov.u32 %r5, %r0;
L: mad.lo.u32 %r6, %r5, 4, %r1; st.shared.u32 [%r6], 0; add.u32 %r5, %r5, 128; setp.lt.u32 %p2, %r5, 2560; @%p2 bra L;
bar.sync 0;
mov.b64 %rd1, {a}; mov.b64 %rd2, {b}; setp.ne.u32 %p3, 0, 1;
mov.f32 %f0, 0f00000000; mov.f32 %f1, %f0; mov.f32 %f2, %f0; mov.f32 %f3, %f0;
wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {{{sums}}}, %rd1, %rd2, %p3, 1, 1, 0, 0;
wgmma.commit_group.sync.aligned;
{rest}"""
a, b = descriptor(1024, 0, 1024, 128), descriptor(1024 + 8192, 0, 1024, 128)
bad("wgmma beyond shared memory", TILE.format(a=a, b=descriptor(1024 + 10240, 0, 1024, 128), sums=SUMS, rest=""), ["out of bounds"], 128, 10240)
bad("wgmma of bytes that nobody wrote", TILE.format(a=a, b=b, sums=SUMS, rest="").replace("2560", "2000"), ["never written"], 128, 10240)
# A barrier between the products and the next write is not enough: the products may still read.
bad("overwritten before wgmma is waited for", TILE.format(a=a, b=b, sums=SUMS, rest="bar.sync 0;\nmad.lo.u32 %r6, %r0, 4, %r1; st.shared.u32 [%r6+8192], 1;\nbar.sync 1;\nwgmma.wait_group.sync.aligned 0;").replace("bar.sync 1;\n", ""),
    ["race in shared memory"], 128, 10240)
bad("wgmma of half a warp", TILE.format(a=a, b=b, sums=SUMS, rest="").replace("add.u32 %r5, %r5, 128", "add.u32 %r5, %r5, 112"), ["lanes"], 112, 10240)


# A kernel of nvcc ---------------------------------------------------------------------
def matmul(change=None):
    start()
    text = open(os.path.join(HERE, "hopper.ptx")).read()
    if change:
        assert change[0] in text
        text = text.replace(*change)
    m, n, k = 150, 72, 328
    a, b, c = rng.standard_normal((m, k)).astype("f2"), rng.standard_normal((n, k)).astype("f2"), np.zeros((m, n), "f4")
    maps = [tiled(to_device(v), v, (64, 64), None, 128) for v in (a, b)]
    out = to_device(c)
    launch(Module(text).function("tmaMatmul"), (-(-n // 64), -(-m // 64)), (160,), maps + [out, m, n, k])
    sync()
    assert np.allclose(to_host(out, c), a.astype(float) @ b.astype(float).T, rtol=1e-5, atol=1e-4)


def planted(name, change, words):
    for seed in (1, 2, 3):
        status, text = faults(lambda: matmul(change), {"GPUSIM_SEED": seed})
        suite.check(f"{name}, seed {seed}", status == 3 and all(w in text for w in words), text)


ok("product with tensor maps and wgmma", matmul)
planted("wgmma waited for one group too late", ("wgmma.wait_group.sync.aligned 0", "wgmma.wait_group.sync.aligned 1"), ["race in shared memory", "tmaMatmul"])
planted("stage that is never given back", ("mbarrier.arrive.shared::cta.b64 _, ", "// "), ["deadlock", "lacks 128 arrivals and 0 bytes"])
planted("fewer bytes than announced", ("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r176]", "// "), ["deadlock", "8192 bytes"])
suite.finish()
