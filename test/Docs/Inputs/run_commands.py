#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""run_commands.py --bin BUILD/bin --source CHECKOUT PAGE.md...: runs the commands of pages.

What a page may hold:

    ```console               commands behind `$ `, a trailing `\\` continues one; the lines up to
    $ ringconv-run a.mlir    the next `$ ` are its output, standard error included. No lines:
    check: output 0: ...     the output is not compared. `...` stands for any text.
    ```
    ```mlir title="a.mlir"   any block with a title is a file of that name, there when the
    ...                      commands of the page run
    ```

A command (a pipe: any part of it) fails exactly if the output that is shown holds `error: `. Commands of a page run one after the
other in a new folder that sees the checkout's files. A comment before a block says more of it:

    <!-- needs: PROGRAM... -->     left out where a program is missing
    <!-- not run: WHY -->          for commands that install, build everything, or want a cluster

Shell blocks of other kinds (sh, bash, shell) need the second comment, so that nothing goes untested by
mistake.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

FENCE = re.compile(r"^(?P<indent> *)```(?P<info>.*)$")
COMMENT = re.compile(r"^\s*<!-- (needs|not run): (.*?) -->\s*$")
TITLE = re.compile(r'title="([^"]+)"')
SHELLS = ("sh", "bash", "shell")


class Block:
    def __init__(self, line, info, comment):
        self.line, self.info, self.lines = line, info.strip(), []
        self.kind, self.words = comment or (None, "")

    @property
    def language(self):
        return self.info.split()[0] if self.info else ""

    @property
    def text(self):
        return "".join(line + "\n" for line in self.lines)


def blocks_of(path):
    block, comment, indent = None, None, ""
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file.read().splitlines(), 1):
            fence = FENCE.match(line)
            if block and fence and not fence["info"].strip():
                yield block
                block = comment = None
            elif block:
                block.lines.append(line[len(indent):] if line.startswith(indent) else line)
            elif fence:
                indent, block = fence["indent"], Block(number, fence["info"], comment)
            elif COMMENT.match(line):
                comment = COMMENT.match(line).groups()
            elif line.strip():
                comment = None
    if block:
        sys.exit(f"{path}:{block.line}: this block does not end")


def commands_of(block):
    """Pairs (line, command, expected lines)."""
    commands, number = [], block.line
    for line in block.lines:
        number += 1
        if commands and commands[-1][1].endswith("\\") and not commands[-1][2]:
            commands[-1][1] += "\n" + line
        elif line.startswith("$ "):
            commands.append([number, line[2:], []])
        elif commands:
            commands[-1][2].append(line)
    return commands


def matches(expected, output):
    """Trailing white space does not count; `...` is any text, also of several lines."""
    tidy = "\n".join(line.rstrip() for line in output.splitlines()).strip("\n")
    wanted = "\n".join(line.rstrip() for line in expected).strip("\n")
    pattern = ".*?".join(re.escape(part) for part in wanted.split("..."))
    return re.fullmatch(pattern, tidy, re.DOTALL) is not None


class Page:
    def __init__(self, path, source, environment):
        self.path, self.source, self.environment = path, source, environment
        self.ran, self.left_out, self.problems = 0, [], []

    def run(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in os.listdir(self.source):
                if not name.startswith((".", "build")):
                    os.symlink(os.path.join(self.source, name), os.path.join(folder, name))
            blocks = list(blocks_of(self.path))
            for block in blocks:
                if title := TITLE.search(block.info):
                    with open(os.path.join(folder, title[1]), "w", encoding="utf-8") as file:
                        file.write(block.text)
            for block in blocks:
                self.run_block(block, folder)

    def run_block(self, block, folder):
        where = f"{self.path}:{block.line}"
        if block.language in SHELLS and block.kind != "not run":
            self.problems.append(f"{where}: write ```console with `$ `, or say <!-- not run: WHY --> before it")
        elif block.kind == "not run":
            self.left_out.append(f"{where}: {block.words}")
        elif block.language == "console":
            absent = [p for p in block.words.split() if not shutil.which(p, path=self.environment["PATH"])]
            if absent:
                self.left_out.append(f"{where}: no {', '.join(absent)}")
                return
            for line, command, expected in commands_of(block):
                self.run_command(f"{self.path}:{line}", command, expected, folder)

    def run_command(self, where, command, expected, folder):
        self.ran += 1
        done = subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=folder, env=self.environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        should_fail = any("error: " in line for line in expected)
        if (done.returncode != 0) != should_fail:
            self.problems.append(f"{where}: exit status {done.returncode} of: {command}\n{done.stdout}")
        elif expected and not matches(expected, done.stdout):
            self.problems.append(f"{where}: {command}\n-- shown:\n" + "\n".join(expected) + f"\n-- printed:\n{done.stdout}")


def environment_for(options, folder):
    """The tools, the Python that tests use, and Debian's name for Open MPI's launcher."""
    os.symlink(options.python, os.path.join(folder, "python3"))
    launcher = shutil.which("mpirun.openmpi")
    if launcher:
        os.symlink(launcher, os.path.join(folder, "mpirun"))
    environment = dict(os.environ, LC_ALL="C.UTF-8")
    folders = [os.path.abspath(path) for path in (options.bin, folder, options.llvm) if path]
    environment["PATH"] = os.pathsep.join(folders + [environment.get("PATH", "")])
    if os.geteuid() == 0:
        environment.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    return environment


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("--llvm", default="", help="folder of mlir-opt")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("pages", nargs="+")
    options = parser.parse_args()
    source = os.path.abspath(options.source)
    ran, left_out, problems = 0, [], []
    with tempfile.TemporaryDirectory() as folder:
        environment = environment_for(options, folder)
        for path in options.pages:
            page = Page(path, source, environment)
            page.run()
            ran, left_out, problems = ran + page.ran, left_out + page.left_out, problems + page.problems
    for line in left_out:
        print("left out: " + line)
    for problem in problems:
        print(problem)
    print(f"{ran} commands run, {len(left_out)} blocks left out, {len(problems)} problems")
    return bool(problems) or not ran


sys.exit(main())
