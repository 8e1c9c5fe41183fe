# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""blocking.py FOLDER RINGCONV-RUN: convolutions whose loops are blocked in another way than most.

Each runs vectorised with --check (against the definition), and by plain loops: the bits must be the same. With
--count-multiply-adds all forms must count alike.
"""
import os
import re
import subprocess
import sys

LAST, FIRST = "[b, 0, 1, f]", "[b, f, 0, 1]"
SAME = "pad = [[1, 1], [1, 1]]"
# name: (input, filter, output, dims, window, groups, dimension that is cut, ranks)
CASES = {
    # Lanes are groups, the last block of which is moved back.
    "depthwise, features last": ("2x9x31x21", "21x1x3x3", "2x9x31x21", f"{LAST} x [o, i, 0, 1] -> {LAST}", SAME, 21, 2, 3),
    "fewer groups than lanes": ("1x9x12x9", "9x1x3x5", "1x5x6x9", f"{LAST} x [o, i, 0, 1] -> {LAST}",
                                "stride = [2, 2], pad = [[1, 1], [2, 1]]", 9, 1, 2),
    # Filters beyond a cache: features in passes, whose last is shorter.
    "many features": ("1x1203x3x5", "17x1203x3x3", "1x17x3x5", f"{FIRST} x [o, i, 0, 1] -> {FIRST}", SAME, 1, 2, 1),
    "many features, in vectors": ("1x1204x4x3", "32x1204x3x3", "1x32x4x3", f"{FIRST} x [o, i, 0, 1] -> {FIRST}", SAME, 1, 2, 2),
    # One row: stretches of tiles, each for all blocks.
    "long row": ("1x300x1x1250", "40x300x1x1", "1x40x1x1250", f"{FIRST} x [o, i, 0, 1] -> {FIRST}", "", 1, 3, 1),
    # Gradients of filters: several entries of the batch per tile.
    "filter gradient, one tap": ("2x6x5x7", "2x24x5x7", "24x6x1x1", "[f, b, 0, 1] x [i, o, 0, 1] -> [f, b, 0, 1]", "", 1, 1, 1),
    "filter gradient": ("2x10x6x7", "2x9x6x7", "9x10x3x3", "[f, b, 0, 1] x [i, o, 0, 1] -> [f, b, 0, 1]", SAME, 1, 1, 1),
}


def module(case):
    x, w, y, dims, window, groups, cut, ranks = case
    cuts = ", ".join('{"x"}' if d == cut else "{}" for d in range(4))
    return f"""ringconv.mesh @row = <["x" = {ranks}]>
func.func @main(%x: tensor<{x}xf32> {{ringconv.sharding = #ringconv.sharding<@row, [{cuts}]>}}, %w: tensor<{w}xf32>)
    -> tensor<{y}xf32> {{
  %y = ringconv.conv %x, %w dims {dims} window {{{window}}} {{feature_group_count = {groups} : i64}}
       : (tensor<{x}xf32>, tensor<{w}xf32>) -> tensor<{y}xf32>
  return %y : tensor<{y}xf32>
}}
"""


def run(tool, *flags):
    done = subprocess.run([tool, "case.mlir", "--remarks", "--count-multiply-adds",
                           "--json=report.json", *flags], capture_output=True,
                          text=True, check=False)
    if done.returncode:
        return False, done.stdout + done.stderr, None
    with open("report.json", encoding="utf-8") as f:
        counts = re.findall(r'"multiply_adds": (\d+)', f.read())
    return bool(counts), done.stdout + done.stderr, counts


def main(folder, tool):
    os.chdir(folder)
    failed = 0
    for name, case in CASES.items():
        with open("case.mlir", "w", encoding="utf-8") as f:
            f.write(module(case))
        vector = run(tool, "--check", "--output=0=vector.npy")
        plain = run(tool, "--no-vectorize", "--output=0=plain.npy")
        ok = vector[0] and plain[0] and "plain loops" not in vector[1]
        same = ok and open("vector.npy", "rb").read() == open("plain.npy", "rb").read() and vector[2] == plain[2]
        if not same:
            failed += 1
            print(f"{name}: {'not as plain loops' if ok else vector[1] + plain[1]} {vector[2]} {plain[2]}")
    print(f"{len(CASES) - failed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
