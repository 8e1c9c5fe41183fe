# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The MLIR program that an import writes: one function over whole tensors.

Values are `Tensor`s (computed when the program runs) or `Const`s (known now).
A constant becomes text only where an operation asks for a tensor: a splat or a
few elements as `arith.constant`, anything larger as a parameter, whose data
goes to a file beside the program.
"""
from dataclasses import dataclass, field
from typing import Optional

import numpy as np

from .body import Body, Scalar
from .values import Const, Tensor, element_type, literal, tensor_type

LARGEST_INLINE = 8  # elements of a constant that is not a splat


@dataclass(eq=False)
class Window:
    """How a pool reads one dimension; see `ringconv.pool`."""
    size: int = 1
    stride: int = 1
    low: int = 0
    high: int = 0
    lhs_dilate: int = 1
    rhs_dilate: int = 1
    border: str = "zero"

    def outputs(self, extent):
        base = (extent - 1) * self.lhs_dilate + 1
        return (base + self.low + self.high - self.rhs_dilate * (self.size - 1) - 1) // self.stride + 1


def window_text(windows, with_size=False):
    """`window {…}`: the words that are not neutral."""
    words = []
    if with_size:
        words.append(f"size = {[w.size for w in windows]}")
    for name, neutral in (("stride", 1), ("lhs_dilate", 1), ("rhs_dilate", 1)):
        values = [getattr(w, name) for w in windows]
        if any(v != neutral for v in values):
            words.append(f"{name} = {values}")
    if any(w.low or w.high for w in windows):
        words.append(f"pad = {[[w.low, w.high] for w in windows]}")
    if any(w.border != "zero" for w in windows):
        words.append("border = [" + ", ".join(f'"{w.border}"' for w in windows) + "]")
    return "window {" + ", ".join(words) + "}" if words else ""


@dataclass
class _Op:
    results: list
    operands: list
    text: str
    location: str


@dataclass
class _Argument:
    tensor: Tensor
    attributes: list
    data: Optional[np.ndarray] = None
    weight: str = ""


@dataclass
class Program:
    ops: list = field(default_factory=list)
    arguments: list = field(default_factory=list)
    location: str = ""  # node being imported
    counter: int = 0
    parameters: dict = field(default_factory=dict)  # id of a Const -> its argument

    # ---- values ----
    def new(self, shape, dtype):
        self.counter += 1
        return Tensor(f"%{self.counter}", tuple(int(n) for n in shape), np.dtype(dtype))

    def emit(self, shape, dtype, operands, text):
        """One operation with one result."""
        result = self.new(shape, dtype)
        self.ops.append(_Op([result.name], [o.name for o in operands], f"{result.name} = {text}", self.location))
        return result

    def argument(self, name, shape, dtype, attributes):
        tensor = Tensor(f"%arg{len(self.arguments)}", tuple(shape), np.dtype(dtype))
        self.arguments.append(_Argument(tensor, [f'ringconv.name = "{name}"', *attributes]))
        return tensor

    def tensor(self, value):
        """A value as a tensor of the program."""
        if isinstance(value, Tensor):
            return value
        if id(value) in self.parameters:
            return self.parameters[id(value)][1]
        array = value.array
        splat = array.size > 0 and np.all(array.reshape(-1).view(f"u{array.itemsize}") ==
                                          array.reshape(-1).view(f"u{array.itemsize}")[0])
        if splat or array.size <= LARGEST_INLINE:
            text = literal(array.reshape(-1)[0], array.dtype) if splat else _nested(array)
            tensor = self.emit(array.shape, array.dtype, [],
                               f"arith.constant dense<{text}> : {tensor_type(array.shape, array.dtype)}")
        else:
            tensor = self._parameter(value)
        self.parameters[id(value)] = (value, tensor)  # keeps the constant, and with it its id, alive
        return tensor

    def _parameter(self, const):
        taken = {a.weight for a in self.arguments}
        base = name = const.name or "constant"
        number = 0
        while name in taken:
            number += 1
            name = f"{base}.{number}"
        tensor = self.argument(name.replace("\\", "/").replace('"', "'"), const.shape, const.dtype,
                               ["ringconv.parameter"])
        self.arguments[-1].data = const.array
        self.arguments[-1].weight = name.replace("\\", "/").replace('"', "'")
        return tensor

    @staticmethod
    def type_of(shape, dtype):
        return tensor_type(shape, dtype)

    # ---- operations ----
    def empty(self, shape, dtype):
        return self.emit(shape, dtype, [], f"tensor.empty() : {tensor_type(shape, dtype)}")

    def fill(self, shape, dtype, value):
        """A tensor of one value, as a start for a reduction."""
        scalar = self.emit((), dtype, [], f"arith.constant {literal(value, dtype)} : {element_type(dtype)}")
        empty = self.empty(shape, dtype)
        return self.emit(
            shape, dtype, [scalar, empty], f"linalg.fill ins({scalar.name} : {element_type(dtype)}) "
            f"outs({empty.name} : {empty.type}) -> {empty.type}")

    def generic(self, inputs, maps, inits, init_maps, iterators, body):
        """`linalg.generic`. maps: per tensor, the text of the results of its map
        over d0, d1, …; body(b, inputs…, inits…) gives the values to yield."""
        b = Body()
        ins = [Scalar(f"%i{n}", t.dtype) for n, t in enumerate(inputs)]
        outs = [Scalar(f"%o{n}", t.dtype) for n, t in enumerate(inits)]
        yielded = body(b, *ins, *outs)
        yielded = yielded if isinstance(yielded, (list, tuple)) else [yielded]
        loops = ", ".join(f"d{n}" for n in range(len(iterators)))
        affine = ", ".join(f"affine_map<({loops}) -> ({', '.join(m)})>" for m in [*maps, *init_maps])
        kinds = ", ".join(f'"{i}"' for i in iterators)
        types = ", ".join(t.type for t in inits)
        results = [self.new(t.shape, t.dtype) for t in inits]
        listing = lambda values: ", ".join(v.name for v in values) + " : " + ", ".join(v.type for v in values)
        text = (f"{', '.join(r.name for r in results)} = linalg.generic {{indexing_maps = [{affine}], "
                f"iterator_types = [{kinds}]}}" + (f" ins({listing(inputs)})" if inputs else "") +
                f" outs({listing(inits)}) {{\n  ^bb0(" +
                ", ".join(f"{s.name}: {element_type(s.dtype)}" for s in ins + outs) + "):\n" +
                "".join(f"  {line}\n" for line in b.lines) +
                f"    linalg.yield {', '.join(y.name for y in yielded)} : "
                f"{', '.join(element_type(y.dtype) for y in yielded)}\n  }} -> " +
                (types if len(inits) == 1 else f"({types})"))
        self.ops.append(_Op([r.name for r in results], [v.name for v in [*inputs, *inits]], text, self.location))
        return results[0] if len(results) == 1 else results

    def elementwise(self, inputs, dtype, body, shape=None):
        """body on every element, inputs broadcast as in NumPy; single constants
        become part of the body."""
        shape = tuple(shape if shape is not None else np.broadcast_shapes(*[v.shape for v in inputs]))
        tensors, slots = [], []
        for value in inputs:
            if isinstance(value, Const) and value.array.size == 1:
                slots.append(value)
            else:
                slots.append(len(tensors))
                tensors.append(self.tensor(value))

        def inner(b, *args):
            scalars = [args[s] if isinstance(s, int) else b.const(s.array.reshape(-1)[0], s.dtype) for s in slots]
            return body(b, *scalars)

        rank = len(shape)
        maps = []
        for t in tensors:
            first = rank - t.rank
            maps.append([f"d{first + d}" if n == shape[first + d] else "0" for d, n in enumerate(t.shape)])
        return self.generic(tensors, maps, [self.empty(shape, dtype)], [[f"d{d}" for d in range(rank)]],
                            ["parallel"] * rank, inner)

    def reduce(self, x, axes, dtypes, starts, body):
        """Reduction over `axes`, which are dropped; one result per start."""
        kept = [d for d in range(x.rank) if d not in axes]
        shape = [x.shape[d] for d in kept]
        inits = [self.fill(shape, dtype, start) for dtype, start in zip(dtypes, starts)]
        iterators = ["reduction" if d in axes else "parallel" for d in range(x.rank)]
        return self.generic([x], [[f"d{d}" for d in range(x.rank)]], inits, [[f"d{d}" for d in kept]] * len(inits),
                            iterators, body)

    def pool(self, kind, x, windows, count_padding=False):
        """windows: by dimension; other dimensions are read as they are."""
        names, number, letters = [], 0, ["f", "b"]
        words = []
        for d in range(x.rank):
            if d not in windows and letters:
                names.append(letters.pop())
                continue
            names.append(str(number))
            number += 1
            words.append(windows.get(d, Window()))
        shape = [windows[d].outputs(n) if d in windows else n for d, n in enumerate(x.shape)]
        dims = f"[{', '.join(names)}]"
        return self.emit(
            shape, x.dtype, [x], f"ringconv.pool {kind} {'count_padding ' if count_padding else ''}{x.name} "
            f"dims {dims} -> {dims} {window_text(words, with_size=True)} : {x.type} -> {tensor_type(shape, x.dtype)}")

    def pad(self, x, windows, value):
        """x with `value` around it (and in holes). A pool finds nothing there and
        gives 0 or -inf; for other values the same pool of ones says where."""
        if value == -np.inf:
            return self.pool("max", x, windows)
        padded = self.pool("sum", x, windows)
        if value == 0:
            return padded
        mask = self.pool("sum", self.tensor(Const(np.ones(x.shape, x.dtype))), windows)
        return self.elementwise(
            [padded, mask], x.dtype,
            lambda b, v, m: b.select(b.compare("gt", m, b.const(0, x.dtype)), v, b.const(value, x.dtype)))

    def conv(self, x, w, bias, windows, groups=1):
        """x [b, f, spatial…], w [o, i, spatial…]; windows of the spatial dimensions."""
        spatial = [str(n) for n in range(len(windows))]
        shape = [x.shape[0], w.shape[0], *[v.outputs(n) for v, n in zip(windows, x.shape[2:])]]
        operands = [x, w] + ([bias] if bias else [])
        result = tensor_type(shape, x.dtype)
        dims = lambda a, b: f"[{', '.join([a, b, *spatial])}]"
        return self.emit(
            shape, x.dtype, operands, f"ringconv.conv {x.name}, {w.name}" + (f" bias {bias.name}" if bias else "") +
            f" dims {dims('b', 'f')} x {dims('o', 'i')} -> {dims('b', 'f')} {window_text(windows)}" +
            (f" {{feature_group_count = {groups} : i64}}" if groups > 1 else "") +
            f" : ({', '.join(t.type for t in operands)}) -> {result}")

    def reshape(self, x, shape):
        """Collapses what has to be joined, then expands."""
        shape = tuple(int(n) for n in shape)
        if shape == x.shape:
            return x
        groups = _common_groups(x.shape, shape)
        middle = [int(np.prod([x.shape[d] for d in a], dtype=np.int64)) for a, _ in groups]
        if any(len(a) != 1 for a, _ in groups) or len(middle) != x.rank:
            text = [a for a, _ in groups]
            x = self.emit(
                middle, x.dtype, [x],
                f"tensor.collapse_shape {x.name} {text} : {x.type} into {tensor_type(middle, x.dtype)}")
        if x.shape == shape:
            return x
        text = [b for _, b in groups]
        return self.emit(
            shape, x.dtype, [x], f"tensor.expand_shape {x.name} {text} output_shape {list(shape)} : {x.type} into "
            f"{tensor_type(shape, x.dtype)}")

    def transpose(self, x, order):
        if list(order) == list(range(x.rank)):
            return x
        shape = [x.shape[d] for d in order]
        source = [f"d{list(order).index(d)}" for d in range(x.rank)]
        return self.generic([x], [source], [self.empty(shape, x.dtype)], [[f"d{d}" for d in range(x.rank)]],
                            ["parallel"] * x.rank, lambda b, v, _: v)

    def slice(self, x, offsets, sizes, strides):
        if list(sizes) == list(x.shape):
            return x
        return self.emit(
            sizes, x.dtype, [x], f"tensor.extract_slice {x.name}{list(offsets)} {list(sizes)} {list(strides)} : "
            f"{x.type} to {tensor_type(sizes, x.dtype)}")

    def concat(self, values, axis):
        if len(values) == 1:
            return values[0]
        shape = list(values[0].shape)
        shape[axis] = sum(v.shape[axis] for v in values)
        return self.emit(
            shape, values[0].dtype, values,
            f"tensor.concat dim({axis}) {', '.join(v.name for v in values)} : "
            f"({', '.join(v.type for v in values)}) -> {tensor_type(shape, values[0].dtype)}")

    # ---- loops ----
    def part(self, x, axis, index):
        """Element `index`, an index of the program, of dimension `axis`, which stays
        with size 1."""
        offsets, sizes, ones = _one_of(x.shape, axis, index)
        return self.emit(sizes, x.dtype, [x], f"tensor.extract_slice {x.name}{offsets} {sizes} {ones} : {x.type} to "
                         f"{tensor_type(sizes, x.dtype)}")

    def with_part(self, x, axis, index, part):
        """x with `part` as that element."""
        offsets, sizes, ones = _one_of(x.shape, axis, index)
        return self.emit(x.shape, x.dtype, [part, x], f"tensor.insert_slice {part.name} into {x.name}{offsets} {sizes} "
                         f"{ones} : {part.type} into {x.type}")

    def loop(self, count, inits, body):
        """`scf.for` over 0, …, count - 1: body(index, carried) gives the tensors that
        the next round gets (the first gets `inits`), and pairs of an axis and a
        tensor of size 1 there. What the last round gives, and for each pair the
        tensors of all rounds one behind the other."""
        bounds = [self.emit((), np.int64, [], f"arith.constant {n} : index") for n in (0, count, 1)]
        first, known = len(self.ops), dict(self.parameters)
        index, carried = self.new((), np.int64).name, [self.new(t.shape, t.dtype) for t in inits]
        yielded, parts = body(index, carried)
        wholes = [self.new([*p.shape[:axis], count, *p.shape[axis + 1:]], p.dtype) for axis, p in parts]
        yielded = yielded + [self.with_part(w, axis, index, p) for w, (axis, p) in zip(wholes, parts)]
        inner, self.ops = self.ops[first:], self.ops[:first]
        inner, live = _live(inner, {y.name for y in yielded})
        carried, inits = carried + wholes, inits + [self.empty(w.shape, w.dtype) for w in wholes]
        # Constants of the body are not seen behind it; arguments are.
        self.parameters = {k: v for k, v in self.parameters.items() if k in known or v[1].name.startswith("%arg")}
        results = [self.new(t.shape, t.dtype) for t in inits]
        types = ", ".join(t.type for t in inits)
        pairs = ", ".join(f"{c.name} = {i.name}" for c, i in zip(carried, inits))
        lines = [line for text in _texts(inner) for line in text.split("\n")]
        text = (f"{', '.join(r.name for r in results)} = scf.for {index} = {bounds[0].name} to {bounds[1].name} step "
                f"{bounds[2].name} iter_args({pairs}) -> ({types}) {{\n" + "".join(f"    {line}\n" for line in lines) +
                f"    scf.yield {', '.join(y.name for y in yielded)} : {types}\n  }}")
        operands = [v.name for v in [*bounds, *inits]]
        self.ops.append(_Op([r.name for r in results], operands + sorted(live), text, self.location))
        return results

    # ---- text ----
    def remove_dead(self, results):
        self.ops, live = _live(self.ops, {r.name for r in results})
        self.arguments = [a for a in self.arguments if a.data is None or a.tensor.name in live]

    def text(self, mesh, results, names, inline=False):
        """mesh: the text of the mesh, or None. inline: parameters become constants,
        their data resources of the text. Dead operations must be gone."""
        lines = [f"ringconv.mesh @mesh = {mesh}"] if mesh else []
        constants = [a for a in self.arguments if inline and a.data is not None]
        arguments = ",\n    ".join(f"{a.tensor.name}: {a.tensor.type} {{{', '.join(a.attributes)}}}"
                                   for a in self.arguments if not inline or a.data is None)
        types = ", ".join(f'{r.type} {{ringconv.name = "{n}"}}' for r, n in zip(results, names))
        lines.append(f"func.func @main(\n    {arguments})\n    -> ({types}) {{")
        lines += [f"  {a.tensor.name} = arith.constant dense_resource<w{n}> : {a.tensor.type}"
                  for n, a in enumerate(constants)]
        lines += ["  " + text for text in _texts(self.ops)]
        lines.append(f"  return {', '.join(r.name for r in results)} : {', '.join(r.type for r in results)}")
        text = "\n".join(lines) + "\n}\n"
        return text + _resources(constants) if constants else text

    def weights(self):
        """Name -> data of the parameters, in the order of the arguments."""
        return {a.weight: a.data for a in self.arguments if a.data is not None}


def _live(ops, live):
    """The operations that `live` names need, and all names they use."""
    live, kept = set(live), []
    for op in reversed(ops):
        if live.intersection(op.results):
            live.update(op.operands)
            kept.append(op)
    return kept[::-1], live


def _texts(ops):
    """Of each operation, after a comment wherever another node begins."""
    location = None
    for op in ops:
        if op.location != location:
            yield f"// {op.location}"
            location = op.location
        yield op.text


def _one_of(shape, axis, index):
    """Offsets, sizes and strides of a slice that is one element of a dimension."""
    offsets = ", ".join(index if d == axis else "0" for d in range(len(shape)))
    return f"[{offsets}]", [1 if d == axis else n for d, n in enumerate(shape)], [1] * len(shape)


def _resources(constants):
    """Blobs of the text format: four bytes of alignment, then the data."""
    blobs = ",\n".join(
        f'      w{n}: "0x{(16).to_bytes(4, "little").hex()}{np.ascontiguousarray(a.data).tobytes().hex()}"'
        for n, a in enumerate(constants))
    return "{-#\n  dialect_resources: {\n    builtin: {\n" + blobs + "\n    }\n  }\n#-}\n"


def _nested(array):
    if array.ndim == 0:
        return literal(array, array.dtype)
    return "[" + ", ".join(_nested(a) for a in array) + "]"


def _common_groups(a, b):
    """Dimensions of a and of b that hold the same elements, as small as can be."""
    groups, i, j = [], 0, 0
    while i < len(a) and j < len(b):
        left, right, p, q = [i], [j], a[i], b[j]
        i, j = i + 1, j + 1
        while p != q:
            if p < q:
                left.append(i)
                p *= a[i]
                i += 1
            else:
                right.append(j)
                q *= b[j]
                j += 1
        groups.append((left, right))
    if groups:  # what is left has size 1
        groups[-1][0].extend(range(i, len(a)))
        groups[-1][1].extend(range(j, len(b)))
    return groups
