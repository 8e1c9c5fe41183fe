# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions and pools."""
import numpy as np

from .importer import handles
from ..network import Const, Window

MODES = {"constant": "zero", "reflect": "reflect", "edge": "replicate", "wrap": "circular"}


def _pairs(pads):
    """ONNX's [low…, high…] as (low, high) per dimension."""
    half = len(pads) // 2
    return list(zip(pads[:half], pads[half:]))


def _padding(node, kernel, strides, dilations, extents):
    """(low, high) per spatial dimension."""
    mode = node.attribute("auto_pad", "NOTSET")
    if mode in ("NOTSET", "VALID"):
        return _pairs(node.attribute("pads", [0] * (2 * len(kernel))) if mode == "NOTSET" else [0] * (2 * len(kernel)))
    if mode not in ("SAME_UPPER", "SAME_LOWER"):
        node.fail(f"auto_pad {mode} is not known")
    pads = []
    for k, s, d, n in zip(kernel, strides, dilations, extents):
        total = max(0, (-(-n // s) - 1) * s + d * (k - 1) + 1 - n)
        small, large = total // 2, total - total // 2
        pads.append((small, large) if mode == "SAME_UPPER" else (large, small))
    return pads


def _windows(node, kernel, extents):
    n = len(kernel)
    strides = list(node.attribute("strides", [1] * n))
    dilations = list(node.attribute("dilations", [1] * n))
    pads = _padding(node, kernel, strides, dilations, extents)
    return [Window(k, s, low, high, 1, d) for k, s, d, (low, high) in zip(kernel, strides, dilations, pads)]


def _unpadded(node, x, windows, zeros):
    """What `x` was padded from, where the windows can do that padding, else `x`.
    zeros: a window may read zeros from around its input."""
    source, pads = node.importer.padded.get(x.name, (x, {}))
    changed = {}
    for d, (low, high, mode) in pads.items():
        w = windows[d - 2] if d >= 2 else None
        if w is None or (mode == "zero" and not zeros) or (mode != "zero" and (w.low or w.high)):
            return x
        changed[w] = (low, high, mode)
    for w, (low, high, mode) in ((w, changed[w]) for w in windows if w in changed):
        w.low, w.high, w.border = w.low + low, w.high + high, mode
    return source


class _Affine:
    """filter and bias of a convolution, and what later nodes do per channel."""

    def __init__(self, node, weight, bias):
        self.node, self.name = node, node.proto.output[0]
        self.weight, self.bias = weight, bias
        self.changed = False

    def per_channel(self, array, rank):
        """`array` as one factor per output channel; None if it is something else."""
        shape = (1,) * (rank - array.ndim) + array.shape
        channels = self.weight.shape[0]
        if len(shape) != rank or shape[1] not in (1, channels) or any(n != 1 for d, n in enumerate(shape) if d != 1):
            return None
        return np.broadcast_to(array.astype(np.float64).reshape(-1), (channels,))

    def apply(self, scale, shift):
        weight = self.weight.astype(np.float64) * scale.reshape(-1, *[1] * (self.weight.ndim - 1))
        bias = np.zeros(len(scale)) if self.bias is None else self.bias.astype(np.float64)
        self.weight, self.bias = weight, bias * scale + shift
        self.changed = True

    def absorb(self, user, rank):
        """Takes over what `user` does to the convolution's result, if it can."""
        values = self.node.importer.values
        operands = [values.get(n) for n in user.input]
        zeros, ones = np.zeros(self.weight.shape[0]), np.ones(self.weight.shape[0])
        if user.op_type == "BatchNormalization" and len(user.output) == 1:
            if not all(isinstance(o, Const) for o in operands[1:]) or user.input[0] != self.name:
                return False
            self.apply(*batch_norm_affine(user, operands[1:]))
            return True
        if user.op_type not in ("Add", "Sub", "Mul", "Div") or not any(isinstance(o, Const) for o in operands):
            return False
        first = user.input[0] == self.name
        other = self.per_channel(operands[1 if first else 0].array, rank)
        if other is None or (not first and user.op_type in ("Sub", "Div")):
            return False
        self.apply(*{"Add": (ones, other), "Sub": (ones, -other), "Mul": (other, zeros),
                     "Div": (1 / other, zeros)}[user.op_type])
        return True

    def absorb_all(self, rank):
        importer = self.node.importer
        while True:
            user = importer.only_user(self.name)
            if user is None or user.domain not in ("", "ai.onnx") or not self.absorb(user, rank):
                return
            importer.done.add(id(user))
            self.name = user.output[0]

    def emit(self, x, windows, groups):
        """The convolution; its result is also the one of the last node absorbed."""
        program, values = self.node.program, self.node.importer.values
        dtype, names = x.dtype, [self.node.proto.input[1], (list(self.node.proto.input) + ["", ""])[2]]
        weight = program.tensor(Const(self.weight.astype(dtype), names[0]))
        bias = None
        if self.bias is not None:
            bias = program.tensor(Const(self.bias.astype(dtype), names[1] or names[0] + ".bias"))
        result = program.conv(x, weight, bias, windows, groups)
        values[self.name] = result
        return result


def batch_norm_affine(node, operands):
    """(scale, shift) per channel of a BatchNormalization in inference."""
    epsilon = next((a.f for a in node.attribute if a.name == "epsilon"), 1e-5)
    scale, shift, mean, variance = (o.array.astype(np.float64) for o in operands)
    factor = scale / np.sqrt(variance + epsilon)
    return factor, shift - mean * factor


def _filter(node):
    weight, bias = node.value(1), node.constant(2, "the bias")
    if not isinstance(weight, Const):
        node.fail("the filter must be constant")
    return weight.array, bias


@handles("Conv")
def conv(node):
    x = node.tensor(0)
    weight, bias = _filter(node)
    windows = _windows(node, weight.shape[2:], x.shape[2:])
    x = _unpadded(node, x, windows, zeros=True)
    affine = _Affine(node, weight, bias)
    affine.absorb_all(x.rank)
    return affine.emit(x, windows, node.attribute("group", 1))


@handles("ConvTranspose")
def conv_transpose(node):
    """A convolution of the input with zeros between its elements and the
    flipped filter."""
    x, groups = node.tensor(0), node.attribute("group", 1)
    weight, bias = _filter(node)  # [inputs, outputs / groups, taps…]
    spatial = list(range(2, weight.ndim))
    n = len(spatial)
    strides, dilations = node.attribute("strides", [1] * n), node.attribute("dilations", [1] * n)
    extra = node.attribute("output_padding", [0] * n)
    reach = [d * (k - 1) + 1 for d, k in zip(dilations, weight.shape[2:])]
    pads = _transposed_padding(node, x.shape[2:], strides, reach, extra)
    windows = [Window(k, 1, r - 1 - low, r - 1 - high + e, s, d) for k, s, d, r, e, (low, high) in zip(
        weight.shape[2:], strides, dilations, reach, extra, pads)]
    inputs, outputs = weight.shape[0], weight.shape[1] * groups
    weight = np.flip(weight, spatial).reshape(groups, inputs // groups, outputs // groups, *weight.shape[2:])
    weight = np.swapaxes(weight, 1, 2).reshape(outputs, inputs // groups, *weight.shape[3:])
    affine = _Affine(node, weight, bias)
    affine.absorb_all(x.rank)
    return affine.emit(x, windows, groups)


def _transposed_padding(node, extents, strides, reach, extra):
    wanted, mode = node.attribute("output_shape"), node.attribute("auto_pad", "NOTSET")
    if wanted is None and mode.startswith("SAME"):
        wanted = [n * s for n, s in zip(extents, strides)]
    if wanted is None:
        return _pairs(node.attribute("pads", [0] * (2 * len(strides))) if mode == "NOTSET" else [0] * (2 * len(strides)))
    pads = []
    for n, s, r, e, m in zip(extents, strides, reach, extra, wanted):
        total = s * (n - 1) + e + r - m
        half = total // 2
        pads.append((half, total - half) if mode == "SAME_UPPER" else (total - half, half))
    return pads


# ---- Pools ----
def _pool_windows(node, x):
    """The windows; ceil_mode is padding on the high side that only the last
    window reaches."""
    windows = _windows(node, node.attribute("kernel_shape"), x.shape[2:])
    extra = [0] * len(windows)
    if node.attribute("ceil_mode", 0):
        for i, (w, n) in enumerate(zip(windows, x.shape[2:])):
            span = n + w.low + w.high - w.rhs_dilate * (w.size - 1) - 1
            outputs = -(-span // w.stride) + 1
            if (outputs - 1) * w.stride >= n + w.low:  # it would start in the padding
                outputs -= 1
            extra[i] = (outputs - 1) * w.stride - span
    return windows, extra


def _by_dim(windows):
    return {d + 2: w for d, w in enumerate(windows)}


@handles("MaxPool")
def max_pool(node):
    x = node.tensor(0)
    windows, extra = _pool_windows(node, x)
    for w, e in zip(windows, extra):
        w.high += e
    x = _unpadded(node, x, windows, zeros=False)
    return node.program.pool("max", x, _by_dim(windows))


@handles("AveragePool")
def average_pool(node):
    x = node.tensor(0)
    windows, extra = _pool_windows(node, x)
    counted = bool(node.attribute("count_include_pad", 0))
    if counted and any(extra):
        # What ceil_mode adds is not counted: make the counted padding elements.
        x = node.program.pool("sum", x, {d: Window(low=w.low, high=w.high) for d, w in _by_dim(windows).items()})
        counted = False
        for w in windows:
            w.low = w.high = 0
    for w, e in zip(windows, extra):
        w.high += e
    return node.program.pool("avg", x, _by_dim(windows), count_padding=counted)


@handles("Pad")
def pad(node):
    x = node.tensor(0)
    mode = node.attribute("mode", "constant")
    if mode not in MODES:
        node.fail(f"mode {mode} is not known")
    amounts = _pairs(node.ints(1, "pads"))
    axes = node.constant(3, "axes")
    dims = range(x.rank) if axes is None else [node.axis(int(a), x.rank) for a in axes]
    pads = {d: (low, high) for d, (low, high) in zip(dims, amounts) if low or high}
    value = node.constant(2, "the padding value")
    value = float(node.attribute("value", 0.0) if value is None else np.asarray(value).reshape(-1)[0])
    if not pads:
        return x
    windows = {d: Window(low=low, high=high, border=MODES[mode]) for d, (low, high) in pads.items()}
    if mode == "constant":
        result = node.program.pad(x, windows, value)
        if value:
            return result
    else:
        result = node.program.pool("sum", x, windows)
    source, before = node.importer.padded.get(x.name, (x, {}))
    if before.keys().isdisjoint(pads):
        node.importer.padded[result.name] = (source, {
            **before, **{d: (low, high, MODES[mode]) for d, (low, high) in pads.items()}
        })
    return result
