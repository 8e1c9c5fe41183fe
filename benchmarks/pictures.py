#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bars of the ratios in a JSON file of compare.py: pictures.py RESULTS.json OUT.svg (needs matplotlib)."""
import json
import sys

import matplotlib
matplotlib.use("Agg")
matplotlib.rcParams["svg.fonttype"] = "none"
import matplotlib.pyplot as plt


def main(source, target):
    with open(source, encoding="utf-8") as f:
        data = json.load(f)
    layers = [layer for layer in data["layers"] if "ours" in layer]
    peers = sorted({name for layer in layers for name in layer["peers"]})
    figure, axes = plt.subplots(1, len(peers), figsize=(4 * len(peers), 0.17 * len(layers) + 1.2), sharey=True, squeeze=False)
    for axis, peer in zip(axes[0], peers):
        ratios = [layer["peers"].get(peer, {}).get("ratio") for layer in layers]
        colours = ["#3d7ea6" if r and r >= 1 else "#d08c60" for r in ratios]
        axis.barh(range(len(layers)), [r or 0 for r in ratios], color=colours)
        axis.axvline(1, color="black", linewidth=0.8)
        axis.set_xlim(0, 3)
        axis.set_title(f"time of {peer} / ours", fontsize=9)
        axis.tick_params(labelsize=6)
        for i, r in enumerate(ratios):
            if r is None or r > 3:
                axis.text(0.05 if r is None else 2.95, i, "not run" if r is None else f"{r:.1f}", fontsize=5, va="center",
                          ha="left" if r is None else "right")
    axes[0][0].set_yticks(range(len(layers)), [f"{layer['class']}: {layer['name']}" for layer in layers], fontsize=6)
    axes[0][0].invert_yaxis()
    machine, ranks = data["machine"], data["ranks"]
    figure.suptitle(f"{machine['cpu']}, {ranks} rank{'s' * (ranks != 1)}, {machine['date']}", fontsize=9)
    figure.tight_layout()
    figure.savefig(target)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
