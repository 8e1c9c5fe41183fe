# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Normalisations. Statistics are one reduction with two results, sum and sum of
squares, in f64: cut dimensions then cost one message, and the difference of
large sums loses nothing that matters."""
import numpy as np

from .importer import handles
from ..network import Const
from .windows import batch_norm_affine


def _statistics(program, x, axes):
    """(mean, 1 / sqrt(variance + epsilon)) as a function of epsilon, over `axes`,
    which are dropped: the sums and the number of elements."""

    def body(b, v, total, squares):
        wide = b.cast(v, np.float64)
        return [b.add(total, wide), b.add(squares, b.mul(wide, wide))]

    sums = program.reduce(x, axes, [np.float64] * 2, [0, 0], body)
    return sums, int(np.prod([x.shape[d] for d in axes]))


def _moments(b, total, squares, count, epsilon):
    n = b.const(count, np.float64)
    mean = b.div(total, n)
    variance = b.sub(b.div(squares, n), b.mul(mean, mean))
    variance = b.arith("maximum", variance, b.const(0, np.float64))
    return mean, b.div(b.const(1, np.float64), b.op("math.sqrt", b.add(variance, b.const(epsilon, np.float64))))


def _factors(program, sums, count, epsilon, scale, shift, dtype):
    """Per element of the statistics (and of scale and shift, broadcast): a and b
    of a·x + b."""

    def factor(b, total, squares, s):
        _, inverse = _moments(b, total, squares, count, epsilon)
        return b.cast(b.mul(inverse, b.cast(s, np.float64)), dtype)

    def offset(b, total, squares, s, t):
        mean, inverse = _moments(b, total, squares, count, epsilon)
        scaled = b.mul(b.mul(mean, inverse), b.cast(s, np.float64))
        return b.cast(b.sub(b.cast(t, np.float64), scaled), dtype)

    return (program.elementwise([*sums, scale], dtype, factor),
            program.elementwise([*sums, scale, shift], dtype, offset))


def _affine(b, x, factor, offset):
    return b.add(b.mul(x, factor), offset)


def _reshaped(program, value, shape):
    if isinstance(value, Const):
        return Const(value.array.reshape(shape), value.name)
    return program.reshape(value, shape)


def group_norm(program, x, groups, scale, shift, epsilon):
    """x [batch, channels, …]; scale and shift: one value per channel."""
    channels = x.shape[1]
    split = program.reshape(x, (x.shape[0], groups, channels // groups, *x.shape[2:]))
    sums, count = _statistics(program, split, list(range(2, split.rank)))
    sums = [program.reshape(s, (*s.shape, 1)) for s in sums]
    scale, shift = (_reshaped(program, v, (1, groups, channels // groups)) for v in (scale, shift))
    factors = _factors(program, sums, count, epsilon, scale, shift, x.dtype)
    ones = (1,) * (x.rank - 2)
    factors = [program.reshape(f, (x.shape[0], channels, *ones)) for f in factors]
    return program.elementwise([x, *factors], x.dtype, _affine)


@handles("InstanceNormalization")
def instance_normalization(node):
    x = node.tensor(0)
    return group_norm(node.program, x, x.shape[1], node.value(1), node.value(2), node.attribute("epsilon", 1e-5))


@handles("GroupNormalization")
def group_normalization(node):
    x, groups = node.tensor(0), node.attribute("num_groups")
    if node.opset < 21:  # scale and bias are per group
        if groups != x.shape[1]:
            scale, shift = (Const(np.repeat(node.constant(i, "scale and bias"), x.shape[1] // groups),
                                  node.proto.input[i]) for i in (1, 2))
            return group_norm(node.program, x, groups, scale, shift, node.attribute("epsilon", 1e-5))
    return group_norm(node.program, x, groups, node.value(1), node.value(2), node.attribute("epsilon", 1e-5))


@handles("LayerNormalization")
def layer_normalization(node):
    x, program = node.tensor(0), node.program
    axis = node.axis(node.attribute("axis", -1), x.rank)
    sums, count = _statistics(program, x, list(range(axis, x.rank)))
    ones = (1,) * (x.rank - axis)
    sums = [program.reshape(s, (*s.shape, *ones)) for s in sums]
    epsilon = node.attribute("epsilon", 1e-5)
    shift = node.value(2) if node.has(2) else Const(np.zeros(1, x.dtype))

    def body(b, v, total, squares, s, t):
        mean, inverse = _moments(b, total, squares, count, epsilon)
        normal = b.mul(b.sub(b.cast(v, np.float64), mean), inverse)
        return b.cast(_affine(b, normal, b.cast(s, np.float64), b.cast(t, np.float64)), x.dtype)

    return program.elementwise([x, *sums, node.value(1), shift], x.dtype, body)


@handles("BatchNormalization")
def batch_normalization(node):
    """Where no convolution before it took it over."""
    x = node.tensor(0)
    if node.attribute("training_mode", 0) or len(node.proto.output) > 1:
        node.fail("training is not supported")
    for i, name in enumerate(("scale", "bias", "mean", "variance")):
        node.constant(i + 1, name)
    factors = batch_norm_affine(node.proto, node.inputs[1:5])
    shape = (1, -1, *[1] * (x.rank - 2))
    factors = [Const(f.astype(x.dtype).reshape(shape), node.proto.input[i + 1]) for i, f in enumerate(factors)]
    return node.program.elementwise([x, *factors], x.dtype, _affine)
