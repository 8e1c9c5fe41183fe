# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs as MLIR, and compiled ones."""
from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Iterable, Mapping, Sequence, Union

import numpy as np

from . import _ringconv
from .arrays import DTYPES, addresses, device_array, input_array, output_array
from .cuts import Cut, cut_text, mesh_text
from .errors import Diagnostic, RunError, to_diagnostics

if TYPE_CHECKING:
    Array = np.ndarray[Any, Any]

_EMIT = {"llvm": 1, "obj": 2, "lib": 3, "exe": 4}


def _options(
    *, target: str = "host", entry: str | None = None, mesh: Mapping[str, int] | None = None, cpu: str | None = None,
    cache_dir: str | os.PathLike[str] | None = None, vectorize: bool = True, merge_halos: bool = True,
    overlap: bool = True, reference: bool = False,
) -> _ringconv.CompileOptions:  # fmt: skip
    extents = ",".join(f"{axis}={extent}" for axis, extent in (mesh or {}).items())
    return _ringconv.CompileOptions(
        target=target, entry=entry or "", mesh=extents, cpu=cpu or "", cache_dir=os.fspath(cache_dir or ""),
        vectorize=vectorize, merge_halos=merge_halos, overlap=overlap, reference=reference,
    )  # fmt: skip


class Module:
    """A program as MLIR. Made by `parse`, `parse_file` and `func`."""

    def __init__(self, handle: _ringconv.Module) -> None:
        self._handle = handle

    def __str__(self) -> str:
        """The module as MLIR text."""
        return self._handle.print(False).decode()

    def bytecode(self) -> bytes:
        """The module as MLIR bytecode, which `parse` reads too."""
        return self._handle.print(True)

    def clone(self) -> Module:
        return Module(self._handle.clone())

    def run_pipeline(self, pipeline: str) -> list[Diagnostic]:
        """Runs passes in place, in the words of `ringconv-opt --pass-pipeline`:
        `"builtin.module(ringconv-raise,cse)"`. Returns remarks and warnings.

        Raises:
            CompileError: a pass failed; the module may then be anything between.
        """
        return to_diagnostics(self._handle.run_pipeline(pipeline))

    def add_mesh(self, mesh: Mapping[str, int], name: str = "mesh", device_ids: Sequence[int] | None = None) -> Module:
        """Adds the mesh, axes with their extents, row-major with the last axis
        fastest. `device_ids[i]` is the process, thread or GPU of position i."""
        self._handle.add_mesh(name, mesh_text(mesh, device_ids))
        return self

    def annotate(
        self, function: str, operand: int, *, cut: Cut | None = None, mesh: str = "mesh", name: str | None = None,
        parameter: bool = False,
    ) -> Module:  # fmt: skip
        """Says how an argument is cut (or, counted after the arguments, a
        result), its name, and whether it stays the same over many calls.

        Raises:
            CompileError: it does not fit the tensor or the mesh; nothing is set then.
        """
        if cut is not None:
            text = f"#ringconv.sharding<@{mesh}, {cut_text(cut)}>"
            self._handle.annotate(function, operand, "ringconv.sharding", text)
        if name is not None:
            self._handle.annotate(function, operand, "ringconv.name", f'"{name}"')
        if parameter:
            self._handle.annotate(function, operand, "ringconv.parameter", "")
        return self

    def partition(self, *, entry: str | None = None, mesh: Mapping[str, int] | None = None) -> Module:
        """The program of one rank, as a new module."""
        return Module(self._handle.partition(_options(entry=entry, mesh=mesh)))

    def save(self, path: str | os.PathLike[str], emit: str = "lib", **options: Any) -> None:
        """Compiles to a file; `options` as for `compile`.

        Args:
            emit: "lib", a shared library with its C header beside it; "exe", an
                executable with the run flags; "obj", an object file; "llvm", IR.
        """
        if emit not in _EMIT:
            raise ValueError(f"emit={emit!r}, expected one of {', '.join(_EMIT)}")
        options.setdefault("reference", emit == "exe")
        self._handle.compile_to_file(_options(**options), _EMIT[emit], os.fspath(path))


def parse(source: str | bytes, name: str = "-") -> Module:
    """Reads MLIR text or bytecode; `name` stands for the file in errors.

    Raises:
        CompileError: with the place, for what does not parse or verify.
    """
    return Module(_ringconv.Module.parse(source, name))


def parse_file(path: str | os.PathLike[str]) -> Module:
    """Reads a file of MLIR text or bytecode.

    Raises:
        OSError, CompileError
    """
    with open(path, "rb") as file:
        return parse(file.read(), os.fspath(path))


class Operand:
    """An argument or result of a compiled program, as a whole tensor.

    Attributes:
        name: its `ringconv.name`, or "".
        dtype: one of "f64", "f32", "f16", "bf16", "i8", "i32", "i64", "i1".
        shape: of the whole tensor, in elements.
        cut: how it is cut, as MLIR text.
        is_parameter: stays the same over many calls.
    """

    def __init__(self, index: int, word: str, raw: tuple[str, str, int, list[int], bool]) -> None:
        self.index, self._word = index, word
        self.name, self.cut = raw[0], raw[1]
        self.dtype = DTYPES[raw[2]]
        self.shape: tuple[int, ...] = tuple(raw[3])
        self.is_parameter = raw[4]

    def __repr__(self) -> str:
        name = f" {self.name!r}" if self.name else ""
        return f"<{self._word}{name}: {'x'.join(map(str, self.shape + (self.dtype,)))}, cut {self.cut}>"


class _Runner:
    """What threads and MPI share: which arrays are parameters, and shapes."""

    def __init__(self, program: Program, handle: Union[_ringconv.Ranks, _ringconv.Session]) -> None:
        self.program = program
        self._handle = handle
        self._parameters: list[Any] = []
        self._ready = not any(o.is_parameter for o in program.inputs)

    def _shape(self, operand: Operand, output: bool) -> tuple[int, ...]:
        raise NotImplementedError

    def _inputs(self, arrays: Iterable[Any], operands: Sequence[Operand]) -> list[Any]:
        return [
            input_array(a, o.dtype, self._shape(o, False), f"input {o.index}") for a, o in zip(arrays, operands)
        ]  # fmt: skip

    def _outputs(self, given: Sequence[Any]) -> list[Any]:
        return [
            output_array(a, o.dtype, self._shape(o, True), f"output {o.index}")
            for a, o in zip(given, self.program.outputs)
        ]  # fmt: skip

    def _issue(self, inputs: list[int], outputs: list[int]) -> None:
        self._handle.run(inputs, outputs)

    def set_parameters(self, *arrays: Any) -> None:
        """The parameters, in their order, for all later runs. They are kept, not
        copied, where they are dense: do not write to them."""
        operands = [o for o in self.program.inputs if o.is_parameter]
        if len(arrays) != len(operands):
            raise TypeError(f"expected {len(operands)} parameters, got {len(arrays)}")
        self._ready = False
        parameters = self._inputs(arrays, operands)
        self._handle.set_parameters(addresses(parameters))
        self._parameters, self._ready = parameters, True

    def run(self, *arrays: Any, out: Any = None) -> Any:
        """Runs the program.

        Args:
            arrays: all inputs of the entry in their order; or, once parameters
                are set, those that are none.
            out: an array (several outputs: a sequence) to write into; new NumPy
                arrays where it is left out.

        Returns:
            The output; a tuple where there are several.

        Raises:
            TypeError, ValueError: an array with another number, type or shape.
            RunError: the program failed; the text names the rank.
        """
        inputs, outputs = self.program.inputs, self.program.outputs
        fixed = [o for o in inputs if o.is_parameter]
        if len(arrays) == len(inputs) and fixed:
            self.set_parameters(*(a for a, o in zip(arrays, inputs) if o.is_parameter))
            arrays = tuple(a for a, o in zip(arrays, inputs) if not o.is_parameter)
        free = [o for o in inputs if not o.is_parameter]
        if len(arrays) != len(free) or not self._ready:
            also = "" if not self._ready or not fixed else f" or the {len(free)} that are no parameters"
            raise TypeError(f"@{self.program.entry}: expected {len(inputs)} inputs{also}, got {len(arrays)}")
        given = [out] if len(outputs) == 1 else list(out) if out is not None else [None] * len(outputs)
        if len(given) != len(outputs):
            raise TypeError(f"out: expected {len(outputs)} arrays, got {len(given)}")
        source = self._inputs(arrays, free)
        results = self._outputs(given)
        self._issue(addresses(source), addresses(results))
        returned = [r if g is None else g for r, g in zip(results, given)]
        return returned[0] if len(returned) == 1 else tuple(returned)

    __call__ = run


class Ranks(_Runner):
    """All ranks of a program as threads of this process, on whole arrays of the
    host; for the target cuda they are copied to the GPUs and back."""

    def __init__(self, program: Program, timeout: float = 0) -> None:
        super().__init__(program, _ringconv.Ranks(program._handle, timeout))

    def _shape(self, operand: Operand, output: bool) -> tuple[int, ...]:
        return operand.shape

    def counters(self, rank: int) -> dict[str, int]:
        """Messages and bytes that a rank sent and received, and its reductions."""
        assert isinstance(self._handle, _ringconv.Ranks)
        return self._handle.counters(rank)


class LocalRank(_Runner):
    """This process's rank of an MPI communicator, or the only rank, on its own
    shards: NumPy arrays or host memory for the target host, GPU memory (objects
    with `__dlpack__`) for the target cuda, which is never copied."""

    def __init__(self, program: Program, comm: Any = None, timeout: float = 0) -> None:
        self.rank: int = comm.Get_rank() if comm is not None else 0
        size = comm.Get_size() if comm is not None else 1
        number = comm.py2f() if comm is not None else None
        super().__init__(program, _ringconv.Session(program._handle, self.rank, size, number, timeout))
        self._on_device = program.target == "cuda"
        self._stream = 0

    def _shape(self, operand: Operand, output: bool) -> tuple[int, ...]:
        return tuple(s.stop - s.start for s in self.box(operand))

    def _inputs(self, arrays: Iterable[Any], operands: Sequence[Operand]) -> list[Any]:
        if not self._on_device:
            return super()._inputs(arrays, operands)
        return [
            device_array(a, o.dtype, self._shape(o, False), f"input {o.index}", self._stream)
            for a, o in zip(arrays, operands)
        ]  # fmt: skip

    def _outputs(self, given: Sequence[Any]) -> list[Any]:
        if not self._on_device:
            return super()._outputs(given)
        return [
            device_array(a, o.dtype, self._shape(o, True), f"output {o.index}", self._stream)
            for a, o in zip(given, self.program.outputs)
        ]  # fmt: skip

    def run(self, *arrays: Any, out: Any = None, stream: int = 0) -> Any:
        """As `Ranks.run`, on shards. For the target cuda `out` must be given, and
        `stream` is the CUstream's address that the work is issued to: the call does
        not wait for it. 0: a stream of the session's own, which is waited for."""
        self._stream = stream
        return super().run(*arrays, out=out)

    __call__ = run

    def _issue(self, inputs: list[int], outputs: list[int]) -> None:
        assert isinstance(self._handle, _ringconv.Session)
        self._handle.run(inputs, outputs, self._stream)

    def box(self, operand: Operand) -> tuple[slice, ...]:
        """Which part of the whole tensor this rank owns: `whole[box]` is its shard."""
        return self.program.box(self.rank, operand)

    def counters(self) -> dict[str, int]:
        """Messages and bytes that this rank sent and received, and its reductions."""
        assert isinstance(self._handle, _ringconv.Session)
        return self._handle.counters()


class Program:
    """A compiled program in this process. Made by `compile`.

    Attributes:
        entry: the function's name.
        target: "host" or "cuda".
        num_ranks: size of the mesh.
        inputs, outputs: `Operand`s in the order of the function.
        remarks: what the compiler chose and why.
    """

    def __init__(self, handle: _ringconv.Program, remarks: list[Diagnostic]) -> None:
        self._handle = handle
        self.remarks = remarks
        self.entry = handle.entry
        self.target = handle.target
        self.num_ranks = handle.num_ranks
        raw, count = handle.operands(), handle.num_inputs
        self.inputs = [Operand(i, "input", o) for i, o in enumerate(raw[:count])]
        self.outputs = [Operand(i, "output", o) for i, o in enumerate(raw[count:])]
        self._ranks: Ranks | None = None

    def ranks(self, timeout: float = 0) -> Ranks:
        """All ranks as threads; `timeout` in seconds for a wait (0: 60)."""
        return Ranks(self, timeout)

    def local(self, comm: Any = None, timeout: float = 0) -> LocalRank:
        """This process's rank of an mpi4py communicator that has one process per
        rank; without a communicator, the only rank. Collective; the MPI must be the
        one that the runtime was built for."""
        return LocalRank(self, comm, timeout)

    def run(self, *arrays: Any, out: Any = None) -> Any:
        """As `Ranks.run`, on ranks that are kept for the next call."""
        if self._ranks is None:
            self._ranks = self.ranks()
        try:
            return self._ranks.run(*arrays, out=out)
        except RunError:
            self._ranks = None  # its ranks may stand anywhere in the program
            raise

    __call__ = run

    def box(self, rank: int, operand: Operand) -> tuple[slice, ...]:
        """Which part of the whole tensor a rank owns: `whole[box]` is its shard."""
        index = operand.index + (len(self.inputs) if operand in self.outputs else 0)
        offsets, sizes = self._handle.shard(rank, index)
        return tuple(slice(o, o + s) for o, s in zip(offsets, sizes))

    def reference(self, *arrays: Any) -> Any:
        """The uncut program by plain loops with f64 accumulation, on all inputs.

        Raises:
            RunError: compiled without `reference=True`.
        """
        if len(arrays) != len(self.inputs):
            raise TypeError(f"@{self.entry}: expected {len(self.inputs)} inputs, got {len(arrays)}")
        source = [input_array(a, o.dtype, o.shape, f"input {o.index}") for a, o in zip(arrays, self.inputs)]
        results = [output_array(None, o.dtype, o.shape, "") for o in self.outputs]
        if not self._handle.reference(addresses(source), addresses(results)):
            raise RunError("the uncut program is not there: compile with reference=True")
        return results[0] if len(results) == 1 else tuple(results)

    @property
    def report(self) -> str:
        """JSON: per operation, dimension and part what is owned and what is needed."""
        return self._handle.report


def compile(
    module: Module, *, target: str = "host", entry: str | None = None, mesh: Mapping[str, int] | None = None,
    cpu: str | None = None, cache_dir: str | os.PathLike[str] | None = None, vectorize: bool = True,
    merge_halos: bool = True, overlap: bool = True, reference: bool = False,
) -> Program:  # fmt: skip
    """Compiles a module into this process.

    Args:
        target: "host", or "cuda": one GPU per rank.
        entry: the function; default `main`, else the only public one.
        mesh: other extents for axes of the mesh.
        cpu: LLVM's name of a processor; default the one here.
        cache_dir: a folder that keeps compiled programs, for any number of processes.
        vectorize, merge_halos, overlap: optimisations, to be switched off.
        reference: compile the uncut program too, for `Program.reference`.

    Raises:
        CompileError: with the place in the program.
    """
    options = _options(
        target=target, entry=entry, mesh=mesh, cpu=cpu, cache_dir=cache_dir, vectorize=vectorize,
        merge_halos=merge_halos, overlap=overlap, reference=reference,
    )  # fmt: skip
    handle, remarks = module._handle.compile(options)
    return Program(handle, to_diagnostics(remarks))
