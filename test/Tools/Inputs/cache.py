# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""cache.py RINGCONV_RUN RINGCONV_COMPILE PROGRAM FOLDER: --cache-dir, on a program
with one result."""
import os
import shutil
import subprocess
import sys

import numpy as np

run_tool, compile_tool, program, folder = sys.argv[1:]
os.chdir(folder)
with open(program) as file:
    text = file.read()


def write(name, program):
    with open(name, "w") as file:
        file.write(program)


def command(cache, name="first", output="y.npy", *flags):
    return [run_tool, f"{name}.mlir", f"--cache-dir={cache}", f"--output=0={output}", *flags]


def run(cache, *words):
    """What is said on stderr, by line."""
    done = subprocess.run(command(cache, *words), text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert done.returncode == 0, done
    return done.stderr.splitlines()


def entries(cache):
    return sorted(os.path.join(cache, name) for name in os.listdir(cache))


def check(factor=1, name="y.npy"):
    np.testing.assert_array_equal(np.load(name), factor * expected)
    os.remove(name)


write("first.mlir", text)
result = text[text.rindex(" : ") + 3:text.rindex("\n}")]
negated = text.replace("  return %y", f"  %z = arith.negf %y : {result}\n  return %z")
write("negated.mlir", negated)
subprocess.run([run_tool, "first.mlir", "--output=0=expected.npy"], check=True)
expected = np.load("expected.npy")

# ---- Kept once, in a folder that is made, and then taken ----
assert run("a/b") == []
check()
entry, = entries("a/b")
before = os.stat(entry)
assert run("a/b") == []
check()
assert entries("a/b") == [entry] and os.stat(entry).st_ino == before.st_ino
# What lies there is what runs: of another program, under this one's name.
run("n", "negated")
check(-1)
shutil.copy(*entries("n"), entry)
assert run("a/b") == []
check(-1)

# ---- What tells programs apart ----
changes = (["--no-vectorize"], ["--no-overlap"], ["--always-overlap"], ["--no-merge-halos"], ["--count-multiply-adds"],
           ["--mesh=w=2"], ["--target-cpu=x86-64-v3"], ["--check"], ["--entry=main"])
for number, flags in enumerate(changes):
    run("c", "first", "y.npy", *flags)
    assert len(entries("c")) == number + 1, flags
    check()
run("c", "negated")
assert len(entries("c")) == len(changes) + 1
write("negated.mlir", negated + "// words behind it\n")
run("c", "negated")
assert len(entries("c")) == len(changes) + 1

# ---- Two processes at once ----
both = [subprocess.Popen(command("p", "first", f"{i}.npy"), stdout=subprocess.DEVNULL) for i in range(2)]
assert [process.wait() for process in both] == [0, 0]
check(1, "0.npy")
check(1, "1.npy")
entry, = entries("p")

# ---- Damage is told, and repaired ----
with open(entry, "rb") as file:
    whole = file.read()
for damaged in (b"", b"\n", whole[:-1], whole[:50], whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:],
                b"da39a3ee5e6b4b0d3255bfef95601890afd80709\n"):  # the digest of nothing
    with open(entry, "wb") as file:
        file.write(damaged)
    line, = run("p")
    assert line.endswith(f"warning: {entry}: damaged, compiled anew"), line
    check()
    assert entries("p") == [entry] and run("p") == []
    check()

# ---- A folder that cannot be written ----
line, = run("first.mlir/sub")
assert "warning: cache first.mlir/sub cannot be written, the program is not kept: " in line, line
check()

# ---- What was said once is said again; reports too ----
said = run("r", "first", "y.npy", "--remarks")
assert said and run("r", "first", "y.npy", "--remarks") == said
for i in range(2):
    subprocess.run([compile_tool, "first.mlir", "--cache-dir=e", "-o", f"e{i}", f"--report=e{i}.json"], check=True)
    subprocess.run([f"./e{i}", "--output=0=y.npy", "--check"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([compile_tool, "first.mlir", "--cache-dir=e", "--emit=lib", "-o", f"e{i}.so"], check=True)
assert len(entries("e")) == 2
for kind in ("json", "h"):
    with open(f"e0.{kind}") as a, open(f"e1.{kind}") as b:
        assert a.read() == b.read() != ""
print("passed")
