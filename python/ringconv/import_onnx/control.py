# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Nodes with bodies: loops over a dimension, where what a stream keeps from step to
step is carried, and branches that are known."""
from . import model as onnx_model
from .importer import handles


def _forward(node, name, count):
    if any(node.attribute(name, [0] * count)):
        node.fail(f"{name} other than 0 are not supported")


def _joined(program, part, axis):
    """A tensor of one step with dimension `axis`, of size 1, again."""
    return program.reshape(part, [*part.shape[:axis], 1, *part.shape[axis:]])


@handles("Scan")
def scan(node):
    """States come first, among inputs as among outputs; the rest has one element
    of an axis for each step."""
    if node.opset < 9:
        node.fail("the form before opset 9 is not supported")
    program, importer, body = node.program, node.importer, node.attribute("body")
    scanned = node.attribute("num_scan_inputs")
    states = len(node.inputs) - scanned
    given = len(body.output) - states
    _forward(node, "scan_input_directions", scanned)
    _forward(node, "scan_output_directions", given)
    sources = [node.tensor(i) for i in range(states, len(node.inputs))]
    axes = [node.axis(a, x.rank) for a, x in zip(node.attribute("scan_input_axes", [0] * scanned), sources)]
    output_axes = node.attribute("scan_output_axes", [0] * given)
    count = sources[0].shape[axes[0]]
    importer.values.update(onnx_model.initializers_of(body))

    def step(index, carried):
        slices = [program.part(x, axis, index) for x, axis in zip(sources, axes)]
        slices = [program.reshape(x, [*x.shape[:axis], *x.shape[axis + 1:]]) for x, axis in zip(slices, axes)]
        importer.values.update((i.name, v) for i, v in zip(body.input, carried + slices))
        importer.convert_graph(body)
        results = [program.tensor(importer.values[o.name]) for o in body.output]
        for i, (state, result) in enumerate(zip(carried, results)):
            if (state.shape, state.dtype) != (result.shape, result.dtype):
                node.fail(f"state {i} changes from {state.type} to {result.type}")
        places = [node.axis(a, part.rank + 1) for a, part in zip(output_axes, results[states:])]
        return results[:states], [(axis, _joined(program, part, axis)) for axis, part in zip(places, results[states:])]

    return program.loop(count, [node.tensor(i) for i in range(states)], step)


@handles("If")
def branch(node):
    """The branch that a known condition takes."""
    taken = node.constant(0, "the condition")
    body = node.attribute("then_branch" if taken.reshape(-1)[0] else "else_branch")
    node.importer.values.update(onnx_model.initializers_of(body))
    node.importer.convert_graph(body)
    return [node.importer.values[o.name] for o in body.output]
