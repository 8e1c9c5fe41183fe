# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Infinite weights, and NaN in the input: taps in padding add nothing."""
import numpy as np

from conv import Conv, TYPES


class Special(Conv):
    """Some weights are infinite, an element is NaN."""

    def values(self, x, w):
        x, w = x.copy(), w.copy()
        x[0, 2, 3] = np.nan
        w[1, 0, 0], w[2, -1, -1] = np.inf, -np.inf
        return x, w


F16, F32 = "--tile=64,64,32,32,4", "--tile=64,64,64,32,3"
SHAPE = dict(N=2, own=(8, 9), C=16, K=40)

CASES = [
    (Special(**SHAPE), [F16]),
    (Special(result="f32", layout="first", **SHAPE), [F16]),
    (Special(halo={1: (1, 1)}, valid=((0, 8), (1, 11)), **SHAPE), [F16]),
    (Special(dtype="f32", layout="first", **SHAPE), [F32]),
    (Special(dtype="f32", lhs=(2, 2), stride=(1, 1), **SHAPE), [F32]),
    (Special(dtype="f32", N=1, own=(12, 13), C=2, K=8, taps=(9, 9), pad=((4, 4), (4, 4))), [F32]),
    (Special(N=1, own=(8, 9), C=16, K=16, groups=16), [""]),
]
