# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The ONNX side: reading a model, binding its sizes, evaluating constants."""
import numpy as np
import onnx
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from ..network import Const, ImportFailure


def load(path):
    try:
        model = onnx.load(path)
        onnx.checker.check_model(model)
    except FileNotFoundError:
        raise ImportFailure(f"{path}: no such file") from None
    except Exception as error:  # protobuf and the checker have no common class
        raise ImportFailure(f"{path}: no valid ONNX model: {str(error).strip().splitlines()[0]}") from None
    return model


def opset_of(model):
    versions = [o.version for o in model.opset_import if o.domain in ("", "ai.onnx")]
    return versions[0] if versions else 1


def constants_of(model, numbers):
    """Scalar inputs that have been given a number."""
    inputs, constants = {v.name: v for v in model.graph.input}, {}
    for name, number in numbers.items():
        if name not in inputs:
            raise ImportFailure(f"--constant: no input is called {name}; the inputs are {', '.join(inputs)}")
        kind = inputs[name].type.tensor_type
        if len(kind.shape.dim):
            raise ImportFailure(f"--constant: {name} has {len(kind.shape.dim)} dimensions, expected a scalar")
        constants[name] = Const(np.array(number, helper.tensor_dtype_to_np_dtype(kind.elem_type)), name)
    return constants


def inputs_of(model, shapes, constants):
    """(name, shape, dtype) of the inputs that are neither initializers nor in
    `constants`; `shapes` replaces what the model says and has to where a size is not
    a number."""
    initial = {t.name for t in model.graph.initializer}.union(constants)
    found = []
    for value in model.graph.input:
        if value.name in initial:
            continue
        kind = value.type.tensor_type
        declared = [d.dim_value if d.HasField("dim_value") else d.dim_param or "?" for d in kind.shape.dim]
        shape = shapes.get(value.name, declared)
        if len(shape) != len(declared):
            raise ImportFailure(f"--shape: {value.name} has {len(declared)} dimensions, got {len(shape)}")
        for d, (given, wanted) in enumerate(zip(shape, declared)):
            if not isinstance(given, int) or given < 1:
                raise ImportFailure(f"input {value.name}: dim {d} has no fixed size ({given}), "
                                    f"give --shape {value.name}={'x'.join(map(str, declared))} with numbers")
            if isinstance(wanted, int) and wanted > 0 and wanted != given:
                raise ImportFailure(f"--shape: {value.name}: dim {d} is {wanted} in the model, got {given}")
        found.append((value.name, tuple(shape), helper.tensor_dtype_to_np_dtype(kind.elem_type)))
    unknown = set(shapes) - {name for name, _, _ in found}
    if unknown:
        raise ImportFailure(f"--shape: no input is called {sorted(unknown)[0]}; the inputs are "
                            f"{', '.join(name for name, _, _ in found)}")
    return found


def initializers_of(graph):
    constants = {t.name: Const(numpy_helper.to_array(t), t.name) for t in graph.initializer}
    if graph.sparse_initializer:
        raise ImportFailure("sparse initializers are not supported")
    return constants


def names_read(node):
    """Inputs of a node, and what its bodies read from outside."""
    names = list(node.input)
    for body in [a.g for a in node.attribute if a.type == onnx.AttributeProto.GRAPH]:
        made = {v.name for v in [*body.input, *body.initializer]}.union(*(inner.output for inner in body.node))
        names += [name for inner in body.node for name in names_read(inner) if name not in made]
    return names


def can_evaluate(node):
    return node.domain in ("", "ai.onnx") and not any(a.type == onnx.AttributeProto.GRAPH for a in node.attribute)


def evaluate(node, constants, opset):
    """The outputs of a node whose inputs are constants."""
    if node.op_type == "Constant":
        attribute = node.attribute[0]
        value = helper.get_attribute_value(attribute)
        if attribute.type == onnx.AttributeProto.TENSOR:
            return [Const(numpy_helper.to_array(value), node.output[0])]
        dtype = np.float32 if "float" in attribute.name else np.int64
        return [Const(np.array(value, dtype), node.output[0])]
    if node.op_type == "Identity":
        return [constants[node.input[0]]]
    feeds = {name: constants[name].array for name in node.input if name}
    graph = helper.make_graph([node], "constant", [helper.make_empty_tensor_value_info(n) for n in feeds],
                              [helper.make_empty_tensor_value_info(n) for n in node.output if n])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    values = ReferenceEvaluator(model).run(None, feeds)
    return [Const(np.asarray(v), name) for v, name in zip(values, [n for n in node.output if n])]
