# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""StableHLO programs, as text, to ringconv programs; `sdy` shardings become cuts.

    python -m ringconv.import_stablehlo MODEL.mlir -o OUT.mlir

Needs NumPy only. Functions that @main calls are written where they are called.
"""
import re

from ..network import Const, ImportFailure, Program
from ..network.files import Imported
from . import text as _text
from .operators import HANDLERS

__all__ = ["Imported", "ImportFailure", "import_text"]


class _Importer:

    def __init__(self, functions):
        self.functions, self.program = functions, Program()

    def call(self, function, arguments, nesting=0):
        """The results of a function on values."""
        if nesting > 64:
            raise ImportFailure(f"@{function.name} calls itself")
        values = {name: value for (name, *_), value in zip(function.arguments, arguments)}
        for statement in function.statements:
            self.program.location = f"line {statement.line}: {statement.name}"
            inputs = []
            for name in statement.operands:
                if name not in values:
                    statement.fail(f"{name} is not known")
                inputs.append(values[name])
            if statement.name in ("return", "func.return", "stablehlo.return"):
                return inputs
            results = self.convert(statement, inputs, nesting)
            values.update(zip(statement.results, results))
        raise ImportFailure(f"@{function.name} does not return")

    def convert(self, statement, inputs, nesting):
        if statement.name in ("call", "func.call"):
            name = re.search(r"@([\w.]+)", statement.rest)[1]
            if name not in self.functions:
                statement.fail(f"@{name} is not in the file")
            return self.call(self.functions[name], inputs, nesting + 1)
        if statement.name == "stablehlo.constant":
            shape, dtype = statement.types[-1]
            return [Const(_text.dense(statement, shape, dtype))]
        if statement.name == "sdy.sharding_constraint":
            x = self.program.tensor(inputs[0])
            dims = _cuts(re.search(r"<@\w+, (\[.*?\])(?:, \w+=.*?)?>", statement.rest)[1])
            return [self.program.emit(x.shape, x.dtype, [x], f"ringconv.reshard {x.name} <@mesh, {dims}> : {x.type}")]
        if statement.name not in HANDLERS:
            statement.fail("operation is not supported")
        return [HANDLERS[statement.name](statement, self.program, inputs)]


def _cuts(text):
    """sdy's list of dimensions: an open dimension (?) is what is given, priorities
    say nothing here."""
    dims = re.findall(r"\{([^}]*)\}", text)
    return "[" + ", ".join("{" + ", ".join(re.findall(r'"[^"]+"', d)) + "}" for d in dims) + "]"


def import_text(text, entry="main", inline=False):
    """text: a module. Raises ImportFailure with one line."""
    meshes, functions = _text.parse(text)
    if entry not in functions:
        raise ImportFailure(f"no function @{entry}; the functions are {', '.join('@' + f for f in functions)}")
    function, importer, used = functions[entry], _Importer(functions), set()
    arguments = []
    for number, (_, shape, dtype, sharding) in enumerate(function.arguments):
        attributes = []
        if sharding:
            used.add(sharding[0])
            attributes.append(f"ringconv.sharding = #ringconv.sharding<@mesh, {_cuts(sharding[1])}>")
        arguments.append(importer.program.argument(f"arg{number}", shape, dtype, attributes))
    results = [importer.program.tensor(v) for v in importer.call(function, arguments)]
    importer.program.remove_dead(results)
    if len(meshes) > 1 and len(used) != 1:
        raise ImportFailure(f"{len(meshes)} meshes, expected one")
    axes = meshes[used.pop()] if used else next(iter(meshes.values()), [])
    mesh = "<[" + ", ".join(f'"{axis}" = {n}' for axis, n in axes) + "]>" if axes else None
    names = [f"result{i}" for i in range(len(results))]
    return Imported(importer.program.text(mesh, results, names, inline), {} if inline else importer.program.weights())
