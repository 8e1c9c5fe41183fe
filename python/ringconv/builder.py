# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs written in Python: a function is called once with symbolic tensors,
and what it computes becomes MLIR. Errors point at the Python lines."""
from __future__ import annotations

import json
import os
import sys
from typing import Any, Callable, Mapping, Sequence, Union

from .arrays import DTYPES
from .cuts import Cut, cut_text, mesh_text
from .program import Module, parse

_PACKAGE = os.path.dirname(os.path.abspath(__file__))
_FLOATS = ("f64", "f32", "f16", "bf16")
_MESH = "mesh"


def _here() -> str:
    """The caller's line, outside of this package, as an MLIR location."""
    frame = sys._getframe(1)
    while frame.f_back and os.path.dirname(os.path.abspath(frame.f_code.co_filename)) == _PACKAGE:
        frame = frame.f_back
    return f"loc({json.dumps(frame.f_code.co_filename)}:{frame.f_lineno}:0)"


def _type(shape: Sequence[int], dtype: str) -> str:
    return f"tensor<{''.join(f'{s}x' for s in shape)}{dtype}>"


class Argument:
    """An argument of a function; see `arg` and `parameter`."""

    def __init__(self, shape: Sequence[int], dtype: str, cut: Cut | None, name: str | None, is_parameter: bool) -> None:
        if dtype not in DTYPES:
            raise ValueError(f"dtype={dtype!r}, expected one of {', '.join(DTYPES)}")
        if cut is not None and len(cut) != len(shape):
            raise ValueError(f"cut has {len(cut)} entries for a tensor of {len(shape)} dimensions")
        self.shape, self.dtype, self.cut, self.name, self.is_parameter = tuple(shape), dtype, cut, name, is_parameter

    def attributes(self) -> str:
        words = [] if self.name is None else [f"ringconv.name = {json.dumps(self.name)}"]
        if self.is_parameter:
            words.append("ringconv.parameter")
        if self.cut is not None:
            words.append(f"ringconv.sharding = #ringconv.sharding<@{_MESH}, {cut_text(self.cut)}>")
        return " {" + ", ".join(words) + "}" if words else ""


def arg(shape: Sequence[int], dtype: str = "f32", *, cut: Cut | None = None, name: str | None = None) -> Argument:
    """An argument of `func`: its shape in elements, element type, and how it is cut
    (None: a copy on every rank)."""
    return Argument(shape, dtype, cut, name, False)


def parameter(shape: Sequence[int], dtype: str = "f32", *, cut: Cut | None = None, name: str | None = None) -> Argument:
    """As `arg`, for what stays the same over many calls: filters and biases."""
    return Argument(shape, dtype, cut, name, True)


class Value:
    """A tensor inside of a `func`: `shape` in elements, `dtype`."""

    def __init__(self, body: _Body, name: str, shape: Sequence[int], dtype: str) -> None:
        self._body, self._name, self.shape, self.dtype = body, name, tuple(shape), dtype

    @property
    def type(self) -> str:
        """Its type in MLIR: `tensor<1x8x56x56xf32>`."""
        return _type(self.shape, self.dtype)

    def _like(self, other: Union[Value, float]) -> Value:
        if not isinstance(other, Value):
            return self._body.constant(other, self)
        if (other.shape, other.dtype) != (self.shape, self.dtype):
            raise ValueError(f"operands have types {self.type} and {other.type}, expected the same")
        return other

    def _binary(self, word: str, other: Union[Value, float], swap: bool = False) -> Value:
        left, right = (self._like(other), self) if swap else (self, self._like(other))
        op = f"arith.{word}{'f' if self.dtype in _FLOATS else 'i'}"
        return self._body.add(f"{op} {left._name}, {right._name} : {self.type}", self.shape, self.dtype)

    def __add__(self, other: Union[Value, float]) -> Value:
        return self._binary("add", other)

    def __radd__(self, other: float) -> Value:
        return self._binary("add", other, True)

    def __sub__(self, other: Union[Value, float]) -> Value:
        return self._binary("sub", other)

    def __rsub__(self, other: float) -> Value:
        return self._binary("sub", other, True)

    def __mul__(self, other: Union[Value, float]) -> Value:
        return self._binary("mul", other)

    def __rmul__(self, other: float) -> Value:
        return self._binary("mul", other, True)

    def __truediv__(self, other: Union[Value, float]) -> Value:
        if self.dtype not in _FLOATS:
            raise TypeError(f"division of {self.dtype} elements, expected floats")
        return self._binary("div", other)


class _Body:
    """Lines of a function; `values` counts them."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def add(self, text: str, shape: Sequence[int], dtype: str) -> Value:
        name = f"%v{len(self.lines)}"
        self.lines.append(f"{name} = {text} {_here()}")
        return Value(self, name, shape, dtype)

    def constant(self, number: float, like: Value) -> Value:
        text = f"{number:.17e}" if like.dtype in _FLOATS else str(int(number))
        if like.dtype not in _FLOATS and int(number) != number:
            raise TypeError(f"{number} for {like.dtype} elements")
        return self.add(f"arith.constant dense<{text}> : {like.type}", like.shape, like.dtype)


def func(
    body: Callable[..., Union[Value, Sequence[Value]]], *arguments: Argument, mesh: Mapping[str, int] | None = None,
    device_ids: Sequence[int] | None = None, name: str = "main", results: Sequence[Cut | None] | None = None,
) -> Module:  # fmt: skip
    """Makes a module of one function by calling `body` once.

    Args:
        body: gets a `Value` per argument, returns one or several.
        arguments: `arg` and `parameter`, in the order of `body`.
        mesh: axes and extents, row-major, the last fastest; None: one rank.
        device_ids: process, thread or GPU number of each position in the mesh.
        results: how each result is cut; None: as it comes about.

    Raises:
        CompileError: with the Python line of the operation that does not verify.

    Example:
        >>> module = func(lambda x, w: conv2d(x, w, padding=1),
        ...               arg((1, 8, 56, 56), cut=[None, None, None, "w"]), parameter((16, 8, 3, 3)),
        ...               mesh={"w": 4})
    """
    lines = _Body()
    place = _here()
    values = [Value(lines, f"%a{i}", a.shape, a.dtype) for i, a in enumerate(arguments)]
    returned = body(*values)
    outputs = [returned] if isinstance(returned, Value) else list(returned)
    cuts = list(results) if results is not None else [None] * len(outputs)
    if len(cuts) != len(outputs):
        raise ValueError(f"results has {len(cuts)} cuts for {len(outputs)} results")
    head = ", ".join(f"{v._name}: {v.type}{a.attributes()}" for v, a in zip(values, arguments))
    sharding = f"ringconv.sharding = #ringconv.sharding<@{_MESH}, %s>"
    types = [o.type + (" {" + sharding % cut_text(c) + "}" if c is not None else "") for o, c in zip(outputs, cuts)]
    text = [f"ringconv.mesh @{_MESH} = {mesh_text(mesh or {}, device_ids)} {place}"]
    text.append(f"func.func @{name}({head}) -> ({', '.join(types)}) {{")
    text += lines.lines
    text.append(f"return {', '.join(o._name for o in outputs)} : {', '.join(o.type for o in outputs)} {place}")
    text.append(f"}} {place}")
    return parse("\n".join(text), f"<func {name}>")


# ---- Windows ----

Numbers = Union[int, Sequence[int]]
#: For all dimensions, per dimension, or per dimension low and high.
Padding = Union[int, Sequence[Union[int, Sequence[int]]]]


def _each(value: Any, count: int, word: str) -> list[Any]:
    values = [value] * count if isinstance(value, (int, str)) else list(value)
    if len(values) != count:
        raise ValueError(f"{word} has {len(values)} entries for {count} spatial dimensions")
    return values


def _pads(padding: Padding, count: int) -> list[tuple[int, int]]:
    pairs = [(p, p) if isinstance(p, int) else tuple(p) for p in _each(padding, count, "padding")]
    if any(len(p) != 2 for p in pairs):
        raise ValueError(f"padding={padding!r}, expected one number or low and high per dimension")
    return [(int(low), int(high)) for low, high in pairs]


def _window(words: Mapping[str, Sequence[Any]]) -> str:
    def text(value: Any) -> str:
        if isinstance(value, tuple):
            return "[" + ", ".join(map(str, value)) + "]"
        return json.dumps(value)

    return "window {" + ", ".join(f"{w} = [{', '.join(map(text, v))}]" for w, v in words.items()) + "}"


def _extent(size: int, window: int, stride: int, pad: tuple[int, int], base: int, dilation: int) -> int:
    """Output extent, by StableHLO's definition of convolution: windows that fit
    into the dilated and padded input. The verifier checks it (conv_c8, pool_c4)."""
    dilated = (size - 1) * base + 1 if size else 0
    reach = (window - 1) * dilation + 1 if window else 0
    padded = dilated + sum(pad)
    return 0 if reach == 0 or reach > padded else (padded - reach) // stride + 1


def _positions(dims: Sequence[str], value: Value, word: str) -> dict[str, int]:
    if len(dims) != len(value.shape):
        raise ValueError(f"{word} has {len(dims)} dimensions for {value.type}")
    return {letter: d for d, letter in enumerate(dims)}


def conv(
    x: Value, w: Value, bias: Value | None = None, *, dims: str, stride: Numbers = 1, padding: Padding = 0,
    lhs_dilation: Numbers = 1, dilation: Numbers = 1, border: Union[str, Sequence[str]] = "zero",
    feature_groups: int = 1, batch_groups: int = 1, dtype: str | None = None,
) -> Value:  # fmt: skip
    """`ringconv.conv`: a convolution of any form, as StableHLO defines it.

    Args:
        x, w: input and filter, of one element type.
        bias: one element per output feature, of the result's type.
        dims: the dimension numbers, `"b f 0 1 x o i 0 1 -> b f 0 1"`.
        stride, dilation, lhs_dilation: steps of the output, between taps, between
            input elements; in elements, by spatial number.
        padding: elements before and behind; negative ones crop.
        border: what taps beyond the tensor read: "zero", "circular", "reflect"
            or "replicate".
        dtype: of the result: that of `x`, or its accumulation type.

    Raises:
        ValueError: a number of entries does not fit. All else is the verifier's.
    """
    left, _, result = dims.partition("->")
    ins, _, filters = left.partition(" x ")
    idims, fdims, odims = ins.split(), filters.split(), result.split()
    at, taps = _positions(idims, x, "dims of the input"), _positions(fdims, w, "dims of the filter")
    spatial = sorted(int(letter) for letter in at if letter.isdigit())
    n = len(spatial)
    strides, dilations, bases = (_each(v, n, k) for v, k in ((stride, "stride"), (dilation, "dilation"),
                                                             (lhs_dilation, "lhs_dilation")))  # fmt: skip
    pads, borders = _pads(padding, n), _each(border, n, "border")
    try:
        sizes = {"b": x.shape[at["b"]] // batch_groups, "f": w.shape[taps["o"]]}
        for s in spatial:
            sizes[str(s)] = _extent(x.shape[at[str(s)]], w.shape[taps[str(s)]], strides[s], pads[s], bases[s],
                                    dilations[s])  # fmt: skip
        shape = [sizes[letter] for letter in odims]
    except (KeyError, IndexError) as error:
        raise ValueError(f"dims={dims!r}: no dimension {error}") from None
    words = {"stride": strides, "pad": pads, "lhs_dilate": bases, "rhs_dilate": dilations, "border": borders}
    lists = [", ".join(d) for d in (idims, fdims, odims)]
    groups = f"{{feature_group_count = {feature_groups} : i64, batch_group_count = {batch_groups} : i64}}"
    operands = [x, w] + ([bias] if bias is not None else [])
    result_type = _type(shape, dtype or x.dtype)
    text = (
        f"ringconv.conv {x._name}, {w._name}{f' bias {bias._name}' if bias is not None else ''} "
        f"dims [{lists[0]}] x [{lists[1]}] -> [{lists[2]}] {_window(words)} {groups} "
        f": ({', '.join(o.type for o in operands)}) -> {result_type}"
    )
    return x._body.add(text, shape, dtype or x.dtype)


_LETTERS = {"N": "b", "C": "f", "H": "0", "W": "1", "O": "o", "I": "i"}


def _letters(layout: str, allowed: str) -> str:
    if sorted(layout) != sorted(allowed):
        raise ValueError(f"layout {layout!r}, expected the letters {allowed}")
    return " ".join(_LETTERS[letter] for letter in layout)


def conv2d(
    x: Value, w: Value, bias: Value | None = None, *, stride: Numbers = 1, padding: Padding = 0, dilation: Numbers = 1,
    groups: int = 1, border: Union[str, Sequence[str]] = "zero", layout: str = "NCHW", filter_layout: str = "OIHW",
    dtype: str | None = None,
) -> Value:  # fmt: skip
    """A convolution of images; `layout` is that of input and result. Words as for
    `conv`; `groups` divides input and output features."""
    images, filters = _letters(layout, "NCHW"), _letters(filter_layout, "OIHW")
    return conv(x, w, bias, dims=f"{images} x {filters} -> {images}", stride=stride, padding=padding,
                dilation=dilation, feature_groups=groups, border=border, dtype=dtype)  # fmt: skip


def pool(
    kind: str, x: Value, size: Numbers, *, dims: str, stride: Numbers = 1, padding: Padding = 0, dilation: Numbers = 1,
    count_padding: bool = False, border: Union[str, Sequence[str]] = "zero",
) -> Value:  # fmt: skip
    """`ringconv.pool`: `kind` is "max", "sum" or "avg" over windows of `size`
    elements; `dims` is `"b f 0 1 -> b f 0 1"`. An average divides by the taps that
    read an element, with `count_padding` by the size of the window."""
    left, _, right = dims.partition("->")
    idims, odims = left.split(), right.split()
    at = _positions(idims, x, "dims of the input")
    spatial = sorted(int(letter) for letter in at if letter.isdigit())
    n = len(spatial)
    windows, strides, dilations = (_each(v, n, k) for v, k in ((size, "size"), (stride, "stride"),
                                                               (dilation, "dilation")))  # fmt: skip
    pads, borders = _pads(padding, n), _each(border, n, "border")
    sizes = {letter: x.shape[d] for letter, d in at.items()}
    for s in spatial:
        sizes[str(s)] = _extent(x.shape[at[str(s)]], windows[s], strides[s], pads[s], 1, dilations[s])
    if any(letter not in sizes for letter in odims):
        raise ValueError(f"dims={dims!r}: the result has a dimension that the input lacks")
    shape = [sizes[letter] for letter in odims]
    words = {"size": windows, "stride": strides, "pad": pads, "rhs_dilate": dilations, "border": borders}
    text = (
        f"ringconv.pool {kind}{' count_padding' if count_padding else ''} {x._name} dims [{', '.join(idims)}] -> "
        f"[{', '.join(odims)}] {_window(words)} : {x.type} -> {_type(shape, x.dtype)}"
    )
    return x._body.add(text, shape, x.dtype)


def pool2d(
    kind: str, x: Value, size: Numbers, *, stride: Numbers | None = None, padding: Padding = 0,
    count_padding: bool = False, border: Union[str, Sequence[str]] = "zero", layout: str = "NCHW",
) -> Value:  # fmt: skip
    """A pool of images; the stride is the window's size where it is left out."""
    letters = _letters(layout, "NCHW")
    return pool(kind, x, size, dims=f"{letters} -> {letters}", stride=size if stride is None else stride,
                padding=padding, count_padding=count_padding, border=border)  # fmt: skip


def relu(x: Value) -> Value:
    """The larger of each element and 0."""
    word = "arith.maximumf" if x.dtype in _FLOATS else "arith.maxsi"
    return x._body.add(f"{word} {x._name}, {x._body.constant(0, x)._name} : {x.type}", x.shape, x.dtype)


def reshard(x: Value, cut: Cut) -> Value:
    """The same value, cut as said."""
    if len(cut) != len(x.shape):
        raise ValueError(f"cut has {len(cut)} entries for {x.type}")
    return x._body.add(f"ringconv.reshard {x._name} <@{_MESH}, {cut_text(cut)}> : {x.type}", x.shape, x.dtype)
