#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs fuzz targets from their stored seeds: run.py [--seconds=S | --runs=N] [--corpus=FOLDER] PROGRAM...

PROGRAM is .../ringconv-fuzz-NAME; its seeds lie in the folder NAME here (upper or lower case): files seeds.*, each
with inputs separated by lines of '// -----'. An input that ends the program is kept in the folder that a line names;
add it to the seeds once it is mended. --corpus keeps what was found worth mutating, one folder for each program."""
import argparse
import glob
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SEPARATOR = re.compile(rb"^// -----\n", re.MULTILINE)


def write_seeds(name, folder):
    """One file for each input of seeds.*; their number."""
    inputs = [text for path in sorted(glob.glob(os.path.join(HERE, name, "seeds.*")))
              for text in SEPARATOR.split(open(path, "rb").read())]
    for number, text in enumerate(inputs):
        with open(os.path.join(folder, f"{number:04}"), "wb") as file:
            file.write(text)
    return len(inputs)


def fuzz(program, args):
    name = os.path.basename(program).removeprefix("ringconv-fuzz-")
    source = next((f for f in os.listdir(HERE) if f.lower() == name), name)
    kept = tempfile.mkdtemp(prefix=f"fuzz-{name}-")
    with tempfile.TemporaryDirectory() as seeds, tempfile.TemporaryDirectory() as found:
        count = write_seeds(source, seeds)
        if args.corpus:
            found = os.path.join(args.corpus, name)
            os.makedirs(found, exist_ok=True)
        budget = f"-runs={args.runs}" if args.runs is not None else f"-max_total_time={args.seconds}"
        # A run over 60 s is a hang, one beyond 2 GB asks for too much.
        process = subprocess.run([program, budget, "-seed=1", "-timeout=60", "-rss_limit_mb=2048", "-print_final_stats=1",
                                  f"-artifact_prefix={kept}/", found, seeds], stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True,
                                 errors="replace")
    executed = re.search(r"number_of_executed_units: (\d+)", process.stdout)
    coverage = re.findall(r"cov: (\d+)", process.stdout)
    print(f"{name}: {count} seeds, {executed[1] if executed else 0} inputs, {coverage[-1] if coverage else 0} edges")
    if process.returncode == 0 and count and executed and not os.listdir(kept):
        os.rmdir(kept)
        return True
    print(process.stdout[-6000:])
    print(f"{name}: exit code {process.returncode}, inputs in {kept}")
    return False


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", nargs="+")
    parser.add_argument("--seconds", type=int, default=30, help="for each program (30)")
    parser.add_argument("--runs", type=int, help="inputs for each program, instead of a time")
    parser.add_argument("--corpus", help="folder to keep and to begin with")
    args = parser.parse_args()
    good = [fuzz(os.path.abspath(program), args) for program in args.program]
    print(f"{sum(good)} passed, {len(good) - sum(good)} failed")
    return int(not all(good))


if __name__ == "__main__":
    sys.exit(main())
