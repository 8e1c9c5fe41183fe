# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every fault that gpusim must find, planted once, and the same code without
the fault, which must pass in silence."""
import ctypes

import numpy as np

from gpusim import Module, Suite, alloc, call, faults, launch, ptx_module, size, start, sync, to_device
import gpusim

suite = Suite()
TID = "mov.u32 %r0, %tid.x;\nmul.wide.u32 %rd9, %r0, 4;\n"


def runner(body, block=32, params=1, extra="", shared=0, bytes_=None, grid=1, init=True):
    def go():
        start()
        f = Module(ptx_module(body, params=params, extra=extra)).function("k")
        n = bytes_ or 4 * block
        args = [to_device(np.arange(n, dtype=np.uint8)) if init else alloc(n) for _ in range(params)]
        launch(f, (grid,), (block,), args, shared)
        sync()
    return go


def both(name, good, bad, code, words, seeds=(1, 2, 3)):
    """`bad` fails with the code and all the words for every seed."""
    for seed in seeds:
        status, text = faults(good, {"GPUSIM_SEED": seed})
        suite.check(f"{name}: correct code, seed {seed}", status == 0 and not text, text)
        status, text = faults(bad, {"GPUSIM_SEED": seed})
        suite.check(f"{name}: found, seed {seed}", status == 3 and f"CudaError {code}" in text and
                    all(w in text for w in words), text)


# Global memory -------------------------------------------------------------
load = TID + "add.s64 %rd1, %in0, %rd9;\nld.global.u32 %r1, [%rd1+{}];\nst.global.u32 [%rd1], %r1;"
both("global out of bounds", runner(load.format(0)), runner(load.format(4)), 700,
     ["kernel 'k'", "line 19", "thread (31,0,0)", "0 bytes past the end of allocation #", "address 0x"])
both("global before the start", runner(load.format(0)), runner(load.format(-4)), 700,
     ["thread (0,0,0)", "4 bytes before allocation"])
both("null pointer", runner(load.format(0)),
     runner("mov.u64 %rd1, 0;\nld.global.u32 %r1, [%rd1];"), 700, ["null pointer"])
wide = TID + "mul.wide.u32 %rd9, %r0, 16;\nadd.s64 %rd1, %in0, %rd9;\nld.global.v4.u32 {{%r1,%r2,%r3,%r4}}, [%rd1+{}];"
both("global misaligned", runner(wide.format(0), bytes_=1024), runner(wide.format(4), bytes_=1024), 716,
     ["misaligned", "16 bytes", "thread (0,0,0)"])
both("global uninitialised", runner(load.format(0)), runner(load.format(0), init=False), 719,
     ["uninitialised read", "byte 0 of allocation"])

# Shared memory -------------------------------------------------------------
SH = ".shared .align 4 .b8 buf[128];"
store = TID + "mov.u32 %r2, buf;\nshl.b32 %r3, %r0, 2;\nadd.u32 %r2, %r2, %r3;\nst.shared.u32 [%r2+{}], %r0;"
both("shared out of bounds", runner(store.format(0), extra=SH), runner(store.format(4), extra=SH), 700,
     ["0 bytes past the end of 'buf'", "thread (31,0,0)"])
dyn = ".extern .shared .align 16 .b8 buf[];"
both("dynamic shared out of bounds", runner(store.format(0), extra=dyn, shared=128),
     runner(store.format(0), extra=dyn, shared=124), 700, ["past the end of 'dynamic shared memory'"])
vec = TID + "mov.u32 %r2, buf;\nmov.u32 %r3, 0;\nst.shared.v4.u32 [%r2], {%r3,%r3,%r3,%r3};"
both("shared gets only the declared alignment", runner(vec, extra=".shared .align 16 .b8 buf[128];"),
     runner(vec, extra=".shared .align 4 .b8 buf[128];"), 716,
     ["shared access of 16 bytes is not aligned, in 'buf' ["])
read = TID + "mov.u32 %r2, buf;\n{}ld.shared.u32 %r1, [%r2];"
both("shared uninitialised", runner(read.format("st.shared.u32 [%r2], %r0;\n"), extra=SH),
     runner(read.format(""), extra=SH), 719,
     ["uninitialised read", "shared memory that was never written, in 'buf' ["])

# Barriers and races --------------------------------------------------------
SH4 = ".shared .align 4 .b8 buf[512];"
swap = TID + """mov.u32 %r2, buf;
shl.b32 %r3, %r0, 2;
add.u32 %r4, %r2, %r3;
st.shared.u32 [%r4], %r0;
{}
xor.b32 %r5, %r3, 128;
add.u32 %r6, %r2, %r5;
ld.shared.u32 %r1, [%r6];"""
both("missing barrier", runner(swap.format("bar.sync 0;"), 128, extra=SH4),
     runner(swap.format(""), 128, extra=SH4), 719, [], seeds=range(1, 6))
# One warp acts long after the other: the order is sure to be this one.
SPIN = "mov.u32 %r20, 0;\nS: add.u32 %r20, %r20, 1;\nsetp.lt.u32 %p5, %r20, 20000;\n@%p5 bra S;\n"
late = """mov.u32 %r0, %tid.x;
mov.u32 %r2, buf;
mad.lo.u32 %r4, %r0, 4, %r2;
st.shared.u32 [%r4], 0;
bar.sync 0;
setp.ge.u32 %p1, %r0, 32;
@%p1 bra B;
{first}
bra.uni E;
B: {barrier}
{spin}{second}
E:"""
for name, first, second, words in [
        ("read long after a write", "st.shared.u32 [%r2], %r0;", "ld.shared.u32 %r1, [%r2];", "read by warp 1 is not ordered after a write by warp 0"),
        ("write long after a read", "ld.shared.u32 %r1, [%r2];", "st.shared.u32 [%r2], %r0;", "write by warp 1 is not ordered after a read by warp 0"),
        ("write long after a write", "st.shared.u32 [%r2], %r0;", "st.shared.u32 [%r2], %r0;", "write by warp 1 is not ordered after a write by warp 0"),
        ("atomic long after a write", "st.shared.u32 [%r2], %r0;", "red.shared.add.u32 [%r2], %r0;", "write by warp 1 is not ordered after a write by warp 0")]:
    both(name, runner(late.format(first=first + "\nbar.sync 1;", barrier="bar.sync 1;", spin=SPIN, second=second), 64, extra=SH4),
         runner(late.format(first=first, barrier="", spin=SPIN, second=second), 64, extra=SH4), 719,
         ["race in shared memory", words, "in 'buf' [", "PTX line", "address 0x"])
status, text = faults(runner(late.format(first="red.shared.add.u32 [%r2], %r0;", barrier="", spin=SPIN, second="red.shared.add.u32 [%r2], %r0;"), 64, extra=SH4))
suite.check("atomics do not race", status == 0 and not text, text)
war = swap.format("bar.sync 0;") + "{}st.shared.u32 [%r4], %r1;"
both("write after read without barrier", runner(war.format("bar.sync 0;"), 128, extra=SH4),
     runner(war.format(""), 128, extra=SH4), 719, ["race in shared memory", "a barrier is missing"])
both("barrier not reached by all",
     runner(TID + "setp.lt.u32 %p1, %r0, 200;\nbar.sync 0;", 128),
     runner(TID + "setp.lt.u32 %p1, %r0, 64;\n@%p1 bra E;\nbar.sync 0;\nE:", 128), 719,
     ["barrier not reached by all", "warp 0 has ended"])
both("barrier with exited lanes",
     runner(TID + "setp.gt.u32 %p1, %r0, 200;\n@%p1 ret;\nbar.sync 0;", 128),
     runner(TID + "setp.gt.u32 %p1, %r0, 120;\n@%p1 ret;\nbar.sync 0;", 128), 719,
     ["barrier not reached by all", "lanes 25-31"])
both("two barriers wait for each other",
     runner(TID + "bar.sync 0;\nbar.sync 1;", 64),
     runner(TID + "setp.lt.u32 %p1, %r0, 32;\n@%p1 bra A;\nbar.sync 0;\nbra.uni E;\nA: bar.sync 1;\nE:", 64), 719,
     ["barrier not reached by all", "waits at line"])
named = TID + """mov.u32 %r2, buf;
setp.lt.u32 %p1, %r0, 32;
@%p1 bra A;
{}
ld.shared.u32 %r1, [%r2];
bra.uni E;
A: st.shared.u32 [%r2], %r0;
bar.arrive 1, 64;
E:"""
both("producer and consumer", runner(named.format("bar.sync 1, 64;"), 64, extra=SH4),
     runner(named.format("ld.shared.u32 %r1, [%r2+4];"), 64, extra=SH4), 719, [])

# Warp-wide operations ------------------------------------------------------
shfl = TID + "setp.lt.u32 %p1, %r0, {};\n@!%p1 bra E;\nshfl.sync.down.b32 %r1|%p2, %r0, 1, 31, -1;\nE:"
both("shuffle under a partial mask", runner(shfl.format(32)), runner(shfl.format(16)), 719,
     ["partial mask", "lanes"])
mma = TID + """mov.b32 %r1, 0;
mov.f32 %f1, 0f00000000;
setp.lt.u32 %p1, %r0, {};
@%p1 mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {{%f1,%f1,%f1,%f1}}, {{%r1,%r1,%r1,%r1}}, {{%r1,%r1}}, {{%f1,%f1,%f1,%f1}};"""
both("mma under a partial mask", runner(mma.format(32)), runner(mma.format(31)), 719,
     ["partial mask", "mma"])

# Asynchronous copies -------------------------------------------------------
pipe = TID + """mov.u32 %r2, buf;
mad.lo.u32 %r3, %r0, 4, %r2;
add.s64 %rd1, %in0, %rd9;
cp.async.ca.shared.global [%r3], [%rd1], 4;
cp.async.commit_group;
cp.async.ca.shared.global [%r3+128], [%rd1], 4;
cp.async.commit_group;
cp.async.wait_group {};
ld.shared.u32 %r1, [%r3];"""
both("wait_group off by one", runner(pipe.format(1), extra=SH4), runner(pipe.format(2), extra=SH4), 719,
     ["cp.async has not been waited for", "in 'buf' ["])
cross = TID + """mov.u32 %r2, buf;
shl.b32 %r3, %r0, 2;
add.u32 %r4, %r2, %r3;
add.s64 %rd1, %in0, %rd9;
cp.async.ca.shared.global [%r4], [%rd1], 4;
cp.async.wait_all;
{}
xor.b32 %r5, %r3, 128;
add.u32 %r6, %r2, %r5;
ld.shared.u32 %r1, [%r6];"""
both("cp.async without barrier", runner(cross.format("bar.sync 0;"), 128, extra=SH4),
     runner(cross.format(""), 128, extra=SH4), 719, [], seeds=range(1, 6))

# Assertions, as nvcc calls them ----------------------------------------------
strings = """.extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e);
.global .align 1 .b8 msg[4] = {120, 62, 48, 0};
.global .align 1 .b8 file[4] = {97, 46, 99, 0};"""
asserting = TID + """setp.ne.u32 %p1, %r0, {};
@%p1 bra E;
mov.u64 %rd1, msg;
mov.u64 %rd2, file;
{{ .param .b64 q0; .param .b64 q1; .param .b32 q2; .param .b64 q3; .param .b64 q4;
st.param.b64 [q0+0], %rd1;
st.param.b64 [q1+0], %rd2;
st.param.b32 [q2+0], 7;
st.param.b64 [q3+0], %rd2;
st.param.b64 [q4+0], 1;
call.uni __assertfail, (q0, q1, q2, q3, q4);
}}
E:"""
both("assertion", runner(asserting.format(99), extra=strings), runner(asserting.format(5), extra=strings), 710,
     ["assertion 'x>0' failed in a.c", "thread (5,0,0)"])

# Others --------------------------------------------------------------------
both("trap", runner(TID), runner(TID + "setp.eq.u32 %p1, %r0, 7;\n@%p1 trap;"), 719, ["trap", "thread (7,0,0)"])
status, text = faults(runner("L: bra L;"), {"GPUSIM_MAX_BRANCHES": 100000})
suite.check("endless loop", status == 3 and "does not end" in text and "702" in text, text)

# Divergence that is legal: lanes that spin until another lane of the warp acts.
spin = TID + """setp.eq.u32 %p1, %r0, 31;
@%p1 bra P;
W: ld.volatile.global.u32 %r1, [%in0];
setp.ne.u32 %p2, %r1, 77;
@%p2 bra W;
bra.uni E;
P: mov.u32 %r1, 77;
st.volatile.global.u32 [%in0], %r1;
E:"""
status, text = faults(runner(spin))
suite.check("spinning lanes make progress", status == 0 and not text, text)


# The driver ----------------------------------------------------------------
def double_free():
    start()
    p = alloc(64)
    call("cuMemFree_v2", p)
    call("cuMemFree_v2", p)


def inner_free():
    start()
    call("cuMemFree_v2", ctypes.c_uint64(alloc(64).value + 8))


def use_after_free():
    start()
    f = Module(ptx_module(load.format(0))).function("k")
    p = to_device(np.zeros(32, np.int32))
    call("cuMemFree_v2", p)
    launch(f, (1,), (32,), [p])
    sync()


def copy_too_long():
    start()
    x = np.zeros(100, np.uint8)
    call("cuMemcpyHtoD_v2", alloc(99), x.ctypes.data_as(ctypes.c_void_p), size(100))


def sticky():
    start()
    f = Module(ptx_module(load.format(4))).function("k")
    launch(f, (1,), (32,), [to_device(np.zeros(32, np.int32))])
    codes = []
    for attempt in (lambda: sync(), lambda: sync(), lambda: alloc(4)):
        try:
            attempt()
            codes.append(0)
        except gpusim.CudaError as e:
            codes.append(e.code)
    assert codes == [700, 700, 700], codes


for name, function, status, words in [
        ("double free", double_free, 3, ["double free of allocation #", "CudaError 1"]),
        ("free inside", inner_free, 3, ["not the start of an allocation"]),
        ("use after free", use_after_free, 3, ["use after free", "CudaError 700"]),
        ("copy out of bounds", copy_too_long, 3, ["crosses the end of allocation", "CudaError 1"]),
        ("sticky error", sticky, 0, ["illegal address"])]:
    code, text = faults(function)
    suite.check(name, code == status and all(w in text for w in words), f"{code} {text}")

# Errors in the text --------------------------------------------------------
for name, body, words in [
        ("unknown opcode", "frobnicate.b32 %r1, %r2;", "unknown opcode 'frobnicate.b32'"),
        ("unknown modifier", "add.rz.u32 %r1, %r2, %r3;", "modifier '.rz'"),
        ("unknown unit", "tcgen05.wait::ld.sync.aligned;", "unknown opcode 'tcgen05.wait::ld.sync.aligned'"),
        ("unknown product", "wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.s8 {%r1,%r2,%r3,%r4}, %rd1, %rd2, 1;", "wgmma.mma_async"),
        ("wrong width", "add.u32 %r1, %rd2, %r3;", "has 64 bits"),
        ("undeclared register", "add.u32 %r1, %x2, %r3;", "'%x2' is not a register"),
        ("unknown label", "bra NOWHERE;", "unknown label 'NOWHERE'")]:
    code, text = faults(runner(body))
    suite.check(name, code == 3 and words in text and "CudaError 218" in text, text)
suite.finish()
