# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How tensors are cut, in Python's words."""
from __future__ import annotations

from typing import Mapping, NamedTuple, Sequence, Union


class At(NamedTuple):
    """Cuts at given places: `At("w", [0, 40, 48, 64])` for an axis of extent 3."""

    axes: Union[str, Sequence[str]]
    cuts: Sequence[int]


#: One entry per dimension: None (whole), an axis, several axes (major first), or
#: `At`. Trailing dimensions cannot be left out.
Cut = Sequence[Union[None, str, Sequence[str], At]]


def _entry(dim: Union[None, str, Sequence[str], At]) -> str:
    axes = dim.axes if isinstance(dim, At) else dim
    names = [] if axes is None else [axes] if isinstance(axes, str) else list(axes)
    words = [f'"{name}"' for name in names]
    if isinstance(dim, At):
        words.append(f"cuts = [{', '.join(map(str, dim.cuts))}]")
    return "{" + ", ".join(words) + "}"


def cut_text(cut: Cut) -> str:
    """The cut as MLIR text: `[{}, {}, {"h"}, {"w"}]`."""
    if isinstance(cut, str):
        raise TypeError(f"a cut has one entry per dimension, got the string {cut!r}")
    return "[" + ", ".join(map(_entry, cut)) + "]"


def mesh_text(mesh: Mapping[str, int], device_ids: Sequence[int] | None = None) -> str:
    """The mesh as MLIR text: `<["w" = 4]>`."""
    axes = ", ".join(f'"{axis}" = {extent}' for axis, extent in mesh.items())
    ids = "" if device_ids is None else f", device_ids = [{', '.join(map(str, device_ids))}]"
    return f"<[{axes}]{ids}>"
