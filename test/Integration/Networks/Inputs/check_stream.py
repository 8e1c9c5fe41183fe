# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_stream.py RINGCONV_RUN FOLDER MESH DIMS: the video decoder of stream.py on a
whole clip, as a Scan over its frames, and frame by frame by a program that is
compiled once. All agree with ONNX Runtime on the whole clip."""
import os
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime

import stream
from ringconv.import_onnx import import_model
from ringconv.network import weights

tool, folder, mesh, dims = sys.argv[1:]
os.chdir(folder)
AXES = dict((a.split("=")[0], int(a.split("=")[1])) for a in mesh.split(","))
PLANE = [[a for a in d.split("+") if a] for d in dims.split(",")]


def write(name, model, shardings):
    onnx.checker.check_model(model)
    imported = import_model(model, mesh=AXES, shardings=shardings)
    weights.save(f"{name}.safetensors", imported.weights)
    with open(f"{name}.mlir", "w") as file:
        file.write(imported.text)


def run(name, inputs, count):
    for key, value in inputs.items():
        np.save(f"{key}.npy", value)
    done = subprocess.run([tool, f"{name}.mlir", "--remarks-filter=gathered", "--cache-dir=cache",
                           f"--params={name}.safetensors", *[f"--input={key}={key}.npy" for key in inputs],
                           *[f"--output={i}={i}.npy" for i in range(count)]],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)  # fmt: skip
    assert done.returncode == 0 and not done.stderr, done.stderr
    return [np.load(f"{i}.npy") for i in range(count)]


x = np.random.default_rng(1).standard_normal((1, stream.CHANNELS, stream.FRAMES, stream.HEIGHT, stream.WIDTH))
x = x.astype(np.float32)
session = onnxruntime.InferenceSession(stream.clip().SerializeToString(), providers=["CPUExecutionProvider"])
expected = session.run(None, {"x": x})[0]
assert all(expected[:, :, t].std() > 0.1 for t in range(stream.FRAMES))


def check(name, y):
    difference, bound = np.abs(y - expected).max(), 1e-5 * max(1, np.abs(expected).max())
    print(f"{name} {mesh}: largest difference {difference:.1e}, bound {bound:.1e}", flush=True)
    assert y.shape == expected.shape and difference <= bound


write("clip", stream.clip(), {"x": [[], [], [], *PLANE]})
whole = run("clip", {"x": x}, 1)[0]
check("whole clip", whole)

write("scan", stream.scan(), {"x": [[], [], [], *PLANE]})
check("scan", run("scan", {"x": x}, 1)[0])

model, shapes = stream.frame()
write("frame", model, {"x": [[], [], *PLANE], **{f"cache{i}": [[], [], [], *PLANE] for i in range(len(shapes))}})
caches, frames = [np.zeros(shape, np.float32) for shape in shapes], []
for t in range(stream.FRAMES):
    given = {"x": x[:, :, t], **{f"cache{i}": c for i, c in enumerate(caches)}}
    y, *caches = run("frame", given, 1 + len(shapes))
    frames.append(y)
check("frame by frame", np.stack(frames, 2))
assert len(os.listdir("cache")) == 3, "each program is compiled once"
