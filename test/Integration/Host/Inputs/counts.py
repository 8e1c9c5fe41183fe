# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Counts of a run against counts by definition: multiply-adds, messages and bytes per rank.

    counts.py RINGCONV_RUN FOLDER

Each case is one convolution, columns cut. By definition: output o reads column o*s + t*d - p for tap t, if it exists;
a rank computes its own outputs; what it reads and does not own it gets from each owner in one message, each element
once.
"""
import itertools
import json
import subprocess
import sys

# columns, kernel, stride, dilation, (low, high) padding, border, input cuts, output cuts
CASES = [
    (64, 7, 2, 1, (3, 3), "zero", None, None),
    (56, 3, 2, 1, (1, 1), "zero", None, None),
    (56, 1, 2, 1, (0, 0), "zero", None, None),
    (7, 3, 1, 1, (1, 1), "zero", [0, 2, 4, 6, 7], [0, 2, 4, 6, 7]),
    (65, 3, 1, 24, (24, 24), "zero", [0, 17, 34, 51, 65], [0, 17, 34, 51, 65]),
    (7, 7, 1, 1, (3, 3), "zero", [0, 2, 4, 6, 7], [0, 2, 4, 6, 7]),
    (64, 3, 1, 1, (1, 1), "zero", [0, 40, 48, 56, 64], [0, 16, 32, 48, 64]),
    (128, 2, 1, 64, (64, 0), "zero", None, None),
    (40, 5, 2, 1, (2, 2), "circular", None, None),
    # Shards wider than the padding: a narrower one is sent a reflected column apart from the column itself.
    (23, 4, 1, 2, (4, 2), "reflect", [0, 7, 7, 12, 23], [0, 7, 13, 15, 23]),
]
ROWS, IN, OUT = 3, 2, 8


def balanced(n, parts):
    bounds = [0]
    for r in range(parts):
        bounds.append(bounds[-1] + n // parts + (r < n % parts))
    return bounds


def mapped(border, position, n):
    """The column that a position reads, or None."""
    if 0 <= position < n:
        return position
    if border == "circular":
        return position % n
    if border == "reflect":
        return -position if position < 0 else 2 * n - 2 - position
    return None


def expected(case):
    n, k, s, d, (p, q), border, inputs, outputs = case
    m = (n + p + q - d * (k - 1) - 1) // s + 1
    inputs, outputs = inputs or balanced(n, 4), outputs or balanced(m, 4)
    owner = [next(r for r in range(4) if inputs[r] <= i < inputs[r + 1]) for i in range(n)]
    ranks = []
    for r in range(4):
        reads = [mapped(border, o * s + t * d - p, n) for o in range(outputs[r], outputs[r + 1]) for t in range(k)]
        reads = [i for i in reads if i is not None]
        foreign = sorted({i for i in reads if owner[i] != r})
        ranks.append({"multiply_adds": len(reads) * ROWS * IN * OUT,
                      "messages": len({owner[i] for i in foreign}), "bytes": len(foreign) * ROWS * IN * 4})
    return m, inputs, outputs, ranks


def module(case, m, inputs, outputs):
    n, k, s, d, (p, q), border, _, _ = case

    def cut(bounds):
        return f'{{ringconv.sharding = #ringconv.sharding<@g, [{{}}, {{}}, {{}}, {{"x", cuts = {bounds}}}]>}}'

    x, w, y = f"tensor<1x{IN}x{ROWS}x{n}xf32>", f"tensor<{OUT}x{IN}x1x{k}xf32>", f"tensor<1x{OUT}x{ROWS}x{m}xf32>"
    return (f'ringconv.mesh @g = <["x" = 4]>\n'
            f"func.func @main(%x: {x} {cut(inputs)}, %w: {w}) -> ({y} {cut(outputs)}) {{\n"
            f"  %y = ringconv.conv %x, %w dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1] window {{stride = [1, {s}], "
            f'pad = [[0, 0], [{p}, {q}]], rhs_dilate = [1, {d}], border = ["zero", "{border}"]}} : ({x}, {w}) -> {y}\n'
            f"  return %y : {y}\n}}\n")


def main():
    run, folder = sys.argv[1:]
    failed = 0
    for number, (case, flag) in enumerate(itertools.product(CASES, ("--always-overlap", "--no-vectorize"))):
        m, inputs, outputs, want = expected(case)
        source, result = f"{folder}/{number}.mlir", f"{folder}/{number}.json"
        with open(source, "w") as f:
            f.write(module(case, m, inputs, outputs))
        subprocess.run([run, source, "--count-multiply-adds", flag, f"--json={result}"], check=True)
        with open(result) as f:
            got = json.load(f)
        for r, (g, w) in enumerate(zip(got["ranks"], want)):
            have = {"multiply_adds": g["multiply_adds"], "messages": g["messages_received"],
                    "bytes": g["bytes_received"]}
            if have != w:
                failed += 1
                print(f"{case} {flag}: rank {r}: {have}, expected {w}")
    print(f"{2 * len(CASES)} programs, {failed} ranks differ")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
