#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How long ringconv-partition takes for a ResNet-50-sized function, and how long its result is, by mesh size.

    partition_time.py BUILD/bin/ringconv-opt [--repeat N]

Shard size and hops stay the same: the image grows with the mesh, even cuts in W. Prints the median of the pass's own
time (-mlir-timing) and the size of the result in bytes.
"""
import argparse
import re
import statistics
import subprocess
import tempfile

BLOCKS = [(64, 256, 3, 1), (128, 512, 4, 2), (256, 1024, 6, 2), (512, 2048, 3, 2)]


class Network:
    """Text of the network's convolutions, batch 1, W cut over axis "sp"."""

    def __init__(self, ranks, width_per_rank):
        self.args, self.body, self.n = [], [], 0
        self.height, self.width, self.ranks = 224, ranks * width_per_rank, ranks

    def tensor(self, channels, h, w):
        return f"tensor<1x{channels}x{h}x{w}xf32>"

    def conv(self, x, cin, cout, k, stride, h, w):
        self.n += 1
        filt = f"tensor<{cout}x{cin}x{k}x{k}xf32>"
        self.args.append(f"%w{self.n}: {filt} {{ringconv.parameter}}")
        p = k // 2
        oh, ow = (h + 2 * p - k) // stride + 1, (w + 2 * p - k) // stride + 1
        out = self.tensor(cout, oh, ow)
        self.body.append(
            f"  %v{self.n} = ringconv.conv {x}, %w{self.n} dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1] "
            f"window {{stride = [{stride}, {stride}], pad = [[{p}, {p}], [{p}, {p}]]}} : "
            f"({self.tensor(cin, h, w)}, {filt}) -> {out}")
        return f"%v{self.n}", cout, oh, ow

    def add(self, a, b, channels, h, w):
        self.n += 1
        self.body.append(f"  %v{self.n} = arith.addf {a}, {b} : {self.tensor(channels, h, w)}")
        return f"%v{self.n}"

    def text(self):
        x, c, h, w = self.conv("%x", 3, 64, 7, 2, self.height, self.width)
        for mid, out, count, stride in BLOCKS:
            for i in range(count):
                s = stride if i == 0 else 1
                y, _, _, _ = self.conv(x, c, mid, 1, 1, h, w)
                y, _, oh, ow = self.conv(y, mid, mid, 3, s, h, w)
                y, _, oh, ow = self.conv(y, mid, out, 1, 1, oh, ow)
                short = x if c == out and s == 1 else self.conv(x, c, out, 1, s, h, w)[0]
                x, c, h, w = self.add(y, short, out, oh, ow), out, oh, ow
        cut = '{ringconv.sharding = #ringconv.sharding<@grid, [{}, {}, {}, {"sp"}]>}'
        head = f'ringconv.mesh @grid = <["sp" = {self.ranks}]>\n'
        args = ", ".join([f"%x: {self.tensor(3, self.height, self.width)} {cut}"] + self.args)
        out = self.tensor(c, h, w)
        return head + f"func.func @main({args}) -> ({out} {cut}) {{\n" + "\n".join(self.body) + \
            f"\n  return {x} : {out}\n}}\n"


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("opt")
    p.add_argument("--repeat", type=int, default=3)
    a = p.parse_args()
    print(f"{'ranks':>6} {'partition, s':>13} {'result, bytes':>14}")
    for ranks in (8, 64, 512, 4096):
        with tempfile.NamedTemporaryFile("w", suffix=".mlir") as f:
            f.write(Network(ranks, 64).text())
            f.flush()
            times, size = [], 0
            for _ in range(a.repeat):
                r = subprocess.run([a.opt, f.name, "--ringconv-partition", "-mlir-timing", "-mlir-timing-display=list"],
                                   capture_output=True, text=True, check=True)
                size = len(r.stdout)
                found = re.search(r"^\s*([0-9.]+) \([^)]*\)\s+PartitionPass", r.stderr, re.M)
                times.append(float(found.group(1)))
        print(f"{ranks:>6} {statistics.median(times):>13.3f} {size:>14}")


if __name__ == "__main__":
    main()
