# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An imported network as files."""
import os
import subprocess
from dataclasses import dataclass

from . import weights
from .values import ImportFailure


@dataclass
class Imported:
    text: str  # the program, MLIR
    weights: dict  # parameter name -> NumPy array; empty where they are inline


def write(path, imported, inline=False):
    """The program, and its parameters beside it in a file that ends in
    .safetensors; inline: one file, bytecode."""
    if inline:
        _write_bytecode(path, imported.text)
        return
    base, extension = os.path.splitext(path)
    if extension == ".safetensors":
        raise ImportFailure(f"-o {path}: this is the name of the parameters' file")
    if imported.weights:
        weights.save(base + ".safetensors", imported.weights)
    with open(path, "w", encoding="utf-8") as file:
        file.write(imported.text)


def _write_bytecode(path, text):
    """Weights as text would take twice their size and long to read."""
    command = ["ringconv-opt", "-", "--emit-bytecode", "-o", path]
    try:
        done = subprocess.run(command, input=text, text=True, stderr=subprocess.PIPE)
    except FileNotFoundError:
        raise ImportFailure("--weights=inline: ringconv-opt is not in PATH") from None
    if done.returncode:
        raise ImportFailure(f"--weights=inline: ringconv-opt: {done.stderr.strip()[:200]}")


def add_output_flags(parser):
    parser.add_argument("-o", dest="output", metavar="OUT.mlir", required=True,
                        help="the program; its parameters go to OUT.safetensors beside it")
    parser.add_argument("--weights", choices=["params", "inline"], default="params",
                        help="params: a file beside the program; inline: in the program, as bytecode "
                        "(ringconv-opt must be in PATH)")
