# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""column_lanes.py FOLDER RINGCONV-RUN: convolutions with few output features per group.

Each runs vectorised with --check (against the definition), and by plain loops:
the bits must be the same. Sizes are no multiples of a vector; ranks have uneven
columns and halos on both sides.
"""
import os
import subprocess
import sys

import numpy as np

# name: (type, input shape, filter shape, groups, window, sharding of input and output columns or None, layout)
F = "[b, f, 0, 1]"
L = "[b, 0, 1, f]"
CASES = {
    "depthwise": ("f32", (2, 5, 9, 61), (5, 1, 3, 3), 5, dict(pad=[[1, 1], [1, 1]]), 3, F),
    "depthwise, stride 2": ("f32", (1, 4, 11, 71), (4, 1, 3, 3), 4, dict(stride=[2, 2], pad=[[1, 1], [1, 1]]), 2, F),
    "depthwise 5x5, stride 3": ("f32", (1, 3, 10, 118), (6, 1, 5, 5), 3, dict(stride=[1, 3], pad=[[2, 2], [2, 2]]), 2, F),
    "depthwise, dilated": ("f32", (1, 3, 13, 67), (3, 1, 3, 3), 3, dict(rhs_dilate=[2, 3], pad=[[2, 2], [3, 3]]), 4, F),
    "stride 2, dilated": ("f32", (1, 2, 13, 67), (2, 1, 3, 4), 2, dict(stride=[2, 2], rhs_dilate=[1, 3], pad=[[0, 1], [5, 3]]), 1, F),
    "circular": ("f32", (1, 3, 7, 45), (3, 1, 3, 5), 3, dict(pad=[[1, 1], [2, 2]], border=["reflect", "circular"]), 3, F),
    "few features out": ("f32", (1, 9, 6, 50), (3, 9, 3, 3), 1, dict(pad=[[1, 1], [1, 1]]), 2, F),
    "reversed": ("f32", (1, 6, 6, 40), (4, 3, 2, 3), 2, dict(pad=[[1, 0], [1, 1]], reverse=[True, True]), 1, F),
    "cropped": ("f32", (1, 3, 6, 40), (3, 1, 3, 3), 3, dict(pad=[[-1, 2], [-3, 4]]), 2, F),
    "features last": ("f32", (1, 6, 37, 4), (4, 1, 3, 3), 4, dict(pad=[[1, 1], [1, 1]]), 2, L),
    "double": ("f64", (1, 3, 5, 33), (3, 1, 3, 3), 3, dict(pad=[[1, 1], [1, 1]]), 2, F),
    "half": ("f16", (1, 3, 5, 70), (3, 1, 3, 3), 3, dict(stride=[1, 2], pad=[[1, 1], [1, 1]]), 2, F),
    "bfloat": ("bf16", (1, 3, 5, 70), (3, 1, 1, 3), 3, dict(pad=[[0, 0], [1, 1]]), 2, F),
    "long rows": ("f32", (1, 2, 4500), (2, 1, 5), 2, dict(pad=[[2, 2]]), 2, "[b, f, 0]"),
    "infinite": ("f32", (1, 3, 5, 50), (3, 1, 3, 3), 3, dict(pad=[[1, 1], [1, 1]]), 2, F),
    "narrow": ("f32", (1, 3, 5, 7), (3, 1, 3, 3), 3, dict(pad=[[1, 1], [1, 1]]), 3, F),
}


def out_size(n, k, i, window):
    low, high = window.get("pad", [[0, 0], [0, 0]])[i]
    return (n + low + high - (k - 1) * window.get("rhs_dilate", [1, 1])[i] - 1) // window.get("stride", [1, 1])[i] + 1


def text(case):
    dtype, x, w, groups, window, ranks, layout = case
    where = [1, 2] if layout == L else list(range(2, len(x)))
    y = list(x)
    y[3 if layout == L else 1] = w[0]
    for i, d in enumerate(where):
        y[d] = out_size(x[d], w[2 + i], i, window)
    tensor = lambda shape: f"tensor<{'x'.join(map(str, shape))}x{dtype}>"
    cut = ", ".join('{"x"}' if d == where[-1] else "{}" for d in range(len(x)))
    sharding = f"{{ringconv.sharding = #ringconv.sharding<@grid, [{cut}]>}}"
    words = ", ".join(f"{k} = {str(v).lower().replace(chr(39), chr(34))}" for k, v in window.items())
    return f"""ringconv.mesh @grid = <["x" = {ranks}]>
func.func @main(%x: {tensor(x)} {sharding}, %w: {tensor(w)}, %b: {tensor(w[:1])}) -> ({tensor(y)} {sharding}) {{
  %y = ringconv.conv %x, %w bias %b dims {layout} x [o, i, {", ".join(map(str, range(len(where))))}] -> {layout} window {{{words}}}
       {{feature_group_count = {groups} : i64}} : ({tensor(x)}, {tensor(w)}, {tensor(w[:1])}) -> {tensor(y)}
  return %y : {tensor(y)}
}}
"""


def main(folder, tool):
    os.chdir(folder)
    failed = 0
    # Infinite weights on both sides: what reads padding by them must not become NaN.
    w = np.ones((3, 1, 3, 3), np.float32)
    w[:, :, 1, [0, 2]] = np.inf
    np.save("infinite.npy", w)
    for name, case in CASES.items():
        with open("case.mlir", "w", encoding="utf-8") as f:
            f.write(text(case))
        given = ["--input=1=infinite.npy"] if name == "infinite" else []
        runs = [subprocess.run([tool, "case.mlir", "--remarks", *given, *flags], capture_output=True, text=True, check=False)
                for flags in (["--check", "--output=0=vector.npy"], ["--target-cpu=x86-64-v3", "--output=0=narrow.npy"],
                              ["--no-vectorize", "--output=0=plain.npy"])]
        ok = all(r.returncode == 0 for r in runs) and "plain loops" not in runs[0].stdout + runs[0].stderr
        same = ok and len({open(f"{kind}.npy", "rb").read() for kind in ("vector", "narrow", "plain")}) == 1
        if not same:
            failed += 1
            print(f"{name}: {'other bits than plain loops' if ok else runs[0].stdout + runs[0].stderr}")
    print(f"{len(CASES) - failed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
