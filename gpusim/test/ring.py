# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ring.c on 4 ranks as threads and as processes, with and without one of its
waits between streams."""
import os
import subprocess
import sys

from gpusim import HERE, Suite

suite = Suite()
runner, ring = os.environ["GPUSIM_RUNNER"], os.environ["GPUSIM_RING"]


def run(seed, mode, drop):
    command = [runner, "--devices=4", "--quiet", f"--seed={seed}", ring,
               os.path.join(HERE, "ring.ptx"), mode, "4", str(drop)]
    p = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return p.returncode, p.stderr


for mode in ("threads", "processes"):
    for seed in range(1, 6):
        code, text = run(seed, mode, 0)
        suite.check(f"ring, {mode}, seed {seed}", code == 0 and not text, text)
    for seed in range(1, 21):
        for drop in (1, 2):
            code, text = run(seed, mode, drop)
            kernel = "'produce'" if drop == 1 else "'consume'"
            found = [l for l in text.splitlines() if "unordered access" in l and kernel in l and "NCCL group" in l]
            suite.check(f"ring, {mode}, seed {seed}, without wait {drop}", code != 0 and found, text[:2000])
suite.finish()
