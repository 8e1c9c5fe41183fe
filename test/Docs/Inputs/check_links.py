#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_links.py CHECKOUT: every relative link and picture of the checkout's Markdown files leads somewhere.

Files must exist, and `#anchors` must be headings of their page. Addresses of other sites are counted only:
nothing is fetched.
"""
import os
import re
import sys

LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)(?:\s+\"[^\"]*\")?\)|<(?:img|a)\b[^>]*?(?:src|href)=\"([^\"]+)\"")
CODE = re.compile(r"^( *)```.*?^\1```\s*$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#{1,6} +(.*?)(?: +\{#([\w-]+)\})? *$", re.MULTILINE)


def pages_of(root):
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = [f for f in folders if not f.startswith((".", "build"))]
        found += [os.path.join(folder, name) for name in names if name.endswith(".md")]
    return found


def anchors_of(path):
    with open(path, encoding="utf-8") as file:
        text = re.sub(r"^( *)```.*?^\1```\s*$", "", file.read(), flags=re.MULTILINE | re.DOTALL)
    anchors = set(re.findall(r'\bid="([^"]+)"', text))
    for title, name in HEADING.findall(text):
        words = re.sub(r"[^\w\- ]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).lower())
        anchors.add(name or words.strip().replace(" ", "-"))
    return anchors


def check(path):
    """(problems, number of links within the checkout, number of others)"""
    problems, inner, outer = [], 0, 0
    with open(path, encoding="utf-8") as file:
        text = CODE.sub(lambda code: "\n" * code.group(0).count("\n"), file.read())
    for match in LINK.finditer(text):
        target = match.group(1) or match.group(2)
        if re.match(r"[a-z]+:", target):
            outer += 1
            continue
        inner += 1
        name, _, anchor = target.partition("#")
        there = os.path.normpath(os.path.join(os.path.dirname(path), name)) if name else path
        where = f"{path}:{text.count(chr(10), 0, match.start()) + 1}: {target}: "
        if not os.path.exists(there):
            problems.append(where + "no such file")
        elif anchor and there.endswith(".md") and anchor not in anchors_of(there):
            problems.append(where + "no such heading")
    return problems, inner, outer


def main():
    results = [check(path) for path in pages_of(sys.argv[1]) if os.path.exists(path)]
    problems = sum((r[0] for r in results), [])
    print("\n".join(problems + [f"{len(results)} pages, {sum(r[1] for r in results)} links within the checkout, "
                                f"{sum(r[2] for r in results)} to other sites, {len(problems)} problems"]))
    return bool(problems)


sys.exit(main())
