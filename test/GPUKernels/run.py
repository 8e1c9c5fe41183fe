# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs convolution kernels on gpusim and compares them with NumPy.

  run.py SUITE [--only=TEXT] [--keep=FOLDER]

SUITE is a file of this folder that defines CASES, pairs of a Conv and a list of
tiles, and may define check(case, program, launches) for gpusim's counters. Each kernel runs
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
    """Launches and workspaces; the PTX is in base.ptx."""
    with open(base + ".mlir", "w") as f:
        f.write(case.text())
    command = [os.environ["RINGCONV_KERNEL"], base + ".mlir", f"--ptx={base}.ptx", *tile.split()]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr[:2000])
    program = json.loads(done.stdout)
    for launch in program["launches"]:
        launch["tile"] = [int(n) for n in tile.split("=")[1].split(",")[:2]] if tile else None
    return program


def run_kernels(case, program, base):
    from gpusim import Module, alloc, call, sync, to_device, to_host
    from gpusim import launch as start
    operands = case.make()
    buffers = {"argument": [to_device(x) for x in operands[:-1]] + [alloc(max(operands[-1].nbytes, 1))],
               "workspace": [alloc(max(size, 1)) for size in program["workspaces"]]}
    module = Module(open(base + ".ptx").read())
    for launch in program["launches"]:
        f = module.function(launch["kernel"])
        if launch["shared"] > 48 << 10:
            call("cuFuncSetAttribute", f, 8, launch["shared"])
        arguments = [v if kind == "integer" else buffers[kind][v] for a in launch["arguments"] for kind, v in a.items()]
        start(f, launch["grid"], (launch["threads"],), arguments, launch["shared"])
    sync()
    return to_host(buffers["argument"][-1], operands[-1])


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
                got = run_kernels(case, job["program"], job["base"])
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
                jobs[repr((case.text(), tile))] = dict(name=name, base=base, program=compile_kernel(case, tile, base))
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
    for case, tiles in module.CASES:
        for tile in tiles:
            job = jobs.get(repr((case.text(), tile)))
            if not job:
                continue
            ran = [launches.pop(0) for _ in job["program"]["launches"]] if launches else []
            for wrong in getattr(module, "check", lambda *_: [])(case, job["program"], ran):
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
