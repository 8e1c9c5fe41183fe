#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws halo.svg: one halo exchange of a convolution 5 wide. halo.py > halo.svg

The intervals are computed here from the cuts, as rank r needs the columns
[begin - 2, end + 2) for its own columns [begin, end).
"""
COLUMNS, RANKS, HALF = 24, 4, 2
CELL, GAP, LEFT, TALL = 19, 34, 24, 30
COLORS = ["#ff6b6b", "#4ecdc4", "#ffd166", "#8a95ff"]
BACK, TEXT, FAINT = "#181a1f", "#dee2e8", "#8b93a1"
OWN = COLUMNS // RANKS
PART = (OWN + 2 * HALF) * CELL
WIDTH = 2 * LEFT + RANKS * PART + (RANKS - 1) * GAP
GLOBAL_Y, LOCAL_Y, RESULT_Y, HEIGHT = 58, 176, 268, 352
lines = []


def add(text):
    lines.append("  " + text)


def label(x, y, text, color=TEXT, size=14, anchor="middle"):
    add(f'<text x="{x}" y="{y}" fill="{color}" font-size="{size}" text-anchor="{anchor}">{text}</text>')


def cell(x, y, column, halo=False):
    color = COLORS[column // OWN]
    style = f'fill="{color}" fill-opacity="0.28" stroke-dasharray="3 2"' if halo else f'fill="{color}" fill-opacity="0.85"'
    add(f'<rect x="{x + 1}" y="{y}" width="{CELL - 2}" height="{TALL}" rx="3" stroke="{color}" {style}/>')
    label(x + CELL / 2, y + TALL / 2 + 4, column, color if halo else BACK, 10)


def x_of(rank, column):
    """Left side of a column in the part of a rank."""
    return LEFT + rank * (PART + GAP) + (column - rank * OWN + HALF) * CELL


def draw_whole():
    left = (WIDTH - COLUMNS * CELL) / 2
    label(WIDTH / 2, GLOBAL_Y - 14, "the columns of one tensor, cut over four ranks")
    for column in range(COLUMNS):
        cell(left + column * CELL, GLOBAL_Y, column)


def draw_part(rank):
    begin, end = rank * OWN, (rank + 1) * OWN
    middle = x_of(rank, begin) + OWN * CELL / 2
    needed = (max(0, begin - HALF), min(COLUMNS, end + HALF))
    label(middle, LOCAL_Y - 44, f"rank {rank} owns [{begin}, {end})", COLORS[rank])
    label(middle, LOCAL_Y - 28, f"and needs [{needed[0]}, {needed[1]})", FAINT, 12)
    for column in range(*needed):
        cell(x_of(rank, column), LOCAL_Y, column, halo=not begin <= column < end)
    for column in range(begin, end):
        cell(x_of(rank, column), RESULT_Y, column)
    label(middle, RESULT_Y + TALL + 18, "its part of the result", FAINT, 12)


def draw_message(source, target):
    """An arc from the owner's last (first) columns to the slab of its neighbour."""
    first = target * OWN - HALF if source < target else source * OWN
    begin, end = x_of(source, first) + CELL, x_of(target, first) + CELL
    low = source < target
    y, bend = (LOCAL_Y - 4, LOCAL_Y - 26) if low else (LOCAL_Y + TALL + 4, LOCAL_Y + TALL + 26)
    tip = y + 7 * (-1 if low else 1)
    add(f'<path d="M{begin} {y} C{begin} {bend} {end} {bend} {end} {tip}" fill="none" stroke="{COLORS[source]}" '
        f'stroke-width="2"/>')
    add(f'<path d="M{end - 4} {tip} L{end + 4} {tip} L{end} {y} Z" fill="{COLORS[source]}"/>')


def draw_window():
    """What the first result of rank 1 reads."""
    column = OWN
    left, right = x_of(1, column - HALF), x_of(1, column + HALF + 1)
    x, y = x_of(1, column), RESULT_Y
    add(f'<path d="M{left} {LOCAL_Y + TALL + 2} L{x + 1} {y} L{x + CELL - 1} {y} L{right} {LOCAL_Y + TALL + 2} Z" '
        f'fill="{TEXT}" fill-opacity="0.22" stroke="{TEXT}" stroke-opacity="0.6"/>')


draw_whole()
for r in range(RANKS):
    draw_part(r)
draw_window()
for r in range(RANKS - 1):
    draw_message(r, r + 1)
    draw_message(r + 1, r)
label(WIDTH / 2, HEIGHT - 14, "A window 5 wide reads two columns on each side: each rank receives two columns from each neighbour, "
      "and no more.", TEXT, 13)
print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif">')
print("  <title>One halo exchange</title>")
print(f'  <rect width="{WIDTH}" height="{HEIGHT}" rx="10" fill="{BACK}"/>')
print("\n".join(lines))
print("</svg>")
