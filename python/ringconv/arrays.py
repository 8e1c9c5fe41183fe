# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays of others, looked at without a copy where they are dense.

NumPy arrays, whatever NumPy makes arrays of, and objects with `__dlpack__` in
host memory. bf16 is `ml_dtypes.bfloat16` where that package is installed and
the bits as `uint16` elsewhere; both are taken.
"""
from __future__ import annotations

from typing import Any, Sequence

import numpy as np

from . import _ringconv

_bf16: Any = np.uint16
try:
    import ml_dtypes  # type: ignore[import-not-found,unused-ignore]

    _bf16 = ml_dtypes.bfloat16
except ImportError:
    pass

#: Element types by the number that the C API gives them.
DTYPES = ("f64", "f32", "f16", "bf16", "i8", "i32", "i64", "i1")
_NUMPY: dict[str, Any] = {
    "f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": _bf16,
    "i8": np.int8, "i32": np.int32, "i64": np.int64, "i1": np.bool_,
}  # fmt: skip
_CPU, _CUDA, _PINNED = 1, 2, 3  # DLPack's device types; pinned memory is the host's
_DLPACK = {(0, 8): "i1", (2, 64): "f8", (6, 8): "b1", (4, 16): "u2"} | {
    (code, bits): f"{kind}{bits // 8}" for code, kind in ((0, "i"), (1, "u"), (2, "f")) for bits in (8, 16, 32, 64)
}


def numpy_dtype(dtype: str) -> np.dtype[Any]:
    """NumPy's element type for one of `DTYPES`."""
    result: np.dtype[Any] = np.dtype(_NUMPY[dtype])
    return result


class _Interface:
    """Memory as NumPy reads it, kept alive by its owner."""

    def __init__(self, interface: dict[str, Any], owner: object) -> None:
        self.__array_interface__ = interface
        self.owner = owner


class DeviceArray:
    """Memory of a GPU that another library owns: address, shape, strides in
    elements, and the name of its element type as NumPy writes it."""

    def __init__(self, array: Any, stream: int) -> None:
        device, number = array.__dlpack_device__()
        if device != _CUDA:
            raise TypeError(f"expected an array in GPU memory, got DLPack device type {int(device)}, number {number}")
        # The owner orders its work before ours on this stream; 1 is the default one.
        capsule = array.__dlpack__(stream=stream or 1)
        self.address, shape, strides, code, bits, _, _, self._owner = _ringconv.dlpack_view(capsule)
        self.shape, self.strides, self.kind = tuple(shape), tuple(strides), _kind(code, bits)

    def is_dense(self) -> bool:
        stride = 1
        for size, step in zip(reversed(self.shape), reversed(self.strides)):
            if size != 1 and step != stride:
                return False
            stride *= size
        return True


def device_array(array: Any, dtype: str, shape: Sequence[int], what: str, stream: int) -> DeviceArray:
    """GPU memory of an object with `__dlpack__`, as it is: dense and row-major."""
    if not hasattr(array, "__dlpack_device__"):
        raise TypeError(f"{what}: expected an array in GPU memory, got {type(array).__name__}")
    result = DeviceArray(array, stream)
    kinds = ("u2",) if dtype == "bf16" else ("b1", "i1") if dtype == "i1" else (numpy_dtype(dtype).str[1:],)
    if result.kind not in kinds:
        raise TypeError(f"{what}: expected {dtype} elements, got {result.kind}")
    if result.shape != tuple(shape):
        raise ValueError(f"{what}: expected shape {tuple(shape)}, got {result.shape}")
    if not result.is_dense():
        raise ValueError(f"{what}: expected a dense, row-major array")
    return result


def _kind(code: int, bits: int) -> str:
    kind = _DLPACK.get((code, bits))
    if kind is None:
        raise TypeError(f"no element type for DLPack type code {code} of {bits} bits")
    return kind


def to_numpy(array: Any) -> np.ndarray[Any, Any]:
    """A NumPy array on the same memory; what is no array is made one."""
    if isinstance(array, np.ndarray) or not hasattr(array, "__dlpack__"):
        return np.asarray(array)
    address, shape, strides, code, bits, device, number, owner = _ringconv.dlpack_view(array.__dlpack__())
    if device not in (_CPU, _PINNED):
        raise TypeError(f"expected an array in host memory, got DLPack device type {device}, number {number}")
    kind = _kind(code, bits)
    if 0 in shape:
        return np.empty(shape, np.dtype(kind))
    interface = {
        "version": 3, "typestr": np.dtype(kind).str, "shape": tuple(shape), "data": (address, False),
        "strides": tuple(s * bits // 8 for s in strides),
    }  # fmt: skip
    return np.asarray(_Interface(interface, owner))


def _check(array: np.ndarray[Any, Any], dtype: str, shape: Sequence[int], what: str) -> None:
    wanted = numpy_dtype(dtype)
    bits = dtype == "bf16" and array.dtype == np.uint16
    if array.dtype != wanted and not bits:
        raise TypeError(f"{what}: expected {dtype} elements ({wanted}), got {array.dtype}")
    if tuple(array.shape) != tuple(shape):
        raise ValueError(f"{what}: expected shape {tuple(shape)}, got {tuple(array.shape)}")


def input_array(array: Any, dtype: str, shape: Sequence[int], what: str) -> np.ndarray[Any, Any]:
    """A dense row-major array for reading; strided ones are copied."""
    result = to_numpy(array)
    _check(result, dtype, shape, what)
    return np.ascontiguousarray(result).reshape(tuple(shape))


def output_array(array: Any, dtype: str, shape: Sequence[int], what: str) -> np.ndarray[Any, Any]:
    """A dense row-major array for writing: `array` itself, or a new one for None."""
    if array is None:
        return np.empty(tuple(shape), numpy_dtype(dtype))
    if not isinstance(array, np.ndarray) and not hasattr(array, "__dlpack__"):
        raise TypeError(f"{what}: expected an array to write into, got {type(array).__name__}")
    result = to_numpy(array)
    _check(result, dtype, shape, what)
    if not result.flags.c_contiguous or not result.flags.writeable:
        raise ValueError(f"{what}: expected a writable, dense, row-major array")
    return result


def addresses(arrays: Sequence[Any]) -> list[int]:
    return [array.address if isinstance(array, DeviceArray) else array.ctypes.data for array in arrays]
