# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs convolution kernels on gpusim and compares them with NumPy.

  run.py SUITE [--only=TEXT] [--keep=FOLDER]

SUITE is a file of this folder that defines CASES, pairs of a Conv and a list of
tiles, and may define check(case, tile, launch) for the counters. Each kernel runs
with two orders of warps; all tiles of a case must give the same bits. Environment:
GPUSIM_LIBRARY_DIR, GPUSIM_TESTS (gpusim's Python), RINGCONV_KERNEL (the program)."""
import importlib
import json
import os
import subprocess
import sys
import tempfile
import traceback

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.environ["GPUSIM_TESTS"]]


def compile_kernel(case, tile, base):
    """The launch of the kernel, its PTX in base.ptx."""
    with open(base + ".mlir", "w") as f:
        f.write(case.text())
    command = [os.environ["RINGCONV_KERNEL"], base + ".mlir", f"--ptx={base}.ptx", *tile.split()]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr[:2000])
    return json.loads(done.stdout)


def grid(case, launch):
    pixels = case.N * int(np.prod(case.out))
    return (-(-pixels // launch["tile"][0]), -(-(case.K // case.groups) // launch["tile"][1]), case.groups)


def run_kernel(case, launch, base):
    from gpusim import Module, call, sync, to_device, to_host
    from gpusim import launch as start
    operands = case.make()
    device = [to_device(x) for x in operands[:-1]] + [to_device_poisoned(operands[-1])]
    f = Module(open(base + ".ptx").read()).function("conv")
    if launch["shared"] > 48 << 10:
        call("cuFuncSetAttribute", f, 8, launch["shared"])
    start(f, grid(case, launch), (launch["threads"],), [device[i] for i in launch["arguments"]], launch["shared"])
    sync()
    return to_host(device[-1], operands[-1])


def to_device_poisoned(like):
    from gpusim import alloc
    return alloc(max(like.nbytes, 1))


def child(jobs):
    """Runs all kernels of the file; one line of text per fault."""
    from gpusim import start
    start()
    for case, tiles in importlib.import_module(jobs["suite"]).CASES:
        results = []
        for tile in tiles:
            job = jobs["jobs"].get(repr((case.text(), tile)))
            if not job:
                continue
            try:
                got = run_kernel(case, job["launch"], job["base"])
            except Exception as e:
                print(f"FAIL {job['name']}: {e}")
                return 1
            wrong = case.error(got)
            if not wrong and results and got.tobytes() != results[0]:
                wrong = "bits differ from those of the first tile"
            results.append(got.tobytes())
            print(f"FAIL {job['name']}: {wrong}" if wrong else f"ok {job['name']}", flush=True)
    return 0


def main(suite, only, folder):
    module = importlib.import_module(suite)
    jobs, failed = {}, 0
    for i, (case, tiles) in enumerate(module.CASES):
        for j, tile in enumerate(tiles):
            name = f"{suite}[{i}] {tile}"
            if only not in name:
                continue
            base = os.path.join(folder, f"{suite}-{i}-{j}")
            try:
                jobs[repr((case.text(), tile))] = dict(name=name, base=base, launch=compile_kernel(case, tile, base))
            except RuntimeError as e:
                failed += 1
                print(f"FAIL {name}: {e}")
    path = os.path.join(folder, "jobs.json")
    json.dump(dict(suite=suite, jobs=jobs), open(path, "w"))
    for seed in (1, 2):
        reports = os.path.join(folder, f"seed{seed}")
        os.makedirs(reports, exist_ok=True)
        env = dict(os.environ, GPUSIM_SEED=str(seed), GPUSIM_REPORT_DIR=reports, GPUSIM_ARCH="80")
        done = subprocess.run([sys.executable, __file__, "--child", path], env=env, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True)
        lines = [l for l in done.stdout.splitlines() if l.startswith("FAIL")]
        failed += len(lines) + (done.returncode != 0 and not lines)
        if lines or done.returncode:
            print("\n".join(lines), done.stderr[:3000])
    failed += check_counters(module, jobs, reports)
    print(f"{suite}: {len(jobs)} kernels, {failed} failed")
    return failed != 0


def check_counters(module, jobs, reports):
    """The suite's own checks of each launch, in the order of the cases."""
    launches = [l for f in os.listdir(reports) if f.endswith(".json")
                for l in json.load(open(os.path.join(reports, f)))["launches"]]
    failed = 0
    ran = [(case, tile, jobs[repr((case.text(), tile))]) for case, tiles in module.CASES for tile in tiles
           if repr((case.text(), tile)) in jobs]
    for (case, tile, job), launch in zip(ran, launches):
        for wrong in getattr(module, "check", lambda *_: [])(case, job["launch"], launch):
            failed += 1
            print(f"FAIL {job['name']}: {wrong}")
    return failed


if __name__ == "__main__":
    if sys.argv[1] == "--child":
        try:
            sys.exit(child(json.load(open(sys.argv[2]))))
        except Exception:
            traceback.print_exc()
            sys.exit(1)
    options = dict(a[2:].split("=", 1) for a in sys.argv[2:])
    with tempfile.TemporaryDirectory() as scratch:
        sys.exit(main(sys.argv[1], options.get("only", ""), options.get("keep", scratch)))
