# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""python -m ringconv.import_stablehlo MODEL.mlir -o OUT.mlir: see --help."""
import argparse
import sys

from ..network import ImportFailure, files
from . import import_text


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m ringconv.import_stablehlo",
                                     description="Writes a StableHLO module (text) as a ringconv program.")
    parser.add_argument("model", metavar="MODEL.mlir")
    files.add_output_flags(parser)
    parser.add_argument("--entry", default="main", help="the function to import (default: main)")
    args = parser.parse_args(arguments)
    try:
        with open(args.model, encoding="utf-8") as file:
            imported = import_text(file.read(), args.entry, args.weights == "inline")
        files.write(args.output, imported, args.weights == "inline")
    except (ImportFailure, OSError, UnicodeDecodeError) as failure:
        print(f"import_stablehlo: {args.model}: {failure}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
