# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Depthwise convolutions, features last."""
from conv import Conv

CASES = [
    (Conv(N=2, own=(9, 11), C=16, K=16, groups=16), [""]),
    (Conv(own=(9, 11), C=24, K=24, groups=24, taps=(5, 5), stride=(2, 2), dtype="bf16", bias=False), [""]),
    (Conv(own=(9, 11), C=12, K=12, groups=12, dilation=(1, 2), reverse=(True, False), dtype="f32"), [""]),
    (Conv(own=(5, 6, 7), C=2, K=2, groups=2, taps=(3, 3, 3), dtype="f64"), [""]),
    (Conv(own=(9, 10), C=16, K=16, groups=16, halo={0: (1, 1), 1: (1, 1)}, valid=((1, 11), (0, 11))), [""]),
]


def check(case, program, launches):
    if program["launches"][-1]["kernel"] != "conv_depthwise":
        yield "not the depthwise kernel: " + program["launches"][-1]["kernel"]
    c = launches[-1]["counters"]
    wanted = (c["global_load_bytes"] + c["global_store_bytes"]) / 32
    if wanted < 0.9 * c["global_sectors"]:
        yield f"{c['global_sectors']} sectors for {wanted:.0f} full ones"
