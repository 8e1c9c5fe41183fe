# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""16-bit floats, features last; slabs of other ranks are read in place."""
from conv import Conv

SMALL, BIG = "--tile=64,64,32,32,4", "--tile=128,128,64,64,4"
CUT = dict(C=32, K=64)
# No padding: the slabs hold what the window reads beyond the shard.
NONE2 = ((0, 0), (0, 0))

CASES = [
    # The last dimension is cut, the first, one side only.
    (Conv(N=2, own=(10, 9), halo={1: (1, 1)}, pad=((1, 1), (0, 0)), **CUT), [SMALL, BIG]),
    (Conv(N=2, own=(9, 10), halo={0: (1, 1)}, pad=((0, 0), (1, 1)), **CUT), [SMALL]),
    (Conv(own=(10, 9), halo={1: (0, 1)}, pad=((1, 1), (1, 0)), **CUT), [SMALL]),
    (Conv(own=(10, 9), halo={1: (1, 0)}, pad=((1, 1), (0, 1)), **CUT), [SMALL]),
    # Both: slabs of the last dimension contain the corners.
    (Conv(N=2, own=(6, 9), halo={0: (1, 1), 1: (1, 1)}, pad=NONE2, **CUT), [SMALL]),
    # At the edge of the whole tensor a slab holds nothing that may be read.
    (Conv(own=(9, 10), halo={0: (1, 1), 1: (1, 1)}, valid=((1, 11), (0, 11)), **CUT), [SMALL]),
    # Slabs wider than the shard, strides, dilations, five columns.
    (Conv(own=(10, 2), halo={1: (3, 2)}, taps=(1, 5), pad=NONE2, **CUT), [SMALL]),
    (Conv(own=(10, 12), halo={1: (2, 1)}, taps=(3, 5), stride=(1, 2), pad=((1, 1), (0, 0)), **CUT), [SMALL]),
    (Conv(own=(11, 12), halo={0: (2, 2)}, dilation=(2, 2), pad=((0, 0), (2, 2)), **CUT), [SMALL]),
    # Three dimensions, all cut: six slabs. Groups. bfloat16.
    (Conv(own=(4, 5, 6), taps=(3, 3, 3), halo={0: (1, 1), 1: (1, 1), 2: (1, 1)}, pad=((0, 0),) * 3, C=16, K=32),
     [SMALL]),
    (Conv(own=(10, 9), halo={1: (1, 1)}, pad=((1, 1), (0, 0)), C=32, K=64, groups=2, dtype="bf16"), [SMALL]),
]
