# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A video decoder that looks back only, in three forms with the same weights: on a
whole clip, on one frame with the last two frames of each convolution as inputs and
outputs, and as a Scan of the second over the clip. Norms are of each frame."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper

from networks import Net

FRAMES, CHANNELS, HEIGHT, WIDTH = 4, 4, 6, 10
PICTURE = [4 * HEIGHT, 4 * WIDTH]


class Decoder(Net):
    """`rank`: spatial dimensions of a tensor. Subclasses say what lies before a
    frame, and normalise each frame."""

    def decode(self, x):
        x = self.block(self.causal(x, 16), 16)
        for channels in (16, 8):
            scales = self.constant(np.array([1] * self.rank + [2, 2], np.float32))
            x = self.node("Resize", [x, "", scales], mode="nearest", coordinate_transformation_mode="asymmetric",
                          nearest_mode="floor")
            x = self.block(self.causal(x, channels), channels)
        return self.causal(self.silu(self.norm(x)), 3)

    def block(self, x, channels):
        y = self.causal(self.silu(self.norm(x)), channels)
        y = self.causal(self.silu(self.norm(y)), channels)
        skip = x if self.channels[x] == channels else self.conv(x, channels, [1] * self.rank)
        return self.node("Add", [skip, y])


class Clip(Decoder):
    """[1, C, T, H, W], zeros before the first frame."""
    rank = 3

    def causal(self, x, channels):
        padded = self.node("Pad", [x, self.constant(np.array([0, 0, 2, 1, 1, 0, 0, 0, 1, 1]))])
        return self.conv(padded, channels, [3, 3, 3])

    def norm(self, x):
        swap = lambda v: self.node("Transpose", [v], self.channels[x], perm=[0, 2, 1, 3, 4])
        frames = self.node("Squeeze", [swap(x), self.constant(np.array([0]))], self.channels[x])
        frames = self.group_norm(frames, 4, 2)
        return swap(self.node("Unsqueeze", [frames, self.constant(np.array([0]))], self.channels[x]))


class Frame(Decoder):
    """[1, C, H, W]; each convolution has a cache of two frames, [1, C, 2, H, W]."""
    rank = 2

    def __init__(self, shape):
        super().__init__(shape)
        self.caches = []  # (input, output, shape)

    def causal(self, x, channels):
        # As many doublings as came before.
        c, scale = self.channels[x], 2**sum(node.op_type == "Resize" for node in self.nodes)
        cache = f"cache{len(self.caches)}"
        frame = self.node("Unsqueeze", [x, self.constant(np.array([2]))])
        three = self.node("Concat", [cache, frame], c, axis=2)
        kept = self.node("Slice", [three, *[self.constant(np.array([n])) for n in (1, 3, 2)]])
        self.caches.append((cache, kept, [1, c, 2, HEIGHT * scale, WIDTH * scale]))
        y = self.conv(three, channels, [3, 3, 3], pads=[0, 1, 1, 0, 1, 1])
        return self.node("Squeeze", [y, self.constant(np.array([2]))])

    def norm(self, x):
        return self.group_norm(x, 4, 2)


def _model(nodes, inputs, outputs, weights):
    infos = lambda values: [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in values]
    graph = helper.make_graph(nodes, "decoder", infos(inputs), infos(outputs), weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)


def clip():
    n = Clip((1, CHANNELS, FRAMES, HEIGHT, WIDTH))
    return _model(n.nodes, [("x", n.shape)], [(n.decode("x"), [1, 3, FRAMES, *PICTURE])], n.weights)


def frame():
    """The model, and the shapes of its caches: inputs 1, 2, … and outputs 1, 2, …"""
    n = Frame((1, CHANNELS, HEIGHT, WIDTH))
    y = n.decode("x")
    inputs = [("x", n.shape)] + [(name, shape) for name, _, shape in n.caches]
    outputs = [(y, [1, 3, *PICTURE])] + [(name, shape) for _, name, shape in n.caches]
    return _model(n.nodes, inputs, outputs, n.weights), [shape for _, _, shape in n.caches]


def scan():
    """The frame's model over the clip; caches begin as zeros."""
    body, shapes = frame()
    # States come first.
    graph = body.graph
    inputs, outputs = list(graph.input), list(graph.output)
    del graph.input[:], graph.output[:]
    graph.input.extend(inputs[1:] + inputs[:1])
    graph.output.extend(outputs[1:] + outputs[:1])
    graph.input[-1].name = "frame"
    for node in graph.node:
        node.input[:] = ["frame" if name == "x" else name for name in node.input]
    zeros = [numpy_helper.from_array(np.zeros(shape, np.float32), f"zeros{i}") for i, shape in enumerate(shapes)]
    node = helper.make_node("Scan", [z.name for z in zeros] + ["x"], [f"last{i}" for i in range(len(zeros))] + ["y"],
                            name="stream", body=graph, num_scan_inputs=1, scan_input_axes=[2], scan_output_axes=[2])
    return _model([node], [("x", (1, CHANNELS, FRAMES, HEIGHT, WIDTH))], [("y", [1, 3, FRAMES, *PICTURE])], zeros)
