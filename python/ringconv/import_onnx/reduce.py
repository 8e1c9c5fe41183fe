# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions, softmax and products. Sums of floats are kept in f64: partial
sums over ranks then round to what one rank gets."""
import numpy as np

from .importer import handles
from ..network import Const, is_float


def _total(program, x, axes, term=None):
    """Sum of term(x) over axes, which are dropped."""
    wide = np.float64 if is_float(x.dtype) else x.dtype

    def body(b, v, total):
        v = b.cast(v, wide)
        return b.add(total, term(b, v) if term else v)

    return program.reduce(x, axes, [wide], [0], body)


def _extreme(program, x, axes, word):
    if is_float(x.dtype):
        start = -np.inf if word == "maximum" else np.inf
    else:
        start = np.iinfo(x.dtype).min if word == "maximum" else np.iinfo(x.dtype).max
    return program.reduce(x, axes, [x.dtype], [start], lambda b, v, best: b.arith(word, best, v))


def _square(b, v):
    return b.mul(v, v)


def _absolute(b, v):
    return b.op("math.absf" if is_float(v.dtype) else "math.absi", v)


# Name -> (term of the sum, what is done to the sum of n terms).
SUMS = {
    "ReduceSum": (None, None),
    "ReduceMean": (None, lambda b, v, n: b.div(v, b.const(n, v.dtype))),
    "ReduceSumSquare": (_square, None),
    "ReduceL1": (_absolute, None),
    "ReduceL2": (_square, lambda b, v, n: b.op("math.sqrt", v)),
    "ReduceLogSum": (None, lambda b, v, n: b.op("math.log", v)),
}


def _finish(program, total, dtype, count, last):
    if last is None and total.dtype == dtype:
        return total
    return program.elementwise([total], dtype, lambda b, v: b.cast(last(b, v, count) if last else v, dtype))


def _sum(program, x, axes, kind):
    term, last = SUMS[kind]
    return _finish(program, _total(program, x, axes, term), x.dtype, int(np.prod([x.shape[d] for d in axes])), last)


def _keep(program, value, x, axes):
    return program.reshape(value, [1 if d in axes else n for d, n in enumerate(x.shape)])


@handles(*SUMS, "ReduceMax", "ReduceMin")
def reduction(node):
    x = node.tensor(0)
    axes = node.ints(1, "axes")
    if not axes:
        if node.attribute("noop_with_empty_axes", 0):
            return x
        axes = range(x.rank)
    axes = sorted(node.axis(a, x.rank) for a in axes)
    if node.kind in SUMS:
        value = _sum(node.program, x, axes, node.kind)
    else:
        value = _extreme(node.program, x, axes, "maximum" if node.kind == "ReduceMax" else "minimum")
    return _keep(node.program, value, x, axes) if node.attribute("keepdims", 1) else value


@handles("GlobalAveragePool", "GlobalMaxPool")
def global_pool(node):
    x = node.tensor(0)
    axes = list(range(2, x.rank))
    if node.kind == "GlobalMaxPool":
        value = _extreme(node.program, x, axes, "maximum")
    else:
        value = _sum(node.program, x, axes, "ReduceMean")
    return _keep(node.program, value, x, axes)


@handles("Softmax", "LogSoftmax")
def softmax(node):
    """Over one dimension; before opset 13 over it and all that follow."""
    x, program = node.tensor(0), node.program
    axis = node.axis(node.attribute("axis", -1 if node.opset >= 13 else 1), x.rank)
    axes = [axis] if node.opset >= 13 else list(range(axis, x.rank))
    largest = _keep(program, _extreme(program, x, axes, "maximum"), x, axes)
    exps = program.elementwise([x, largest], x.dtype, lambda b, v, m: b.op("math.exp", b.sub(v, m)))
    total = _keep(program, _finish(program, _total(program, exps, axes), x.dtype, 1, None), x, axes)
    if node.kind == "Softmax":
        return program.elementwise([exps, total], x.dtype, lambda b, e, s: b.div(e, s))
    return program.elementwise([x, largest, total], x.dtype,
                               lambda b, v, m, s: b.sub(b.sub(v, m), b.op("math.log", s)))


# ---- Products ----
def product(program, x, y):
    """NumPy's matmul."""
    if x.rank == 1:
        value = product(program, program.reshape(x, (1, *x.shape)), y)
        return program.reshape(value, [n for d, n in enumerate(value.shape) if d != value.rank - 2])
    if y.rank == 1:
        value = product(program, x, program.reshape(y, (*y.shape, 1)))
        return program.reshape(value, value.shape[:-1])
    batch = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    n = len(batch)
    shape = (*batch, x.shape[-2], y.shape[-1])

    def results(t, row, column):
        first = n - (t.rank - 2)
        leading = [f"d{first + d}" if size == batch[first + d] else "0" for d, size in enumerate(t.shape[:-2])]
        return [*leading, row, column]

    m, k, c = f"d{n}", f"d{n + 1}", f"d{n + 2}"  # the output's columns innermost: contiguous
    return program.generic([x, y], [results(x, m, k), results(y, k, c)], [program.fill(shape, x.dtype, 0)],
                           [[f"d{d}" for d in range(n)] + [m, c]], ["parallel"] * (n + 1) + ["reduction", "parallel"],
                           lambda b, u, v, total: b.add(total, b.mul(u, v)))


def _dense(node, x, weight, bias, name):
    """Rows of x times a constant matrix [outputs, inputs]: a convolution without
    spatial dimensions."""
    program = node.program
    w = program.tensor(Const(np.ascontiguousarray(weight), name))
    return program.conv(x, w, bias, [])


@handles("MatMul")
def matmul(node):
    y = node.value(1)
    x = node.tensor(0)
    if isinstance(y, Const) and y.rank == 2 and x.rank >= 2 and is_float(x.dtype):
        rows = node.program.reshape(x, (int(np.prod(x.shape[:-1])), x.shape[-1])) if x.rank > 2 else x
        if x.rank == 2:
            return _dense(node, rows, y.array.T, None, node.proto.input[1])
    return product(node.program, x, node.tensor(1))


@handles("Gemm")
def gemm(node):
    program, x, y = node.program, node.tensor(0), node.value(1)
    alpha, beta = node.attribute("alpha", 1.0), node.attribute("beta", 1.0)
    if node.attribute("transA", 0):
        x = program.transpose(x, [1, 0])
    bias = node.value(2) if node.has(2) else None
    if isinstance(y, Const) and (bias is None or (isinstance(bias, Const) and bias.rank == 1)):
        weight = y.array if node.attribute("transB", 0) else y.array.T
        weight = (weight.astype(np.float64) * alpha).astype(x.dtype)
        if bias is not None:
            array = np.broadcast_to(bias.array * np.asarray(beta, x.dtype), weight.shape[:1])
            bias = program.tensor(Const(np.ascontiguousarray(array), node.proto.input[2]))
        return _dense(node, x, weight, bias, node.proto.input[1])
    y = program.tensor(y)
    if node.attribute("transB", 0):
        y = program.transpose(y, [1, 0])
    value = product(program, x, y)
    if bias is None and alpha == 1:
        return value
    inputs = [value] + ([bias] if bias is not None else [])

    def body(b, v, *c):
        v = b.mul(v, b.const(alpha, v.dtype))
        return b.add(v, b.mul(c[0], b.const(beta, v.dtype))) if c else v

    return program.elementwise(inputs, x.dtype, body, shape=value.shape)
