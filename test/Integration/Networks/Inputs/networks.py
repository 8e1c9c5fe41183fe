# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small networks of well-known shapes with random weights, as ONNX models.

Weights are scaled so that activations keep their size: a comparison of outputs
that have died out would prove nothing.
"""
import numpy as np
from onnx import TensorProto, helper, numpy_helper, shape_inference


class Net:
    """Builds a graph; values are names, channels are known by name."""

    def __init__(self, shape, opset=19):
        self.rng = np.random.default_rng(3)
        self.nodes, self.weights, self.channels = [], [], {"x": shape[1]}
        self.shape, self.opset, self.counter = shape, opset, 0

    def constant(self, array):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def node(self, kind, inputs, channels=None, outputs=1, **attributes):
        self.counter += 1
        names = [f"{kind.lower()}{self.counter}" + (f"_{i}" if outputs > 1 else "") for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, inputs, names, name=names[0], **attributes))
        for name in names:
            self.channels[name] = channels or self.channels.get(inputs[0])
        return names[0] if outputs == 1 else names

    def normal(self, *shape, scale=1.0):
        return (self.rng.standard_normal(shape) * scale).astype(np.float32)

    def conv(self, x, channels, kernel, bias=True, groups=1, gain=1.4, **attributes):
        fan_in = self.channels[x] // groups * int(np.prod(kernel))
        w = self.constant(self.normal(channels, self.channels[x] // groups, *kernel, scale=gain / np.sqrt(fan_in)))
        b = [self.constant(self.normal(channels, scale=0.2))] if bias else []
        return self.node("Conv", [x, w, *b], channels, group=groups, kernel_shape=kernel, **attributes)

    def same(self, x, channels, k=3, rank=2, **attributes):
        d = attributes.get("dilations", [1] * rank)
        pads = [d[i] * (k - 1) // 2 for i in range(rank)]
        return self.conv(x, channels, [k] * rank, pads=pads * 2, **attributes)

    def up(self, x, channels):
        fan_in = self.channels[x]
        w = self.constant(self.normal(fan_in, channels, 2, 2, scale=1.4 / np.sqrt(fan_in)))
        return self.node("ConvTranspose", [x, w], channels, strides=[2, 2], kernel_shape=[2, 2])

    def batch_norm(self, x):
        c = self.channels[x]
        values = [1 + self.normal(c, scale=0.1), self.normal(c, scale=0.2), self.normal(c, scale=0.2),
                  np.abs(1 + self.normal(c, scale=0.1))]
        return self.node("BatchNormalization", [x, *[self.constant(v.astype(np.float32)) for v in values]])

    def group_norm(self, x, groups, rank):
        """As torch.onnx.export writes it."""
        ones, zeros = np.ones(groups, np.float32), np.zeros(groups, np.float32)
        flat = self.node("Reshape", [x, self.constant(np.array([0, groups, -1]))])
        norm = self.node("InstanceNormalization", [flat, self.constant(ones), self.constant(zeros)])
        back = self.node("Reshape", [norm, self.node("Shape", [x])], self.channels[x])
        c = self.channels[x]
        scale = self.constant((1 + self.normal(c, *[1] * rank, scale=0.1)).astype(np.float32))
        return self.node("Add", [self.node("Mul", [back, scale]), self.constant(self.normal(c, *[1] * rank, scale=0.2))])

    def silu(self, x):
        return self.node("Mul", [x, self.node("Sigmoid", [x])])

    def model(self, *outputs):
        inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, self.shape)]
        results = [helper.make_tensor_value_info(o, TensorProto.FLOAT, None) for o in outputs]
        graph = helper.make_graph(self.nodes, "network", inputs, results, self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=9)
        return shape_inference.infer_shapes(model)


def unet():
    """Two levels, transposed convolutions, skips joined by channel."""
    n = Net((1, 3, 24, 44))
    block = lambda x, c: n.node("Relu", [n.batch_norm(n.same(n.node("Relu", [n.same(x, c)]), c))])
    a = block("x", 8)
    b = block(n.node("MaxPool", [a], kernel_shape=[2, 2], strides=[2, 2]), 16)
    c = block(n.node("MaxPool", [b], kernel_shape=[2, 2], strides=[2, 2]), 32)
    d = block(n.node("Concat", [b, n.up(c, 16)], 32, axis=1), 16)
    e = block(n.node("Concat", [a, n.up(d, 8)], 16, axis=1), 8)
    return n.model(n.conv(e, 2, [1, 1]))


def resnet50():
    """The 16 bottlenecks with an eighth of the channels and a 64 × 80 image."""
    n = Net((1, 3, 64, 80))
    bn_conv = lambda x, c, k=1, s=1: n.batch_norm(n.same(x, c, k, strides=[s, s], bias=False))
    relu = lambda x: n.node("Relu", [x])
    x = n.node("MaxPool", [relu(bn_conv("x", 8, 7, 2))], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    for stage, blocks in enumerate((3, 4, 6, 3)):
        width = 8 << stage
        for block in range(blocks):
            s = 2 if stage and block == 0 else 1
            y = bn_conv(relu(bn_conv(relu(bn_conv(x, width)), width, 3, s)), 4 * width)
            skip = bn_conv(x, 4 * width, 1, s) if block == 0 else x
            half = n.constant(np.float32(0.7))
            x = relu(n.node("Mul", [n.node("Add", [y, skip]), half]))
    pooled = n.node("Flatten", [n.node("GlobalAveragePool", [x])], n.channels[x], axis=1)
    c = n.channels[x]
    logits = n.node("Gemm", [pooled, n.constant(n.normal(10, c, scale=2 / np.sqrt(c))), n.constant(n.normal(10))],
                    transB=1)
    return n.model(logits, n.node("Softmax", [logits], axis=1))


def mobilenet():
    """Depthwise convolutions, hard swish, squeeze and excitation; SAME padding."""
    n = Net((1, 3, 40, 52))
    swish = lambda x: n.node("HardSwish", [x])

    def excite(x):
        c = n.channels[x]
        s = n.node("ReduceMean", [x, n.constant(np.array([2, 3]))], keepdims=1)
        s = n.node("Relu", [n.conv(s, c // 4, [1, 1])])
        return n.node("Mul", [x, n.node("HardSigmoid", [n.conv(s, c, [1, 1])], alpha=1 / 6, beta=0.5)])

    def block(x, expanded, channels, k, s):
        y = swish(n.batch_norm(n.conv(x, expanded, [1, 1], bias=False)))
        y = n.conv(y, expanded, [k, k], groups=expanded, strides=[s, s], auto_pad="SAME_UPPER", gain=2)
        y = n.conv(excite(swish(n.batch_norm(y))), channels, [1, 1], gain=2)
        return n.node("Add", [x, y]) if s == 1 and channels == n.channels[x] else y

    x = swish(n.conv("x", 8, [3, 3], strides=[2, 2], auto_pad="SAME_UPPER"))
    for shape in ((16, 8, 3, 1), (24, 12, 3, 2), (32, 12, 5, 1), (40, 16, 5, 2)):
        x = block(x, *shape)
    return n.model(x)


def wavenet():
    """Causal dilated convolutions with gates; skips summed; 1-D."""
    n = Net((1, 1, 96))
    x = n.conv("x", 8, [1])
    skips = []
    for d in (1, 2, 4, 8, 16):
        both = n.conv(x, 16, [2], pads=[d, 0], dilations=[d])
        a, b = n.node("Split", [both], 8, outputs=2, axis=1, num_outputs=2)
        gated = n.node("Mul", [n.node("Tanh", [a]), n.node("Sigmoid", [b])])
        skips.append(n.conv(gated, 12, [1]))
        x = n.node("Add", [x, n.conv(gated, 8, [1])])
    y = n.node("Relu", [n.node("Sum", skips, 12)])
    return n.model(n.conv(n.node("LeakyRelu", [n.conv(y, 12, [1])], alpha=0.1), 4, [1]))


def weather():
    """Encoder and decoder on a globe: longitude is circular, poles are repeated."""
    n = Net((1, 4, 18, 36))

    def globe(x, channels, s=1):
        x = n.node("Pad", [x, n.constant(np.array([0, 0, 0, 1, 0, 0, 0, 1]))], mode="wrap")
        x = n.node("Pad", [x, n.constant(np.array([0, 0, 1, 0, 0, 0, 1, 0]))], mode="edge")
        return n.node("Gelu", [n.conv(x, channels, [3, 3], strides=[s, s], gain=2)]) if n.opset >= 20 else n.node(
            "Elu", [n.conv(x, channels, [3, 3], strides=[s, s])])

    a = globe("x", 12)
    b = globe(globe(a, 24, 2), 24)
    scales = n.constant(np.array([1, 1, 2, 2], np.float32))
    up = n.node("Resize", [b, "", scales], 24, mode="linear", coordinate_transformation_mode="half_pixel")
    y = globe(n.node("Concat", [a, up], 36, axis=1), 12)
    return n.model(n.node("Add", ["x", n.conv(y, 4, [1, 1])]))


def video():
    """Decoder of a video autoencoder: 3 × 3 × 3, causal in time."""
    n = Net((1, 4, 3, 6, 10))

    def causal(x, channels, k=3):
        pads = [0, 0, k - 1, k // 2, k // 2, 0, 0, 0, k // 2, k // 2]
        padded = n.node("Pad", [x, n.constant(np.array(pads))])
        return n.conv(padded, channels, [k] * 3)

    def block(x, channels):
        y = causal(n.silu(n.group_norm(x, 4, 3)), channels)
        y = causal(n.silu(n.group_norm(y, 4, 3)), channels)
        skip = x if n.channels[x] == channels else n.conv(x, channels, [1, 1, 1])
        return n.node("Add", [skip, y])

    x = block(causal("x", 16), 16)
    for channels in (16, 8):
        scales = n.constant(np.array([1, 1, 1, 2, 2], np.float32))
        x = n.node("Resize", [x, "", scales], mode="nearest", coordinate_transformation_mode="asymmetric",
                   nearest_mode="floor")
        x = block(causal(x, channels), channels)
    return n.model(causal(n.silu(n.group_norm(x, 4, 3)), 3))


def attention():
    """What needs a whole dimension: softmax and products over a cut one, layer
    normalisation of a transposed tensor, a concatenation along the cut, slices."""
    n = Net((1, 8, 6, 12))
    y = n.same("x", 8)
    rows = n.node("Reshape", [y, n.constant(np.array([1, 8, 72]))])
    tokens = n.node("Transpose", [rows], perm=[0, 2, 1])
    norm = n.node("LayerNormalization", [tokens, n.constant(1 + n.normal(8, scale=0.1)), n.constant(n.normal(8))])
    key = n.node("MatMul", [norm, n.constant(n.normal(8, 8, scale=0.5))])
    scores = n.node("MatMul", [norm, n.node("Transpose", [key], perm=[0, 2, 1])])
    mixed = n.node("MatMul", [n.node("Softmax", [scores], axis=-1), norm])
    back = n.node("Reshape", [n.node("Transpose", [mixed], perm=[0, 2, 1]), n.constant(np.array([1, 8, 6, 12]))])
    both = n.node("Concat", [back, y], axis=3)
    part = n.node("Slice", [both, n.constant(np.array([3])), n.constant(np.array([20])), n.constant(np.array([3])),
                            n.constant(np.array([2]))])
    return n.model(n.node("Add", [n.node("Mul", [part, n.node("Softmax", [part], axis=3)]), part]))


NETWORKS = {f.__name__: f for f in (unet, resnet50, mobilenet, wavenet, weather, video, attention)}

# How tests cut them: mesh, and per dimension of the input the axes that cut it.
_PLANE = (("sp=2", ",,,sp"), ("sp=3", ",,,sp"), ("sp=4", ",,,sp"), ("h=2,w=2", ",,h,w"))
_ROWS = (("sp=2", ",,,sp"), ("sp=3", ",,sp,"), ("sp=4", ",,,sp"), ("h=2,w=2", ",,h,w"))
CUTS = {
    "unet": _PLANE, "resnet50": _PLANE, "weather": _PLANE, "mobilenet": _ROWS, "attention": _ROWS,
    "wavenet": (("sp=2", ",,sp"), ("sp=3", ",,sp"), ("sp=4", ",,sp"), ("a=2,b=2", ",,a+b")),
    "video": (("sp=2", ",,,,sp"), ("sp=3", ",,,sp,"), ("sp=4", ",,,,sp"), ("h=2,w=2", ",,,h,w")),
}
