# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""16-bit floats, features last."""
from conv import Conv

BIG, SMALL = "--tile=128,128,64,64,4", "--tile=64,64,32,32,4"
NARROW, TALL = "--tile=128,64,64,64,4", "--tile=256,64,64,64,4"
WIDE, HUGE = "--tile=128,256,64,64,3", "--tile=256,128,64,64,3"

CASES = [
    # All tiles give the same bits; 392 pixels are no multiple of any.
    (Conv(N=2, own=(14, 14), C=64, K=128), [SMALL, BIG, NARROW, TALL, WIDE, HUGE]),
    # Tails of input features, output features and pixels; five by five; one by one.
    (Conv(own=(9, 11), C=40, K=72, taps=(5, 5)), [SMALL, BIG]),
    (Conv(own=(9, 11), C=8, K=8, taps=(1, 1)), [SMALL]),
    (Conv(own=(9, 11), C=72, K=104, taps=(1, 3), bias=False), [SMALL]),
    # Output features that are not stored 16 bytes at once; results in f32.
    (Conv(own=(9, 7), C=16, K=13), [SMALL]),
    (Conv(own=(9, 7), C=16, K=24, result="f32"), [SMALL]),
    (Conv(own=(9, 7), C=16, K=12, result="f32", bias=False), [SMALL]),
    # Strides, dilations, padding on one side, cropping, reversal.
    (Conv(own=(15, 17), C=32, K=64, stride=(2, 1)), [SMALL]),
    (Conv(own=(15, 17), C=32, K=64, stride=(2, 2), pad=((0, 1), (0, 1))), [SMALL]),
    (Conv(own=(15, 17), C=32, K=64, dilation=(2, 3), pad=((2, 2), (3, 3))), [SMALL]),
    (Conv(own=(15, 17), C=32, K=64, taps=(3, 2), pad=((-1, 0), (2, -2))), [SMALL]),
    (Conv(own=(9, 11), C=32, K=64, reverse=(True, False)), [SMALL]),
    # One and three dimensions, and more taps than a word of 32 bits has.
    (Conv(own=(70,), C=32, K=64, taps=(5,)), [SMALL]),
    (Conv(own=(5, 6, 7), C=32, K=32, taps=(3, 3, 3)), [SMALL]),
    (Conv(own=(9, 10), C=16, K=32, taps=(7, 7)), [SMALL]),
    # Groups.
    (Conv(own=(9, 7), C=64, K=96, groups=4), [SMALL]),
    # bfloat16.
    (Conv(own=(9, 11), C=40, K=72, dtype="bf16"), [SMALL, BIG]),
]
