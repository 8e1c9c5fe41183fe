# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_import.py RINGCONV_RUN FOLDER: the command line of the ONNX
importer. What it refuses is one line; weights inline give the same bits as in a
file."""
import os
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper

from networks import Net

tool, folder = sys.argv[1:]
os.chdir(folder)
environment = {**os.environ, "PATH": os.path.dirname(tool) + os.pathsep + os.environ["PATH"]}


def importer(*words):
    return subprocess.run([sys.executable, "-m", "ringconv.import_onnx", *words], env=environment, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def refused(text, *words):
    done = importer(*words)
    lines = done.stderr.splitlines()
    assert done.returncode == 1 and len(lines) == 1 and lines[0] == f"import_onnx: {text}", (text, done)


def single(name, kind, shape, **attributes):
    node = helper.make_node(kind, ["x"], ["y"], name="odd one", **attributes)
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None if kind == "Det" else shape)])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9), name)


# ---- What is refused ----
single("relu.onnx", "Relu", ["n", 3, "h", 8])
single("atanh.onnx", "Atanh", [1, 3])
refused("node 'odd one' (Atanh): operator is not supported", "atanh.onnx", "-o", "y.mlir")
refused("input x: dim 0 has no fixed size (n), give --shape x=nx3xhx8 with numbers", "relu.onnx", "-o", "y.mlir")
refused("--shape: x: dim 1 is 3 in the model, got 4", "relu.onnx", "-o", "y.mlir", "--shape", "x=1x4x8x8")
refused("--shape: x has 4 dimensions, got 2", "relu.onnx", "-o", "y.mlir", "--shape", "x=1x3")
refused("--shape: no input is called q; the inputs are x", "relu.onnx", "-o", "y.mlir", "--shape", "x=1x3x8x8", "--shape",
        "q=1")
refused("--shape: 'x=1xa', expected NAME=1x3x640x960", "relu.onnx", "-o", "y.mlir", "--shape", "x=1xa")
refused("--mesh: 'w', expected AXIS=EXTENT,… with axes of different names", "atanh.onnx", "-o", "y.mlir", "--mesh", "w")
refused("--shard: x: the mesh has no axis w", "atanh.onnx", "-o", "y.mlir", "--shard", "x=,w")
refused("--shard: x has 2 dimensions, got 3", "atanh.onnx", "-o", "y.mlir", "--mesh", "w=2", "--shard", "x=,,w")
refused("--constant: no input is called q; the inputs are x", "atanh.onnx", "-o", "y.mlir", "--constant", "q=1")
refused("--constant: x has 2 dimensions, expected a scalar", "atanh.onnx", "-o", "y.mlir", "--constant", "x=1")
refused("--constant: 'x=one', expected NAME=NUMBER", "atanh.onnx", "-o", "y.mlir", "--constant", "x=one")
refused("none.onnx: no such file", "none.onnx", "-o", "y.mlir")
with open("text.onnx", "w") as file:
    file.write("hello")
assert "import_onnx: text.onnx: no valid ONNX model" in importer("text.onnx", "-o", "y.mlir").stderr
assert not os.path.exists("y.mlir"), "something was written"

# ---- Branches ----
value = lambda name, kind, shape: helper.make_tensor_value_info(name, kind, shape)
branches = {}
for name, operator in (("then_branch", "Neg"), ("else_branch", "Relu")):
    branches[name] = helper.make_graph([helper.make_node(operator, ["x"], [name])], name, [],
                                       [value(name, TensorProto.FLOAT, [1, 3])])
graph = helper.make_graph([helper.make_node("If", ["flag"], ["y"], name="fork", **branches)], "g",
                          [value("x", TensorProto.FLOAT, [1, 3]), value("flag", TensorProto.BOOL, [])],
                          [value("y", TensorProto.FLOAT, [1, 3])])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9), "if.onnx")
refused("node 'fork' (If): the condition must be constant", "if.onnx", "-o", "y.mlir")
np.save("x.npy", np.array([[-1, 2, -3]], np.float32))
for flag, expected in ((1, [[1, -2, 3]]), (0, [[0, 2, 0]])):
    assert importer("if.onnx", "-o", "if.mlir", "--constant", f"flag={flag}").returncode == 0
    subprocess.run([tool, "if.mlir", "--input=x=x.npy", "--output=0=y.npy"], check=True)
    assert np.array_equal(np.load("y.npy"), expected), flag

# ---- Weights in a file and inline ----
n = Net((1, 4, 6, 12))
onnx.save(n.model(n.node("Relu", [n.batch_norm(n.same("x", 8))])), "net.onnx")
for kind, words in (("params", ["-o", "a.mlir"]), ("inline", ["-o", "b.mlirbc", "--weights=inline"])):
    done = importer("net.onnx", *words, "--mesh", "w=3", "--shard", "x=,,,w")
    assert done.returncode == 0, (kind, done)
assert open("b.mlirbc", "rb").read(4) == b"ML\xefR"
subprocess.run([tool, "a.mlir", "--params=a.safetensors", "--output=0=a.npy"], check=True)
subprocess.run([tool, "b.mlirbc", "--output=0=b.npy"], check=True)
a, b = np.load("a.npy"), np.load("b.npy")
assert a.std() > 0.1 and np.array_equal(a, b)
print("passed")
