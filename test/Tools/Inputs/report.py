#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""report.py RINGCONV-COMPILE FOLDER: what --report says of a convolution cut in rows and columns, against counting.

A rank reads the elements of the taps of its outputs, one by one; what it does not own it gets from the owner, once.
"""
import itertools
import json
import subprocess
import sys

COLUMNS = [
    dict(size=11, taps=3, stride=1, low=1, high=1, border="zero"),
    dict(size=9, taps=1, stride=3, low=0, high=5, border="zero"),
    dict(size=7, taps=3, stride=1, low=9, high=2, border="circular"),
    dict(size=8, taps=4, stride=2, low=3, high=3, border="reflect"),
    dict(size=3, taps=2, stride=1, low=0, high=4, border="replicate"),
]
CHANNELS, FEATURES = 2, 3


def outputs(dim):
    return (dim["size"] + dim["low"] + dim["high"] - dim["taps"]) // dim["stride"] + 1


def part(size, parts, c):
    small, larger = divmod(size, parts)
    return range(small * c + min(c, larger), small * (c + 1) + min(c + 1, larger))


def element(dim, position):
    size = dim["size"]
    if 0 <= position < size:
        return position
    return {"zero": None, "circular": position % size, "reflect": -position if position < 0 else 2 * size - 2 - position,
            "replicate": 0 if position < 0 else size - 1}[dim["border"]]


def positions(dim, out):
    return [o * dim["stride"] + t - dim["low"] for o in out for t in range(dim["taps"])]


class Line:
    """One dimension on `parts` ranks."""

    def __init__(self, dim, parts):
        self.own = [part(dim["size"], parts, c) for c in range(parts)]
        self.out = [part(outputs(dim), parts, c) for c in range(parts)]
        places = [positions(dim, out) for out in self.out]
        self.read = [{element(dim, p) for p in ps} - {None} for ps in places]
        hulls = [[p for p in range(min(ps), max(ps) + 1) if element(dim, p) is not None] if ps else [] for ps in places]
        self.low = max(sum(p < own.start for p in hull) for own, hull in zip(self.own, hulls))
        self.high = max(sum(p >= own.stop for p in hull) for own, hull in zip(self.own, hulls))
        self.parts, self.circular = parts, dim["border"] == "circular"

    def hops(self, a, b):
        return min(abs(a - b), self.parts - abs(a - b)) if self.circular else abs(a - b)


def stretch(addresses):
    return max(addresses) - min(addresses) + 1 == len(addresses)


def expected(lines):
    """By rank, then key of the report."""
    coords = list(itertools.product(*[range(line.parts) for line in lines]))
    ranks = [dict(messages_sent=0, bytes_sent=0, messages_received=0, bytes_received=0, hops=0,
                  memory=dict(packed=0)) for _ in coords]
    for (i, here), (j, there) in itertools.permutations(enumerate(coords), 2):
        rows, columns = [sorted(line.read[a] & set(line.own[b])) for line, a, b in zip(lines, here, there)]
        if not rows or not columns:
            continue
        shard = [line.own[b] for line, b in zip(lines, there)]
        addresses = [(c * len(shard[0]) + r - shard[0].start) * len(shard[1]) + w - shard[1].start
                     for c in range(CHANNELS) for r in rows for w in columns]
        count = 4 * len(addresses)
        ranks[i]["messages_received"] += 1
        ranks[i]["bytes_received"] += count
        ranks[i]["hops"] = max([ranks[i]["hops"]] + [line.hops(a, b) for line, a, b in zip(lines, here, there)])
        ranks[j]["messages_sent"] += 1
        ranks[j]["bytes_sent"] += count
        ranks[j]["memory"]["packed"] += 0 if stretch(addresses) else count
    for rank, here in zip(ranks, coords):
        own = [len(line.own[c]) for line, c in zip(lines, here)]
        around = [line.low + n + line.high for line, n in zip(lines, own)]
        out = [len(line.out[c]) for line, c in zip(lines, here)]
        rank["memory"].update(shard=4 * CHANNELS * own[0] * own[1], result=4 * FEATURES * out[0] * out[1],
                              slabs=4 * CHANNELS * (around[0] * around[1] - own[0] * own[1]))
    return ranks


def module(dims, parts):
    sharding = '{ringconv.sharding = #ringconv.sharding<@grid, [{}, {}, {"h"}, {"w"}]>}'
    x = f"tensor<1x{CHANNELS}x{dims[0]['size']}x{dims[1]['size']}xf32>"
    w = f"tensor<{FEATURES}x{CHANNELS}x{dims[0]['taps']}x{dims[1]['taps']}xf32>"
    y = f"tensor<1x{FEATURES}x{outputs(dims[0])}x{outputs(dims[1])}xf32>"
    words = (f"stride = {[d['stride'] for d in dims]}, pad = {[[d['low'], d['high']] for d in dims]}, "
             f"border = {[d['border'] for d in dims]}").replace("'", '"')
    return (f'ringconv.mesh @grid = <["h" = {parts[0]}, "w" = {parts[1]}]>\n'
            f"func.func @main(%x: {x} {sharding}, %w: {w}) -> ({y} {sharding}) {{\n"
            f"  %y = ringconv.conv %x, %w dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1] window {{{words}}}\n"
            f"     : ({x}, {w}) -> {y}\n  return %y : {y}\n}}\n")


def main():
    tool, folder = sys.argv[1:]
    checked = 0
    for dims in itertools.combinations_with_replacement(COLUMNS, 2):
        parts = [2, 3] if checked % 2 else [4, 1]
        with open(f"{folder}/case.mlir", "w", encoding="utf-8") as file:
            file.write(module(dims, parts))
        subprocess.run([tool, f"{folder}/case.mlir", "--emit=obj", "-o", f"{folder}/case.o",
                        f"--report={folder}/report.json"], check=True, stderr=subprocess.DEVNULL)
        with open(f"{folder}/report.json", encoding="utf-8") as file:
            operation = json.load(file)["operations"][0]
        lines = [Line(dim, n) for dim, n in zip(dims, parts)]
        for rank, (got, want) in enumerate(zip(operation["ranks"], expected(lines), strict=True)):
            want["rank"] = rank
            # Boxes that the border mode reads in several turns may be one stretch together; each is packed.
            if not {dim["border"] for dim in dims} <= {"zero", "replicate"}:
                packed = want["memory"]["packed"]
                want["memory"]["packed"] = min(max(got["memory"]["packed"], packed), want["bytes_sent"])
            if got != want:
                sys.exit(f"{dims} on {parts}, rank {rank}:\n  got      {got}\n  expected {want}")
        checked += 1
    print(f"{checked} reports equal what was counted")


main()
