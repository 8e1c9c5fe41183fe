# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Many steps of a program of two layers and a sum on 4 ranks: nothing grows, and the last result is the first.

    long_run.py STEPS RINGCONV-RUN [LAUNCHER...]

The program itself compares each step's bits with the first's, and the first with the uncut program. Here memory,
descriptors and threads of all its processes are looked at meanwhile: the second half of the run may use no more than
the first half did, but for the 8 bytes of time that a rank keeps of each step.
"""
import glob
import os
import subprocess
import sys
import tempfile
import time

PROGRAM = """ringconv.mesh @g = <["h" = 2, "w" = 2]>
#cut = #ringconv.sharding<@g, [{}, {}, {"h"}, {"w"}]>
func.func @main(%x: tensor<1x2x6x10xf32> {ringconv.sharding = #cut}, %v: tensor<4x2x3x3xf32>, %w: tensor<2x4x3x3xf32>)
    -> (tensor<1x2x6x10xf32> {ringconv.sharding = #cut}, tensor<f32>) {
  %0 = ringconv.conv %x, %v dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1] window {pad = [[1, 1], [1, 1]]}
     : (tensor<1x2x6x10xf32>, tensor<4x2x3x3xf32>) -> tensor<1x4x6x10xf32>
  %1 = math.tanh %0 : tensor<1x4x6x10xf32>
  %2 = ringconv.conv %1, %w dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1] window {pad = [[1, 1], [1, 1]]}
     : (tensor<1x4x6x10xf32>, tensor<2x4x3x3xf32>) -> tensor<1x2x6x10xf32>
  %zero = arith.constant dense<0.0> : tensor<f32>
  %s = linalg.generic {indexing_maps = [affine_map<(a, b, c, d) -> (a, b, c, d)>, affine_map<(a, b, c, d) -> ()>],
      iterator_types = ["reduction", "reduction", "reduction", "reduction"]}
      ins(%2 : tensor<1x2x6x10xf32>) outs(%zero : tensor<f32>) {
  ^bb0(%a: f32, %o: f32):
    %t = arith.addf %a, %o : f32
    linalg.yield %t : f32
  } -> tensor<f32>
  return %2, %s : tensor<1x2x6x10xf32>, tensor<f32>
}
"""
RANKS, SLACK = 4, 1024  # KiB: pages that were not touched before


def look(source):
    """(resident KiB, descriptors, threads) of all processes that run a program."""
    memory = descriptors = threads = 0
    for path in glob.glob("/proc/[0-9]*"):
        try:
            with open(path + "/cmdline", "rb") as file:
                words = file.read().split(b"\0")
            if os.path.basename(words[0]) != b"ringconv-run" or source.encode() not in words:
                continue
            with open(path + "/stat") as file:
                fields = file.read().rsplit(")", 1)[1].split()
            memory += int(fields[21]) * os.sysconf("SC_PAGESIZE") // 1024
            threads += int(fields[17])
            descriptors += len(os.listdir(path + "/fd"))
        except (OSError, IndexError):
            continue  # it has ended
    return memory, descriptors, threads


def main(steps, run, *launcher):
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "two.mlir")
        with open(source, "w") as file:
            file.write(PROGRAM)
        begin, seen = time.time(), []
        p = subprocess.Popen([*launcher, run, source, "--check", f"--repeat={steps}", "--timeout=600"],
                             stdout=subprocess.PIPE, text=True)
        while p.poll() is None:
            seen.append(look(source))
            time.sleep(0.1)
        output = p.stdout.read()
        took = time.time() - begin
    # The first looks see it compile, the last ones see it compare and end.
    most = max(t for _, _, t in seen)
    at_work = [s for s in seen if s[2] == most][:-2]
    first, second = at_work[len(at_work) // 8:len(at_work) // 2], at_work[len(at_work) // 2:]
    print(output.strip())
    print(f"{steps} steps in {took:.0f} s; looked {len(seen)} times: memory {max(first)[0]} KiB in the first half, "
          f"{max(second)[0]} KiB in the second; descriptors {max(s[1] for s in first)} and {max(s[1] for s in second)}; "
          f"{most} threads")
    # Each rank notes the time of each step, for the report.
    grown = max(second)[0] > max(first)[0] + SLACK + 8 * RANKS * int(steps) // 1024
    more = max(s[1] for s in second) > max(s[1] for s in first)
    return p.returncode or grown or more or "check: output 1" not in output


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], *sys.argv[3:]))
