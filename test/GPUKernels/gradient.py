# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients of filters: convolutions whose window is the image and whose features
are the batch. The sum is split."""
from conv import Conv

F16, F16_BIG = "--tile=64,64,32,32,4", "--tile=128,128,64,64,4"
F32, F64 = "--tile=64,64,64,32,3", "--tile=64,64,32,32,3"


def gradient(N, image, C, K, taps, stride=(1, 1), dilation=(1, 1), pad=(1, 1), **more):
    """Of a forward convolution of N images with C to K features."""
    out = tuple((i + 2 * p - (t - 1) * d - 1) // s + 1 for i, t, d, s, p in zip(image, taps, dilation, stride, pad))
    # Output r reads image element r * dilation + p * stride - pad by tap p.
    high = tuple((t - 1) * d + (o - 1) * s + 1 - i - p for t, d, o, s, i, p in
                 zip(taps, dilation, out, stride, image, pad))
    return Conv(N=C, own=image, C=N, K=K, taps=out, stride=dilation, dilation=stride, pad=tuple(zip(pad, high)),
                **more)


BATCH_LAST = dict(layout="batch", bias=False)

CASES = [
    (gradient(4, (14, 14), 64, 128, (3, 3), **BATCH_LAST), [F16, F16_BIG]),
    (gradient(3, (9, 11), 40, 72, (3, 3), stride=(2, 2), result="f32", **BATCH_LAST), [F16]),
    (gradient(3, (9, 11), 20, 12, (1, 1), pad=(0, 0), dtype="bf16", **BATCH_LAST), [F16]),
    # A big window of a forward convolution; features first.
    (Conv(own=(14, 15), C=16, K=24, taps=(9, 9), pad=((4, 4), (4, 4))), [F16]),
    (gradient(3, (9, 11), 20, 24, (3, 3), layout="first", bias=False), [F16]),
    # f32, f64: any layout.
    (gradient(2, (9, 11), 20, 24, (3, 3), stride=(2, 1), layout="first", dtype="f32"), [F32]),
    (gradient(2, (9, 11), 20, 24, (3, 3), dtype="f32", **BATCH_LAST), [F32]),
    (gradient(2, (9, 11), 20, 24, (3, 3), dtype="f64"), [F64]),
    # Slabs.
    (Conv(N=16, own=(9, 11), C=3, K=24, taps=(9, 13), halo={1: (1, 1)}, pad=((1, 1), (0, 0)), bias=False,
          layout="batch"), [F16]),
    (Conv(N=16, own=(9, 11), C=3, K=24, taps=(9, 11), halo={0: (1, 1)}, pad=((0, 0), (1, 1)), dtype="f32",
          layout="first"), [F32]),
]
