# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_network.py RINGCONV_RUN NETWORK MESH DIMS...: imports a generated
network, runs it and compares every output with ONNX Runtime. No tensor may be
gathered whole.

MESH is sp=3 or h=2,w=2; DIMS say which axis cuts which dimension of the input:
sp or ,,h,w. Several pairs of MESH and DIMS run one after the other.
"""
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime

from networks import NETWORKS
from ringconv.import_onnx import import_model
from ringconv.network import weights


def reference(model, x):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, {"x": x})


def run(tool, folder, network, model, mesh, dims, x, count):
    axes = dict((a.split("=")[0], int(a.split("=")[1])) for a in mesh.split(","))
    imported = import_model(model, mesh=axes, shardings={"x": [[a for a in d.split("+") if a] for d in dims.split(",")]})
    path = lambda name: os.path.join(folder, name)
    weights.save(path("net.safetensors"), imported.weights)
    with open(path("net.mlir"), "w") as file:
        file.write(imported.text)
    np.save(path("x.npy"), x)
    command = [tool, path("net.mlir"), "--remarks", f"--params={path('net.safetensors')}", f"--input=x={path('x.npy')}"]
    command += [f"--output={i}={path(f'{i}.npy')}" for i in range(count)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        sys.exit(done.stdout)
    gathered = [line for line in done.stdout.splitlines() if "gathered" in line]
    # Attention over positions that are cut needs all of them; nothing else does.
    if gathered and network != "attention":
        sys.exit("\n".join(["a whole tensor is gathered:", *gathered]))
    return [np.load(path(f"{i}.npy")) for i in range(count)]


def main():
    tool, name, *cuts = sys.argv[1:]
    model = NETWORKS[name]()
    onnx.checker.check_model(model)
    shape = [d.dim_value for d in model.graph.input[0].type.tensor_type.shape.dim]
    x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    expected = reference(model, x)
    for i, e in enumerate(expected):
        # A softmax over few classes is small by nature.
        assert e.std() > (0.1 if "softmax" not in model.graph.output[i].name else 0.01), f"output {i} has died out"
    bad = 0
    for mesh, dims in zip(cuts[::2], cuts[1::2]):
        with tempfile.TemporaryDirectory() as folder:
            results = run(tool, folder, name, model, mesh, dims, x, len(expected))
        for i, (r, e) in enumerate(zip(results, expected)):
            error, bound = np.abs(r - e).max() if r.shape == e.shape else np.inf, 1e-4 * max(1, np.abs(e).max())
            bad += not error <= bound
            print(f"{name} {mesh}: output {i} {list(e.shape)}: largest difference {error:.2e}, bound {bound:.1e}, "
                  f"std {e.std():.2f}", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
