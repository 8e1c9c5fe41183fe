#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""docs_pictures.py --bin BUILD/bin [--check]: draws docs/pictures/NAME.mlir as docs/images/NAME.svg.

With --check nothing is written; a stored picture that ringconv-draw would draw otherwise is an error.
"""
import argparse
import glob
import os
import subprocess
import sys
import tempfile

DOCS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "docs")


def read(path):
    if not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8") as file:
        return file.read()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, help="folder of ringconv-draw")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    tool, differing = os.path.join(os.path.abspath(options.bin), "ringconv-draw"), []
    os.chdir(os.path.join(DOCS, "pictures"))  # pictures name their programs, not this machine's folders
    with tempfile.TemporaryDirectory() as folder:
        for program in sorted(glob.glob("*.mlir")):
            picture = program[:-5] + ".svg"
            drawn, stored = os.path.join(folder, picture), os.path.join(DOCS, "images", picture)
            subprocess.run([tool, program, "-o", drawn], check=True)
            if options.check and read(drawn) != read(stored):
                differing.append(picture)
            elif not options.check:
                with open(stored, "w", encoding="utf-8") as file:
                    file.write(read(drawn))
    if differing:
        sys.exit(f"docs_pictures.py: error: {', '.join(differing)}: drawn otherwise now; "
                 "scripts/docs.sh --reference renews them")


main()
