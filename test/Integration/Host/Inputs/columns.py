# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""columns.py FOLDER RINGCONV-RUN: convolutions with few output features per group, and pools.

Each runs vectorised with --check (against the definition), and by plain loops:
the bits must be the same. Sizes are no multiples of a vector; ranks have uneven
columns and halos on both sides.
"""
import os
import subprocess
import sys

import numpy as np

P1 = dict(pad=[[1, 1], [1, 1]])
# name: (type, input shape, filter shape, groups, window, ranks that the columns are cut over)
CONVS = {
    "depthwise": ("f32", (2, 5, 9, 61), (5, 1, 3, 3), 5, P1, 3),
    "depthwise, stride 2": ("f32", (1, 4, 11, 71), (4, 1, 3, 3), 4, dict(stride=[2, 2], **P1), 2),
    "depthwise 5x5, stride 3": ("f32", (1, 3, 10, 118), (6, 1, 5, 5), 3, dict(stride=[1, 3], pad=[[2, 2], [2, 2]]), 2),
    "depthwise, dilated": ("f32", (1, 3, 13, 67), (3, 1, 3, 3), 3, dict(rhs_dilate=[2, 3], pad=[[2, 2], [3, 3]]), 4),
    "stride 2, dilated": ("f32", (1, 2, 13, 67), (2, 1, 3, 4), 2,
                          dict(stride=[2, 2], rhs_dilate=[1, 3], pad=[[0, 1], [5, 3]]), 1),
    "circular": ("f32", (1, 3, 7, 45), (3, 1, 3, 5), 3, dict(pad=[[1, 1], [2, 2]], border=["reflect", "circular"]), 3),
    "few features out": ("f32", (1, 9, 6, 50), (3, 9, 3, 3), 1, P1, 2),
    "reversed": ("f32", (1, 6, 6, 40), (4, 3, 2, 3), 2, dict(pad=[[1, 0], [1, 1]], reverse=[True, True]), 1),
    "cropped": ("f32", (1, 3, 6, 40), (3, 1, 3, 3), 3, dict(pad=[[-1, 2], [-3, 4]]), 2),
    "transposed 2x2": ("f32", (1, 7, 6, 52), (1, 7, 2, 2), 1, dict(lhs_dilate=[2, 2], **P1), 2),
    "transposed 4x4": ("f32", (1, 3, 6, 52), (3, 1, 4, 4), 3, dict(lhs_dilate=[2, 2], pad=[[2, 2], [2, 2]]), 4),
    "transposed 3x5 by 3": ("f32", (1, 2, 5, 37), (2, 1, 3, 5), 2, dict(lhs_dilate=[1, 3], pad=[[1, 1], [4, 2]]), 1),
    "transposed, dilated": ("f32", (1, 2, 5, 37), (2, 1, 3, 3), 2,
                            dict(lhs_dilate=[2, 4], rhs_dilate=[1, 2], pad=[[1, 1], [3, 1]]), 1),
    "holes without taps": ("f32", (1, 2, 5, 37), (2, 1, 1, 1), 2, dict(lhs_dilate=[2, 4]), 1),
    "double": ("f64", (1, 3, 5, 33), (3, 1, 3, 3), 3, P1, 2),
    "half": ("f16", (1, 3, 5, 70), (3, 1, 3, 3), 3, dict(stride=[1, 2], **P1), 2),
    "bfloat": ("bf16", (1, 3, 5, 70), (3, 1, 1, 3), 3, dict(pad=[[0, 0], [1, 1]]), 2),
    "long rows": ("f32", (1, 2, 4500), (2, 1, 5), 2, dict(pad=[[2, 2]]), 2),
    "long rows, transposed": ("f32", (1, 1, 4500), (1, 1, 4), 1, dict(lhs_dilate=[2], pad=[[2, 2]]), 1),
    "three dimensions": ("f32", (1, 2, 4, 5, 33), (2, 1, 3, 3, 3), 2, dict(pad=[[1, 1]] * 3), 2),
    "infinite": ("f32", (1, 3, 5, 50), (3, 1, 3, 3), 3, P1, 2),
    "narrow": ("f32", (1, 3, 5, 7), (3, 1, 3, 3), 3, P1, 3),
}
# name: (type, input shape, kind, window with its size, ranks)
POOLS = {
    "max": ("f32", (2, 3, 9, 61), "max", dict(size=[3, 3], stride=[2, 2], **P1), 3),
    "max, dilated": ("f32", (1, 3, 9, 61), "max", dict(size=[3, 2], rhs_dilate=[1, 4], **P1), 2),
    "sum, circular": ("f32", (1, 3, 9, 61), "sum", dict(size=[3, 5], pad=[[1, 1], [2, 2]], border=["zero", "circular"]), 3),
    "avg": ("f32", (1, 3, 9, 61), "avg", dict(size=[3, 3], **P1), 2),
    "avg of nothing": ("f32", (1, 2, 5, 40), "avg", dict(size=[2, 2], pad=[[3, 1], [1, 4]]), 1),
    "avg count_padding": ("f32", (1, 3, 9, 61), "avg count_padding", dict(size=[3, 3], **P1), 2),
    "nearest by 2": ("f32", (1, 3, 5, 42), "max", dict(size=[2, 2], lhs_dilate=[2, 2], **P1), 3),
    "nearest by 8": ("f32", (1, 2, 3, 21), "max", dict(size=[8, 8], lhs_dilate=[8, 8], pad=[[7, 7], [7, 7]]), 1),
    "nearest by 3": ("f32", (1, 2, 3, 21), "max", dict(size=[3, 3], lhs_dilate=[3, 3], pad=[[2, 2], [2, 2]]), 1),
    "max of half": ("f16", (1, 3, 5, 70), "max", dict(size=[3, 3], **P1), 2),
    "avg of bfloat": ("bf16", (1, 3, 5, 70), "avg", dict(size=[3, 3], stride=[1, 2], **P1), 2),
    "one dimension": ("f64", (2, 3, 90), "avg", dict(size=[4], stride=[3], pad=[[1, 2]]), 3),
}


def module(dtype, x, y, operands, op, window, ranks):
    dims = f"[b, f, {', '.join(map(str, range(len(x) - 2)))}]"
    tensor = lambda shape: f"tensor<{'x'.join(map(str, shape))}x{dtype}>"
    cut = ", ".join(["{}"] * (len(x) - 1) + ['{"x"}'])
    sharding = f"{{ringconv.sharding = #ringconv.sharding<@grid, [{cut}]>}}"
    words = ", ".join(f"{k} = {str(v).lower().replace(chr(39), chr(34))}" for k, v in window.items())
    arguments = ", ".join([f"%x: {tensor(x)} {sharding}"] + [f"%{n}: {tensor(s)}" for n, s in operands])
    types = ", ".join(tensor(s) for s in [x] + [s for _, s in operands])
    types = f"({types})" if operands else types
    return f"""ringconv.mesh @grid = <["x" = {ranks}]>
func.func @main({arguments}) -> ({tensor(y)} {sharding}) {{
  %y = {op.replace("DIMS", dims).replace("WINDOW", f"window {{{words}}}")} : {types} -> {tensor(y)}
  return %y : {tensor(y)}
}}
"""


def out_sizes(sizes, taps, window):
    n = len(sizes)
    pad, stride = window.get("pad", [[0, 0]] * n), window.get("stride", [1] * n)
    base, dilation = window.get("lhs_dilate", [1] * n), window.get("rhs_dilate", [1] * n)
    return tuple(((sizes[i] - 1) * base[i] + sum(pad[i]) - (taps[i] - 1) * dilation[i]) // stride[i] + 1 for i in range(n))


def conv(case):
    dtype, x, w, groups, window, ranks = case
    y = (x[0], w[0]) + out_sizes(x[2:], w[2:], window)
    numbers = ", ".join(map(str, range(len(x) - 2)))
    op = f"ringconv.conv %x, %w bias %b dims DIMS x [o, i, {numbers}] -> DIMS WINDOW {{feature_group_count = {groups} : i64}}"
    return module(dtype, x, y, [("w", w), ("b", w[:1])], op, window, ranks)


def pool(case):
    dtype, x, kind, window, ranks = case
    y = x[:2] + out_sizes(x[2:], window["size"], window)
    return module(dtype, x, y, [], f"ringconv.pool {kind} %x dims DIMS -> DIMS WINDOW", window, ranks)


def main(folder, tool):
    os.chdir(folder)
    # Infinite weights on both sides: what reads padding by them must not become NaN.
    w = np.ones((3, 1, 3, 3), np.float32)
    w[:, :, 1, [0, 2]] = np.inf
    np.save("infinite.npy", w)
    programs = {name: conv(case) for name, case in CONVS.items()} | {name: pool(case) for name, case in POOLS.items()}
    failed = 0
    for name, text in programs.items():
        with open("case.mlir", "w", encoding="utf-8") as f:
            f.write(text)
        given = ["--input=1=infinite.npy"] if name == "infinite" else []
        runs = [subprocess.run([tool, "case.mlir", "--remarks", *given, *flags], capture_output=True, text=True, check=False)
                for flags in (["--check", "--output=0=vector.npy"], ["--target-cpu=x86-64-v3", "--output=0=narrow.npy"],
                              ["--no-vectorize", "--output=0=plain.npy"])]
        ok = all(r.returncode == 0 for r in runs) and "plain loops" not in runs[0].stdout + runs[0].stderr
        same = ok and len({open(f"{kind}.npy", "rb").read() for kind in ("vector", "narrow", "plain")}) == 1
        if not same:
            failed += 1
            print(f"{name}: {'other bits than plain loops' if ok else runs[0].stdout + runs[0].stderr}")
    print(f"{len(programs) - failed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
