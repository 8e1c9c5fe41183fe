# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions cut over many devices, from Python.

    import ringconv as rc

    module = rc.func(lambda x, w: rc.conv2d(x, w, padding=1),
                     rc.arg((1, 8, 56, 56), cut=[None, None, None, "w"]), rc.parameter((16, 8, 3, 3)),
                     mesh={"w": 4})
    program = rc.compile(module)
    y = program(x, w)          # four ranks as threads, whole arrays in and out

`parse` and `parse_file` read MLIR, `Program.local` runs one rank under mpirun.
Shapes are in elements, cuts name mesh axes per dimension (`Cut`). Errors are
`CompileError`, with the place, and `RunError`.
"""
import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .builder import Argument, Value, arg, conv, conv2d, func, parameter, pool, pool2d, relu, reshard
    from .cuts import At, Cut
    from .errors import CompileError, Diagnostic, Error, RunError
    from .program import LocalRank, Module, Operand, Program, Ranks, compile, parse, parse_file

    #: Version, commit and LLVM of the compiler.
    version_text: str
    __version__: str


def __getattr__(name):
    """The compiler's library is loaded when something of it is asked for: the
    importers are Python alone."""
    if name == "__version__":
        return importlib.import_module("._ringconv", __name__).version_text.split()[1]
    if name in __all__:
        for module in ("_ringconv", "builder", "cuts", "errors", "program"):
            namespace = vars(importlib.import_module(f".{module}", __name__))
            if name in namespace:
                globals()[name] = namespace[name]
                return namespace[name]
    raise AttributeError(f"module 'ringconv' has no attribute '{name}'")


__all__ = [
    "Argument", "At", "CompileError", "Cut", "Diagnostic", "Error", "LocalRank", "Module", "Operand", "Program",
    "Ranks", "RunError", "Value", "arg", "compile", "conv", "conv2d", "func", "parameter", "parse", "parse_file",
    "pool", "pool2d", "relu", "reshard", "version_text",
]  # fmt: skip
