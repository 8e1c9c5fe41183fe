#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_picture.py PICTURE.svg RUN.json: the bytes that a picture shows from rank
to rank are those that the ranks of a run counted.

The picture must show each operation once (no two alike), in the run's order.
"""
import collections
import json
import re
import sys
import xml.etree.ElementTree as ElementTree

SVG = "{http://www.w3.org/2000/svg}"
MESSAGE = re.compile(r"rank (\d+) to rank (\d+): (\d+) bytes")


def drawn_traffic(path):
    """Per panel: what each rank sends and receives, as {rank: [messages, bytes]}."""
    panels = []
    for element in ElementTree.parse(path).getroot().iter():
        if element.tag == SVG + "text" and element.get("class") == "h":
            panels.append((collections.defaultdict(lambda: [0, 0]), collections.defaultdict(lambda: [0, 0])))
        match = element.tag == SVG + "title" and MESSAGE.fullmatch(element.text)
        if match:
            source, target, size = map(int, match.groups())
            for table, rank in ((panels[-1][0], source), (panels[-1][1], target)):
                table[rank][0] += 1
                table[rank][1] += size
    return panels


def main():
    panels = drawn_traffic(sys.argv[1])
    with open(sys.argv[2], encoding="utf-8") as file:
        operations = json.load(file)["ops"]
    assert len(panels) == len(operations), (len(panels), len(operations))
    total = 0
    for (sent, received), operation in zip(panels, operations):
        for rank, counted in enumerate(operation["ranks"]):
            for table, word in ((sent, "sent"), (received, "received")):
                shown = table[rank]
                assert shown == [counted["messages_" + word], counted["bytes_" + word]], (word, shown, counted)
                total += shown[0]
    assert total, "nothing travels: this checks nothing"
    print(f"{len(panels)} panels, {total // 2} messages: as counted")


main()
