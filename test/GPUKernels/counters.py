# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""gpusim's counters of the main kernels on layers of ResNet-50, with fewer images
and, where a tile must divide the pixels, other sizes."""
from conv import Conv

F16 = "--tile=128,128,64,64,4"
F16_NARROW = "--tile=128,64,64,64,4"
F16_SMALL = "--tile=64,64,32,32,4"
F32 = "--tile=128,128,64,32,3"
F32_SMALL = "--tile=64,64,64,32,3"
FIRST = dict(dtype="f32", layout="first")

CASES = [
    # conv2: 3x3 and 1x1, conv3 with a stride, conv4, conv5.
    (Conv(own=(16, 16), C=64, K=64), [F16_NARROW, F16_SMALL]),
    (Conv(own=(16, 16), C=64, K=256, taps=(1, 1)), [F16]),
    (Conv(own=(32, 32), C=32, K=128, stride=(2, 2)), [F16]),
    (Conv(own=(14, 14), C=64, K=256), [F16]),
    (Conv(N=2, own=(7, 7), C=128, K=64), [F16_SMALL]),
    (Conv(own=(16, 14), C=64, K=128, halo={1: (1, 1)}, pad=((1, 1), (0, 0))), [F16]),
    (Conv(own=(16, 16), C=16, K=64, dtype="bf16"), [F16_SMALL]),
    (Conv(own=(16, 16), C=32, K=128, **FIRST), [F32]),
    (Conv(own=(14, 14), C=32, K=64, **FIRST), [F32_SMALL]),
    (Conv(own=(16, 16), C=32, K=64, dtype="f32"), [F32_SMALL]),
]


def check(case, program, launches):
    """The launch that has the arithmetic; copies of operands stand before it."""
    launch = launches[-1]
    c, blocks = launch["counters"], program["launches"][-1]
    half = case.dtype in ("f16", "bf16")
    bm, bn = blocks["tile"]
    step = 32 if half else 8
    size = 2 if half else 4
    pixels, outputs = c["blocks"] // blocks["grid"][1] * bm, blocks["grid"][1] * bn
    whole = pixels * case.K == case.products() // (case.C * len_taps(case)) and outputs == case.K
    dense = pixels * outputs * case.C * len_taps(case)
    unit = f"tensor.{case.dtype}" if half else "fp32"
    # Beside them the bias and, where there is padding, the search for NaN.
    beside = pixels * outputs * (1 + any(map(any, case.pad)))
    done = c["flops"].get(unit, 0) - (0 if half else pixels * outputs)
    if case.C % step == 0 and whole and not 2 * dense <= done <= 2 * dense + (0 if half else beside):
        yield f"{c['flops']} operations, {2 * dense} are needed"
    if half and c["flops"].get("fp32", 0) > beside:
        yield f"{c['flops']['fp32']} operations beside the tensor cores"
    wanted = (c["global_load_bytes"] + c["global_store_bytes"]) / 32
    if wanted < (0.9 if half else 0.75) * c["global_sectors"]:
        yield f"{c['global_sectors']} sectors for {wanted:.0f} full ones"
    if c["bank_conflicts"]:
        yield f"{c['bank_conflicts']} bank conflicts"
    # Each block reads its rows of both operands once per step.
    blocks_bytes = (bm + bn) * size / (bm * bn) * dense
    epilogue = pixels * outputs * size + outputs * size * pixels // bm * 4
    slack = 1.1 if half else 1.1 / 0.75
    if case.C % step == 0 and c["global_sectors"] * 32 > slack * blocks_bytes + epilogue:
        yield f"{c['global_sectors'] * 32} bytes in sectors, {blocks_bytes + epilogue:.0f} by the tile"
    touched = c["distinct_load_sectors"] + c["distinct_store_sectors"]
    operands = sum(x.nbytes for x in case.make()) / 32
    if touched > 1.05 * operands:
        yield f"{touched} distinct sectors, operands have {operands:.0f}"


def len_taps(case):
    n = 1
    for t in case.taps:
        n *= t
    return n // case.groups if case.groups > 1 else n
