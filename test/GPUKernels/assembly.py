# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The machine code of the main kernels: no spills and no local memory, registers
that let as many blocks share a multiprocessor as the tile was made for, and few
instructions beside the arithmetic in the main loop.

  assembly.py PTXAS

The last is looked at where nvdisasm is found, beside ptxas or by NVDISASM."""
import collections
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from conv import Conv
from gradient import gradient

LAYER = dict(N=32, own=(28, 28), C=128, K=128)
HALO = dict(halo={1: (1, 1)}, pad=((1, 1), (0, 0)))
F32 = dict(dtype="f32", layout="first")

# Blocks per multiprocessor on sm_80 and sm_90; instructions beside each one of
# arithmetic in the main loop.
KERNELS = {
    "128x128": (Conv(**LAYER), "128,128,64,64,4", (2, 2), 1.56),
    "128x64": (Conv(**LAYER), "128,64,64,64,4", (3, 4), 1.94),
    "256x64": (Conv(**LAYER), "256,64,64,64,4", (2, 2), 1.78),
    "256x128": (Conv(**LAYER), "256,128,64,64,3", (1, 1), 1.42),
    "128x256": (Conv(**LAYER), "128,256,64,64,3", (1, 1), 1.42),
    "64x64": (Conv(**LAYER), "64,64,32,32,4", (4, 6), 4.5),
    "stride": (Conv(stride=(2, 2), **LAYER), "128,128,64,64,4", (2, 2), 1.56),
    "input tail": (Conv(N=32, own=(28, 28), C=72, K=128), "128,128,64,64,4", (2, 2), 1.59),
    "output tail": (Conv(N=32, own=(28, 28), C=128, K=72), "128,128,64,64,4", (2, 2), 1.67),
    "slabs": (Conv(**HALO, **LAYER), "128,128,64,64,4", (2, 2), 2.11),
    "bf16": (Conv(dtype="bf16", **LAYER), "128,128,64,64,4", (2, 2), 1.56),
    "filter gradient": (gradient(32, (28, 28), 128, 128, (3, 3), layout="batch", bias=False), "128,128,64,64,4",
                        (2, 2), 3.31),
    "f32": (Conv(**F32, **LAYER), "128,128,64,32,3", (2, 2), 600 / 512 - 1),
    "f32 8x16": (Conv(**F32, **LAYER), "128,128,64,64,3", (2, 2), 1146 / 1024 - 1),
    "f32 slabs": (Conv(**F32, **HALO, **LAYER), "128,128,64,32,3", (2, 2), 612 / 512 - 1),
    "f32 last": (Conv(dtype="f32", **LAYER), "128,128,64,32,3", (2, 2), 612 / 512 - 1),
    "f64": (Conv(dtype="f64", layout="first", **LAYER), "64,64,32,32,3", (3, 3), 0.45),
    "depthwise": (Conv(N=32, own=(28, 28), C=128, K=128, groups=128), "", (8, 8), None),
}
SHARED = {80: 164 << 10, 90: 228 << 10, 100: 228 << 10}  # of a multiprocessor


def blocks(arch, registers, threads, shared):
    """By registers (in units of 8 a thread), threads and shared memory, of which the
    system takes 1 KB a block."""
    return min(65536 // (-(-registers // 8) * 8 * threads), 2048 // threads, SHARED[arch] // (shared + 1024), 32)


def loops(code, disassembler):
    """Instruction counts of the loops of a kernel: a branch back to a label."""
    text = subprocess.run([disassembler, "-c", code], stdout=subprocess.PIPE, text=True, check=True).stdout
    labels, instructions = {}, []
    for line in text.splitlines():
        label = re.match(r"\s*\.(L_x_\d+):", line)
        if label:
            labels[label.group(1)] = len(instructions)
        found = re.match(r"\s*/\*[0-9a-f]+\*/\s+(?:@!?U?P\d+ )?([A-Z0-9_]+)(.*);", line)
        if found:
            instructions.append(found.groups())
    for i, (name, rest) in enumerate(instructions):
        target = re.search(r"\(\.(L_x_\d+)\)", rest)
        if name == "BRA" and target and labels.get(target.group(1), i) < i:
            yield collections.Counter(n for n, _ in instructions[labels[target.group(1)]:i + 1])


def overhead(code, disassembler):
    """Instructions beside each product in the loop that has the most."""
    def products(c):
        return c["HMMA"] + c["FFMA"] + c["DFMA"]
    loop = max(loops(code, disassembler), key=products)
    if "STG" in loop:
        return None  # the loop was rotated around the end of the kernel
    return sum(loop.values()) / products(loop) - 1


def check(name, arch, ptxas, disassembler, folder):
    import json
    case, tile, wanted, limit = KERNELS[name]
    base = os.path.join(folder, "kernel")
    open(base + ".mlir", "w").write(case.text())
    command = [os.environ["RINGCONV_KERNEL"], base + ".mlir", f"--ptx={base}.ptx", f"--arch={arch}"]
    launches = json.loads(subprocess.run(command + ([f"--tile={tile}"] if tile else []), check=True,
                                         stdout=subprocess.PIPE, text=True).stdout)["launches"]
    main = next(l for l in launches if l["kernel"].startswith(("conv", "filter_gradient")))
    done = subprocess.run([ptxas, f"-arch=sm_{arch}", "-v", "--warn-on-spills", "--warn-on-local-memory-usage",
                           "-Werror", "-o", base + ".cubin", base + ".ptx"], stderr=subprocess.PIPE, text=True)
    if done.returncode:
        return done.stderr
    registers = int(re.search(rf"'{main['kernel']}' for.*?Used (\d+) registers", done.stderr, re.S).group(1))
    resident = blocks(arch, registers, main["threads"], main["shared"])
    if resident < wanted[arch > 80]:
        return f"{registers} registers: {resident} blocks per multiprocessor, wanted {wanted[arch > 80]}"
    beside = overhead(base + ".cubin", disassembler) if disassembler and limit else None
    print(f"{name} sm_{arch}: {registers} registers, {resident} blocks" +
          (f", {beside:.2f} instructions beside each product" if beside is not None else ""))
    if beside is not None and arch < 100 and beside > limit:
        return f"{beside:.2f} instructions beside each product, at most {limit:.2f} are wanted"


if __name__ == "__main__":
    beside = os.path.join(os.path.dirname(sys.argv[1]), "nvdisasm")
    disassembler = os.environ.get("NVDISASM") or (beside if os.path.exists(beside) else None)
    if not disassembler:
        print("left out: instructions of the main loop (no nvdisasm)")
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in KERNELS:
            for arch in (80, 90, 100):
                wrong = check(name, arch, sys.argv[1], disassembler, folder)
                if wrong:
                    failed += 1
                    print(f"FAIL {name} sm_{arch}: {wrong}")
    print(f"{3 * len(KERNELS)} kernels, {failed} failed")
    sys.exit(failed != 0)
