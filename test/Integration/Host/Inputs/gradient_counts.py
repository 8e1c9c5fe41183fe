# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Counts of a backward pass against counts by definition: multiply-adds, messages, bytes, sums.

    gradient_counts.py RINGCONV_OPT RINGCONV_RUN FOLDER

Each case is one convolution with a bias, columns cut over 4 ranks. Output o reads column o*s + t*d - p at tap t, if it
exists. The input's gradient needs, of each own column, the outputs that read it; the filter's needs the same outputs if
each rank keeps its own columns, or the columns that its own outputs read: where the input's gradient is wanted too, or
else where fewer bytes travel. Filter and bias are summed over all ranks, in one message to each other rank.
"""
import json
import subprocess
import sys

# columns, kernel, stride, dilation, (low, high) padding, input cuts, output cuts
CASES = [
    (64, 7, 2, 1, (3, 3), None, None),
    (56, 3, 2, 1, (1, 1), None, None),
    (56, 1, 2, 1, (0, 0), None, None),
    (32, 2, 1, 1, (1, 1), None, None),
    (32, 3, 1, 1, (2, 2), None, None),
    (24, 4, 4, 1, (0, 0), None, None),
    (10, 5, 1, 1, (2, 2), None, None),
    (7, 3, 1, 1, (1, 1), [0, 2, 4, 6, 7], [0, 2, 4, 6, 7]),
    (8, 7, 1, 1, (3, 3), None, None),
    (64, 3, 1, 1, (1, 1), [0, 40, 48, 56, 64], [0, 16, 32, 48, 64]),
    (30, 3, 1, 2, (2, 2), [0, 10, 18, 25, 30], [0, 10, 18, 25, 30]),
]
# Which of x, w, b want a gradient.
WANTED = ["xwb", "x", "wb", "w", "b", "xb"]
ROWS, IN, OUT, RANKS = 3, 2, 8, 4


def balanced(n):
    bounds = [0]
    for r in range(RANKS):
        bounds.append(bounds[-1] + n // RANKS + (r < n % RANKS))
    return bounds


class Layer:
    def __init__(self, case):
        self.n, self.k, self.s, self.d, (self.p, self.q), inputs, outputs = case
        self.m = (self.n + self.p + self.q - self.d * (self.k - 1) - 1) // self.s + 1
        self.inputs, self.outputs = inputs or balanced(self.n), outputs or balanced(self.m)
        self.reads = [(o, i) for o in range(self.m) for t in range(self.k)
                      for i in [o * self.s + t * self.d - self.p] if 0 <= i < self.n]

    def foreign(self, rank, which):
        """Outputs (1) or columns (0) that the rank needs of others for its own columns (0) or outputs (1): by owner."""
        own, other = (self.inputs, self.outputs) if which == 0 else (self.outputs, self.inputs)
        need = {(o if which == 0 else i) for o, i in self.reads
                if own[rank] <= (i if which == 0 else o) < own[rank + 1]}
        need = {e for e in need if not other[rank] <= e < other[rank + 1]}
        return need, {next(r for r in range(RANKS) if other[r] <= e < other[r + 1]) for e in need}

    def pairs(self, rank, which):
        own = self.inputs if which == 0 else self.outputs
        return sum(own[rank] <= (i if which == 0 else o) < own[rank + 1] for o, i in self.reads)

    def bytes(self, which):
        """All that travels of the outputs' gradient (0) or of the input (1)."""
        return sum(len(self.foreign(r, which)[0]) for r in range(RANKS)) * (OUT if which == 0 else IN)


def expected(layer, wanted):
    by_outputs = layer.bytes(1) <= layer.bytes(0) and "x" not in wanted
    sums = (OUT * IN * layer.k if "w" in wanted else 0) + (OUT if "b" in wanted else 0)
    ranks = []
    for r in range(RANKS):
        work = layer.pairs(r, 0) if "x" in wanted else 0
        if "w" in wanted:
            work += layer.pairs(r, 1 if by_outputs else 0)
        messages = size = 0
        if "x" in wanted or "w" in wanted:
            columns, owners = layer.foreign(r, 1 if by_outputs else 0)
            messages, size = len(owners), len(columns) * ROWS * (IN if by_outputs else OUT) * 4
        if sums:
            assert sums * 4 <= 4096, "larger sums take two rounds"
            messages, size = messages + RANKS - 1, size + (RANKS - 1) * sums * 4
        ranks.append({"multiply_adds": work * ROWS * IN * OUT, "messages": messages, "bytes": size,
                      "reductions": int(sums > 0)})
    return ranks


def module(layer, wanted):
    def attributes(name, bounds=None):
        words = ["ringconv.wants_grad"] if name in wanted else []
        if bounds:
            words.append(f'ringconv.sharding = #ringconv.sharding<@g, [{{}}, {{}}, {{}}, {{"x", cuts = {bounds}}}]>')
        return f"{{{', '.join(words)}}}" if words else ""

    x, w, b = f"tensor<1x{IN}x{ROWS}x{layer.n}xf32>", f"tensor<{OUT}x{IN}x1x{layer.k}xf32>", f"tensor<{OUT}xf32>"
    y = f"tensor<1x{OUT}x{ROWS}x{layer.m}xf32>"
    return (f'ringconv.mesh @g = <["x" = {RANKS}]>\n'
            f"func.func @main(%x: {x} {attributes('x', layer.inputs)}, %w: {w} {attributes('w')}, "
            f"%b: {b} {attributes('b')}) -> ({y} {attributes('y', layer.outputs)}) {{\n"
            f"  %y = ringconv.conv %x, %w bias %b dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1] window "
            f"{{stride = [1, {layer.s}], pad = [[0, 0], [{layer.p}, {layer.q}]], rhs_dilate = [1, {layer.d}]}} : "
            f"({x}, {w}, {b}) -> {y}\n  return %y : {y}\n}}\n")


def main():
    opt, run, folder = sys.argv[1:]
    number = failed = 0
    for case in CASES:
        layer = Layer(case)
        for wanted in WANTED if case in CASES[:2] else WANTED[:1]:
            number += 1
            source, gradient, result = f"{folder}/{number}.mlir", f"{folder}/{number}g.mlir", f"{folder}/{number}.json"
            with open(source, "w") as f:
                f.write(module(layer, wanted))
            subprocess.run([opt, source, "--ringconv-differentiate", "-o", gradient], check=True)
            subprocess.run([run, gradient, "--entry=main_grad", "--check", "--count-multiply-adds", f"--json={result}"],
                           check=True, stdout=subprocess.DEVNULL)
            with open(result) as f:
                got = json.load(f)
            for r, (g, w) in enumerate(zip(got["ranks"], expected(layer, wanted))):
                have = {"multiply_adds": g["multiply_adds"], "messages": g["messages_received"],
                        "bytes": g["bytes_received"], "reductions": g["reductions"]}
                if have != w:
                    failed += 1
                    print(f"{case} {wanted}: rank {r}: {have}, expected {w}")
    print(f"{number} programs, {failed} ranks differ")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
