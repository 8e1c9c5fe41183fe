# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From the nodes of a graph to operations of a program.

A handler takes a `Node` and gives its results. Handlers register under the
operator's name; each file of operators holds one kind of them.
"""
from onnx import helper

from . import model as onnx_model
from ..network import Const, ImportFailure, Program, Tensor

HANDLERS = {}


def handles(*names):
    """Registers a function as the handler of operators."""

    def register(function):
        for name in names:
            HANDLERS[name] = function
        return function

    return register


class Node:
    """One node: attributes, inputs as values, and the program to write to."""

    def __init__(self, proto, importer):
        self.proto = proto
        self.importer = importer
        self.program: Program = importer.program
        self.opset = importer.opset
        self.kind = proto.op_type
        self.attributes = {a.name: helper.get_attribute_value(a) for a in proto.attribute}
        self.inputs = [importer.values[name] if name else None for name in proto.input]

    @property
    def label(self):
        return label_of(self.proto)

    def fail(self, text):
        raise ImportFailure(f"{self.label}: {text}")

    def attribute(self, name, default=None):
        value = self.attributes.get(name, default)
        return value.decode() if isinstance(value, bytes) else value

    def has(self, i):
        return i < len(self.inputs) and self.inputs[i] is not None

    def value(self, i):
        if not self.has(i):
            self.fail(f"input {i} is missing")
        return self.inputs[i]

    def tensor(self, i):
        return self.program.tensor(self.value(i))

    def constant(self, i, what):
        """The array of an input that must be known now; None where it is absent."""
        if not self.has(i):
            return None
        if not isinstance(self.inputs[i], Const):
            self.fail(f"{what} must be constant")
        return self.inputs[i].array

    def ints(self, i, name, default=None):
        """A list of integers that newer opsets have as input i, older ones as an
        attribute."""
        array = self.constant(i, name) if name not in self.attributes else None
        if array is not None:
            return [int(v) for v in array.reshape(-1)]
        return self.attribute(name, default)

    def axis(self, value, rank):
        if not -rank <= value < rank:
            self.fail(f"axis {value} of a tensor with {rank} dimensions")
        return value % rank


def label_of(proto):
    name = proto.name or next((n for n in proto.output if n), "")
    return f"node '{name}' ({proto.domain + '.' if proto.domain else ''}{proto.op_type})"


class Importer:

    def __init__(self, model, shapes, shardings, constants):
        self.model = model
        self.opset = onnx_model.opset_of(model)
        self.program = Program()
        self.values = dict(onnx_model.initializers_of(model.graph))
        self.users = {}  # value name -> nodes that read it
        self.producers = {}  # value name -> node that makes it
        self.done = set()  # ids of nodes that were converted, or whose work another one did
        self.padded = {}  # tensor name -> (what was padded, {dim: (low, high, mode)})
        inputs = onnx_model.inputs_of(model, shapes, constants)
        self.values.update(onnx_model.constants_of(model, constants))
        unknown = set(shardings) - {name for name, _, _ in inputs}
        if unknown:
            raise ImportFailure(f"--shard: no input is called {sorted(unknown)[0]}; the inputs are "
                                f"{', '.join(name for name, _, _ in inputs)}")
        for name, shape, dtype in inputs:
            self.values[name] = self.program.argument(name, shape, dtype, shardings.get(name, lambda s: [])(shape))

    def fold_constants(self, graph):
        """What follows from initializers alone, so that handlers can look at
        operands of later nodes."""
        rest = []
        for node in graph.node:
            inputs = [n for n in node.input if n]
            known = all(isinstance(self.values.get(n), Const) for n in inputs)
            if known and (inputs or node.op_type == "Constant") and onnx_model.can_evaluate(node):
                self.evaluate(node)
            else:
                rest.append(node)
        return rest

    def evaluate(self, node):
        try:
            self.set_results(node, onnx_model.evaluate(node, self.values, self.opset))
        except ImportFailure:
            raise
        except Exception as error:  # whatever the evaluator meets
            raise ImportFailure(f"{label_of(node)}: cannot be evaluated: {error}") from None

    def set_results(self, node, results):
        names = [n for n in node.output if n]
        if len(results) < len(names):
            raise ImportFailure(f"{label_of(node)}: output {names[len(results)]} is not supported")
        for name, value in zip(node.output, results):
            if name:
                self.values[name] = value

    def run(self):
        self.convert_graph(self.model.graph)
        return self.finish()

    def convert_graph(self, graph):
        """The nodes of the model, or of a loop's body whose inputs are bound."""
        nodes = self.fold_constants(graph)
        for node in nodes:
            for name in onnx_model.names_read(node):
                self.users.setdefault(name, []).append(node)
            for name in node.output:
                self.producers[name] = node
        for output in graph.output:
            self.users.setdefault(output.name, []).append(None)
        for node in nodes:
            if id(node) not in self.done:
                self.convert(node)

    def convert(self, node):
        self.done.add(id(node))
        self.program.location = label_of(node)
        if node.domain not in ("", "ai.onnx") or node.op_type not in HANDLERS:
            raise ImportFailure(f"{label_of(node)}: operator is not supported")
        known = all(isinstance(self.values.get(n), Const) for n in node.input if n)
        if known and any(node.input) and onnx_model.can_evaluate(node):
            self.evaluate(node)
            return
        try:
            result = HANDLERS[node.op_type](Node(node, self))
        except ImportFailure as failure:
            if str(failure).startswith("node "):
                raise
            raise ImportFailure(f"{label_of(node)}: {failure}") from None
        self.set_results(node, result if isinstance(result, list) else [result])

    def only_user(self, name):
        """The one node that reads a value, or None."""
        users = self.users.get(name, [])
        return users[0] if len(users) == 1 else None

    def constant(self, name):
        """The value `name` if it is constant, or follows from shapes that are known
        so far; else None."""
        if name not in self.values:
            node = self.producers.get(name)
            if node is None:
                return None
            inputs = [n for n in node.input if n]
            if node.op_type == "Shape":
                known = inputs[0] in self.values
            else:
                known = bool(inputs) and all(self.constant(n) for n in inputs)
            if not known:
                return None
            self.convert(node)
        value = self.values[name]
        return value if isinstance(value, Const) else None

    def finish(self):
        results = []
        names = [o.name for o in self.model.graph.output]
        self.program.location = "results"
        for name in names:
            results.append(self.program.tensor(self.values[name]))
        self.program.remove_dead(results)
        return results, names


__all__ = ["Const", "HANDLERS", "ImportFailure", "Importer", "Node", "Tensor", "handles"]
