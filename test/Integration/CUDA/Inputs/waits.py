# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Removes the event waits of a program's host code one at a time.

    waits.py PROGRAM.ll LLC CC INCLUDE LIB GPUSIM

Each mutant must be reported by gpusim's order detector: then no wait is
superfluous. The program as it is must not be: then none is missing.
"""
import os
import re
import subprocess
import sys
import tempfile

program, llc, cc, include, lib, gpusim = sys.argv[1:]
text = open(program).read()
waits = [m.start() for m in re.finditer(r"call i32 @cuStreamWaitEvent\(", text)]


def run(mutant, folder):
    """The exit code of a run on four simulated GPUs, and what it printed."""
    ll, obj, exe = (os.path.join(folder, name) for name in ("m.ll", "m.o", "m"))
    open(ll, "w").write(mutant)
    subprocess.run([llc, "-filetype=obj", "-relocation-model=pic", ll, "-o", obj], check=True)
    main = os.path.join(os.path.dirname(__file__), "main.c")
    libs = [os.path.join(lib, "libringconv_rt.a"), "-lm", "-lpthread", "-ldl"]
    subprocess.run([cc, "-I", include, main, obj, "-o", exe] + libs, check=True)
    done = subprocess.run([gpusim, "--devices=4", "--quiet", exe], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True)
    return done.returncode, done.stdout


def without(position):
    end = text.index("\n", position)
    return text[:position] + "add i32 0, 0" + text[end:]


failures = 0
with tempfile.TemporaryDirectory() as folder:
    code, output = run(text, folder)
    if code:
        print(f"the program itself: exit {code}\n{output}")
        failures += 1
    for number, position in enumerate(waits):
        code, output = run(without(position), folder)
        if code == 0 or "unordered access" not in output:
            print(f"without wait {number} of {len(waits)}: exit {code}, nothing unordered was reported\n{output}")
            failures += 1
print(f"{len(waits)} waits, {failures} failures")
sys.exit(failures > 0)
