# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Values of a program, and their types as MLIR writes them."""
from dataclasses import dataclass

import numpy as np

MLIR_TYPES = {
    "float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16", "int8": "i8", "int32": "i32",
    "int64": "i64", "bool": "i1"
}


class ImportFailure(Exception):
    """What cannot be imported, and where; one line for the user."""


@dataclass(frozen=True)
class Tensor:
    name: str  # %3
    shape: tuple
    dtype: np.dtype

    @property
    def type(self):
        return tensor_type(self.shape, self.dtype)

    @property
    def rank(self):
        return len(self.shape)


@dataclass(eq=False)
class Const:
    array: np.ndarray
    name: str = ""  # of the initializer

    @property
    def shape(self):
        return self.array.shape

    @property
    def rank(self):
        return self.array.ndim

    @property
    def dtype(self):
        return self.array.dtype


def element_type(dtype):
    name = MLIR_TYPES.get(np.dtype(dtype).name)
    if name is None:
        raise ImportFailure(f"element type {np.dtype(dtype).name} is not supported")
    return name


def tensor_type(shape, dtype):
    return "tensor<" + "".join(f"{n}x" for n in shape) + element_type(dtype) + ">"


def literal(value, dtype):
    """A scalar as an MLIR literal without its type, exact."""
    dtype = np.dtype(dtype)
    if dtype == np.bool_:
        return "true" if value else "false"
    if dtype.kind in "iu":
        return str(int(value))
    value = np.asarray(value, dtype)
    if not np.isfinite(value):
        return "0x" + value.tobytes()[::-1].hex().upper()
    text = repr(float(value))
    if "." not in text:
        text = text.replace("e", ".0e") if "e" in text else text + ".0"
    return text


def is_float(dtype):
    return np.dtype(dtype).kind == "f" or np.dtype(dtype).name == "bfloat16"
