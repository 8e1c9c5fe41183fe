# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a `linalg.generic` does with single elements."""
from dataclasses import dataclass

import numpy as np

from .values import element_type, is_float, literal


@dataclass(frozen=True)
class Scalar:
    name: str
    dtype: np.dtype


class Body:
    """The region of a `linalg.generic`: operations on scalars."""

    def __init__(self):
        self.lines = []

    def _emit(self, dtype, text):
        name = f"%s{len(self.lines)}"
        self.lines.append(f"  {name} = {text}")
        return Scalar(name, np.dtype(dtype))

    def const(self, value, dtype):
        kind = element_type(dtype)
        suffix = "" if kind == "i1" else f" : {kind}"
        return self._emit(dtype, f"arith.constant {literal(value, dtype)}{suffix}")

    def op(self, name, *args):
        """An operation whose operands and result have one type."""
        kind = element_type(args[0].dtype)
        return self._emit(args[0].dtype, f"{name} {', '.join(a.name for a in args)} : {kind}")

    def arith(self, word, a, b):
        """add, sub, mul, div, maximum, minimum: of floats or signed integers."""
        if is_float(a.dtype):
            return self.op(f"arith.{word}f", a, b)
        word = {"div": "divs", "maximum": "maxs", "minimum": "mins"}.get(word, word)
        return self.op(f"arith.{word}i", a, b)

    def add(self, a, b):
        return self.arith("add", a, b)

    def sub(self, a, b):
        return self.arith("sub", a, b)

    def mul(self, a, b):
        return self.arith("mul", a, b)

    def div(self, a, b):
        return self.arith("div", a, b)

    def compare(self, word, a, b):
        """word: eq, gt, ge, lt, le."""
        kind = element_type(a.dtype)
        if is_float(a.dtype):
            return self._emit(np.bool_, f"arith.cmpf o{word}, {a.name}, {b.name} : {kind}")
        word = word if word == "eq" else "s" + word
        return self._emit(np.bool_, f"arith.cmpi {word}, {a.name}, {b.name} : {kind}")

    def select(self, condition, a, b):
        return self._emit(a.dtype,
                          f"arith.select {condition.name}, {a.name}, {b.name} : {element_type(a.dtype)}")

    def cast(self, a, dtype):
        dtype = np.dtype(dtype)
        if a.dtype == dtype:
            return a
        if dtype == np.bool_:
            zero = self.const(0, a.dtype)
            word = "arith.cmpf une" if is_float(a.dtype) else "arith.cmpi ne"
            return self._emit(dtype, f"{word}, {a.name}, {zero.name} : {element_type(a.dtype)}")
        if is_float(a.dtype) and is_float(dtype):
            word = "extf" if dtype.itemsize > a.dtype.itemsize else "truncf"
        elif is_float(a.dtype):
            word = "fptosi"
        elif is_float(dtype):
            word = "uitofp" if a.dtype == np.bool_ else "sitofp"
        elif a.dtype == np.bool_:
            word = "extui"
        else:
            word = "extsi" if dtype.itemsize > a.dtype.itemsize else "trunci"
        return self._emit(
            dtype, f"arith.{word} {a.name} : {element_type(a.dtype)} to {element_type(dtype)}")
