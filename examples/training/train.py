#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains a denoiser on a photograph, cut over four ranks in two ways.

    train.py BIN_FOLDER OUT_FOLDER [--steps=N]

BIN_FOLDER holds ringconv-opt and ringconv-compile. Each rank is a thread with its part of the pictures and its own copy
of the filters; the compiled step gives it the loss and the filters' gradients, summed over all ranks, and plain
gradient descent does the rest. Checks the first steps against numpy, and in f64 the parameters after all steps against
those of one rank; draws OUT_FOLDER/loss.png and OUT_FOLDER/pictures.png. Needs numpy and Pillow.
"""
import argparse
import os
import sys

import numpy as np
from PIL import Image, ImageDraw, ImageFont

import library
import reference

HERE = os.path.dirname(os.path.abspath(__file__))
PHOTO = os.path.join(HERE, "..", "photo", "astronaut.png")
SIZE, NOISE, RATE = 96, 0.15, 0.5
CORNERS = [(30, 180), (170, 210)]  # a face, and a suit
MESHES = {"one rank": ("dp=1,w=1", 1), "W over 4": ("dp=1,w=4", 4), "2 x 2": ("dp=2,w=2", 4)}


def pictures():
    """Two parts of the photograph with noise, and without; black is -0.5, white 0.5."""
    photo = np.asarray(Image.open(PHOTO).convert("RGB"), np.float64).transpose(2, 0, 1) / 255 - 0.5
    clean = np.stack([photo[:, y : y + SIZE, x : x + SIZE] for y, x in CORNERS])
    return clean + NOISE * np.random.default_rng(1).standard_normal(clean.shape), clean


def initial_parameters():
    random = np.random.default_rng(2)
    shapes = [(8, 3, 3, 3), (8,), (8, 8, 3, 3), (8,), (3, 8, 3, 3), (3,)]
    return [random.standard_normal(s) * np.sqrt(2 / (9 * s[1])) if len(s) > 1 else np.zeros(s) for s in shapes]


def train(step, noisy, clean, steps):
    """(parameters, losses, the first and last denoised pictures)."""
    dtype = step.dtype
    parameters = [[p.astype(dtype) for p in initial_parameters()] for _ in range(step.ranks)]
    data = [[noisy[boxes[0]], clean[boxes[1]]] for boxes in step.boxes]
    # The gradients of the results: 1 for the loss, 0 for the pictures.
    seeds = [[np.ones((), dtype), np.zeros(out[1].shape, dtype)] for out in step.outputs]
    losses, denoised = [], np.empty(noisy.shape)
    for _ in range(steps):
        outputs = step.run([data[r] + parameters[r] + seeds[r] for r in range(step.ranks)])
        losses.append(float(outputs[0][0]))
        for own, (_, _, *gradients) in zip(parameters, outputs):
            for p, g in zip(own, gradients):
                p -= dtype(RATE) * g
    for boxes, out in zip(step.boxes, outputs):
        denoised[boxes[step.num_inputs + 1]] = out[1]
    for own in parameters[1:]:
        if any((p != q).any() for p, q in zip(own, parameters[0])):
            sys.exit("train.py: the ranks' parameters differ")
    return parameters[0], losses, denoised


def make_step(bins, folder, name, dtype):
    mesh, ranks = MESHES[name]
    with open(os.path.join(HERE, "denoise.mlir")) as file:
        source = file.read()
    element = {np.float32: "f32", np.float64: "f64"}[dtype]
    path = library.compile_step(bins, source.replace("f32", element), folder,
                                name.replace(" ", "_") + "_" + element, mesh)
    picture, parameters = (2, 3, SIZE, SIZE), [p.shape for p in initial_parameters()]
    shapes = [picture, picture] + parameters + [(), picture] + [(), picture] + parameters
    return library.Step(path, ranks, dtype, shapes, 10)


def difference(a, b):
    """The largest, relative to the largest value."""
    return max(np.abs(p - q).max() / max(np.abs(q).max(), 1e-30) for p, q in zip(a, b))


def check(what, value, bound):
    print(f"{what}: {value:.2g}, at most {bound:g}", flush=True)
    if not value <= bound:
        sys.exit(f"train.py: {what}: {value:.3g} is more than {bound:g}")


# ---- Drawing ----
BACK, TEXT, GRID = (24, 26, 31), (222, 226, 232), (60, 64, 72)
COLORS = {"one rank": (222, 226, 232), "W over 4": (78, 205, 196), "2 x 2": (255, 209, 102)}


def draw_losses(curves, path, width=760, height=420, left=70, bottom=50):
    """Loss by step, on a logarithmic axis; dashes where curves lie on each other."""
    image = Image.new("RGB", (width, height), BACK)
    draw, font = ImageDraw.Draw(image), ImageFont.load_default()
    logs = {name: np.log10(curve) for name, curve in curves.items()}
    low, high = min(map(np.min, logs.values())) - 0.05, max(map(np.max, logs.values())) + 0.05
    steps = max(map(len, curves.values()))
    place = lambda i, v: (left + i * (width - left - 20) / (steps - 1),
                          20 + (high - v) / (high - low) * (height - bottom - 20))
    for v in np.linspace(low, high, 5):
        draw.line([place(0, v), place(steps - 1, v)], GRID)
        draw.text((8, place(0, v)[1] - 6), f"{10 ** v:.4f}", TEXT, font)
    for i in range(0, steps, max(1, steps // 10)):
        draw.text((place(i, low)[0] - 6, height - bottom + 8), str(i), TEXT, font)
    draw.text((width // 2 - 60, height - 24), "step: mean squared error", TEXT, font)
    for k, (name, curve) in enumerate(logs.items()):
        for i in range(steps - 1):
            if i % len(logs) == k:
                draw.line([place(i, curve[i]), place(i + 1, curve[i + 1])], COLORS[name], 3)
        draw.line([(width - 160, 30 + 18 * k), (width - 140, 30 + 18 * k)], COLORS[name], 3)
        draw.text((width - 132, 24 + 18 * k), name, TEXT, font)
    image.save(path)


def draw_pictures(rows, path, scale=3):
    """Rows of (title, pictures)."""
    side, gap = SIZE * scale, 12
    image = Image.new("RGB", (len(rows) * (side + gap) + gap, 2 * (side + gap) + gap + 16), BACK)
    draw, font = ImageDraw.Draw(image), ImageFont.load_default()
    for column, (title, two) in enumerate(rows):
        x = gap + column * (side + gap)
        draw.text((x, 6), title, TEXT, font)
        for row, picture in enumerate(two):
            pixels = (np.clip(picture.transpose(1, 2, 0) + 0.5, 0, 1) * 255 + 0.5).astype(np.uint8)
            image.paste(Image.fromarray(pixels).resize((side, side), Image.NEAREST), (x, gap + 16 + row * (side + gap)))
    image.save(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bin_folder")
    parser.add_argument("out_folder")
    parser.add_argument("--steps", type=int, default=50)
    args = parser.parse_args()
    os.makedirs(args.out_folder, exist_ok=True)
    noisy, clean = pictures()

    curves, first = {}, reference.train(noisy, clean, initial_parameters(), RATE, 5)
    for name in MESHES:
        step = make_step(args.bin_folder, args.out_folder, name, np.float32)
        if name != "one rank":
            check(f"{name}: parameters after 5 steps, off from numpy's",
                  difference(train(step, noisy, clean, 5)[0], first), 1e-4)
        _, curves[name], denoised = train(step, noisy, clean, args.steps)
        step.close()
        check(f"{name}: loss after {args.steps} steps, relative to the first", curves[name][-1] / curves[name][0], 0.1)
    for name in ("W over 4", "2 x 2"):
        check(f"{name}: losses off from one rank's", difference([np.array(curves[name])],
                                                                [np.array(curves["one rank"])]), 1e-3)

    exact = {}
    for name in MESHES:
        step = make_step(args.bin_folder, args.out_folder, name, np.float64)
        exact[name] = train(step, noisy, clean, args.steps)[0]
        step.close()
    for name in ("W over 4", "2 x 2"):
        check(f"{name}: parameters after {args.steps} steps in f64, off from one rank's",
              difference(exact[name], exact["one rank"]), 1e-9)

    draw_losses(curves, os.path.join(args.out_folder, "loss.png"))
    error = lambda x: f"{np.mean((x - clean) ** 2):.5f}"
    draw_pictures([(f"noisy: {error(noisy)}", noisy),
                   (f"denoised after {args.steps} steps: {error(denoised)}", denoised), ("clean", clean)],
                  os.path.join(args.out_folder, "pictures.png"))
    print(f"{args.out_folder}/loss.png and pictures.png are drawn")


if __name__ == "__main__":
    main()
