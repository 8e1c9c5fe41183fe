# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A page to find text on, drawn: seen at an angle, in uneven light, with grain.

Its words are the beginning of Lewis Carroll's "Alice's Adventures in Wonderland"
(1865), its letters Pillow's built-in font (Aileron): both are in the public domain.
"""
import numpy as np
from PIL import Image, ImageDraw, ImageFont

HEADING = "Down the Rabbit-Hole"
PARAGRAPHS = (
    "Alice was beginning to get very tired of sitting by her sister on the bank, and of having nothing to do: "
    "once or twice she had peeped into the book her sister was reading, but it had no pictures or conversations "
    "in it, “and what is the use of a book,” thought Alice “without pictures or conversations?”",
    "So she was considering in her own mind (as well as she could, for the hot day made her feel very sleepy and "
    "stupid), whether the pleasure of making a daisy-chain would be worth the trouble of getting up and picking "
    "the daisies, when suddenly a White Rabbit with pink eyes ran close by her.")


def _lines(text, font, width):
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if font.getlength(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def _sheet(width, height):
    """The page as it was printed."""
    sheet = Image.new("L", (width, height), 235)
    pen = ImageDraw.Draw(sheet)
    heading, body = ImageFont.load_default(height // 12), ImageFont.load_default(height // 26)
    left, y = width // 9, height // 14
    pen.text((width / 2, y), HEADING, 40, heading, anchor="ma")
    y += height // 8
    for paragraph in PARAGRAPHS:
        for line in _lines(paragraph, body, width - 2 * left):
            pen.text((left, y), line, 50, body)
            y += height // 15
        y += height // 40
    pen.text((width / 2, height - height // 14), "11", 60, body, anchor="mm")
    return sheet


def _coefficients(corners, width, height):
    """Of Pillow's perspective transform: where the corners of the result (from the
    top left, clockwise) come from on the sheet."""
    rows, right = [], []
    for (u, v), (x, y) in zip(((0, 0), (width, 0), (width, height), (0, height)), corners):
        rows += [[u, v, 1, 0, 0, 0, -x * u, -x * v], [0, 0, 0, u, v, 1, -y * u, -y * v]]
        right += [x, y]
    return np.linalg.solve(np.array(rows, float), np.array(right, float))


def draw_page(width, height):
    """An RGB picture; the same for the same size."""
    corners = ((-0.03, -0.03), (0.99, -0.05), (1.05, 1.02), (-0.06, 0.99))
    seen = _sheet(width, height).transform(
        (width, height), Image.Transform.PERSPECTIVE,
        _coefficients([(x * width, y * height) for x, y in corners], width, height), Image.Resampling.BICUBIC,
        fillcolor=90)
    y, x = np.mgrid[0:1:height * 1j, 0:1:width * 1j]
    light = 0.55 + 0.5 * np.exp(-((x - 0.35)**2 / 0.3 + (y - 0.3)**2 / 0.4))
    grain = np.random.default_rng(5).normal(0, 4, (height, width))
    tint = np.array([1.0, 0.97, 0.88])
    values = (np.asarray(seen, float) * light + grain)[..., None] * tint
    return Image.fromarray(np.uint8(np.clip(values, 0, 255)))
