# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tables.py BUILD [NETWORK...]: networks on one rank and cut over their meshes,
as a table in Markdown: the largest difference from ONNX Runtime and its
bound, what the busiest rank sends, memory, and processor time, which other work on
the machine does not change. The exit code is 1 if a difference is beyond its bound.

Memory is the largest resident set of the process whose threads are the ranks; per
rank it is that over the ranks.
"""
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnxruntime

from check_network import difference, generated, import_to, run_flags
from networks import CUTS, NETWORKS

SECONDS, FEWEST, MOST = 1.0, 8, 1000  # of repeated runs, and how many
_WIDE = (("w=2", ",,,w"), ("w=3", ",,,w"), ("w=4", ",,,w"), ("h=2,w=2", ",,h,w"))


def detection(build, width):
    """The network of examples/text on its page."""
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), *[".."] * 4, "examples", "text"))
    import text
    path = os.path.join(build, "networks", "detection.onnx")
    x = text.network_input(text.draw_page(width, text.HEIGHT))
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return path, x, session.run(None, {session.get_inputs()[0].name: x})


def measure(command):
    """Processor seconds."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = status
    if status:
        sys.exit(f"failed: {' '.join(command)}")
    return usage.ru_utime + usage.ru_stime


def row(build, folder, label, model, x, expected, mesh, dims):
    import_to(folder, model, mesh, dims, x)
    program, report = os.path.join(folder, "net"), os.path.join(folder, "report.json")
    compiler = os.path.join(build, "bin", "ringconv-compile")
    compiling = measure([compiler, program + ".mlir", "-o", program, "--target-cpu=native"])
    flags = run_flags(folder, len(expected))
    once = measure([program, *flags, f"--json={report}"])
    with open(report) as file:
        runs = int(np.clip(SECONDS / json.load(file)["median_seconds"], FEWEST, MOST))
    often = measure([program, *flags, f"--repeat={runs + 1}", f"--json={report}"])
    with open(report) as file:
        ranks = json.load(file)["ranks"]
    error, bound = difference([np.load(os.path.join(folder, f"{i}.npy")) for i in range(len(expected))], expected)
    memory = max(rank["process_memory"] for rank in ranks)
    seconds = (often - once) / runs
    sent = [max(rank[key] for rank in ranks) / (runs + 1) for key in ("messages_sent", "bytes_sent")]
    print(f"| {label} | {mesh or 'uncut'} | {error:.1e} | {bound:.1e} | {sent[0]:.0f} | {sent[1] / 1e3:,.1f} kB | "
          f"{memory / 1e6:.1f} MB | {memory / len(ranks) / 1e6:.1f} MB | {seconds * 1e3:.2f} ms | "
          f"{seconds / len(ranks) * 1e3:.2f} ms | {compiling:.1f} s |", flush=True)
    return error <= bound


HEADER = """| network, input | mesh | difference | bound | messages | bytes | memory | per rank | time | per rank | compiling |
|---|---|---|---|---|---|---|---|---|---|---|"""


def main():
    build, *names = sys.argv[1:]
    good = True
    print(HEADER)
    for name in names or ["detection960", "detection928", *CUTS]:
        detected = name not in NETWORKS
        model, x, expected = detection(build, int(name.removeprefix("detection"))) if detected else generated(name)
        label = f"{name.rstrip('0123456789') if detected else name}, {' × '.join(map(str, x.shape[2:]))}"
        for mesh, dims in (("", ""), *(_WIDE if detected else CUTS[name])):
            with tempfile.TemporaryDirectory() as folder:
                good &= row(build, folder, label, model, x, expected, mesh, dims)
            label = ""
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
