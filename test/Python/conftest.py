# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Values computed another way: straight from the definitions, in f64."""
import itertools

import numpy as np
import pytest


def conv2d(x, w, bias=None, stride=1, padding=0, dilation=1):
    """NCHW and OIHW."""
    (n, _, h, width), (o, _, kh, kw) = x.shape, w.shape
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (padding,) * 2, (padding,) * 2))
    oh = (h + 2 * padding - (kh - 1) * dilation - 1) // stride + 1
    ow = (width + 2 * padding - (kw - 1) * dilation - 1) // stride + 1
    y = np.zeros((n, o, oh, ow))
    for i, j in itertools.product(range(oh), range(ow)):
        rows = slice(i * stride, i * stride + (kh - 1) * dilation + 1, dilation)
        columns = slice(j * stride, j * stride + (kw - 1) * dilation + 1, dilation)
        y[:, :, i, j] = np.einsum("nchw,ochw->no", padded[:, :, rows, columns], w.astype(np.float64))
    return y if bias is None else y + bias.reshape(1, -1, 1, 1)


def max_pool2d(x, size, stride, padding):
    n, c, h, width = x.shape
    padded = np.pad(x, ((0, 0), (0, 0), (padding,) * 2, (padding,) * 2), constant_values=-np.inf)
    oh, ow = ((s + 2 * padding - size) // stride + 1 for s in (h, width))
    y = np.empty((n, c, oh, ow))
    for i, j in itertools.product(range(oh), range(ow)):
        y[:, :, i, j] = padded[:, :, i * stride : i * stride + size, j * stride : j * stride + size].max((2, 3))
    return y


@pytest.fixture
def random():
    generator = np.random.default_rng(7)
    return lambda *shape: generator.uniform(-1, 1, shape).astype(np.float32)
