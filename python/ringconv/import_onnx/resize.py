# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Resize: each dimension that changes is one of

  copies    output o is input floor(o / s): a pool whose input has s - 1 holes
            behind every element, of which each window sees one
  samples   output o is input offset + s·o: a slice
  phases    outputs come in groups of s, and phase p of group m is a fixed
            combination of inputs around m, repeated beyond the ends: a
            convolution with s results per channel
  a matrix  anything else: a product with it

All but the last leave a cut dimension cut, with a halo of a few elements.
"""
import numpy as np

from .importer import handles
from ..network import Const, Window


class _Coordinates:
    """Where output positions lie in the input, by the ONNX definitions."""

    def __init__(self, node, n, m, scale):
        self.node, self.n = node, n
        mode = node.attribute("coordinate_transformation_mode",
                              "half_pixel" if node.opset >= 11 else "asymmetric")
        o = np.arange(m, dtype=np.float64)
        self.x = {
            "half_pixel": lambda: (o + 0.5) / scale - 0.5,
            "half_pixel_symmetric": lambda: n / 2 * (1 - m / (n * scale)) + (o + 0.5) / scale - 0.5,
            "pytorch_half_pixel": lambda: (o + 0.5) / scale - 0.5 if m > 1 else np.zeros(m),
            "align_corners": lambda: o * (n - 1) / (m - 1) if m > 1 else np.zeros(m),
            "asymmetric": lambda: o / scale,
        }.get(mode, lambda: node.fail(f"coordinate_transformation_mode {mode} is not supported"))()

    def matrix(self):
        """m × n: row o holds the weights of output o."""
        kind = self.node.attribute("mode", "nearest")
        if kind == "nearest":
            return self._rows([(self._nearest(), np.ones_like(self.x))])
        floor = np.floor(self.x)
        t = self.x - floor
        if kind == "linear":
            return self._rows([(floor, 1 - t), (floor + 1, t)])
        if kind == "cubic" and not self.node.attribute("exclude_outside", 0):
            a = self.node.attribute("cubic_coeff_a", -0.75)
            near = lambda d: (a + 2) * d**3 - (a + 3) * d**2 + 1
            far = lambda d: a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a
            return self._rows([(floor - 1, far(1 + t)), (floor, near(t)), (floor + 1, near(1 - t)),
                               (floor + 2, far(2 - t))])
        return self.node.fail(f"mode {kind} is not supported")

    def _nearest(self):
        # Older opsets say nothing of rounding and mean floor.
        rounding = self.node.attribute("nearest_mode", "round_prefer_floor") if self.node.opset >= 11 else "floor"
        return {
            "floor": np.floor,
            "ceil": np.ceil,
            "round_prefer_floor": lambda x: np.ceil(x - 0.5),
            "round_prefer_ceil": lambda x: np.floor(x + 0.5)
        }[rounding](self.x)

    def _rows(self, taps):
        matrix = np.zeros((len(self.x), self.n))
        for position, weight in taps:
            column = np.clip(position, 0, self.n - 1).astype(int)
            np.add.at(matrix, (np.arange(len(self.x)), column), weight)
        return matrix


def _one_hot(matrix):
    """The input of each output where every output is one input."""
    return matrix.argmax(1) if np.all((matrix == 0) | (matrix == 1)) and np.all(matrix.sum(1) == 1) else None


def _phases(matrix, s):
    """(weights [s, taps], radius): output s·m + p = sum of weights[p, t] times
    input m + t - radius, beyond the ends the last; None where there is no such form."""
    m, n = matrix.shape
    if m != s * n:
        return None
    for radius in (1, 2):
        middle = n // 2
        if middle < radius or middle + radius >= n:
            return None
        weights = matrix[s * middle:s * middle + s, middle - radius:middle + radius + 1]
        again = np.zeros_like(matrix)
        for p in range(s):
            for t in range(2 * radius + 1):
                column = np.clip(np.arange(n) + t - radius, 0, n - 1)
                np.add.at(again, (np.arange(n) * s + p, column), weights[p, t])
        if np.allclose(again, matrix, atol=1e-12):
            return weights, radius
    return None


def _resize_by_phases(program, x, d, weights, radius):
    s, channels = len(weights), x.shape[1]
    taps = [1] * (x.rank - 2)
    taps[d - 2] = 2 * radius + 1
    weight = np.tile(weights, (channels, 1)).reshape(channels * s, 1, *taps).astype(x.dtype)
    windows = [Window() for _ in taps]
    windows[d - 2] = Window(2 * radius + 1, low=radius, high=radius, border="replicate")
    y = program.conv(x, program.tensor(Const(weight, "resize")), None, windows, groups=channels)
    y = program.reshape(y, (x.shape[0], channels, s, *x.shape[2:]))
    order = [0, 1, *range(3, y.rank)]
    order.insert(d + 1, 2)
    y = program.transpose(y, order)
    return program.reshape(y, [n * s if k == d else n for k, n in enumerate(x.shape)])


def _resize_by_matrix(program, x, d, matrix):
    """Output columns stay innermost where they were."""
    weight = program.tensor(Const(matrix.astype(x.dtype), "resize"))
    shape = [len(matrix) if k == d else n for k, n in enumerate(x.shape)]
    k = f"d{x.rank}"
    return program.generic([x, weight], [[k if e == d else f"d{e}" for e in range(x.rank)], [f"d{d}", k]],
                           [program.fill(shape, x.dtype, 0)], [[f"d{e}" for e in range(x.rank)]],
                           ["parallel"] * x.rank + ["reduction"], lambda b, v, w, total: b.add(total, b.mul(v, w)))


def _resize_dim(node, x, d, m, scale):
    program, n = node.program, x.shape[d]
    matrix = _Coordinates(node, n, m, scale).matrix()
    source = _one_hot(matrix)
    if source is not None and m % n == 0:
        s = m // n
        if np.array_equal(source, np.arange(m) // s):
            return ("copies", s)
    if source is not None and m > 0:
        step = int(source[1] - source[0]) if m > 1 else 1
        if step >= 1 and np.array_equal(source, source[0] + step * np.arange(m)):
            sizes = [m if k == d else e for k, e in enumerate(x.shape)]
            offsets = [int(source[0]) if k == d else 0 for k in range(x.rank)]
            return program.slice(x, offsets, sizes, [step if k == d else 1 for k in range(x.rank)])
    if d >= 2 and m % n == 0 and (form := _phases(matrix, m // n)):
        return _resize_by_phases(program, x, d, *form)
    return _resize_by_matrix(program, x, d, matrix)


def _sizes(node, x):
    """(outputs, scale) per dimension."""
    resize11 = node.kind == "Resize" and node.opset >= 11
    scales = node.constant(2 if resize11 else 1, "scales")
    if scales is None:
        scales = node.attribute("scales")
    sizes = node.constant(3, "sizes")
    axes = [node.axis(a, x.rank) for a in node.attribute("axes", range(x.rank))]
    result = [(n, 1.0) for n in x.shape]
    if sizes is not None and sizes.size:
        if node.attribute("keep_aspect_ratio_policy", "stretch") != "stretch":
            node.fail("keep_aspect_ratio_policy is not supported")
        for d, m in zip(axes, sizes):
            result[d] = (int(m), int(m) / x.shape[d])
    elif scales is not None and len(scales):
        for d, s in zip(axes, scales):
            result[d] = (int(np.floor(x.shape[d] * float(s))), float(s))
    else:
        node.fail("neither scales nor sizes")
    return result


@handles("Resize", "Upsample")
def resize(node):
    x = node.tensor(0)
    copies = {}
    for d, (m, scale) in enumerate(_sizes(node, x)):
        if m == x.shape[d] and scale == 1:
            continue
        result = _resize_dim(node, x, d, m, scale)
        if isinstance(result, tuple):
            copies[d] = Window(result[1], low=result[1] - 1, high=result[1] - 1, lhs_dilate=result[1])
        else:
            x = result
    return node.program.pool("max", x, copies) if copies else x
