# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""layers.py LLVM_NM LIB_FOLDER LIBRARY...: every symbol of ours that the static
libraries use must be defined in one of them."""
import subprocess
import sys

nm, folder, *names = sys.argv[1:]


def symbols(name, *flags):
    command = [nm, "--format=just-symbols", *flags, f"{folder}/lib{name}.a"]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    return {line for line in lines if "ringconv" in line and not line.endswith(":")}


defined = set().union(*(symbols(name, "--defined-only") for name in names))
missing = {(name, symbol) for name in names for symbol in symbols(name, "--undefined-only") - defined}
for name, symbol in sorted(missing):
    print(f"{name} needs {symbol}, which none of {', '.join(names)} has")
sys.exit(1 if missing or not defined else 0)
