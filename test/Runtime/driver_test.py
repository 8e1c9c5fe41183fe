#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Command lines of an executable of ours: flags, files, checks, failures.

    driver_test.py PROGRAM LIB_FOLDER [threads|openmpi|mpich]...

PROGRAM is the stencil program of StencilProgram.c. Parts whose launcher or
transport library is missing are left out with one line. Needs Python's own
library only. The last line is 'N passed, N failed'.
"""
import glob
import itertools
import json
import os
import random
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

H, W = 13, 17
PROGRAM, LIB = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
NAME = os.path.basename(PROGRAM)
SEED = 1000000 + os.getpid()  # tells the processes of this test from others
passed = failed = 0


# ---- files ----
def npy(values, shape, descr="<f4", fortran=False, version=1):
    header = repr({"descr": descr, "fortran_order": fortran, "shape": tuple(shape)}).encode()
    size = 10 if version == 1 else 12
    header += b" " * (-(size + len(header) + 1) % 64) + b"\n"
    length = struct.pack("<H" if version == 1 else "<I", len(header))
    code = {"<f4": "f", "<f8": "d", ">f4": "f", "<i4": "i"}[descr]
    return b"\x93NUMPY" + bytes([version, 0]) + length + header + struct.pack(f"<{len(values)}{code}", *values)


def read_npy(path, code):
    data = open(path, "rb").read()
    length = struct.unpack("<H", data[8:10])[0]
    body = data[10 + length:]
    return struct.unpack(f"<{len(body) // struct.calcsize(code)}{code}", body)


rng = random.Random(5)
f32 = lambda v: struct.unpack("<f", struct.pack("<f", v))[0]
X = [f32(rng.uniform(-2, 2)) for _ in range(H * W)]
K = [f32(rng.uniform(-2, 2)) for _ in range(9)]


def expected():
    y = []
    for i in range(H):
        for j in range(W):
            y.append(sum(K[a * 3 + b] * X[(i + a - 1) % H * W + (j + b - 1) % W] for a in range(3) for b in range(3)))
    return y


# ---- running ----
class Result:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err
        self.errors = [l for l in err.splitlines() if l.startswith(NAME + ": error: ")]


def run(*words, mesh="1x1", launcher=None, fault=None, env=None, timeout=60, limit=None, memory=None):
    e = {k: v for k, v in os.environ.items() if not k.startswith("RINGCONV_")}
    e.update(RINGCONV_TEST_MESH=mesh, **(env or {}))
    if fault:
        e["RINGCONV_TEST_FAULT"] = fault
    cmd = (launcher or []) + [PROGRAM] + list(words)

    def limits():
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        if memory is not None:
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    pre = limits if limit is not None or memory is not None else None
    p = subprocess.Popen(cmd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, env=e,
                         start_new_session=True, preexec_fn=pre)
    try:
        out, err = p.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(p.pid, signal.SIGKILL)
        out, err = p.communicate()
        return Result(None, out, err + "\nno end within the time")
    return Result(p.returncode, out, err)


def check(name, ok, r=None):
    global passed, failed
    if ok:
        passed += 1
        return
    failed += 1
    print(f"FAILED {name}")
    if r:
        print(f"  exit {r.code}\n  stdout: {r.out.strip()[:600]}\n  stderr: {r.err.strip()[:1200]}")


def refused(name, text, *words, **more):
    """One line that has `text`, exit code 1, nothing on standard output."""
    r = run(*words, **more)
    lines = r.err.splitlines()
    check(name, r.code == 1 and len(lines) == 1 and lines[0].startswith(NAME + ": error: ") and text in lines[0], r)


# ---- flags ----
def test_flags():
    for words, text in [
            (["--input=q=x.npy"], "no input is called 'q', the names are: x, k"),
            (["--input=2=x.npy"], "no input 2, the program has 2"),
            (["--input=99999999999999999999=x.npy"], "the program has 2"),
            (["--input=x"], "'x', expected NAME=FILE.npy"), (["--input==x.npy"], "expected NAME=FILE.npy"),
            (["--input=x="], "expected NAME=FILE.npy"),
            (["--input=x=x.npy", "--input", "0=x.npy"], "input 0 is given twice"),
            (["--output=2=y.npy"], "no output 2, the program has 2"), (["--output=-1=y.npy"], "no output is called '-1'"),
            (["--output=0=a", "--output=0=b"], "output 0 is given twice"),
            (["--output=0=a", "--output=1=a"], "outputs 0 and 1 go to the same file 'a'"),
            (["--rtol=abc"], "--rtol: 'abc' is no number"), (["--rtol=-1"], "is negative"), (["--rtol=nan"], "no number"),
            (["--seed=-1"], "no number from 0"), (["--seed=1x"], "no number"), (["--seed="], "no number"),
            (["--seed=18446744073709551616"], "no number"), (["--repeat=0"], "expected 1 to"),
            (["--repeat=1.5"], "no number"), (["--timeout=0"], "no time"), (["--timeout=inf"], "no number"),
            (["--transport=tcp"], "'tcp', expected auto, threads or mpi"), (["--json="], "no file is named"),
            (["--params=p.st"], "p.st: No such file or directory"), (["--params="], "--params: no file is named"),
            (["--graph"], "--graph needs a program for GPUs"),
            (["--simulate"], "--simulate needs a program for GPUs"), (["--seed"], "--seed needs a value"),
            (["--check=1"], "--check=1"), (["--fast"], "'--fast'"), (["-x"], "'-x'"), (["word"], "unexpected word 'word'"),
            (["--output=0=/nowhere/y.npy"], "/nowhere/y.npy: No such file or directory"),
            (["--output=0=."], "a folder"), (["--output=0=/dev/null"], "no plain file")]:
        refused(f"flags {words}", text, *words)
    r = run("--help")
    check("--help", r.code == 0 and "--input=NAME|I=FILE.npy" in r.out and "input 1 (k): tensor<3x3xf32>" in r.out, r)
    r = run("--version")
    check("--version", r.code == 0 and "ringconv" in r.out and "hash 0000000000001234" in r.out, r)
    if "avx512f" not in open("/proc/cpuinfo").read() and os.uname().machine == "x86_64":
        refused("processor", "needs the processor feature avx512f", env={"RINGCONV_TEST_FEATURES": "sse3,avx512f"})


def test_bad_files():
    good = npy(X, (H, W))
    files = {
        "fortran": (npy(X, (H, W), fortran=True), "fortran.npy: Fortran order, expected C order for input 0 (x)"),
        "double": (npy(X, (H, W), "<f8"), "double.npy: dtype '<f8', expected '<f4' for input 0 (x)"),
        "big": (npy(X, (H, W), ">f4"), "dtype '>f4', expected '<f4'"),
        "shape": (npy(X[:-W], (H - 1, W)), "shape [12, 17], expected [13, 17] for input 0 (x)"),
        "rank": (npy(X, (H * W,)), "shape [221], expected [13, 17]"),
        "short": (good[:-3], "881 bytes of data, expected 884"), "long": (good + b"zz", "886 bytes of data, expected 884"),
        "empty": (b"", "empty, expected a .npy file"), "header": (good[:40], "ends in its header"),
        "text": (b"hello, this is text\n", "not a .npy file"),
        "object": (good.replace(b"<f4", b"|O "), "dtype '|O ', expected '<f4'")}
    for name, (data, text) in files.items():
        open(name + ".npy", "wb").write(data)
        for mesh in ["1x1", "2x2"]:
            refused(f"file {name}", text, f"--input=x={name}.npy", "--output=0=z.npy", mesh=mesh)
    refused("missing file", "nope.npy: No such file or directory", "--input=x=nope.npy", "--output=0=z.npy")
    refused("folder", ".: a folder, expected a .npy file", "--input=x=.")
    os.mkfifo("pipe")
    refused("pipe", "pipe: no plain file", "--input=x=pipe")
    check("no output of bad files", not glob.glob("z.npy*"))


def safetensors(entries, body, pad=0):
    header = json.dumps(entries).encode() + b" " * pad
    return struct.pack("<Q", len(header)) + header + body


def test_params():
    """The parameter k from a safetensors file is the one from an .npy file."""
    body = struct.pack("<9f", *K)
    entry = {"dtype": "F32", "shape": [3, 3], "data_offsets": [4, 40]}
    other = {"dtype": "I8", "shape": [4], "data_offsets": [0, 4]}
    open("x.npy", "wb").write(npy(X, (H, W)))
    open("k.npy", "wb").write(npy(K, (3, 3)))
    open("zeros.npy", "wb").write(npy([0.0] * 9, (3, 3)))
    good = safetensors({"__metadata__": {"a": "b"}, "other \u00e9": other, "k": entry}, b"abcd" + body)
    # One byte more of header: the data lies at an odd address.
    odd = safetensors({"other": other, "k": entry}, b"abcd" + body, pad=1)
    for name, data in (("good", good), ("odd", odd)):
        open(name + ".st", "wb").write(data)
        for mesh in ("1x1", "2x3"):
            r = run("--input=x=x.npy", f"--params={name}.st", "--output=0=y.npy", "--check", mesh=mesh)
            wrong = max(abs(a - b) for a, b in zip(read_npy("y.npy", "f"), expected())) if r.code == 0 else None
            check(f"params {name} on {mesh}", wrong is not None and wrong < 1e-4, r)
    r = run("--input=x=x.npy", "--input=k=zeros.npy", "--params=good.st", "--output=0=y.npy")
    check("an input goes before params", r.code == 0 and not any(read_npy("y.npy", "f")), r)
    change = lambda **words: safetensors({"k": {**entry, **words}}, b"abcd" + body)
    for name, data, text in (
            ("type", change(dtype="F64"), "'k' has dtype F64, expected F32 for input 1 (k)"),
            ("shape", change(shape=[9]), "'k' has shape [9], expected [3, 3] for input 1 (k)"),
            ("place", change(data_offsets=[8, 44]), "'k' lies at bytes 8 to 44 of 40"),
            ("size", change(data_offsets=[0, 40]), "which cannot be"),
            ("lacking", safetensors({"K": entry}, body), "no tensor is called 'k', for input 1 (k)"),
            ("json", good.replace(b'{"__m', b'{ __m'), "its header is no JSON of tensors"),
            ("cut", good[:30], "its header does not fit into 30 bytes"), ("empty", b"", "expected a safetensors file")):
        open(name + ".st", "wb").write(data)
        refused(f"params {name}", text, "--input=x=x.npy", f"--params={name}.st")


def test_outputs_fail():
    r = run("--output=0=z.npy", "--check", limit=200)
    check("file may not grow", r.code == 1 and "z.npy: File too large" in r.err and len(r.errors) == 1, r)
    check("nothing left", not glob.glob("z.npy*"))
    if os.geteuid() == 0:
        os.mkdir("full")
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k", "none", "full"], stderr=subprocess.DEVNULL).returncode == 0:
            open("full/other", "wb").write(b"x" * 4096)
            r = run("--output=0=full/z.npy")
            left = os.listdir("full")
            subprocess.run(["umount", "full"])
            check("full disk", r.code == 1 and "No space left on device" in r.err and left == ["other"], r)
    open("z.npy", "w").write("old")
    r = run("--output=0=z.npy", fault="wrong:0")
    check("without --check it is complete", r.code == 0 and read_npy("z.npy", "f"), r)
    open("z.npy", "w").write("old")
    r = run("--output=0=z.npy", "--check", fault="wrong:0")
    check("a failed check keeps the old file", r.code == 1 and open("z.npy").read() == "old", r)
    os.remove("z.npy")


def test_too_much():
    refused("2^20 ranks", "the mesh has 1048576 ranks, at most 4096 can be threads", mesh="1024x1024")
    refused("2^70 ranks", "more ranks than can be counted", mesh="34359738368x34359738368")
    # An address space of 1 GB does not hold the stacks of 1024 threads; sanitizers need more for themselves.
    if b"__asan_init" not in open(PROGRAM, "rb").read() and b"__tsan_init" not in open(PROGRAM, "rb").read():
        refused("no threads left", "no thread for rank ", mesh="32x32", memory=1 << 30)


# ---- on any transport ----
def test_runs(how, launch):
    open("x.npy", "wb").write(npy(X, (H, W)))
    open("k.npy", "wb").write(npy(K, (3, 3), version=2))
    want, same, generated = expected(), None, None
    for mesh in ["1x1", "1x2", "2x2", "3x2", "1x8"]:
        l = launch(mesh)
        r = run("--input", "x=x.npy", "--input=1=k.npy", "--output=0=y.npy", "--output", "1=s.npy", "--check", mesh=mesh,
                launcher=l)
        ok = r.code == 0 and r.out.count("bit-identical") + r.out.count("max error") == 2
        check(f"{how} {mesh} runs", ok, r)
        if not ok:
            continue
        y, s = read_npy("y.npy", "f"), read_npy("s.npy", "d")
        check(f"{how} {mesh} values", max(abs(a - b) for a, b in zip(y, want)) < 1e-5 and abs(s[0] - sum(y)) < 1e-9)
        same = same or y
        check(f"{how} {mesh} same bits on every mesh", same == y)
        r = run("--seed=3", "--deterministic", "--output=0=g.npy", mesh=mesh, launcher=l)
        generated = generated or read_npy("g.npy", "f")
        check(f"{how} {mesh} same generated inputs", r.code == 0 and read_npy("g.npy", "f") == generated, r)
        for f in ["y.npy", "s.npy", "g.npy"]:
            os.remove(f)
    check(f"{how} no temporary files", not glob.glob("*.part-*"))


def test_reports(how, launch):
    r = run("--repeat=4", "--report", "--json=j.json", "--trace=t.json", "--check", mesh="2x2", launcher=launch("2x2"))
    check(f"{how} report", r.code == 0 and "time: median" in r.out and "[7, 13)          [6, 14)" in r.out and
          "stencil.mlir:3:8" in r.out, r)
    j, t = json.load(open("j.json")), json.load(open("t.json"))
    row = j["ops"][0]["ranks"][2]
    check(f"{how} json", j["num_ranks"] == 4 and len(j["ranks"][3]["seconds"]) == 4 and j["mesh"] == {"y": 2, "x": 2} and
          row["dims"][0] == {"dim": 0, "owned": [7, 13], "needed": [6, 14]} and row["messages_sent"] == 3 and
          row["bytes_sent"] == 4 * 34 and sum(k["multiply_adds"] for k in j["ranks"]) == 4 * 9 * H * W and
          j["outputs"][0]["beyond"] == 0)
    events = [e for e in t["traceEvents"] if e["ph"] == "X"]
    ops = [e for e in events if e["cat"] == "op"]
    check(f"{how} trace", len(ops) == 16 and {e["tid"] for e in ops} == {0, 1, 2, 3} and
          all(e["dur"] >= 0 for e in events) and {e["cat"] for e in events} == {"op", "post", "wait"})
    os.remove("j.json")
    os.remove("t.json")


def test_faults(how, launch):
    """Each rank in turn does something bad; the others end in time and say why."""
    mpi = how != "threads"
    texts = {"error": ["the program failed with code 7"],
             "silent": ["exchange 3: no message from rank {r} within 1 s", "was not taken within 1 s"],
             "size": ["sent 20 bytes, expected 16", "sent 24 bytes, expected 20", "sent 28 bytes, expected 24",
                      "sent more than the expected"],
             "wrong": ["output 0 (y): max error 1, bound"], "unsteady": ["run 1 gives other bits in output 0 than run 0"]}
    if mpi:
        texts.update(crash=None, stop=texts["silent"],
                     program=["runs another program (hash 0000000000004321)", "than rank 0 (0000000000004321)"])
    for kind, wanted in texts.items():
        for rank in [0, 3]:
            begin = time.time()
            r = run("--timeout=1", "--check", "--repeat=2", "--output=0=z.npy", mesh="2x2", fault=f"{kind}:{rank}",
                    launcher=launch("2x2"))
            took = time.time() - begin
            named = wanted is None or any(w.format(r=rank) in e for w in wanted for e in r.errors)
            check(f"{how} {kind} on rank {rank}", r.code not in (0, None) and named and took < 11, r)
            if kind in ("error", "wrong", "unsteady", "program") or not mpi:
                check(f"{how} {kind} on rank {rank}: one line", len(r.errors) == 1, r)
            check(f"{how} {kind} on rank {rank}: nothing left", not glob.glob("z.npy*"))


def processes(word):
    """Processes of PROGRAM with this word on their command line."""
    found = []
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            words = open(path, "rb").read().split(b"\0")
        except OSError:
            continue
        if words[0] == PROGRAM.encode() and word.encode() in words:
            found.append(path)
    return found


def all_gone(word):
    """A launcher may end before those that it has just killed: at most 10 s."""
    begin = time.time()
    while processes(word) and time.time() - begin < 10:
        time.sleep(0.05)
    return not processes(word)


def test_interrupt(how, launch):
    """Ctrl-C goes to the launcher, or to the program where there is none."""
    for number in [signal.SIGINT, signal.SIGTERM]:
        e = dict(os.environ, RINGCONV_TEST_MESH="2x2")
        cmd = (launch("2x2") or []) + [PROGRAM, "--repeat=20000000", "--output=0=z.npy", "--trace=t.json"]
        p = subprocess.Popen(cmd, env=e, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        time.sleep(1.5)
        p.send_signal(number)
        begin = time.time()
        try:
            p.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            p.kill()
        left = processes("--repeat=20000000")
        check(f"{how} {number.name}", p.returncode != 0 and time.time() - begin < 10 and not left)
        check(f"{how} {number.name}: nothing left", not glob.glob("*.part-*") and not glob.glob("z.npy*"))


def test_mpi_only(how, launch):
    r = run("--check", mesh="2x2", launcher=launch("1x3"))
    check(f"{how} mesh size", r.code == 1 and
          r.errors == [NAME + ': error: mesh <["y" = 2, "x" = 2]> has size 4, but the number of MPI processes is 3'], r)
    other = {"openmpi": "mpich", "mpich": "openmpi"}[how]
    foreign = f"{LIB}/libringconv_mpi_{other}.so"
    if os.path.exists(foreign):
        r = run(mesh="1x2", launcher=launch("1x2"), env={"RINGCONV_MPI": foreign})
        check(f"{how} other MPI", r.code not in (0, None) and len(r.errors) == 1 and f"made for {other}" in r.err, r)
    r = run(mesh="1x2", launcher=launch("1x2"), env={"RINGCONV_MPI": "/bin/sh"})
    check(f"{how} foreign library", r.code not in (0, None) and r.errors == [
        NAME + ": error: RINGCONV_MPI: /bin/sh: not a ringconv MPI library"], r)
    r = run("--fast", mesh="1x2", launcher=launch("1x2"))
    check(f"{how} bad flag", r.code not in (0, None) and len(r.errors) == 1, r)
    r = run("--input=x=nope.npy", mesh="2x2", launcher=launch("2x2"))
    check(f"{how} missing file", r.code not in (0, None) and len(r.errors) == 1 and "nope.npy: No such file" in r.err, r)
    r = run("--check", "--transport=threads", mesh="2x2", launcher=launch("1x1"))
    check(f"{how} threads in one process", r.code == 0, r)
    r = run("--check", "--transport=mpi", mesh="1x1", env={"RINGCONV_MPI": f"{LIB}/libringconv_mpi_{how}.so"})
    check(f"{how} alone", r.code == 0 or how == "openmpi", r)


def test_hybrid(how, launch):
    """Threads in each of several processes: what one rank does wrong ends those of its process and of the others."""
    for mesh, count, each in (("2x2", 2, 2), ("2x3", 2, 3), ("3x2", 3, 2)):
        r = run("--check", "--repeat=3", f"--ranks-per-process={each}", mesh=mesh, launcher=launch(f"1x{count}"))
        check(f"{how} {count} x {each} ranks", r.code == 0 and r.out.count("bit-identical") == 2, r)
    for kind, wanted in (("error", "rank {r}: the program failed with code 7"), ("size", "expected"),
                         ("silent", "exchange 3: no message from rank {r} within 1 s"), ("wrong", "max error 1, bound")):
        for rank in [0, 3]:
            begin = time.time()
            r = run("--timeout=1", "--check", "--output=0=z.npy", "--ranks-per-process=2", mesh="2x2",
                    fault=f"{kind}:{rank}", launcher=launch("1x2"))
            named = any(wanted.format(r=rank) in e for e in r.errors) and time.time() - begin < 11
            check(f"{how} {kind} on rank {rank} of two processes", r.code not in (0, None) and named, r)
            check(f"{how} {kind} on rank {rank} of two processes: nothing left", not glob.glob("z.npy*"))
    r = run("--ranks-per-process=0", mesh="2x2", launcher=launch("1x2"))
    check(f"{how} no ranks per process", "--ranks-per-process: 0 ranks, expected 1 to 4096" in r.err, r)


def leaked(before):
    """Shared memory that has come since and that no process has mapped: other programs may have theirs."""
    new = set(os.listdir("/dev/shm")) - before if os.path.isdir("/dev/shm") else set()
    for path in glob.glob("/proc/[0-9]*/maps") if new else []:
        try:
            maps = open(path).read()
        except OSError:
            continue
        new = {name for name in new if f"/dev/shm/{name}" not in maps}
    return new


def test_moments(how, launch):
    """A rank that ends, stops or is late before, inside and after its exchange.

    Once under a launcher that ends the others, and once under one that leaves them alone: then they end by
    themselves, each with a line that names itself, the one it waits for and the operation.
    """
    flags = {"mpich": ["-disable-auto-cleanup"], "openmpi": ["--enable-recovery"], "threads": []}[how]
    line = re.compile(r"rank (\d): (exchange [34]: .*rank {r}\b.*|rank {r} failed)")
    kinds = ["error"] if how == "threads" else ["error", "stop", "crash"]
    before, folder = set(os.listdir("/dev/shm")) if os.path.isdir("/dev/shm") else set(), tempfile.mkdtemp(dir=".")
    for kind, moment, leaves in itertools.product(kinds, ["before", "inside", "after"], [False, True]):
        if (leaves and not flags) or (leaves and kind == "crash" and how == "mpich"):
            continue  # MPICH's launcher takes a killed process for its own end
        rank = (len(kind) + len(moment)) % 4
        l = launch("2x2")
        name, begin = f"{how} {kind} on rank {rank} {moment} {'left alone' if leaves else ''}", time.time()
        r = run("--timeout=1", "--output=0=z.npy", f"--seed={SEED}", mesh="2x2", fault=f"{kind}:{rank}:{moment}",
                launcher=l[:1] + flags + l[1:] if leaves else l, env={"TMPDIR": os.path.abspath(folder)})
        # Open MPI's mpirun itself then gives 0, whatever its processes gave.
        coded = r.code is not None and (r.code or (leaves and how == "openmpi"))
        said = [e for e in r.errors if re.search(line.pattern.format(r=rank), e) or "failed with code 7" in e]
        check(name, coded and (said or kind == "crash") and time.time() - begin < 11, r)
        check(f"{name}: nothing left", not glob.glob("z.npy*") and all_gone(f"--seed={SEED}"), r)
        if kind == "stop":
            check(f"{name}: names the operation", any("stencil.mlir:3:8" in e or "exchange 4" in e for e in r.errors), r)
    check(f"{how}: no shared memory and no temporary files left", not leaked(before) and not os.listdir(folder))
    for moment in ["before", "inside", "after"]:
        r = run("--timeout=5", "--check", mesh="2x2", fault=f"delay:2:{moment}", launcher=launch("2x2"))
        check(f"{how} a late rank {moment}", r.code == 0 and r.out.count("bit-identical") >= 1, r)


def test_apart(how, launch):
    """Ranks in folders of their own do not share the output's; ranks with another mesh are told so."""
    for rank in range(4):
        os.makedirs(f"own{rank}", exist_ok=True)
    place = 'cd own${OMPI_COMM_WORLD_RANK:-$PMI_RANK} && exec "$@"'
    r = run("--output=0=z.npy", mesh="2x2", launcher=launch("2x2") + ["sh", "-c", place, "sh"])
    check(f"{how} folders apart", r.code not in (0, None) and len(r.errors) == 1 and
          "do all ranks share this folder?" in r.err, r)
    check(f"{how} folders apart: nothing left", not glob.glob("own*/*"))
    other = '[ ${OMPI_COMM_WORLD_RANK:-$PMI_RANK} = 2 ] && export RINGCONV_TEST_MESH=4x1; exec "$@"'
    r = run("--output=0=z.npy", mesh="2x2", launcher=launch("2x2") + ["sh", "-c", other, "sh"])
    check(f"{how} another mesh", r.code not in (0, None) and len(r.errors) == 1 and "rank 2 " in r.err and
          "another program" in r.err, r)


def launcher_of(how):
    if how == "threads":
        return lambda mesh: None
    mpirun = shutil.which(f"mpirun.{how}")
    if not mpirun and shutil.which("mpirun"):
        version = subprocess.run(["mpirun", "--version"], stdout=subprocess.PIPE, text=True).stdout
        if ("Open MPI" in version or "open-mpi" in version) == (how == "openmpi"):
            mpirun = shutil.which("mpirun")
    if not mpirun or not os.path.exists(f"{LIB}/libringconv_mpi_{how}.so"):
        return None
    more = ["--oversubscribe"] if how == "openmpi" else []
    if how == "openmpi" and os.geteuid() == 0:
        more.append("--allow-run-as-root")
    def launch(mesh):
        a, b = mesh.split("x")
        return [mpirun] + more + ["-n", str(int(a) * int(b))]
    return launch


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for how in sys.argv[3:] or ["threads", "openmpi", "mpich"]:
            launch = launcher_of(how)
            if not launch:
                print(f"left out: {how} (no mpirun or no libringconv_mpi_{how}.so)")
                continue
            if how == "threads":
                test_flags()
                test_bad_files()
                test_params()
                test_outputs_fail()
                test_too_much()
            test_runs(how, launch)
            test_reports(how, launch)
            test_faults(how, launch)
            test_interrupt(how, launch)
            test_moments(how, launch)
            if how != "threads":
                test_mpi_only(how, launch)
                test_hybrid(how, launch)
                test_apart(how, launch)
        os.chdir("/")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


sys.exit(main())
