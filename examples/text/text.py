#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Text found on a page by four ranks, each of which sees a part.

    text.py RINGCONV_RUN NETWORKS OUT_FOLDER [--width=960] [--mesh=w=4|h=2,w=2] [--photo=FILE]

Imports the text-detection network (NETWORKS/detection.onnx), runs it cut over
the mesh and compares with ONNX Runtime: the map of text to 1e-4, and the boxes
drawn from it exactly. OUT_FOLDER/text.png shows both. The page is drawn by page.py,
or a photograph. NETWORKS is what scripts/networks.sh fetches; needs its Python
environment.
"""
import argparse
import json
import os
import subprocess
import sys
import time

import numpy as np
import onnxruntime
from PIL import Image, ImageDraw

from page import draw_page

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "python"))
from ringconv.import_onnx import import_model  # noqa: E402
from ringconv.network import weights  # noqa: E402

HEIGHT = 640
# As PP-OCR turns a map into boxes: text is above THRESHOLD, a box counts if its
# mean is above CONFIDENCE, and grows by area times UNCLIP over its perimeter.
THRESHOLD, CONFIDENCE, UNCLIP, SMALLEST = 0.3, 0.5, 1.6, 3


# ---- Boxes ----
def label(mask):
    """Numbers of connected regions, 0 outside; by runs of rows that touch."""
    parent, labels, above = [0], np.zeros(mask.shape, np.int32), []

    def root(i):
        while parent[i] != i:
            i = parent[i]
        return i

    for y, row in enumerate(mask):
        edges = np.flatnonzero(np.diff(np.concatenate([[0], row, [0]])))
        runs = []
        for begin, end in zip(edges[::2], edges[1::2]):
            touching = [root(n) for b, e, n in above if b < end and begin < e]
            number = min(touching, default=len(parent))
            if number == len(parent):
                parent.append(number)
            for other in touching:
                parent[other] = number
            labels[y, begin:end] = number
            runs.append((begin, end, number))
        above = runs
    return np.array([root(i) for i in range(len(parent))])[labels]


def boxes_of(probability):
    """(left, top, right, bottom) of each text, sorted."""
    labels, boxes = label((probability > THRESHOLD).astype(np.int8)), []
    for number in np.unique(labels)[1:]:
        rows, columns = np.nonzero(labels == number)
        top, bottom, left, right = rows.min(), rows.max() + 1, columns.min(), columns.max() + 1
        h, w = bottom - top, right - left
        if min(h, w) < SMALLEST or probability[labels == number].mean() < CONFIDENCE:
            continue
        grow = int(h * w * UNCLIP / (2 * (h + w)))
        boxes.append((int(max(0, left - grow)), int(max(0, top - grow)), int(min(probability.shape[1], right + grow)),
                      int(min(probability.shape[0], bottom + grow))))
    return sorted(boxes)


# ---- Both runs ----
def page_of(args):
    if args.photo:
        return Image.open(args.photo).convert("RGB").resize((args.width, HEIGHT), Image.Resampling.BICUBIC)
    return draw_page(args.width, HEIGHT)


def network_input(page):
    """[1, 3, height, width], BGR, from -1 to 1."""
    x = (np.asarray(page, np.float32)[:, :, ::-1] / 255 - 0.5) / 0.5
    return np.ascontiguousarray(x.transpose(2, 0, 1)[None])


def by_onnxruntime(path, x):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    feed = {session.get_inputs()[0].name: x}
    y = session.run(None, feed)[0]
    seconds = []
    for _ in range(3):
        begin = time.perf_counter()
        session.run(None, feed)
        seconds.append(time.perf_counter() - begin)
    return y, sorted(seconds)[1]


def by_ringconv(args, path, x, mesh, cuts):
    """The map, the report, and the seconds of import and of everything."""
    file = lambda name: os.path.join(args.out, name)
    begin = time.perf_counter()
    imported = import_model(path, {"x": list(x.shape)}, mesh, {"x": cuts})
    with open(file("text.mlir"), "w") as f:
        f.write(imported.text)
    weights.save(file("text.safetensors"), imported.weights)
    np.save(file("x.npy"), x)
    seconds = time.perf_counter() - begin
    subprocess.run([args.ringconv_run, file("text.mlir"), f"--params={file('text.safetensors')}",
                    f"--input=x={file('x.npy')}", f"--output=0={file('y.npy')}", f"--json={file('report.json')}",
                    f"--repeat={args.repeat}", "--timeout=600"], check=True, stdout=subprocess.DEVNULL)
    with open(file("report.json")) as f:
        return np.load(file("y.npy")), json.load(f), seconds


# ---- Picture ----
def draw(path, page, probability, pairs, parts):
    """The page with the boxes of both (ONNX Runtime's wide and light, ours thin and
    dark), beside it the map; dotted lines where ranks meet."""
    left, right = page.copy(), Image.fromarray(np.uint8(probability * 255)).convert("RGB")
    for boxes, colour, width in ((pairs[0], (255, 190, 0), 7), (pairs[1], (200, 0, 60), 2)):
        for box in boxes:
            ImageDraw.Draw(left).rectangle(box, outline=colour, width=width)
    width, height = page.size
    for picture in (left, right):
        pen = ImageDraw.Draw(picture)
        for n in range(1, parts[1]):
            for y in range(0, height, 12):
                pen.line([(n * width // parts[1], y), (n * width // parts[1], y + 6)], fill=(0, 120, 255), width=2)
        for n in range(1, parts[0]):
            for x in range(0, width, 12):
                pen.line([(x, n * height // parts[0]), (x + 6, n * height // parts[0])], fill=(0, 120, 255), width=2)
    both = Image.new("RGB", (2 * width + 16, height), "white")
    both.paste(left, (0, 0))
    both.paste(right, (width + 16, 0))
    both.save(path)


def print_ranks(report, ort_seconds, import_seconds):
    print(f"import {import_seconds:.1f} s, run {report['median_seconds']:.2f} s on {report['num_ranks']} ranks as threads; "
          f"ONNX Runtime on one thread {ort_seconds:.2f} s")
    for rank in report["ranks"]:
        print(f"rank {rank['rank']}: {rank['messages_sent']} messages and {rank['bytes_sent']} bytes sent, "
              f"{rank['reductions']} reductions")


def main():
    parser = argparse.ArgumentParser()
    for name in ("ringconv_run", "networks", "out"):
        parser.add_argument(name)
    parser.add_argument("--width", type=int, default=960)
    parser.add_argument("--mesh", default="w=4")
    parser.add_argument("--photo")
    parser.add_argument("--repeat", type=int, default=1)
    args = parser.parse_args()
    os.makedirs(args.out, exist_ok=True)
    mesh = {axis: int(n) for axis, n in (word.split("=") for word in args.mesh.split(","))}
    path = os.path.join(args.networks, "detection.onnx")
    page = page_of(args)
    x = network_input(page)

    expected, ort_seconds = by_onnxruntime(path, x)
    result, report, import_seconds = by_ringconv(args, path, x, mesh, [[], []] + [[a] if a in mesh else [] for a in "hw"])
    error, bound = float(np.abs(result - expected).max()), 1e-4 * max(1.0, float(np.abs(expected).max()))
    pairs = [boxes_of(e[0, 0]) for e in (expected, result)]
    draw(os.path.join(args.out, "text.png"), page, result[0, 0], pairs, [mesh.get(a, 1) for a in "hw"])
    print(f"{HEIGHT} x {args.width}, mesh {args.mesh}: largest difference {error:.1e} (bound {bound:.1e}), "
          f"largest value {expected.max():.3f}, {len(pairs[0])} boxes, {'equal' if pairs[0] == pairs[1] else 'UNEQUAL'}")
    print_ranks(report, ort_seconds, import_seconds)
    good = error <= bound and expected.max() > 0.5 and pairs[0] == pairs[1] and len(pairs[0]) > 0
    return 0 if good and result.shape == expected.shape else 1


if __name__ == "__main__":
    sys.exit(main())
