# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_stablehlo.py RINGCONV_RUN FOLDER: imports jax.mlir, runs it on four ranks
and compares with the same in NumPy; then what cannot be imported."""
import os
import subprocess
import sys

import numpy as np

from ringconv.import_stablehlo import ImportFailure, import_text
from ringconv.network import files

HERE = os.path.dirname(os.path.abspath(__file__))
BIAS = np.array([0.5, -1.5, 2.0, 0.25])
DENSE = np.array([[1, 0.5, -1, 2, 0], [0.25, 0.5, 1, -2, 1], [0, 1.5, 1, 0.5, 2], [1, -0.5, 0, 1, 0.75]])


def expected(x, w):
    x = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (1, 1), (1, 1)))
    y = sum(np.einsum("bihw,oi->bohw", x[:, :, i:i + 9, j:j + 14], w[:, :, i, j].astype(np.float64))
            for i in range(3) for j in range(3))
    y = np.maximum(y + BIAS[:, None, None], 0)
    p = np.pad(y, ((0, 0), (0, 0), (1, 1), (0, 1)), constant_values=-np.inf)
    pooled = np.max([p[:, :, i:i + 9:2, j:j + 13:2] for i in range(3) for j in range(2)], 0)
    return np.tanh(pooled.sum((2, 3)) * 0.02 @ DENSE), np.pad(y[..., 2:], ((0, 0), (0, 0), (1, 1), (0, 1)),
                                                       constant_values=0.25)


def main():
    tool, folder = sys.argv[1:]
    path = lambda name: os.path.join(folder, name)
    with open(os.path.join(HERE, "jax.mlir")) as file:
        text = file.read()
    files.write(path("net.mlir"), import_text(text))
    rng = np.random.default_rng(2)
    x, w = (rng.standard_normal(s).astype(np.float32) * 0.2 for s in ((2, 3, 9, 14), (4, 3, 3, 3)))
    np.save(path("x.npy"), x)
    np.save(path("w.npy"), w)
    subprocess.run([tool, path("net.mlir"), f"--params={path('net.safetensors')}", f"--input=0={path('x.npy')}",
                    f"--input=1={path('w.npy')}", f"--output=0={path('0.npy')}", f"--output=1={path('1.npy')}",
                    "--check"], check=True)
    for i, e in enumerate(expected(x, w)):
        y = np.load(path(f"{i}.npy"))
        assert y.shape == e.shape and np.abs(y - e).max() < 1e-5, (i, y.shape, np.abs(y - e).max())
        assert e.std() > 0.1
    for wrong, message in (
            (text.replace("stablehlo.tanh", "stablehlo.cbrt"), "line 23: stablehlo.cbrt: operation is not supported"),
            (text.replace("tensor<2x5xf32> {", "tensor<?x5xf32> {").replace("-> tensor<2x5xf32>", "-> tensor<?x5xf32>"),
             "tensor<?x5xf32>: sizes must be fixed"),
            (text.replace("call @relu", "call @gelu"), "line 13: call: @gelu is not in the file"),
            (text.replace("@main", "@other"), "no function @main; the functions are @other, @relu")):
        try:
            import_text(wrong)
        except ImportFailure as failure:
            assert str(failure) == message, failure
        else:
            raise AssertionError(f"imported, expected '{message}'")
    print("passed")


main()
