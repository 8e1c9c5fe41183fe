# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays that are not NumPy's, without a copy."""
import numpy as np
import pytest
import ringconv as rc
from ringconv.arrays import input_array, to_numpy


class Foreign:
    """Another library's array: nothing but DLPack."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, stream=None):
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i1", "i4", "i8", "u2"])
def test_the_same_memory(dtype):
    array = np.arange(24).astype(dtype).reshape(2, 3, 4)
    seen = to_numpy(Foreign(array))
    assert seen.dtype == array.dtype and (seen == array).all()
    assert np.shares_memory(seen, array)
    array[1, 2, 3] = 99
    assert seen[1, 2, 3] == 99


def test_strides_and_empty():
    array = np.arange(24, dtype=np.float32).reshape(4, 6)
    view = array.T[::2]
    seen = to_numpy(Foreign(view))
    assert seen.strides == view.strides and (seen == view).all()
    dense = input_array(Foreign(view), "f32", (3, 4), "")
    assert dense.flags.c_contiguous and (dense == view).all()
    assert to_numpy(Foreign(np.empty((0, 3), np.float32))).shape == (0, 3)


def test_memory_lives_as_long_as_its_view():
    array = np.full((1000, 1000), 7, np.float32)
    seen = to_numpy(Foreign(array))
    del array
    assert (seen == 7).all()


def test_a_capsule_is_used_once():
    capsule = np.zeros(3).__dlpack__()

    class Again:
        def __dlpack__(self):
            return capsule

    to_numpy(Again())
    with pytest.raises(ValueError, match="unused"):
        to_numpy(Again())


def test_dlpack_in_and_out():
    module = rc.func(lambda x: x * 2, rc.arg((2, 5), cut=[None, "w"]), mesh={"w": 3})
    x, y = np.arange(10, dtype=np.float32).reshape(2, 5), np.zeros((2, 5), np.float32)
    given = Foreign(y)
    assert rc.compile(module)(Foreign(x), out=given) is given
    assert (y == 2 * x).all()


def test_bf16_as_bits():
    module = rc.func(lambda x: x * 2, rc.arg((4,), "bf16"))
    bits = np.array([0x3F80, 0x4000, 0xC040, 0], np.uint16)  # 1, 2, -3, 0
    out = np.empty(4, np.uint16)
    rc.compile(module)(bits, out=out)
    assert list(out) == [0x4000, 0x4080, 0xC0C0, 0]
