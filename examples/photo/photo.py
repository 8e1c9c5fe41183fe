#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A photograph through photo.mlir on four ranks, cut in two ways.

    photo.py RINGCONV_RUN OUT_FOLDER [flags for ringconv-run]

Writes the inputs as .npy, runs the program cut in W and then in H and W with
--check, compares the results with numpy and with each other, and draws them:
OUT_FOLDER/w4.png and h2w2.png show what each rank owned and what it received.
Needs numpy and Pillow.
"""
import json
import os
import shlex
import subprocess
import sys

import numpy as np
from PIL import Image, ImageDraw, ImageFont

HERE = os.path.dirname(os.path.abspath(__file__))
OUTPUTS = ("soft", "edges", "crisp")


# ---- Filters ----
# Weights and pixels are multiples of such powers of two that every sum fits the 24
# bits of an f32: it is exact, and all targets give the same bits.
def gauss():
    """5x5, sigma 2, one for each colour; multiples of 2^-8."""
    bell = np.exp(-(np.arange(-2, 3) ** 2) / 8.0)
    filter = np.round(256 * np.outer(bell, bell) / bell.sum() ** 2) / 256
    return np.broadcast_to(filter, (3, 1, 5, 5)).astype(np.float32)


def bank():
    """Sobel's filter turned by 0, 45, 90 and 135 degrees, on the luminance; multiples of 2^-6."""
    sobel = np.array([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]]) / 4.0
    diagonal = np.array([[-2, -1, 0], [-1, 0, 1], [0, 1, 2]]) / 4.0
    four = np.stack([sobel, diagonal, sobel.T, np.fliplr(diagonal)])
    return np.einsum("oij,c->ocij", four, [5 / 16, 9 / 16, 2 / 16]).astype(np.float32)


def contrast(amount=7 / 8):
    """The pixel, and `amount` times its distance from the mean of eight others; multiples of 2^-6."""
    filter = np.full((3, 1, 3, 3), -amount / 8)
    filter[:, :, 1, 1] = 1 + amount
    return filter.astype(np.float32)


# ---- The same in numpy: sums of shifted pictures, in f64 ----
def convolve(x, w, stride=1, dilation=1):
    taps = w.shape[2]
    pad = (taps // 2) * dilation
    size = x.shape[2]
    x = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (pad, pad), (pad, pad)), mode="reflect")
    grouped = w.shape[1] == 1
    y = 0
    for i in range(taps):
        for j in range(taps):
            a, b = i * dilation, j * dilation
            part = x[:, :, a : a + size : stride, b : b + size : stride]
            tap = w[:, :, i, j].astype(np.float64)
            y = y + (part * tap.reshape(1, -1, 1, 1) if grouped else np.einsum("bchw,oc->bohw", part, tap))
    return y


def expected(inputs):
    soft = convolve(inputs["photo"], inputs["gauss"])
    return {
        "soft": soft,
        "edges": convolve(soft, inputs["bank"], stride=2),
        "crisp": convolve(inputs["photo"], inputs["contrast"], dilation=6),
    }


# ---- Running ----
def short(path):
    """Relative where that is shorter."""
    return min(os.path.relpath(path), os.path.abspath(path), key=len)


def run(program, folder, mesh, inputs, flags):
    """Outputs and the report of one run."""
    os.makedirs(folder, exist_ok=True)
    near, up = short(folder), short(os.path.dirname(folder))
    command = [short(program), short(os.path.join(HERE, "photo.mlir")), "--mesh=" + mesh]
    command += [f"--input={name}={up}/{name}.npy" for name in inputs]
    command += [f"--output={i}={near}/{name}.npy" for i, name in enumerate(OUTPUTS)]
    command += [f"--json={near}/report.json", "--report", "--check"] + flags
    print("\n$ " + " \\\n    ".join(map(shlex.quote, command)), flush=True)
    code = subprocess.run(command).returncode
    if code:
        sys.exit(f"photo.py: ringconv-run ended with exit code {code}")
    with open(os.path.join(folder, "report.json")) as file:
        report = json.load(file)
    return {name: np.load(os.path.join(folder, name + ".npy")) for name in OUTPUTS}, report


def compare(outputs, reference):
    for name in OUTPUTS:
        error = np.abs(outputs[name] - reference[name]).max()
        if error != 0:
            sys.exit(f"photo.py: {name} differs from numpy's result by {error:.3g}, expected the same bits")


# ---- Drawing ----
COLORS = [(255, 107, 107), (78, 205, 196), (255, 209, 102), (130, 140, 255)]
BACK, TEXT = (24, 26, 31), (222, 226, 232)
GAP, MARGIN, LINE = 28, 28, 26


def picture(x):
    """1x3xHxW in [0, 1) to an image."""
    return Image.fromarray(np.clip(x[0].transpose(1, 2, 0) * 256 + 0.5, 0, 255).astype(np.uint8))


def edge_picture(edges):
    """Strength as brightness, direction as hue."""
    e = edges[0]
    strength = np.clip(np.abs(e).max(axis=0) / 0.35, 0, 1) ** 0.7
    hue = np.mod(np.arctan2(e[2], e[0]), np.pi) / np.pi
    hsv = np.stack([hue, 0.65 * np.ones_like(hue), strength], axis=-1)
    return Image.fromarray((hsv * 255 + 0.5).astype(np.uint8), "HSV").convert("RGB").resize((512, 512), Image.BICUBIC)


def write(image, place, text, color=TEXT, scale=2):
    """In Pillow's built-in font, enlarged: no other has to be installed."""
    font = ImageFont.load_default()
    width, height = font.getbbox(text)[2:]
    mask = Image.new("L", (width, height))
    ImageDraw.Draw(mask).text((0, 0), text, fill=255, font=font)
    image.paste(color, place, mask.resize((width * scale, height * scale), Image.BICUBIC))


def op_dims(report, label, rank):
    """Owned and needed intervals of H and W for one rank; whole where not cut."""
    op = next(op for op in report["ops"] if op["label"].startswith(label))
    intervals = {d["dim"]: (d["owned"], d["needed"]) for d in op["ranks"][rank].get("dims", [])}
    return [intervals.get(dim, ([0, 512], [0, 512])) for dim in (2, 3)]


def owner_map(report):
    """Number of the rank that owns each pixel."""
    owners = np.zeros((512, 512), int)
    for rank in range(report["num_ranks"]):
        (h, _), (w, _) = op_dims(report, "conv 3x3 d6", rank)
        owners[h[0] : h[1], w[0] : w[1]] = rank
    return owners


def draw_shards(photo, report):
    """The ranks' parts pulled apart, each with the border it received in its owner's colour."""
    owners = owner_map(report)
    pixels = np.asarray(picture(photo)).astype(float)
    tint = np.array(COLORS)[owners]
    mixed = (0.35 * pixels + 0.65 * tint).astype(np.uint8)
    rows = sorted({op_dims(report, "conv 3x3 d6", r)[0][0][0] for r in range(report["num_ranks"])})
    columns = sorted({op_dims(report, "conv 3x3 d6", r)[1][0][0] for r in range(report["num_ranks"])})
    image = Image.new("RGB", (512 + GAP * (len(columns) - 1), 512 + GAP * (len(rows) - 1)), BACK)
    draw = ImageDraw.Draw(image)
    for rank in range(report["num_ranks"]):
        (own_h, need_h), (own_w, need_w) = op_dims(report, "conv 3x3 d6", rank)
        top, left = (max(0, need[0]) for need in (need_h, need_w))
        bottom, right = (min(512, need[1]) for need in (need_h, need_w))
        part = mixed[top:bottom, left:right].copy()
        own = np.s_[own_h[0] - top : own_h[1] - top, own_w[0] - left : own_w[1] - left]
        part[own] = pixels[own_h[0] : own_h[1], own_w[0] : own_w[1]]
        y = top + GAP * rows.index(own_h[0])
        x = left + GAP * columns.index(own_w[0])
        image.paste(Image.fromarray(part), (x, y))
        draw.rectangle((x, y, x + right - left - 1, y + bottom - top - 1), outline=COLORS[rank], width=2)
    return image


def draw_cuts(image, report):
    """The borders between ranks as dotted lines."""
    owners = owner_map(report)
    pixels = np.asarray(image).copy()
    dots = (np.add.outer(np.arange(512), np.arange(512)) // 4) % 2 == 0
    border = np.zeros((512, 512), bool)
    border[:, 1:] |= owners[:, 1:] != owners[:, :-1]
    border[1:, :] |= owners[1:, :] != owners[:-1, :]
    pixels[border & dots] = 255
    pixels[border & ~dots] = 0
    return Image.fromarray(pixels)


def draw_sheet(photo, outputs, report, title):
    panels = [
        (f"photograph on {title}", draw_shards(photo, report)),
        ("soft: 5x5 blur", draw_cuts(picture(outputs["soft"]), report)),
        ("crisp: local contrast, 3x3 dilated by 6", draw_cuts(picture(outputs["crisp"]), report)),
        ("edges: 3x3 in four directions, stride 2", draw_cuts(edge_picture(outputs["edges"]), report)),
    ]
    wide, tall = panels[0][1].size
    sheet = Image.new("RGB", (2 * wide + 3 * MARGIN, 2 * (tall + LINE) + 3 * MARGIN), BACK)
    for k, (text, image) in enumerate(panels):
        x = MARGIN + (k % 2) * (wide + MARGIN)
        y = MARGIN + (k // 2) * (tall + LINE + MARGIN)
        write(sheet, (x, y), text)
        sheet.paste(image, (x + (wide - image.width) // 2, y + LINE + (tall - image.height) // 2))
    return sheet


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__.strip())
    program, out, flags = sys.argv[1], os.path.abspath(sys.argv[2]), sys.argv[3:]
    os.makedirs(out, exist_ok=True)
    pixels = np.asarray(Image.open(os.path.join(HERE, "astronaut.png")).convert("RGB"))
    photo = np.ascontiguousarray(pixels.transpose(2, 0, 1)[None], dtype=np.float32) / np.float32(256)
    inputs = {"photo": photo, "gauss": gauss(), "bank": bank(), "contrast": contrast()}
    for name, array in inputs.items():
        np.save(os.path.join(out, name + ".npy"), array)
    reference = expected(inputs)
    results = []
    for name, mesh, title in (("w4", "h=1,w=4", "four ranks: columns"), ("h2w2", "h=2,w=2", "four ranks: rows and columns")):
        outputs, report = run(program, os.path.join(out, name), mesh, inputs, flags)
        compare(outputs, reference)
        print("numpy computes the same bits")
        draw_sheet(photo, outputs, report, title).save(os.path.join(out, name + ".png"))
        results.append(outputs)
    if not all(np.array_equal(results[0][name], results[1][name]) for name in OUTPUTS):
        sys.exit("photo.py: the two ways to cut differ, expected the same bits")
    print("\nBoth ways to cut give the same bits. Pictures to look at:")
    for name in ("w4.png", "h2w2.png"):
        print("  " + short(os.path.join(out, name)))


if __name__ == "__main__":
    main()
