# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_operators.py RINGCONV_RUN [REGEX]: the node tests that come with the onnx
package, for the operators that can be imported: each is imported, run and
compared with what the package expects. The last line is 'N passed, N failed,
N left out'.
"""
import collections
import contextlib
import io
import os
import re
import subprocess
import sys
import tempfile
import warnings

import numpy as np
from onnx import helper, numpy_helper

from ringconv.import_onnx import ImportFailure, import_model, operators
from ringconv.network import weights

# Operators whose other inputs are data: they stay inputs. Of all others only the
# first input is data, the rest is known when a network is imported.
DATA = {"Add", "Sub", "Mul", "Div", "PRelu", "Max", "Min", "Sum", "Mean", "Where", "Concat", "MatMul", "Pow", "Greater",
        "Less", "Equal", "And"}
# What a test asks for beyond what is supported, with the reason that is expected.
KNOWN = {
    "is not supported": "an operator, mode, type or second output",
    "must be constant": "a filter that is data",
    "no fixed size": "an empty input",
    "nothing is left": "an empty result",
    "sequence": "no tensor",
}
MOST = 2  # tests of one operator: they differ little
TYPES = {np.dtype(t) for t in (np.float64, np.float32, np.float16, np.int32, np.int64, np.bool_)}


def cases(pattern):
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        from onnx.backend.test.case.node import collect_testcases
        found = collect_testcases(None)
    seen, known = collections.Counter(), set(operators())
    for case in found:
        nodes = case.model.graph.node if case.model is not None else []
        if len(nodes) != 1 or nodes[0].op_type not in known or not re.search(pattern, case.name):
            continue
        seen[nodes[0].op_type] += 1
        if seen[nodes[0].op_type] <= MOST or pattern:
            yield case


def bind(model, inputs):
    """Inputs that a network would know become initializers; the rest, by name."""
    node, feeds = model.graph.node[0], {}
    for i, (value, array) in enumerate(zip(list(model.graph.input), inputs)):
        if i == 0 or node.op_type in DATA:
            feeds[value.name] = array
            value.CopyFrom(helper.make_tensor_value_info(value.name, helper.np_dtype_to_tensor_dtype(array.dtype),
                                                         array.shape))
        else:
            model.graph.input.remove(value)
            model.graph.initializer.append(numpy_helper.from_array(array, value.name))
    return feeds


def run(tool, folder, imported, feeds, count):
    path = lambda name: os.path.join(folder, name)
    with open(path("node.mlir"), "w") as file:
        file.write(imported.text)
    command = [tool, path("node.mlir")]
    if imported.weights:
        weights.save(path("node.safetensors"), imported.weights)
        command.append(f"--params={path('node.safetensors')}")
    for i, (name, array) in enumerate(feeds.items()):
        np.save(path(f"in{i}.npy"), array)
        command.append(f"--input={name}={path(f'in{i}.npy')}")
    command += [f"--output={i}={path(f'{i}.npy')}" for i in range(count)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return [np.load(path(f"{i}.npy")) for i in range(count)] if done.returncode == 0 else done.stdout.strip()


def check(tool, case):
    """None: passed; '-': left out; else what is wrong."""
    inputs, expected = case.data_sets[0]
    if not all(isinstance(a, np.ndarray) or np.isscalar(a) for a in [*inputs, *expected]):
        return "-"
    inputs, expected = [np.asarray(a) for a in inputs], [np.asarray(a) for a in expected]
    if any(a.dtype not in TYPES for a in [*inputs, *expected]):
        return "-"
    feeds = bind(case.model, inputs)
    if not feeds or any(a.size == 0 for a in feeds.values()):
        return "-"
    try:
        imported = import_model(case.model)
    except ImportFailure as failure:
        return "-" if any(word in str(failure) for word in KNOWN) else str(failure)
    with tempfile.TemporaryDirectory() as folder:
        results = run(tool, folder, imported, feeds, len(expected))
    if isinstance(results, str):
        return results[-400:]
    for i, (r, e) in enumerate(zip(results, expected)):
        tolerance = 2e-2 if e.dtype == np.float16 else 1e-4
        if r.shape != e.shape or not np.allclose(r.astype(np.float64), e.astype(np.float64), tolerance, tolerance,
                                                 equal_nan=True):
            return f"output {i} {r.shape} differs from {e.shape}: {r.reshape(-1)[:4]} and {e.reshape(-1)[:4]}"
    return None


def main():
    tool, pattern = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""
    counts = collections.Counter()
    for case in cases(pattern):
        problem = check(tool, case)
        counts["passed" if problem is None else "left out" if problem == "-" else "failed"] += 1
        if problem not in (None, "-"):
            print(f"{case.name}: {problem}", flush=True)
        elif pattern:
            print(f"{case.name}: {problem or 'passed'}")
    print(", ".join(f"{counts[word]} {word}" for word in ("passed", "failed", "left out")))
    return 1 if counts["failed"] or not counts["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
