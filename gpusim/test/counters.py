# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Counters against numbers worked out by hand, through ringconv-gpusim."""
import json
import os
import subprocess
import sys
import tempfile

from gpusim import HERE, PLAIN_ENV, Suite

suite = Suite()
PROGRAM = r'''
import os, sys
sys.path.insert(0, os.environ["TEST_DIR"])
import numpy as np
from gpusim import *
start()
fill = lambda n: to_device(np.zeros(n, np.float32))
m = Module(open(os.path.join(HERE, "kernels.ptx"), "rb").read())
launch(m.function("vectorAdd"), (10,), (128,), [fill(1280)] * 2 + [fill(1280), 1280])
launch(m.function("matmul"), (2, 2), (16, 16), [fill(1024), fill(1024), fill(1024), 32, 32, 32])
half = lambda n: to_device(np.zeros(n, np.float16))
launch(m.function("tensorMatmul"), (4, 2), (32,), [half(32 * 64), half(32 * 64), fill(1024), 32, 32, 64])
SH = ".shared .align 16 .b8 buf[16384];"
for stride, kernel in ((4, "one"), (8, "two"), (128, "all"), (0, "same")):
    f = Module(ptx_module(f"mov.u32 %r1, %tid.x; mul.lo.u32 %r2, %r1, {stride}; mov.u32 %r3, buf; add.u32 %r2, %r2, %r3; st.shared.u32 [%r2], %r1;", name=kernel, extra=SH)).function(kernel)
    launch(f, (1,), (32,), [fill(1)])
# 16 bytes a lane: eight lanes are served at a time.
for stride, kernel in ((16, "wide"), (32, "wide2"), (128, "wide8")):
    f = Module(ptx_module(f"mov.u32 %r1, %tid.x; mul.lo.u32 %r2, %r1, {stride}; mov.u32 %r3, buf; add.u32 %r2, %r2, %r3; st.shared.v4.u32 [%r2], {{%r1,%r1,%r1,%r1}};", name=kernel, extra=SH)).function(kernel)
    launch(f, (1,), (32,), [fill(1)])
for stride, kernel in ((4, "dense"), (8, "half"), (32, "sparse"), (128, "far")):
    f = Module(ptx_module(f"mov.u32 %r1, %tid.x; mul.wide.u32 %rd1, %r1, {stride}; add.s64 %rd1, %rd1, %in0; ld.global.u32 %r2, [%rd1]; ld.global.u32 %r2, [%rd1];", name=kernel)).function(kernel)
    launch(f, (1,), (32,), [fill(1024)])
f = Module(ptx_module("mov.u32 %r1, %tid.x; mul.wide.u32 %rd1, %r1, 4; add.s64 %rd1, %rd1, %in0; ld.global.u32 %r2, [%rd1+4];", name="shifted")).function("shifted")
launch(f, (1,), (32,), [fill(64)])
f = Module(ptx_module("mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 10; @%p1 bra A; mov.f32 %f1, 0f3F800000; fma.rn.f32 %f1, %f1, %f1, %f1; bra.uni E; A: mov.f32 %f1, 0f3F800000; add.f32 %f1, %f1, %f1; add.f32 %f1, %f1, %f1; E: bar.sync 0;", name="split")).function("split")
launch(f, (3,), (64,), [fill(1)])
sync()
'''


def run(seed, *more):
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        p = subprocess.run([os.environ["GPUSIM_RUNNER"], "--quiet", f"--seed={seed}", f"--json={out.name}", *more, sys.executable, "-c", PROGRAM],
                           env=dict(os.environ, TEST_DIR=HERE), stderr=subprocess.PIPE, text=True)
        suite.check(f"program, seed {seed}", p.returncode == 0, p.stderr)
        launches = [l for process in json.load(open(out.name)) for l in process["launches"]]
    return {l["kernel"]: l for l in launches}


first = run(1)
c = lambda k, name: first[k]["counters"][name]


def equal(name, got, want):
    suite.check(name, got == want, f"got {got} want {want}")


# 1280 elements, 4 bytes each, two loads and a store: 128 bytes a warp = 4 sectors.
equal("vectorAdd loads", c("vectorAdd", "global_load_bytes"), 2 * 1280 * 4)
equal("vectorAdd stores", c("vectorAdd", "global_store_bytes"), 1280 * 4)
equal("vectorAdd sectors", c("vectorAdd", "global_sectors"), 3 * 1280 * 4 // 32)
equal("vectorAdd distinct", (c("vectorAdd", "distinct_load_sectors"), c("vectorAdd", "distinct_store_sectors")), (1280 * 4 // 32,) * 2)
equal("vectorAdd flops", c("vectorAdd", "flops"), {"fp32": 1280})
equal("vectorAdd blocks", (c("vectorAdd", "blocks"), c("vectorAdd", "warps")), (10, 40))
# 32x32x32: 2*32^3 flops; each 16x16 tile of A and B is loaded twice.
equal("matmul flops", c("matmul", "flops"), {"fp32": 2 * 32 ** 3})
equal("matmul loads", c("matmul", "global_load_bytes"), 4 * 2 * 2 * 16 * 16 * 4)
equal("matmul barriers", c("matmul", "barriers"), 4 * 8 * 4)
# Rows of 17 words. Stores: a warp writes two rows of 16 words that start 17
# words apart: lane 16 (word 17) ... lane 31 (word 32) meet words 0..15 in bank 0
# only, as word 32: 2 wavefronts. Loads of A: two words, of B: one row: 1 each.
equal("matmul store conflicts", c("matmul", "bank_conflicts"), 4 * 8 * 2 * 2)
equal("matmul wavefronts", c("matmul", "shared_wavefronts"), 4 * 8 * 2 * (2 * 2 + 16 * 2))
# 32x32x64 on 16x8 tiles: 8 warps, 4 steps, one mma of 4096 flops each.
equal("tensor flops", c("tensorMatmul", "flops"), {"tensor.f16": 2 * 32 * 32 * 64})
equal("tensor mma", c("tensorMatmul", "warp_instructions")["mma"], 8 * 4)
# B copies take 8 rows of 32 bytes with half a warp.
equal("tensor loads", c("tensorMatmul", "global_load_bytes"), 8 * 4 * (16 + 8) * 32)
for kernel, waves in (("one", 1), ("two", 2), ("all", 32), ("same", 1), ("wide", 4), ("wide2", 8), ("wide8", 32)):
    equal(f"wavefronts {kernel}", c(kernel, "shared_wavefronts"), waves)
    equal(f"ideal {kernel}", c(kernel, "shared_wavefronts_ideal"), 4 if kernel[:4] == "wide" else 1)
for kernel, sectors in (("dense", 4), ("half", 8), ("sparse", 32), ("far", 32)):
    equal(f"sectors {kernel}", c(kernel, "global_sectors"), 2 * sectors)
    equal(f"distinct {kernel}", c(kernel, "distinct_load_sectors"), sectors)
    equal(f"bytes {kernel}", c(kernel, "global_load_bytes"), 2 * 128)
equal("sectors shifted", c("shifted", "global_sectors"), 5)
# Threads 0-9 of the first warp add twice, the other 54 make one fma.
equal("divergent flops", c("split", "flops"), {"fp32": 3 * (10 * 2 + 54 * 2)})
equal("divergent instructions", (c("split", "warp_instructions")["fp32"], c("split", "thread_instructions")["fp32"]), (3 * 4, 3 * (20 + 54)))
equal("divergent barriers", c("split", "barriers"), 6)
equal("repeatable", {k: v["counters"] for k, v in run(99, "--cores=2").items()}, {k: v["counters"] for k, v in first.items()})
# Occupancy: 2048 threads and 32 blocks per multiprocessor of sm_90.
equal("occupancy", (first["vectorAdd"]["blocks_per_sm"], first["matmul"]["blocks_per_sm"]), (16, 8))

ptxas = "/usr/local/cuda/bin/ptxas"
if os.access(ptxas, os.X_OK):
    facts = run(1, f"--ptxas={ptxas}")["matmul"]
    text = subprocess.run([ptxas, "-v", "-arch=sm_80", "-o", "/dev/null", os.path.join(HERE, "kernels.ptx")],
                          stderr=subprocess.PIPE, text=True, env=PLAIN_ENV).stderr
    want = int(text.split("entry function 'matmul'")[1].split("Used ")[1].split(" ")[0])
    equal("registers from ptxas", (facts["registers"], facts["registers_from_ptxas"]), (want, True))
    shared = int(text.split("entry function 'matmul'")[1].split("Used ")[1].split(" bytes smem")[0].split(" ")[-1])
    equal("shared memory as ptxas has it", facts["static_shared"], shared)
else:
    print("skipped: no ptxas for the register counts")
p = subprocess.run([os.environ["GPUSIM_RUNNER"], sys.executable, "-c", PROGRAM], env=dict(os.environ, TEST_DIR=HERE), stdout=subprocess.PIPE, text=True)
suite.check("table", "kernel matmul: 1 launches, 4 blocks of 256 threads" in p.stdout and "reports: 0" in p.stdout, p.stdout)
suite.finish()
