#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""GFLOP/s of host convolutions: vectorised kernels against plain loops, in alternation.

    host_conv.py --bin BUILD/bin [--only REGEX] [--rounds N] [--repeat N] [--target-cpu NAME]

Each round runs both programs one after the other, so that other load on the machine meets both; a figure is the median
over the rounds of the program's own median, with the best round beside it. Multiply-adds that read holes of a dilated
input are not counted. Packing of the filter is part of a run.
"""
import argparse
import os
import re
import statistics
import subprocess
import tempfile

# name: (features in, out, height, width, taps, stride, padding, dilation of the input, features last)
CASES = {
    "3x3 64->64 56x56": (64, 64, 56, 56, 3, 1, 1, 1, False),
    "3x3 128->128 28x28": (128, 128, 28, 28, 3, 1, 1, 1, False),
    "3x3 256->256 14x14": (256, 256, 14, 14, 3, 1, 1, 1, False),
    "3x3 512->512 7x7": (512, 512, 7, 7, 3, 1, 1, 1, False),
    "3x3/2 64->128 56x56": (64, 128, 56, 56, 3, 2, 1, 1, False),
    "1x1 64->256 56x56": (64, 256, 56, 56, 1, 1, 0, 1, False),
    "1x1 256->512 14x14": (256, 512, 14, 14, 1, 1, 0, 1, False),
    "1x1/2 128->256 28x28": (128, 256, 28, 28, 1, 2, 0, 1, False),
    "7x7/2 3->64 224x224": (3, 64, 224, 224, 7, 2, 3, 1, False),
    "3x3 17->48 31x37": (17, 48, 31, 37, 3, 1, 1, 1, False),
    "4x4 up 2 64->64 28x28": (64, 64, 28, 28, 4, 1, 2, 2, False),
    "3x3 64->64 56x96 features last": (64, 64, 56, 96, 3, 1, 1, 1, True),
}


def module(c, o, h, w, k, s, p, up, features_last):
    """(text, floating-point operations)"""
    oh, ow = (((n - 1) * up + 1 + 2 * p - k) // s + 1 for n in (h, w))
    x, y, dims = ([1, c, h, w], [1, o, oh, ow], "[b, f, 0, 1]")
    if features_last:
        x, y, dims = ([1, h, w, c], [1, oh, ow, o], "[b, 0, 1, f]")
    x, y, f, b = ("tensor<" + "x".join(map(str, shape)) + "xf32>" for shape in (x, y, [o, c, k, k], [o]))
    text = f"""func.func @main(%x: {x}, %w: {f}, %b: {b}) -> {y} {{
  %y = ringconv.conv %x, %w bias %b dims {dims} x [o, i, 0, 1] -> {dims}
         window {{stride = [{s}, {s}], pad = [[{p}, {p}], [{p}, {p}]], lhs_dilate = [{up}, {up}]}}
       : ({x}, {f}, {b}) -> {y}
  return %y : {y}
}}
"""
    return text, 2 * o * c * oh * ow * k * k / up**2


def milliseconds(command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = re.search(r"median ([0-9.]+) ms", done.stdout)
    if done.returncode or not found:
        raise SystemExit(f"{' '.join(command)}: {done.stderr or done.stdout}")
    return float(found.group(1))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--bin", required=True, help="folder of ringconv-run")
    p.add_argument("--only", default="", help="regular expression on the name")
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--repeat", type=int, default=50, help="runs per round (plain loops: a tenth)")
    p.add_argument("--target-cpu", default="native")
    opts = p.parse_args()
    print(f"{'case':32} {'vectorised':>10} {'best':>7} {'plain':>7} {'ratio':>7}")
    with tempfile.TemporaryDirectory() as folder:
        for name, case in CASES.items():
            if not re.search(opts.only, name):
                continue
            text, flops = module(*case)
            path = os.path.join(folder, "conv.mlir")
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
            command = [os.path.join(opts.bin, "ringconv-run"), path, f"--target-cpu={opts.target_cpu}"]
            plain_repeat = max(2, opts.repeat // 10)
            times = [(milliseconds(command + [f"--repeat={max(2, opts.repeat)}"]),
                      milliseconds(command + ["--no-vectorize", f"--repeat={plain_repeat}"]))
                     for _ in range(opts.rounds)]
            fast, slow = ([flops / t / 1e6 for t in column] for column in zip(*times))
            median, plain = statistics.median(fast), statistics.median(slow)
            print(f"{name:32} {median:10.1f} {max(fast):7.1f} {plain:7.2f} {median / plain:6.0f}x", flush=True)


if __name__ == "__main__":
    main()
