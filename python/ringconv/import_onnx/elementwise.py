# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators on single elements, with broadcasting."""
import math

import numpy as np
from onnx import helper

from .importer import handles
from ..network import Const, is_float


def _map(node, body, dtype=None):
    """One result from all inputs of a node."""
    inputs = [node.value(i) for i in range(len(node.inputs))]
    return node.program.elementwise(inputs, dtype or inputs[0].dtype, body)


def clamp(b, x, low, high):
    """low, high: scalars or None."""
    if low is not None:
        x = b.arith("maximum", x, low)
    return x if high is None else b.arith("minimum", x, high)


def relu(b, x):
    return clamp(b, x, b.const(0, x.dtype), None)


def sigmoid(b, x):
    one = b.const(1, x.dtype)
    return b.div(one, b.add(one, b.op("math.exp", b.op("arith.negf", x))))


def hard_sigmoid(b, x, alpha, beta):
    y = b.add(b.mul(x, b.const(alpha, x.dtype)), b.const(beta, x.dtype))
    return clamp(b, y, b.const(0, x.dtype), b.const(1, x.dtype))


def softplus(b, x):
    """log(1 + e^x) = max(x, 0) + log1p(e^-|x|)."""
    small = b.op("math.log1p", b.op("math.exp", b.op("arith.negf", b.op("math.absf", x))))
    return b.add(relu(b, x), small)


def _where_negative(b, x, value):
    return b.select(b.compare("lt", x, b.const(0, x.dtype)), value, x)


def elu(b, x, alpha):
    return _where_negative(b, x, b.mul(b.op("math.expm1", x), b.const(alpha, x.dtype)))


def gelu(b, x, approximate):
    half, one = b.const(0.5, x.dtype), b.const(1, x.dtype)
    if approximate == "tanh":
        cube = b.mul(b.mul(x, x), x)
        inner = b.mul(b.add(x, b.mul(cube, b.const(0.044715, x.dtype))), b.const(math.sqrt(2 / math.pi), x.dtype))
        return b.mul(b.mul(half, x), b.add(one, b.op("math.tanh", inner)))
    scaled = b.mul(x, b.const(math.sqrt(0.5), x.dtype))
    return b.mul(b.mul(half, x), b.add(one, b.op("math.erf", scaled)))


UNARY = {
    "Relu": relu,
    "Sigmoid": sigmoid,
    "Softplus": softplus,
    "Tanh": lambda b, x: b.op("math.tanh", x),
    "Exp": lambda b, x: b.op("math.exp", x),
    "Log": lambda b, x: b.op("math.log", x),
    "Sqrt": lambda b, x: b.op("math.sqrt", x),
    "Erf": lambda b, x: b.op("math.erf", x),
    "Sin": lambda b, x: b.op("math.sin", x),
    "Cos": lambda b, x: b.op("math.cos", x),
    "Floor": lambda b, x: b.op("math.floor", x),
    "Ceil": lambda b, x: b.op("math.ceil", x),
    "Round": lambda b, x: b.op("math.roundeven", x),
    "Reciprocal": lambda b, x: b.div(b.const(1, x.dtype), x),
    "Abs": lambda b, x: b.op("math.absf" if is_float(x.dtype) else "math.absi", x),
    "Neg": lambda b, x: b.op("arith.negf", x) if is_float(x.dtype) else b.sub(b.const(0, x.dtype), x),
    "Softsign": lambda b, x: b.div(x, b.add(b.const(1, x.dtype), b.op("math.absf", x))),
    "Mish": lambda b, x: b.mul(x, b.op("math.tanh", softplus(b, x))),
    "HardSwish": lambda b, x: b.mul(x, hard_sigmoid(b, x, 1 / 6, 0.5)),
    "Not": lambda b, x: b.op("arith.xori", x, b.const(True, x.dtype)),
}


@handles(*UNARY)
def unary(node):
    return _map(node, UNARY[node.kind])


# Operators with attributes: name -> (body, attributes with their defaults).
PARAMETRIC = {
    "HardSigmoid": (hard_sigmoid, {"alpha": 0.2, "beta": 0.5}),
    "LeakyRelu": (lambda b, x, alpha: _where_negative(b, x, b.mul(x, b.const(alpha, x.dtype))), {"alpha": 0.01}),
    "Elu": (elu, {"alpha": 1.0}),
    "Celu": (lambda b, x, alpha: _where_negative(
        b, x, b.mul(b.op("math.expm1", b.div(x, b.const(alpha, x.dtype))), b.const(alpha, x.dtype))), {"alpha": 1.0}),
    "Selu": (lambda b, x, alpha, gamma: b.mul(elu(b, x, alpha), b.const(gamma, x.dtype)),
             {"alpha": 1.67326319217681884765625, "gamma": 1.05070102214813232421875}),
    "ThresholdedRelu": (lambda b, x, alpha: b.select(b.compare("gt", x, b.const(alpha, x.dtype)), x,
                                                     b.const(0, x.dtype)), {"alpha": 1.0}),
    "Swish": (lambda b, x, alpha: b.mul(x, sigmoid(b, b.mul(x, b.const(alpha, x.dtype)))), {"alpha": 1.0}),
    "Gelu": (gelu, {"approximate": "none"}),
}


@handles(*PARAMETRIC)
def parametric(node):
    body, defaults = PARAMETRIC[node.kind]
    values = [node.attribute(name, default) for name, default in defaults.items()]
    return _map(node, lambda b, x: body(b, x, *values))


def _power(b, x, y):
    return b.op("math.powf", x, b.cast(y, x.dtype))


BINARY = {
    "Add": lambda b, x, y: b.add(x, y),
    "Sub": lambda b, x, y: b.sub(x, y),
    "Mul": lambda b, x, y: b.mul(x, y),
    "Div": lambda b, x, y: b.div(x, y),
    "PRelu": lambda b, x, y: _where_negative(b, x, b.mul(x, y)),
    "And": lambda b, x, y: b.op("arith.andi", x, y),
    "Or": lambda b, x, y: b.op("arith.ori", x, y),
    "Xor": lambda b, x, y: b.op("arith.xori", x, y),
}


@handles(*BINARY)
def binary(node):
    return _map(node, BINARY[node.kind])


@handles("Pow")
def power(node):
    exponent = node.value(1)
    known = isinstance(exponent, Const) and exponent.array.size == 1 and float(exponent.array.reshape(-1)[0])
    if known == 2.0:
        return node.program.elementwise([node.value(0)], node.value(0).dtype, lambda b, x: b.mul(x, x))
    if known == 0.5:
        return node.program.elementwise([node.value(0)], node.value(0).dtype, lambda b, x: b.op("math.sqrt", x))
    if not is_float(node.value(0).dtype):
        node.fail(f"powers of {node.value(0).dtype} are not supported")
    return _map(node, _power)


COMPARISONS = {"Equal": "eq", "Greater": "gt", "GreaterOrEqual": "ge", "Less": "lt", "LessOrEqual": "le"}


@handles(*COMPARISONS)
def comparison(node):
    return _map(node, lambda b, x, y: b.compare(COMPARISONS[node.kind], x, y), np.bool_)


VARIADIC = {"Sum": "add", "Mean": "add", "Max": "maximum", "Min": "minimum"}


@handles(*VARIADIC)
def variadic(node):

    def body(b, first, *rest):
        for other in rest:
            first = b.arith(VARIADIC[node.kind], first, other)
        return b.div(first, b.const(len(rest) + 1, first.dtype)) if node.kind == "Mean" else first

    return _map(node, body)


@handles("Where")
def where(node):
    return _map(node, lambda b, condition, x, y: b.select(condition, x, y), node.value(1).dtype)


@handles("Clip")
def clip(node):
    limits = [node.attribute("min"), node.attribute("max")]
    inputs, present = [node.value(0)], []
    for i in (1, 2):
        present.append(node.has(i))
        if node.has(i):
            inputs.append(node.value(i))

    def body(b, x, *args):
        rest = list(args)
        bounds = [rest.pop(0) if p else b.const(limit, x.dtype) if limit is not None else None
                  for p, limit in zip(present, limits)]
        return clamp(b, x, *bounds)

    return node.program.elementwise(inputs, inputs[0].dtype, body)


@handles("Cast", "CastLike")
def cast(node):
    dtype = np.dtype(helper.tensor_dtype_to_np_dtype(node.attribute("to"))
                     if node.kind == "Cast" else node.value(1).dtype)
    if dtype == node.value(0).dtype:
        return node.value(0)
    return node.program.elementwise([node.value(0)], dtype, lambda b, x: b.cast(x, dtype))


@handles("Identity", "Dropout")
def identity(node):
    return node.value(0)
