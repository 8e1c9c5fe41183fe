# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check.py make|check FOLDER: an image, and what the operations should make of it."""
import sys

import numpy as np

word, folder = sys.argv[1:]
x = np.random.default_rng(5).uniform(-1, 1, (7, 5)).astype(np.float32)
if word == "make":
    np.save(f"{folder}/x.npy", x)
else:
    padded = np.pad(x, 2, mode="edge")
    squares = np.lib.stride_tricks.sliding_window_view(padded, (5, 5))
    expected = squares.max((2, 3)) - squares.min((2, 3))
    assert (np.load(f"{folder}/range.npy") == expected).all()
    assert np.abs(np.load(f"{folder}/sums.npy") - expected.sum(1)).max() < 1e-5
