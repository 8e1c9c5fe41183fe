# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Forms that need a copy of an operand, or several launches."""
from conv import Conv

F16, F32 = "--tile=64,64,32,32,4", "--tile=64,64,64,32,3"

CASES = [
    # Features first: copied to features last; odd numbers of features: padded.
    (Conv(own=(9, 11), C=16, K=40, layout="first"), [F16]),
    (Conv(own=(9, 11), C=16, K=40, layout="first", halo={0: (1, 1), 1: (1, 0)}, pad=((0, 0), (0, 1))), [F16]),
    (Conv(own=(19, 21), C=3, K=64, taps=(7, 7), stride=(2, 2)), [F16]),
    (Conv(own=(9, 11), C=20, K=24, layout="first", dtype="bf16"), [F16]),
    # Dilated inputs: the gradient of the input of strided convolutions.
    (Conv(own=(7, 8), C=32, K=64, lhs=(2, 2), pad=((1, 2), (1, 2)), reverse=(True, True)), [F16]),
    (Conv(own=(7, 8), C=16, K=24, taps=(1, 1), lhs=(2, 2), pad=((0, 1), (0, 1)), reverse=(True, True)), [F16]),
    (Conv(own=(7, 8), C=16, K=24, taps=(3, 5), lhs=(3, 2), dilation=(2, 2), stride=(1, 3), pad=((2, 2), (3, 1)),
          dtype="f32", layout="first"), [F32]),
    (Conv(own=(7, 8), C=16, K=24, lhs=(1, 2), halo={1: (1, 1)}, valid=((0, 7), (0, 9)), pad=((1, 1), (1, 1)),
          dtype="f32", layout="first"), [F32]),
]
