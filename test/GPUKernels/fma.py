# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""f32 and f64 by fused multiply-adds, features first and last."""
from conv import Conv

BIG, SMALL, NARROW = "--tile=128,128,64,32,3", "--tile=64,64,64,32,3", "--tile=64,32,64,32,3"
DEEP = "--tile=128,128,64,64,3"
DOUBLE = "--tile=64,64,32,32,3"
NONE2 = ((0, 0), (0, 0))
FIRST, LAST = dict(dtype="f32", layout="first"), dict(dtype="f32")

CASES = [
    # All tiles give the same bits; 16-byte stores.
    (Conv(N=2, own=(12, 14), C=16, K=128, **FIRST), [SMALL, BIG, DEEP, NARROW]),
    (Conv(N=2, own=(12, 14), C=16, K=128, **LAST), [SMALL, BIG, DEEP, NARROW]),
    # Tails of everything; scalar stores; few input features.
    (Conv(own=(9, 11), C=13, K=37, **FIRST), [SMALL]),
    (Conv(own=(9, 11), C=13, K=37, bias=False, **LAST), [SMALL]),
    (Conv(own=(19, 21), C=3, K=64, taps=(7, 7), stride=(2, 2), **FIRST), [SMALL]),
    (Conv(own=(9, 11), C=12, K=64, taps=(1, 1), **FIRST), [SMALL]),
    # Strides, dilations, cropping, reversal.
    (Conv(own=(15, 17), C=8, K=64, stride=(2, 1), dilation=(1, 2), **FIRST), [SMALL]),
    (Conv(own=(15, 17), C=8, K=64, taps=(3, 2), pad=((-1, 0), (2, -2)), reverse=(False, True), **LAST), [SMALL]),
    # Slabs: the last dimension, both, the edge of the whole tensor.
    (Conv(N=2, own=(10, 9), halo={1: (1, 1)}, pad=((1, 1), (0, 0)), C=16, K=64, **FIRST), [SMALL, BIG]),
    (Conv(N=2, own=(6, 9), halo={0: (1, 1), 1: (2, 1)}, taps=(3, 4), pad=NONE2, C=16, K=64, **FIRST), [SMALL]),
    (Conv(own=(9, 10), halo={0: (1, 1), 1: (1, 1)}, valid=((1, 11), (0, 11)), C=16, K=64, **FIRST), [SMALL]),
    (Conv(own=(9, 10), halo={0: (1, 1), 1: (1, 1)}, valid=((1, 11), (0, 11)), C=16, K=64, **LAST), [SMALL]),
    # One and three dimensions; groups; f64.
    (Conv(own=(70,), C=16, K=32, taps=(5,), **FIRST), [SMALL]),
    (Conv(own=(5, 6, 7), C=8, K=32, taps=(3, 3, 3), **FIRST), [SMALL]),
    (Conv(own=(9, 7), C=32, K=40, groups=4, **FIRST), [SMALL]),
    (Conv(own=(9, 11), C=13, K=64, dtype="f64", layout="first"), [DOUBLE]),
    (Conv(own=(9, 10), halo={1: (1, 1)}, pad=((1, 1), (0, 0)), C=16, K=34, dtype="f64"), [DOUBLE]),
]
