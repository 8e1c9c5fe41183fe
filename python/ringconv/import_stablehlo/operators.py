# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""StableHLO operations as operations of a program."""
import re

import numpy as np

from ..network import Const, Window, is_float

HANDLERS = {}


def handles(*names):

    def register(function):
        for name in names:
            HANDLERS[f"stablehlo.{name}"] = function
        return function

    return register


def _one(b, x):
    return b.const(1, x.dtype)


UNARY = {
    "exponential": lambda b, x: b.op("math.exp", x),
    "exponential_minus_one": lambda b, x: b.op("math.expm1", x),
    "log": lambda b, x: b.op("math.log", x),
    "log_plus_one": lambda b, x: b.op("math.log1p", x),
    "tanh": lambda b, x: b.op("math.tanh", x),
    "logistic": lambda b, x: b.div(_one(b, x), b.add(_one(b, x), b.op("math.exp", b.op("arith.negf", x)))),
    "sqrt": lambda b, x: b.op("math.sqrt", x),
    "rsqrt": lambda b, x: b.div(_one(b, x), b.op("math.sqrt", x)),
    "negate": lambda b, x: b.op("arith.negf", x) if is_float(x.dtype) else b.sub(b.const(0, x.dtype), x),
    "abs": lambda b, x: b.op("math.absf" if is_float(x.dtype) else "math.absi", x),
    "floor": lambda b, x: b.op("math.floor", x),
    "ceil": lambda b, x: b.op("math.ceil", x),
    "sine": lambda b, x: b.op("math.sin", x),
    "cosine": lambda b, x: b.op("math.cos", x),
}
BINARY = {
    "add": lambda b, x, y: b.add(x, y),
    "subtract": lambda b, x, y: b.sub(x, y),
    "multiply": lambda b, x, y: b.mul(x, y),
    "divide": lambda b, x, y: b.div(x, y),
    "maximum": lambda b, x, y: b.arith("maximum", x, y),
    "minimum": lambda b, x, y: b.arith("minimum", x, y),
    "power": lambda b, x, y: b.op("math.powf", x, y),
    "and": lambda b, x, y: b.op("arith.andi", x, y),
    "or": lambda b, x, y: b.op("arith.ori", x, y),
    "select": lambda b, c, x, y: b.select(c, x, y),
    "clamp": lambda b, low, x, high: b.arith("minimum", b.arith("maximum", x, low), high),
}


@handles(*UNARY, *BINARY)
def elementwise(s, program, inputs):
    body = {**UNARY, **BINARY}[s.name.split(".")[1]]
    shape, dtype = s.types[-1]
    return program.elementwise(inputs, dtype, body, shape=shape)


@handles("convert")
def convert(s, program, inputs):
    shape, dtype = s.types[-1]
    return program.elementwise(inputs, dtype, lambda b, x: b.cast(x, dtype), shape=shape)


@handles("compare")
def compare(s, program, inputs):
    word = re.match(r"\s*(\w+)", s.rest)[1].lower()
    if word not in ("eq", "gt", "ge", "lt", "le"):
        s.fail(f"comparison {word} is not supported")
    return program.elementwise(inputs, np.bool_, lambda b, x, y: b.compare(word, x, y))


# ---- Windows ----
def _names(s, text):
    names = [n.strip() for n in text.split(",")]
    if not all(n in "bfoi" or n.isdigit() for n in names):
        s.fail(f"dimension numbers [{text}] are not supported")
    return names


@handles("convolution")
def convolution(s, program, inputs):
    """The words of `ringconv.conv` are StableHLO's."""
    numbers = re.search(r"dim_numbers = \[(.*?)\]\s*x\s*\[(.*?)\]\s*->\s*\[(.*?)\]", s.rest)
    if not numbers:
        s.fail("expected dim_numbers = […]x[…]->[…]")
    x, w, y = (_names(s, text) for text in numbers.groups())
    rank = len(x) - 2
    window = {}
    for word, neutral in (("stride", 1), ("lhs_dilate", 1), ("rhs_dilate", 1)):
        values = s.ints(word, [neutral] * rank)
        if any(v != neutral for v in values):
            window[word] = values
    pad = s.ints("pad", [[0, 0]] * rank)
    if any(v for pair in pad for v in pair):
        window["pad"] = pad
    reverse = re.search(r"reverse = \[(.*?)\]", s.rest)
    if reverse and re.search("true|1", reverse[1]):
        window["reverse"] = f"[{reverse[1]}]"
    groups = {w: s.number(w, 1) for w in ("feature_group_count", "batch_group_count")}
    attributes = ", ".join(f"{name} = {n} : i64" for name, n in groups.items() if n > 1)
    inputs = [program.tensor(v) for v in inputs]
    words = ", ".join(f"{name} = {value}" for name, value in window.items())
    shape, dtype = s.types[-1]
    types = ", ".join(v.type for v in inputs)
    dims = lambda names: f"[{', '.join(names)}]"
    return program.emit(
        shape, dtype, inputs, f"ringconv.conv {inputs[0].name}, {inputs[1].name} dims {dims(x)} x {dims(w)} -> {dims(y)}"
        + (f" window {{{words}}}" if words else "") + (f" {{{attributes}}}" if attributes else "") +
        f" : ({types}) -> {program.type_of(shape, dtype)}")


def _combiner(s):
    match = re.search(r"applies stablehlo\.(\w+)", s.rest) or re.search(r"=\s*stablehlo\.(\w+) %", s.rest)
    if not match:
        s.fail("its region must be one operation")
    return match[1]


def _is(value, number):
    return isinstance(value, Const) and np.all(value.array == number)


@handles("reduce_window")
def reduce_window(s, program, inputs):
    x, start = program.tensor(inputs[0]), inputs[1]
    kind = _combiner(s)
    ones = [1] * x.rank
    sizes, strides = s.ints("window_dimensions"), s.ints("window_strides", ones)
    base, dilations = s.ints("base_dilations", ones), s.ints("window_dilations", ones)
    padding = s.ints("padding", 0)
    pads = [[padding, padding]] * x.rank if isinstance(padding, int) else padding
    windows = {
        d: Window(sizes[d], strides[d], *pads[d], lhs_dilate=base[d], rhs_dilate=dilations[d])
        for d in range(x.rank) if (sizes[d], strides[d], base[d], *pads[d]) != (1, 1, 1, 0, 0)
    }
    if kind == "add" and _is(start, 0):
        return program.pool("sum", x, windows)
    if kind == "maximum" and _is(start, -np.inf):
        return program.pool("max", x, windows)
    return s.fail(f"{kind} from {start.array if isinstance(start, Const) else 'a value'} is not supported: "
                  "add from 0, maximum from -inf")


@handles("pad")
def pad(s, program, inputs):
    x, value = program.tensor(inputs[0]), inputs[1]
    if not isinstance(value, Const):
        s.fail("the padding value must be constant")
    low, high, interior = s.ints("low"), s.ints("high"), s.ints("interior")
    windows = {d: Window(low=low[d], high=high[d], lhs_dilate=interior[d] + 1)
               for d in range(x.rank) if low[d] or high[d] or interior[d]}
    return program.pad(x, windows, float(value.array)) if windows else x


# ---- Reductions and products ----
@handles("reduce")
def reduce(s, program, inputs):
    x, start = program.tensor(inputs[0]), inputs[1]
    axes, kind = s.ints("dimensions"), _combiner(s)
    if kind == "add" and _is(start, 0):
        wide = np.dtype(np.float64) if is_float(x.dtype) else x.dtype
        total = program.reduce(x, axes, [wide], [0], lambda b, v, sofar: b.add(sofar, b.cast(v, wide)))
        return total if wide == x.dtype else program.elementwise([total], x.dtype, lambda b, v: b.cast(v, x.dtype))
    if kind in ("maximum", "minimum") and isinstance(start, Const):
        return program.reduce(x, axes, [x.dtype], [start.array.reshape(-1)[0]],
                              lambda b, v, best: b.arith(kind, best, v))
    return s.fail(f"{kind} is not supported")


@handles("dot_general")
def dot_general(s, program, inputs):
    x, y = (program.tensor(v) for v in inputs)

    def pair(word):
        match = re.search(rf"{word} = \[([\d, ]*)\] x \[([\d, ]*)\]", s.rest)
        return [[int(n) for n in re.findall(r"\d+", g)] for g in match.groups()] if match else [[], []]

    (bx, by), (cx, cy) = pair("batching_dims"), pair("contracting_dims")
    loops, names = [], iter(f"d{n}" for n in range(x.rank + y.rank))
    maps = [[None] * x.rank, [None] * y.rank]
    for dims in zip(bx, by):
        maps[0][dims[0]] = maps[1][dims[1]] = name = next(names)
        loops.append((name, x.shape[dims[0]]))
    for m, t, skip in ((maps[0], x, bx + cx), (maps[1], y, by + cy)):
        for d in range(t.rank):
            if d not in skip:
                m[d] = next(names)
                loops.append((m[d], t.shape[d]))
    kept = len(loops)
    for dims in zip(cx, cy):
        maps[0][dims[0]] = maps[1][dims[1]] = next(names)
        loops.append((maps[0][dims[0]], 0))
    shape, dtype = [n for _, n in loops[:kept]], s.types[-1][1]
    return program.generic([x, y], maps, [program.fill(shape, dtype, 0)], [[name for name, _ in loops[:kept]]],
                           ["parallel"] * kept + ["reduction"] * (len(loops) - kept),
                           lambda b, u, v, total: b.add(total, b.mul(b.cast(u, dtype), b.cast(v, dtype))))


# ---- Shapes ----
@handles("reshape")
def reshape(s, program, inputs):
    shape = s.types[-1][0]
    if isinstance(inputs[0], Const):
        return Const(inputs[0].array.reshape(shape), inputs[0].name)
    return program.reshape(inputs[0], shape)


@handles("broadcast_in_dim")
def broadcast_in_dim(s, program, inputs):
    (shape, dtype), dims = s.types[-1], s.ints("dims", s.ints("broadcast_dimensions"))
    spread = [1] * len(shape)
    for d, n in zip(dims, inputs[0].shape):
        spread[d] = n
    if isinstance(inputs[0], Const) and inputs[0].array.size == 1:
        return Const(np.broadcast_to(inputs[0].array.reshape(spread), shape), inputs[0].name)
    x = program.tensor(inputs[0])
    source = ["0" if n == 1 and shape[d] != 1 else f"d{d}" for d, n in zip(dims, x.shape)]
    return program.generic([x], [source], [program.empty(shape, dtype)], [[f"d{d}" for d in range(len(shape))]],
                           ["parallel"] * len(shape), lambda b, v, _: v)


@handles("transpose")
def transpose(s, program, inputs):
    return program.transpose(program.tensor(inputs[0]), s.ints("dims", s.ints("permutation")))


@handles("concatenate")
def concatenate(s, program, inputs):
    return program.concat([program.tensor(v) for v in inputs], s.number("dim", s.number("dimension", 0)))


@handles("slice")
def slice_(s, program, inputs):
    ranges = re.search(r"\[([\d:, ]*)\]", s.rest)[1]
    parts = [[int(n) for n in r.split(":")] for r in ranges.split(",")] if ranges.strip() else []
    steps = [p[2] if len(p) > 2 else 1 for p in parts]
    return program.slice(program.tensor(inputs[0]), [p[0] for p in parts], list(s.types[-1][0]), steps)
