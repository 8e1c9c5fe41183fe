# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layers of benchmarks/layers/*.json, and the programs that compute them.

A file is {"source": text, "layers": [layer, ...]}; a layer has
  name, class    class: the row of the table of ratios that it counts for
  input          [features, spatial sizes...]
  out            output features
  taps           window per spatial dimension
and, where they differ from these: batch 1, stride 1, pad "same" (or a number, or "causal"), dilation 1, groups 1,
border "zero" (or "circular"), layout "first" (features before space, or "last"), pass "forward" (or "dx", "dw"). A
number stands for one per spatial dimension.
"""
import json
import os

DEFAULTS = {"batch": 1, "stride": 1, "pad": "same", "dilation": 1, "groups": 1, "border": "zero", "layout": "first",
            "pass": "forward"}


def load(path):
    """All layers of a file, or of the files in a folder, with every field filled in."""
    if os.path.isdir(path):
        return [layer for name in sorted(os.listdir(path)) if name.endswith(".json")
                for layer in load(os.path.join(path, name))]
    with open(path, encoding="utf-8") as f:
        return [complete(layer) for layer in json.load(f)["layers"]]


def complete(layer):
    layer = {**DEFAULTS, **layer}
    rank = len(layer["input"]) - 1
    for key in ("taps", "stride", "dilation"):
        if not isinstance(layer[key], list):
            layer[key] = [layer[key]] * rank
    reach = [(t - 1) * d for t, d in zip(layer["taps"], layer["dilation"])]
    layer["pad"] = [r // 2 for r in reach] if layer["pad"] == "same" else [layer["pad"]] * rank
    layer["outputs"] = [(n + 2 * p - r - 1) // s + 1
                        for n, p, r, s in zip(layer["input"][1:], layer["pad"], reach, layer["stride"])]
    return layer


def operations(layer):
    """Floating-point operations, those of padding among them."""
    total = 2 * layer["batch"] * layer["out"] * layer["input"][0] // layer["groups"]
    for n in layer["taps"] + layer["outputs"]:
        total *= n
    return total


def shapes(layer):
    """Of input, filter, and output."""
    def image(features, sizes):
        return [layer["batch"], features, *sizes] if layer["layout"] == "first" else [layer["batch"], *sizes, features]
    return (image(layer["input"][0], layer["input"][1:]),
            [layer["out"], layer["input"][0] // layer["groups"], *layer["taps"]],
            image(layer["out"], layer["outputs"]))


def window(layer):
    """(dims, window) of the convolution that computes the layer's pass, which reads (x, w), (dy, w), or (x, dy)."""
    rank = len(layer["taps"])
    spatial = ", ".join(map(str, range(rank)))
    def image(batch, feature):
        return f"[{batch}, {feature}, {spatial}]" if layer["layout"] == "first" else f"[{batch}, {spatial}, {feature}]"
    x, w = image("b", "f"), f"[o, i, {spatial}]"
    low, stride, base, dilation = layer["pad"], layer["stride"], [1] * rank, layer["dilation"]
    high, reverse, dims = low, False, (x, w, x)
    sizes, outputs, reach = layer["input"][1:], layer["outputs"], [(t - 1) * d for t, d in zip(layer["taps"], dilation)]
    spread = [(n - 1) * s + 1 for n, s in zip(outputs, stride)]
    if layer["pass"] == "dx":
        low = [r - p for r, p in zip(reach, low)]
        high = [n + r - s - p for n, r, s, p in zip(sizes, reach, spread, low)]
        stride, base, reverse = [1] * rank, stride, True
        dims = (x, f"[i, o, {spatial}]", x)
    if layer["pass"] == "dw":
        high = [r + s - n - p for r, s, n, p in zip(reach, spread, sizes, low)]
        stride, dilation = dilation, stride
        dims = (image("f", "b"), image("i", "o"), f"[f, b, {spatial}]")
    pads = ", ".join(f"[{a}, {b}]" for a, b in zip(low, high))
    text = f"stride = {stride}, pad = [{pads}], lhs_dilate = {base}, rhs_dilate = {dilation}"
    if reverse:
        text += ", reverse = [" + ", ".join(["true"] * rank) + "]"
    if layer["border"] == "circular":
        text += ", border = [" + ", ".join(['"circular"'] * rank) + "]"
    return "{0} x {1} -> {2}".format(*dims), text


def program(layer, ranks=1):
    """MLIR of the layer, cut in its first spatial dimension over `ranks`."""
    x, w, y = ("tensor<" + "x".join(map(str, s)) + "xf32>" for s in shapes(layer))
    a, b, result = {"forward": (x, w, y), "dx": (y, w, x), "dw": (x, y, w)}[layer["pass"]]
    dims, text = window(layer)
    mesh, sharding = "", ""
    if ranks > 1:
        at = 2 if layer["layout"] == "first" else 1
        cuts = ", ".join('{"w"}' if d == at else "{}" for d in range(len(layer["taps"]) + 2))
        mesh = f'ringconv.mesh @ring = <["w" = {ranks}]>\n'
        sharding = f" {{ringconv.sharding = #ringconv.sharding<@ring, [{cuts}]>}}"
    second = " {ringconv.parameter}" if layer["pass"] != "dw" else sharding
    groups = f"{{feature_group_count = {layer['groups']} : i64}} " if layer["groups"] > 1 else ""
    return f"""{mesh}func.func @main(%a: {a}{sharding}, %b: {b}{second}) -> {result} {{
  %r = ringconv.conv %a, %b dims {dims} window {{{text}}} {groups}: ({a}, {b}) -> {result}
  return %r : {result}
}}
"""
