# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions cut over many devices, from Python.

    import ringconv as rc

    module = rc.func(lambda x, w: rc.conv2d(x, w, padding=1),
                     rc.arg((1, 8, 56, 56), cut=[None, None, None, "w"]), rc.parameter((16, 8, 3, 3)),
                     mesh={"w": 4})
    program = rc.compile(module)
    y = program(x, w)          # four ranks as threads, whole arrays in and out

`parse` and `parse_file` read MLIR, `Program.local` runs one rank under mpirun;
`ringconv.import_onnx` reads ONNX models and needs no compiled part.
Shapes are in elements, cuts name mesh axes per dimension (`Cut`). Errors are
`CompileError`, with the place, and `RunError`.
"""
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING or find_spec("ringconv._ringconv"):
    from . import _ringconv
    from .builder import Argument, Value, arg, conv, conv2d, func, parameter, pool, pool2d, relu, reshard
    from .cuts import At, Cut
    from .errors import CompileError, Diagnostic, Error, RunError
    from .program import LocalRank, Module, Operand, Program, Ranks, compile, parse, parse_file

    #: Version, commit and LLVM of the compiler.
    version_text: str = _ringconv.version_text
    __version__ = version_text.split()[1]

    __all__ = [
        "Argument", "At", "CompileError", "Cut", "Diagnostic", "Error", "LocalRank", "Module", "Operand", "Program",
        "Ranks", "RunError", "Value", "arg", "compile", "conv", "conv2d", "func", "parameter", "parse", "parse_file",
        "pool", "pool2d", "relu", "reshard", "version_text",
    ]  # fmt: skip
else:

    def __getattr__(name: str) -> object:
        import sys

        version = ".".join(map(str, sys.version_info[:2]))
        raise AttributeError(
            f"ringconv.{name}: {__path__[0]} has no compiled part for Python {version}; a build's package is "
            "BUILD/python, for the Python it was configured with"
        )
