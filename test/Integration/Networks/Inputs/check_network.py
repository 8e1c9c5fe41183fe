# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_network.py RINGCONV_RUN NETWORK [MESH...]: imports a generated network,
runs it cut as `networks.CUTS` says, on these meshes or on all, and compares every
output with ONNX Runtime. No tensor may be gathered whole, and where nothing is summed
over ranks each of them sends the bytes of halos and of what comes to lie otherwise,
as the compiler's report counts them, and no more.
"""
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime

from networks import CUTS, NETWORKS
from ringconv.import_onnx import import_model
from ringconv.network import weights


def generated(name):
    """The model, an input, and what ONNX Runtime makes of it."""
    model = NETWORKS[name]()
    onnx.checker.check_model(model)
    shape = [d.dim_value for d in model.graph.input[0].type.tensor_type.shape.dim]
    x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    expected = session.run(None, {"x": x})
    for i, e in enumerate(expected):
        # A softmax over few classes is small by nature.
        assert e.std() > (0.1 if "softmax" not in model.graph.output[i].name else 0.01), f"output {i} has died out"
    return model, x, expected


def import_to(folder, model, mesh, dims, x):
    """Writes net.mlir, net.safetensors and x.npy. No mesh and no dims: uncut."""
    axes = dict((a.split("=")[0], int(a.split("=")[1])) for a in mesh.split(",") if a)
    shard = {"x": [[a for a in d.split("+") if a] for d in dims.split(",")]} if dims else {}
    imported = import_model(model, {"x": list(x.shape)}, axes, shard)
    weights.save(os.path.join(folder, "net.safetensors"), imported.weights)
    with open(os.path.join(folder, "net.mlir"), "w") as file:
        file.write(imported.text)
    np.save(os.path.join(folder, "x.npy"), x)


def run_flags(folder, count):
    path = lambda name: os.path.join(folder, name)
    return [f"--params={path('net.safetensors')}", f"--input=x={path('x.npy')}",
            *[f"--output={i}={path(f'{i}.npy')}" for i in range(count)]]


def difference(results, expected):
    """The largest one, and the bound, of the output that is closest to its bound."""
    pairs = [(np.abs(r - e).max() if r.shape == e.shape else np.inf, 1e-4 * max(1, np.abs(e).max()))
             for r, e in zip(results, expected)]
    return max(pairs, key=lambda p: p[0] / p[1])


def bytes_planned(tool, folder):
    """What each rank sends, as the compiler's report counts it."""
    compiler = os.path.join(os.path.dirname(tool), "ringconv-compile")
    report = os.path.join(folder, "plan.json")
    subprocess.run([compiler, os.path.join(folder, "net.mlir"), "--emit=mlir", "-o", os.path.join(folder, "out.mlir"),
                    f"--report={report}"], check=True)  # fmt: skip
    with open(report) as file:
        steps = json.load(file)["cost"]["steps"]
    return [sum(ranks["bytes_sent"] for ranks in by_rank) for by_rank in zip(*[step["ranks"] for step in steps])]


def run(tool, folder, network, model, mesh, dims, x, count):
    import_to(folder, model, mesh, dims, x)
    report = os.path.join(folder, "run.json")
    command = [tool, os.path.join(folder, "net.mlir"), "--remarks", f"--json={report}", *run_flags(folder, count)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        sys.exit(done.stdout)
    gathered = [line for line in done.stdout.splitlines() if "gathered" in line]
    # Attention over positions that are cut needs all of them; nothing else does.
    if gathered and network != "attention":
        sys.exit("\n".join(["a whole tensor is gathered:", *gathered]))
    if "partial sums" not in done.stdout and not gathered:
        with open(report) as file:
            sent = [rank["bytes_sent"] for rank in json.load(file)["ranks"]]
        planned = bytes_planned(tool, folder)
        assert sent == planned, (sent, planned)
        print(f"{network} {mesh}: bytes sent as planned: {sent}")
    return [np.load(os.path.join(folder, f"{i}.npy")) for i in range(count)]


def main():
    tool, name, *meshes = sys.argv[1:]
    model, x, expected = generated(name)
    assert set(meshes) <= {mesh for mesh, _ in CUTS[name]}, meshes
    bad = 0
    for mesh, dims in CUTS[name]:
        if meshes and mesh not in meshes:
            continue
        with tempfile.TemporaryDirectory() as folder:
            error, bound = difference(run(tool, folder, name, model, mesh, dims, x, len(expected)), expected)
        bad += not error <= bound
        print(f"{name} {mesh}: largest difference {error:.2e}, bound {bound:.1e}", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
