# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What tools and compiled programs do where the machine sets a limit, or somebody ends them.

    limits.py FOLDER RINGCONV-RUN RINGCONV-COMPILE

Too much asked for, no memory at any point of a run, files that may not be read or written, Ctrl-C while compiling and
running, links, and pages of compiled code. Each end is one line on standard error, a code that is not 0, and no file.
"""
import os
import re
import resource
import signal
import stat
import subprocess
import sys
import time

CONV = """ringconv.mesh @g = <["x" = MESH]>
func.func @main(%x: tensor<1x2xSIZExf32> {ringconv.sharding = #ringconv.sharding<@g, [{}, {}, {"x"}]>}, %w: tensor<3x2x3xf32>)
    -> (tensor<1x3xSIZExf32> {ringconv.sharding = #ringconv.sharding<@g, [{}, {}, {"x"}]>}) {
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0] window {pad = [[1, 1]]}
     : (tensor<1x2xSIZExf32>, tensor<3x2x3xf32>) -> tensor<1x3xSIZExf32>
  return %y : tensor<1x3xSIZExf32>
}
"""
# Two layers, 4 MB between them in each of 4 ranks.
DEEP = """ringconv.mesh @g = <["w" = 4]>
#cut = #ringconv.sharding<@g, [{}, {}, {}, {"w"}]>
func.func @main(%x: tensor<1x4x256x256xf32> {ringconv.sharding = #cut}, %v: tensor<16x4x3x3xf32>, %w: tensor<2x16x3x3xf32>)
    -> (tensor<1x2x256x256xf32> {ringconv.sharding = #cut}) {
  %0 = ringconv.conv %x, %v dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1] window {pad = [[1, 1], [1, 1]]}
     : (tensor<1x4x256x256xf32>, tensor<16x4x3x3xf32>) -> tensor<1x16x256x256xf32>
  %1 = math.tanh %0 : tensor<1x16x256x256xf32>
  %2 = ringconv.conv %1, %w dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1] window {pad = [[1, 1], [1, 1]]}
     : (tensor<1x16x256x256xf32>, tensor<2x16x3x3xf32>) -> tensor<1x2x256x256xf32>
  return %2 : tensor<1x2x256x256xf32>
}
"""
passed = failed = 0


def check(name, ok, *what):
    global passed, failed
    passed += bool(ok)
    failed += not ok
    if not ok:
        print(f"{name}:", *what)


def conv(size, mesh=4):
    return CONV.replace("SIZE", str(size)).replace("MESH", str(mesh))


def call(words, limit=None, user=None, **more):
    def before():
        if limit is not None:
            resource.setrlimit(*limit)
        if user is not None:
            os.setuid(user)
    return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=before,
                          timeout=300, **more)


def one_line(name, done, pattern, left=()):
    lines = done.stderr.splitlines()
    check(name, done.returncode == 1 and len(lines) == 1 and re.search(pattern, done.stderr), done.returncode, done.stderr)
    found = [f for f in os.listdir(".") if f.startswith("y.npy") and f not in left]
    check(f"{name}: nothing left", not found, found)


def too_much(run):
    """Errors before memory is asked for: 1 GiB of address space is left to compile in, and none of it is touched."""
    both = "ringconv.mesh @g = <[\"x\" = 4294967296, \"y\" = 4294967296]>\n"
    whole = "func.func @main(%x: tensor<4294967296x4294967296x2xf32>) -> tensor<4294967296x4294967296x2xf32> {\n" \
            "  return %x : tensor<4294967296x4294967296x2xf32>\n}\n"
    for name, text, pattern in (
            ("2^48 columns", conv(2**48), r"4 ranks with \d+ bytes of inputs and outputs each, but this machine has"),
            ("2^62 columns", conv(2**62), r"must stay below 2\^60"),
            ("2^63 - 1 columns", conv(2**63 - 1), r"must stay below 2\^60"),
            ("2^65 elements", whole, r"more bytes than can be counted"),
            ("2^20 ranks", conv(2**22, 2**20), r"1048576 ranks, at most 4096 can be threads"),
            ("2^64 ranks", both + whole, r"at most 1048576 ranks")):
        with open("much.mlir", "w") as f:
            f.write(text)
        for words in ([], ["--check"]):
            one_line(f"{name} {words}", call([run, "much.mlir", "--output=0=y.npy"] + words), pattern)


def no_memory(program):
    """Address spaces of any size: the run is complete, or says that it lacks memory or threads."""
    good = poor = 0
    for words in (["--output=0=y.npy"], ["--check", "--repeat=2"]):
        for mib in range(12, 140, 8):
            done = call([program] + words, limit=(resource.RLIMIT_AS, (mib << 20, mib << 20)))
            if "error while loading shared libraries" in done.stderr:
                continue
            good += done.returncode == 0
            poor += "out of memory" in done.stderr
            if done.returncode == 0:
                continue
            one_line(f"{mib} MiB {words}", done, "memory|no thread for rank", left={"y.npy"})
    check("memory is the limit somewhere", good and poor, good, poor)
    os.remove("y.npy")


def files(program, compiler):
    subprocess.run([program, "--output=0=x.npy"], check=True)
    os.chmod("x.npy", 0)
    user = 65534 if os.geteuid() == 0 else None  # root may read everything
    os.chmod(".", 0o777)
    done = call([program, "--input=0=x.npy", "--output=0=y.npy"], user=user)
    one_line("unreadable input", done, r"x\.npy: Permission denied")
    os.mkdir("closed", 0o555)
    done = call([program, "--output=0=closed/y.npy"], user=user)
    one_line("closed folder", done, r"closed/y\.npy: Permission denied")
    # Its own temporary files must not meet a closed folder before.
    done = call([compiler, "deep.mlir", "-o", "closed/y.npy"], user=user, env=dict(os.environ, TMPDIR=os.getcwd()))
    one_line("closed folder for an executable", done, r"closed/y\.npy: .*[Pp]ermission denied")
    with open("precious", "w") as f:
        f.write("old")
    os.symlink("precious", "y.npy")
    call([program, "--output=0=y.npy"])
    check("a link is replaced, not followed", open("precious").read() == "old" and not os.path.islink("y.npy"))
    os.remove("y.npy")


def interrupt_at(words, pattern, number):
    """Sends a signal once there is a temporary file of that name: (code, text, mode of the file)."""
    p = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True,
                         env=dict(os.environ, TMPDIR=os.path.abspath("tmp")))
    mode = None
    while p.poll() is None and mode is None:
        for name in os.listdir("tmp"):
            if re.match(pattern, name):
                try:
                    mode = stat.S_IMODE(os.stat(os.path.join("tmp", name)).st_mode)
                except FileNotFoundError:
                    pass
    if p.poll() is None:
        os.killpg(p.pid, number)
    _, text = p.communicate(timeout=60)
    return p.returncode, text, mode


def interrupts(run, compiler):
    """Ctrl-C at points all over a compilation, and where temporary files exist."""
    os.mkdir("tmp")
    for tool, words in (("ringconv-compile", [compiler, "deep.mlir", "-o", "y.npy"]),
                        ("ringconv-run", [run, "deep.mlir", "--output=0=y.npy", "--repeat=100000"])):
        for number in (signal.SIGINT, signal.SIGTERM):
            for pause in (0.2, 0.6):
                p = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                     start_new_session=True, env=dict(os.environ, TMPDIR=os.path.abspath("tmp")))
                time.sleep(pause)
                os.killpg(p.pid, number)
                _, text = p.communicate(timeout=60)
                name = f"{number.name} to {tool} after {pause} s"
                if p.returncode == 0:  # it was faster
                    os.remove("y.npy")
                    continue
                early = p.returncode == -number and not text  # before main
                said = text.splitlines()[:1] == [f"{tool}: error: interrupted"] and len(text.splitlines()) == 1
                check(name, early or (p.returncode != 0 and said), p.returncode, text)
                check(f"{name}: nothing left", not os.listdir("tmp") and not os.path.exists("y.npy"), os.listdir("tmp"))
    code, text, mode = interrupt_at([compiler, "deep.mlir", "-o", "y.npy"], r"ringconv-.*\.o$", signal.SIGINT)
    check("Ctrl-C while linking", mode is not None and code != 0 and mode & 0o077 == 0, code, text, mode)
    left = [f for f in os.listdir(".") if f.startswith("y.npy")] + [f for f in os.listdir("tmp") if "ringconv" in f]
    check("Ctrl-C while linking: nothing left", not left, left)


def pages(run):
    """Maps of a process that compiles and runs: no page can be written and executed."""
    p = subprocess.Popen([run, "deep.mlir", "--repeat=100000"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    compiled = wrong = 0
    while compiled < 20 and p.poll() is None:
        with open(f"/proc/{p.pid}/maps") as maps:
            entries = [line.split() for line in maps]
        wrong += sum("w" in e[1] and "x" in e[1] for e in entries)
        compiled += any("x" in e[1] and len(e) == 5 for e in entries)
    p.kill()
    p.wait()
    check("pages", compiled == 20 and not wrong, compiled, wrong)


def main(folder, run, compiler):
    os.chdir(folder)
    with open("deep.mlir", "w") as f:
        f.write(DEEP)
    program = os.path.abspath("deep")
    subprocess.run([compiler, "deep.mlir", "-o", program], check=True)
    too_much(run)
    no_memory(program)
    files(program, compiler)
    interrupts(run, compiler)
    pages(run)
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
