# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that move elements, and those that ask for shapes."""
import numpy as np

from .importer import handles
from ..network import Const
from .normalize import group_norm


@handles("Shape")
def shape(node):
    sizes = list(node.value(0).shape)
    start, end = node.attribute("start", 0), node.attribute("end", len(sizes))
    return Const(np.array(sizes[start:end], np.int64), node.proto.output[0])


@handles("Size")
def size(node):
    return Const(np.array(np.prod(node.value(0).shape), np.int64), node.proto.output[0])


# ---- Reshapes ----
def _target(node, x):
    wanted = [int(n) for n in node.ints(1, "shape")]
    if not node.attribute("allowzero", 0):
        wanted = [x.shape[d] if n == 0 else n for d, n in enumerate(wanted)]
    if -1 in wanted:
        rest = int(np.prod([n for n in wanted if n != -1], dtype=np.int64))
        wanted[wanted.index(-1)] = int(np.prod(x.shape, dtype=np.int64)) // max(rest, 1)
    if np.prod(wanted, dtype=np.int64) != np.prod(x.shape, dtype=np.int64):
        node.fail(f"shape {wanted} for {list(x.shape)}")
    return wanted


def _instance_norm_of_groups(node, x, wanted):
    """Reshape to [batch, groups, -1], InstanceNormalization, Reshape back is
    how exporters write a group normalisation. Statistics do not depend on the
    order of elements, so they are taken as x lies, and cuts stay."""
    importer = node.importer
    norm = importer.only_user(node.proto.output[0])
    if norm is None or norm.op_type != "InstanceNormalization" or x.rank < 3 or len(wanted) != 3:
        return None
    back = importer.only_user(norm.output[0])
    values = [importer.values.get(n) for n in norm.input[1:3]]
    shape_back = importer.constant(back.input[1]) if back is not None and back.op_type == "Reshape" else None
    if shape_back is None or not all(isinstance(v, Const) for v in values) or wanted[0] != x.shape[0] or x.shape[1] % wanted[1]:
        return None
    again = [int(n) for n in shape_back.array]
    if len(again) != x.rank or any(n not in (0, -1, m) for n, m in zip(again, x.shape)) or 0 in again[3:]:
        return None
    epsilon = next((a.f for a in norm.attribute if a.name == "epsilon"), 1e-5)
    scale, shift = (Const(np.repeat(v.array, x.shape[1] // wanted[1]), v.name) for v in values)
    importer.done.update((id(norm), id(back)))
    result = group_norm(node.program, x, wanted[1], scale, shift, epsilon)
    importer.values[back.output[0]] = result
    return result


@handles("Reshape")
def reshape(node):
    x = node.tensor(0)
    wanted = _target(node, x)
    norm = _instance_norm_of_groups(node, x, wanted)
    return norm if norm is not None else node.program.reshape(x, wanted)


@handles("Flatten")
def flatten(node):
    x = node.tensor(0)
    axis = node.attribute("axis", 1)
    axis = axis + x.rank if axis < 0 else axis
    return node.program.reshape(x, [int(np.prod(x.shape[:axis])), int(np.prod(x.shape[axis:]))])


@handles("Squeeze")
def squeeze(node):
    x = node.tensor(0)
    axes = node.ints(1, "axes")
    axes = [d for d, n in enumerate(x.shape) if n == 1] if axes is None else [node.axis(a, x.rank) for a in axes]
    return node.program.reshape(x, [n for d, n in enumerate(x.shape) if d not in axes])


@handles("Unsqueeze")
def unsqueeze(node):
    x = node.tensor(0)
    axes = node.ints(1, "axes")
    rank = x.rank + len(axes)
    axes = {node.axis(a, rank) for a in axes}
    sizes = iter(x.shape)
    return node.program.reshape(x, [1 if d in axes else next(sizes) for d in range(rank)])


@handles("Transpose")
def transpose(node):
    x = node.tensor(0)
    return node.program.transpose(x, node.attribute("perm", list(range(x.rank))[::-1]))


def _block(node, x):
    block = node.attribute("blocksize")
    if x.rank != 4:
        node.fail(f"input has {x.rank} dimensions, expected 4")
    return block


@handles("DepthToSpace")
def depth_to_space(node):
    x, program = node.tensor(0), node.program
    s = _block(node, x)
    n, c, h, w = x.shape
    if node.attribute("mode", "DCR") == "DCR":
        y = program.transpose(program.reshape(x, (n, s, s, c // s**2, h, w)), [0, 3, 4, 1, 5, 2])
    else:
        y = program.transpose(program.reshape(x, (n, c // s**2, s, s, h, w)), [0, 1, 4, 2, 5, 3])
    return program.reshape(y, (n, c // s**2, h * s, w * s))


@handles("SpaceToDepth")
def space_to_depth(node):
    x, program = node.tensor(0), node.program
    s = _block(node, x)
    n, c, h, w = x.shape
    order = [0, 3, 5, 1, 2, 4] if node.attribute("mode", "DCR") == "DCR" else [0, 1, 3, 5, 2, 4]
    y = program.transpose(program.reshape(x, (n, c, h // s, s, w // s, s)), order)
    return program.reshape(y, (n, c * s**2, h // s, w // s))


# ---- Parts and wholes ----
@handles("Concat")
def concat(node):
    values = [node.tensor(i) for i in range(len(node.inputs))]
    return node.program.concat(values, node.axis(node.attribute("axis"), values[0].rank))


def _part(program, x, axis, start, size, step=1):
    pick = lambda value, other: [value if d == axis else other(d) for d in range(x.rank)]
    return program.slice(x, pick(start, lambda d: 0), pick(size, lambda d: x.shape[d]), pick(step, lambda d: 1))


@handles("Split")
def split(node):
    x = node.tensor(0)
    axis = node.axis(node.attribute("axis", 0), x.rank)
    sizes = node.ints(1, "split")
    if sizes is None:
        each = -(-x.shape[axis] // len(node.proto.output))
        sizes = [min(each, x.shape[axis] - each * i) for i in range(len(node.proto.output))]
    starts = np.cumsum([0, *sizes])
    return [_part(node.program, x, axis, int(start), int(size)) for start, size in zip(starts, sizes)]


def _flip(program, x, axis):
    """A convolution reads forwards only; flips are plain loops over the whole
    dimension."""
    source = [f"{n - 1} - d{d}" if d == axis else f"d{d}" for d, n in enumerate(x.shape)]
    return program.generic([x], [source], [program.empty(x.shape, x.dtype)], [[f"d{d}" for d in range(x.rank)]],
                           ["parallel"] * x.rank, lambda b, v, _: v)


@handles("Slice")
def slice_(node):
    x = node.tensor(0)
    starts, ends = node.ints(1, "starts"), node.ints(2, "ends")
    axes = node.ints(3, "axes") or list(range(len(starts)))
    steps = node.ints(4, "steps") or [1] * len(starts)
    for start, end, axis, step in zip(starts, ends, axes, steps):
        axis = node.axis(axis, x.rank)
        first, last, step = slice(start, end, step).indices(x.shape[axis]) if step > 0 else slice(
            start, None if end < -x.shape[axis] else end, step).indices(x.shape[axis])
        count = len(range(first, last, step))
        if count == 0:
            node.fail(f"axis {axis}: nothing is left of {x.shape[axis]} elements")
        if step < 0:
            x = _flip(node.program, _part(node.program, x, axis, first + (count - 1) * step, count, -step), axis)
        else:
            x = _part(node.program, x, axis, first, count, step)
    return x


@handles("Gather")
def gather(node):
    x, program = node.tensor(0), node.program
    indices = node.constant(1, "indices")
    axis = node.axis(node.attribute("axis", 0), x.rank)
    flat = [int(i) % x.shape[axis] for i in indices.reshape(-1)]
    runs = []  # consecutive indices are one slice
    for i in flat:
        if runs and runs[-1][0] + runs[-1][1] == i:
            runs[-1][1] += 1
        else:
            runs.append([i, 1])
    if len(runs) > 256:
        node.fail(f"{len(runs)} runs of indices, supported are 256")
    y = program.concat([_part(program, x, axis, first, count) for first, count in runs], axis)
    return program.reshape(y, (*x.shape[:axis], *indices.shape, *x.shape[axis + 1:]))


@handles("Expand")
def expand(node):
    x = node.tensor(0)
    wanted = np.broadcast_shapes(x.shape, tuple(node.ints(1, "shape")))
    if wanted == x.shape:
        return x
    return node.program.elementwise([x], x.dtype, lambda b, v: v, shape=wanted)


@handles("Tile")
def tile(node):
    x = node.tensor(0)
    for d, times in enumerate(node.ints(1, "repeats")):
        x = node.program.concat([x] * times, d)
    return x
