# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The same training in numpy, written down directly: sums of shifted pictures, in f64."""
import numpy as np


def shifted(x):
    """The nine pictures that a 3x3 window reads, by tap."""
    size = x.shape[2:]
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    return [(i, j, padded[:, :, i : i + size[0], j : j + size[1]]) for i in range(3) for j in range(3)]


def convolve(x, w, b):
    return sum(np.einsum("nchw,oc->nohw", part, w[:, :, i, j]) for i, j, part in shifted(x)) + b.reshape(1, -1, 1, 1)


def backward(x, w, dy):
    """Gradients of input, filter and bias."""
    dw = np.empty_like(w)
    for i, j, part in shifted(x):
        dw[:, :, i, j] = np.einsum("nohw,nchw->oc", dy, part)
    dx = sum(np.einsum("nohw,oc->nchw", part, w[:, :, 2 - i, 2 - j]) for i, j, part in shifted(dy))
    return dx, dw, dy.sum(axis=(0, 2, 3))


def train(noisy, clean, parameters, rate, steps):
    parameters = [p.copy() for p in parameters]
    for _ in range(steps):
        w1, b1, w2, b2, w3, b3 = parameters
        x1 = np.maximum(convolve(noisy, w1, b1), 0)
        x2 = np.maximum(convolve(x1, w2, b2), 0)
        denoised = convolve(x2, w3, b3)
        d3 = 2 * (denoised - clean) / clean.size
        dx2, dw3, db3 = backward(x2, w3, d3)
        dx1, dw2, db2 = backward(x1, w2, dx2 * (x2 > 0))
        _, dw1, db1 = backward(noisy, w1, dx1 * (x1 > 0))
        for p, g in zip(parameters, (dw1, db1, dw2, db2, dw3, db3)):
            p -= rate * g
    return parameters
