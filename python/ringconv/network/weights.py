# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parameters in a file that can be mapped into memory: the safetensors format.

An 8-byte little-endian length, a JSON header of that length, raw data. The
format has no gaps; data is aligned because wider types come first and the
header is filled up with blanks.
"""
import json
import os

import numpy as np

DTYPES = {
    "float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16", "int8": "I8", "int32": "I32",
    "int64": "I64", "bool": "BOOL"
}
ALIGNMENT = 64


def save(path, weights):
    """weights: name -> array. The file appears only when complete."""
    ordered = sorted(weights.items(), key=lambda item: -item[1].itemsize)
    header, offset = {}, 0
    for name, array in ordered:
        header[name] = {
            "dtype": DTYPES[array.dtype.name], "shape": list(array.shape), "data_offsets": [offset, offset + array.nbytes]
        }
        offset += array.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-(8 + len(text)) % ALIGNMENT)
    temporary = f"{path}.{os.getpid()}.tmp"
    with open(temporary, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for _, array in ordered:
            file.write(np.ascontiguousarray(array).tobytes())
    os.replace(temporary, path)
