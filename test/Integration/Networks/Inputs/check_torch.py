# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_torch.py NET.onnx RINGCONV_RUN FOLDER: the example's network by the commands
that its documentation shows, at two sizes, against ONNX Runtime."""
import os
import subprocess
import sys

import numpy as np
import onnxruntime

model, tool, folder = sys.argv[1:]
os.chdir(folder)
session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
for (height, width), mesh, cut in (((32, 52), "sp=3", ",,,sp"), ((40, 48), "h=2,w=2", ",,h,w")):
    image = np.random.default_rng(2).standard_normal((1, 3, height, width)).astype(np.float32)
    expected = session.run(None, {"image": image})[0]
    np.save("image.npy", image)
    subprocess.run([sys.executable, "-m", "ringconv.import_onnx", model, "-o", "net.mlir", "--mesh", mesh, "--shard",
                    f"image={cut}", "--shape", f"image=1x3x{height}x{width}"], check=True)  # fmt: skip
    done = subprocess.run([tool, "net.mlir", "--params=net.safetensors", "--input=image=image.npy",
                           "--output=0=clean.npy", "--remarks-filter=gathered"], check=True, stderr=subprocess.PIPE)
    result = np.load("clean.npy")
    difference = np.abs(result - expected).max()
    print(f"{height} x {width}, {mesh}: largest difference {difference:.1e}, largest change "
          f"{np.abs(expected - image).max():.2f}")
    assert not done.stderr and result.shape == expected.shape and difference <= 1e-4 * max(1, np.abs(expected).max())
    assert (expected - image).std() > 0.1  # the network does something
