#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Two convolutions and a pool on one rank and on several: the same numbers; and a
picture of what each rank owns and what it fetches from its neighbours.

    PYTHONPATH=build/python python3 examples/python/halos.py --ranks=4 --plot=halos.png
"""
import argparse
import json

import numpy as np
import ringconv as rc

COLUMNS = 45
COLUMNS_CUT = [None, None, None, "w"]


def network(x, stem, body):
    """45 columns, then 23, then 12."""
    y = rc.relu(rc.conv2d(x, stem, stride=2, padding=3))
    return rc.pool2d("max", rc.conv2d(y, body, padding=2, dilation=2), 3, stride=2, padding=1)


def build(ranks):
    return rc.func(
        network, rc.arg((1, 3, 32, COLUMNS), cut=COLUMNS_CUT, name="x"), rc.parameter((16, 3, 7, 7), name="stem"),
        rc.parameter((16, 16, 3, 3), name="body"), mesh={"w": ranks}, results=[COLUMNS_CUT],
    )  # fmt: skip


def plot(program, path):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    operations = json.loads(program.report)["operations"]
    figure, axes = plt.subplots(len(operations), 1, figsize=(9, 1 + 1.6 * len(operations)), squeeze=False)
    for ax, operation in zip(axes[:, 0], operations):
        parts = operation["dims"][0]["parts"]
        for rank, part in enumerate(parts):
            (own, end), (need, stop) = part["own"], part["need"]
            ax.barh(rank, stop - need, left=need, height=0.8, color="tab:orange", alpha=0.5)
            ax.barh(rank, end - own, left=own, height=0.5, color="tab:blue")
        ax.set_title(operation["label"], loc="left", fontsize=9)
        ax.set_yticks(range(len(parts)), [f"rank {r}" for r in range(len(parts))], fontsize=8)
        ax.invert_yaxis()
    axes[-1, 0].set_xlabel("column of the input: owned (blue), read by the windows (orange, beyond it: halo)")
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    print(f"{path}: what {program.num_ranks} ranks own and need")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--plot", metavar="FILE.png", help="needs matplotlib")
    args = parser.parse_args()

    random = np.random.default_rng(1)
    x, stem, body = (random.uniform(-1, 1, s).astype(np.float32)
                     for s in ((1, 3, 32, COLUMNS), (16, 3, 7, 7), (16, 16, 3, 3)))  # fmt: skip
    whole = rc.compile(build(1))
    sharded = rc.compile(build(args.ranks))
    expected, y = whole(x, stem, body), sharded(x, stem, body)
    same = np.array_equal(expected, y)
    print(f"{args.ranks} ranks and one rank: {'bit-identical' if same else f'differ by {abs(expected - y).max()}'}")
    for rank in range(args.ranks):
        own = sharded.box(rank, sharded.inputs[0])[3]
        print(f"rank {rank} owns columns [{own.start}, {own.stop})")
    if args.plot:
        plot(sharded, args.plot)
    return 0 if same else 1


if __name__ == "__main__":
    raise SystemExit(main())
