#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs all tests of a build and adds up their results.

    check.py BUILD/test/check.json [--level=quick|default|long] [--only=PART] [--jobs=N] [--filter=REGEX]

Parts: lit over test/, the GoogleTest programs of unittests/, the tests of the
host runtime, those of the Python package and of gpusim, fuzz targets, the runtime
and gpusim under sanitizers (long, or with --only=sanitizers), the documentation site. A part that does not come to its
end counts as a failure. The last line is 'N passed, N failed'; the exit code is 1 if anything failed.
"""
import argparse
import collections
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree

Counts = collections.namedtuple("Counts", "passed failed")
# Longer than any part takes on two cores; only a hang reaches it.
PART_SECONDS = {"quick": 300, "default": 1500, "long": 7200}


def run(command, seconds, quiet=False):
    """Exit code and output; the whole process group ends at the time limit."""
    try:
        process = subprocess.Popen(
            command, start_new_session=True, stdin=subprocess.DEVNULL, text=True, errors="replace",
            stdout=subprocess.PIPE if quiet else None, stderr=subprocess.STDOUT if quiet else None)
    except OSError as error:
        print(f"{command[0]}: {error.strerror}")
        return 127, ""
    try:
        output, _ = process.communicate(timeout=seconds)
        return process.returncode, output or ""
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        print(f"{os.path.basename(command[0])}: stopped after {seconds} s")
        return 124, output or ""


def read_json(path):
    try:
        with open(path) as file:
            return json.load(file)
    except (OSError, ValueError):
        return None


def lit_once(build, args, folder, extra):
    results = os.path.join(folder, "lit.json")
    command = [build["python"], build["lit"], "-sv", "--no-progress-bar", "-o", results, f"--param=level={args.level}"]
    if args.jobs:
        command.append(f"-j{args.jobs}")
    code, _ = run(command + extra + [build["suite"]], PART_SECONDS[args.level])
    tests = (read_json(results) or {}).get("tests", [])
    codes = collections.Counter(test["code"] for test in tests)
    passed = codes["PASS"] + codes["XFAIL"] + codes["FLAKYPASS"]
    failed = codes["FAIL"] + codes["XPASS"] + codes["UNRESOLVED"] + codes["TIMEOUT"]
    if codes["UNSUPPORTED"]:
        print(f"lit: left out: {codes['UNSUPPORTED']} tests of another level or of parts that are missing here")
    return Counts(passed, failed or int(code != 0))


def run_lit(build, args, folder):
    runs = [[f"--filter={args.filter}"] if args.filter else []]
    if args.level == "long":
        # Once more, where ringconv-opt also checks that what it read survives printing.
        runs.append(["--param=roundtrip=1", "--filter=ringconv :: (Dialect|Conversion)/", "--allow-empty-runs"])
    counts = [lit_once(build, args, folder, extra) for extra in runs]
    return Counts(*(sum(c[i] for c in counts) for i in (0, 1)))


def run_unit(build, args, folder):
    total = Counts(0, 0)
    for program in build["unit"]:
        name = os.path.basename(program)
        results = os.path.join(folder, name + ".json")
        code, output = run([program, f"--gtest_output=json:{results}"], PART_SECONDS[args.level], quiet=True)
        summary = read_json(results) or {}
        failed = summary.get("failures", 0) + summary.get("errors", 0)
        passed = summary.get("tests", 0) - failed - summary.get("disabled", 0)
        failed = failed or int(code != 0 or not summary)
        if failed:
            print(output)
        print(f"{name}: {passed} passed, {failed} failed")
        total = Counts(total.passed + passed, total.failed + failed)
    return total


def run_script(name, command, args):
    """A script whose last line is 'N passed, N failed'."""
    code, output = run(command, PART_SECONDS[args.level], quiet=True)
    lines = output.splitlines()
    match = re.fullmatch(r"(\d+) passed, (\d+) failed", lines[-1]) if lines else None
    print("\n".join(f"{name}: {line}" for line in (lines[:-1] if match else lines)))
    passed, failed = map(int, match.groups()) if match else (0, 1)
    return Counts(passed, failed or int(code != 0))


def run_runtime(build, args, folder):
    return run_script("runtime", [build["runtime"], build["build"]] + (["--no-mpi"] if args.level == "quick" else []),
                      args)


def run_python(build, args, folder):
    """pytest with the package of the build; what it skips is said in one line each."""
    if not build["package"]:
        print("python: left out: the package is not part of this build")
        return Counts(0, 0)
    if run([build["python"], "-c", "import pytest, numpy"], 60, quiet=True)[0]:
        print(f"python: left out: {build['python']} lacks pytest or numpy")
        return Counts(0, 0)
    os.environ.update(PYTHONPATH=build["package"], RINGCONV_TEST_LEVEL=args.level)
    results = os.path.join(folder, "pytest.xml")
    code, output = run([build["python"], "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={results}",
                        os.path.join(build["source"], "Python")], PART_SECONDS[args.level], quiet=True)
    try:
        suite = xml.etree.ElementTree.parse(results).getroot().find("testsuite")
        total, failed, skipped = (sum(int(suite.get(k)) for k in keys)
                                  for keys in (("tests",), ("failures", "errors"), ("skipped",)))
    except (OSError, AttributeError, xml.etree.ElementTree.ParseError):
        suite, total, failed, skipped = None, 0, 1, 0
    if failed or code:
        print(output)
    for reason in sorted({skip.get("message") for skip in suite.iter("skipped")} if suite is not None else ()):
        print(f"python: {reason}")
    return Counts(max(total - failed - skipped, 0), failed or int(code != 0))


def run_gpusim(build, args, folder):
    if not build["gpusim"] or args.level == "quick":
        print("gpusim: left out: " + ("not in the quick suite" if build["gpusim"] else "not part of this build"))
        return Counts(0, 0)
    return run_script("gpusim", ["sh", build["gpusim"], build["build"]], args)


def run_fuzz(build, args, folder):
    """Coverage-guided: half a minute for each target, or a million inputs."""
    if not build["fuzzers"] or args.level == "quick":
        print("fuzz: left out: " + ("not in the quick suite" if build["fuzzers"] else "no libFuzzer when it was configured"))
        return Counts(0, 0)
    budget = "--runs=1000000" if args.level == "long" else "--seconds=30"
    return run_script("fuzz", [build["python"], os.path.join(build["source"], "Fuzz", "run.py"), budget,
                               *build["fuzzers"]], args)


def run_sanitizers(build, args, folder):
    if args.level != "long" and args.only != "sanitizers":
        print("sanitizers: left out: in the long suite only")
        return Counts(0, 0)
    return run_script("sanitizers", ["sh", os.path.join(build["source"], "sanitize.sh"), build["build"]], args)


def run_site(build, args, folder):
    """The documentation site, warnings as errors."""
    os.environ["RINGCONV_BUILD_DIR"] = build["build"]
    code, output = run(["bash", build["site"], "--installed"], PART_SECONDS[args.level], quiet=True)
    print("\n".join(f"site: {line.removeprefix('ringconv: ')}" for line in output.splitlines()))
    return Counts(0, 0) if not code and "left out" in output else Counts(int(not code), int(bool(code)))


PARTS = {"lit": run_lit, "unit": run_unit, "runtime": run_runtime, "python": run_python, "gpusim": run_gpusim,
         "fuzz": run_fuzz, "sanitizers": run_sanitizers, "site": run_site}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", help="check.json of the build")
    parser.add_argument("--level", choices=PART_SECONDS, default=os.environ.get("RINGCONV_TEST_LEVEL", "default"))
    parser.add_argument("--only", choices=PARTS)
    parser.add_argument("--jobs", type=int, help="lit tests at a time")
    parser.add_argument("--filter", help="lit tests whose name matches")
    args = parser.parse_args()
    sys.stdout.reconfigure(line_buffering=True)
    build = read_json(args.build)
    if build is None:
        sys.exit(f"{args.build}: cannot be read; is the build configured?")
    rows = []
    with tempfile.TemporaryDirectory(prefix="ringconv-check-") as folder:
        for name, part in PARTS.items():
            if args.only in (None, name):
                begin = time.monotonic()
                rows.append((name, part(build, args, folder), time.monotonic() - begin))
    print()
    for name, counts, seconds in rows:
        print(f"{name + ':':11}{counts.passed:6} passed, {counts.failed:3} failed  {seconds:6.1f} s")
    passed, failed = (sum(counts[i] for _, counts, _ in rows) for i in (0, 1))
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
