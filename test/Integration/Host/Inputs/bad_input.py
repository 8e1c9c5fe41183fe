# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bad_input.py FOLDER RINGCONV-RUN: runs each bad input and checks what is said of it.

Each must give exit code 1, one line on standard error that names the place, the
numbers and what was expected, nothing on standard output, and no output file,
whole or half written.
"""
import os
import re
import subprocess
import sys

import numpy as np

MODULE = """ringconv.mesh @grid = <["x" = 2, "y" = 2]>
func.func @main(%x: tensor<1x2x6x8xf32> {ringconv.name = "image", ringconv.sharding = SHARDING},
                %w: tensor<3x2x3x3xf32>) -> tensor<1x3x6x8xf32> {
  %y = ringconv.conv %x, %w dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1] window {pad = [[1, 1], [1, 1]]}
     : (tensor<1x2x6x8xf32>, tensor<3x2x3x3xf32>) -> tensor<1x3x6x8xf32>
  return %y : tensor<1x3x6x8xf32>
}
"""
GOOD = "{}, {}, {\"y\"}, {\"x\"}"
SHAPE = (1, 2, 6, 8)


def module(dims):
    return MODULE.replace("SHARDING", f"#ringconv.sharding<@grid, [{dims}]>")


def write(path, array, fortran=False, keep=None):
    np.save(path, np.asfortranarray(array) if fortran else array)
    if keep is not None:
        with open(path, "r+b") as f:
            f.truncate(os.path.getsize(path) + keep if keep < 0 else keep)


def main(folder, tool):
    os.chdir(folder)
    image = np.arange(96, dtype=np.float32).reshape(SHAPE)
    write("good.npy", image)
    write("double.npy", image.astype(np.float64))
    write("integers.npy", image.astype(np.int32))
    write("order.npy", image, fortran=True)
    write("shape.npy", image.reshape(1, 2, 8, 6))
    write("rank.npy", image.reshape(2, 6, 8))
    write("short.npy", image, keep=-1)
    write("header.npy", image, keep=20)
    write("empty.npy", image, keep=0)
    open("text.npy", "w").write("this is no array\n" * 20)
    os.mkdir("folder.npy")
    broken = MODULE.replace("1x3x6x8", "1x3x6x7").replace("SHARDING", "#ringconv.sharding<@grid, [{}, {}, {}, {}]>")
    twice = module(GOOD) + "ringconv.mesh @again = <[]>\n"

    # name, module, words, what the one line says
    cases = [
        ("unknown axis", module('{}, {}, {"z"}, {"x"}'), [], r'dim 2.*no axis "z"'),
        ("axis twice", module('{}, {}, {"x"}, {"x"}'), [], r'dim 3: axis "x" is used twice'),
        ("cuts do not begin", module('{}, {}, {"y", cuts = [1, 3, 6]}, {}'), [], r"dim 2.*must be 0, not 1"),
        ("cuts do not end", module('{}, {}, {"y", cuts = [0, 3, 5]}, {}'), [], r"dim 2.*size 6, not 5"),
        ("cuts decrease", module('{}, {}, {"y", "x", cuts = [0, 4, 3, 5, 6]}, {}'), [], r"dim 2.*part 1 begins at 4"),
        ("cuts too few", module('{}, {}, {"y", cuts = [0, 6]}, {}'), [], r"dim 2.*2 parts need 3 cuts"),
        ("entries", module("{}, {}, {}"), [], r"expected 4 entries, one per dimension, got 3"),
        ("shapes do not fit", broken, [], r"result must be 1x3x6x8, got 1x3x6x7"),
        ("two meshes", twice, [], r"one mesh per module"),
        ("no module", "func.func @main(", [], r"expected"),
        ("mesh word: axis", module(GOOD), ["--mesh=z=2"], r'no axis "z"'),
        ("mesh word: empty", module(GOOD), ["--mesh="], r"--mesh: expected axis=extent"),
        ("mesh word: extent", module(GOOD), ["--mesh=x=0"], r"at least 1"),
        ("mesh word: cuts", module('{}, {}, {"y", cuts = [0, 3, 6]}, {}'), ["--mesh=y=3"], r"3 parts need 4 cuts"),
        ("entry", module(GOOD), ["--entry=other"], r"@other.*@main"),
        ("missing file", module(GOOD), ["--input=0=nothing.npy"], r"nothing\.npy"),
        ("missing file by name", module(GOOD), ["--input=image=nothing.npy"], r"nothing\.npy"),
        ("unknown input", module(GOOD), ["--input=picture=good.npy"], r"picture"),
        ("input number", module(GOOD), ["--input=2=good.npy"], r"\b2\b"),
        ("wrong type", module(GOOD), ["--input=0=double.npy"], r"double\.npy.*f64.*f32|double\.npy.*<f8.*<f4"),
        ("wrong type: integers", module(GOOD), ["--input=0=integers.npy"], r"integers\.npy"),
        ("wrong order", module(GOOD), ["--input=0=order.npy"], r"order\.npy.*(Fortran|C order)"),
        ("wrong shape", module(GOOD), ["--input=0=shape.npy"], r"shape\.npy.*\[1, 2, 8, 6\].*\[1, 2, 6, 8\]"),
        ("wrong rank", module(GOOD), ["--input=0=rank.npy"], r"rank\.npy.*\[2, 6, 8\].*\[1, 2, 6, 8\]"),
        ("truncated", module(GOOD), ["--input=0=short.npy"], r"short\.npy.*\d+"),
        ("truncated header", module(GOOD), ["--input=0=header.npy"], r"header\.npy"),
        ("empty file", module(GOOD), ["--input=0=empty.npy"], r"empty\.npy"),
        ("text", module(GOOD), ["--input=0=text.npy"], r"text\.npy"),
        ("a folder", module(GOOD), ["--input=0=folder.npy"], r"folder\.npy"),
        ("unknown output", module(GOOD), ["--output=1=other.npy"], r"\b1\b"),
        ("output in no folder", module(GOOD), ["--output=0=no/such/y.npy"], r"no/such/y\.npy"),
        ("unknown word", module(GOOD), ["--fast"], r"--fast"),
        ("number", module(GOOD), ["--repeat=many"], r"many"),
    ]
    failed = 0
    before = set(os.listdir("."))
    for name, text, words, pattern in cases:
        open("program.mlir", "w").write(text)
        command = [tool, "program.mlir"] + ([] if any(w.startswith("--output") for w in words) else ["--output=0=y.npy"])
        done = subprocess.run(command + words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120)
        wrong = []
        if done.returncode != 1:
            wrong.append(f"exit code {done.returncode}, expected 1")
        lines = done.stderr.splitlines()
        if len(lines) != 1:
            wrong.append(f"{len(lines)} lines on standard error, expected 1")
        if not re.search(pattern, done.stderr):
            wrong.append(f"expected /{pattern}/")
        if done.stdout:
            wrong.append("standard output is not empty")
        left = set(os.listdir(".")) - before - {"program.mlir"}
        if left:
            wrong.append(f"left {sorted(left)}")
            for path in left:
                os.remove(path)
        if wrong:
            failed += 1
            print(f"{name}: {'; '.join(wrong)}\n{done.stderr}")
    # What the cases change is what makes them fail: the same program runs.
    open("program.mlir", "w").write(module(GOOD))
    subprocess.run([tool, "program.mlir", "--input=image=good.npy", "--output=0=y.npy"], check=True, timeout=120)
    if np.load("y.npy").shape != (1, 3, 6, 8):
        failed += 1
        print("the good program gives another shape")
    print(f"{len(cases) + 1 - failed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
