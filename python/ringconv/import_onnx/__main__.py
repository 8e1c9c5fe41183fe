# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""python -m ringconv.import_onnx MODEL.onnx -o MODEL.mlir: see --help."""
import argparse
import sys

from ..network import ImportFailure, files
from . import import_model


def _named(flag, words, split):
    """NAME=VALUE words -> {NAME: split(VALUE)}."""
    values = {}
    for word in words:
        name, equals, value = word.rpartition("=")
        if not equals or not name:
            raise ImportFailure(f"{flag}: '{word}', expected NAME=…")
        if name in values:
            raise ImportFailure(f"{flag}: {name} is given twice")
        values[name] = split(word, value)
    return values


def _sizes(word, value):
    try:
        return [int(n) for n in value.split("x")]
    except ValueError:
        raise ImportFailure(f"--shape: '{word}', expected NAME=1x3x640x960") from None


def _number(word, value):
    try:
        return float(value)
    except ValueError:
        raise ImportFailure(f"--constant: '{word}', expected NAME=NUMBER") from None


def _mesh(text):
    mesh = {}
    for word in text.split(",") if text else []:
        axis, _, extent = word.partition("=")
        if not axis.isidentifier() or not extent.isdigit() or int(extent) < 1 or axis in mesh:
            raise ImportFailure(f"--mesh: '{word}', expected AXIS=EXTENT,… with axes of different names")
        mesh[axis] = int(extent)
    return mesh


def _parse(arguments):
    parser = argparse.ArgumentParser(prog="python -m ringconv.import_onnx",
                                     description="Writes an ONNX model as a ringconv program.")
    parser.add_argument("model", metavar="MODEL.onnx")
    files.add_output_flags(parser)
    parser.add_argument("--mesh", default="", metavar="AXIS=N,…", help="the mesh of devices, as sp=4 or h=2,w=2")
    parser.add_argument("--shard", action="append", default=[], metavar="INPUT=A,B,…",
                        help="per dimension the axis that cuts it, a+b for two, nothing for none: input=,,,sp")
    parser.add_argument("--shape", action="append", default=[], metavar="INPUT=1x3x640x960",
                        help="sizes of an input whose sizes the model leaves open")
    parser.add_argument("--constant", action="append", default=[], metavar="INPUT=NUMBER",
                        help="a scalar input that is known now")
    return parser.parse_args(arguments)


def main(arguments=None):
    args = _parse(arguments)
    try:
        imported = import_model(
            args.model, _named("--shape", args.shape, _sizes), _mesh(args.mesh),
            _named("--shard", args.shard, lambda _, v: [[a for a in d.split("+") if a] for d in v.split(",")]),
            inline=args.weights == "inline", constants=_named("--constant", args.constant, _number))
        files.write(args.output, imported, args.weights == "inline")
    except (ImportFailure, OSError) as failure:
        print(f"import_onnx: {failure}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
