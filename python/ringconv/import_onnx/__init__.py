# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ONNX models to ringconv programs; needs the `onnx` package and NumPy.

    python -m ringconv.import_onnx MODEL.onnx -o MODEL.mlir --mesh sp=4 --shard input=,,,sp

`import_model` is the same as a function. See docs/networks.md.
"""
from ..network import ImportFailure
from ..network.files import Imported
from . import control, elementwise, normalize, reduce, resize, shapes, windows  # noqa: F401, register their operators
from . import model as _model
from .importer import HANDLERS, Importer

__all__ = ["Imported", "ImportFailure", "import_model", "operators"]


def operators():
    """Names of the ONNX operators that can be imported."""
    return sorted(HANDLERS)


def import_model(model, shapes=None, mesh=None, shardings=None, inline=False, constants=None):
    """model: a path or an `onnx.ModelProto`. shapes: input name -> sizes, for
    inputs with symbolic sizes. mesh: axis name -> extent. shardings: input name
    -> per dimension a list of axis names. inline: weights are constants of the
    text, as resources, and no parameters. constants: input name -> number, for scalar
    inputs that are known now. Raises ImportFailure with one line."""
    if not hasattr(model, "graph"):
        model = _model.load(model)
    mesh = mesh or {}
    attributes = {}
    for name, dims in (shardings or {}).items():
        for axis in [a for dim in dims for a in dim]:
            if axis not in mesh:
                raise ImportFailure(f"--shard: {name}: the mesh has no axis {axis}")
        attributes[name] = _sharding_attribute(name, dims)
    importer = Importer(model, shapes or {}, attributes, constants or {})
    results, names = importer.run()
    axes = ", ".join(f'"{axis}" = {extent}' for axis, extent in mesh.items())
    text = importer.program.text(f"<[{axes}]>" if mesh else None, results, names, inline)
    return Imported(text, {} if inline else importer.program.weights())


def _sharding_attribute(name, dims):

    def attribute(shape):
        if len(dims) != len(shape):
            raise ImportFailure(f"--shard: {name} has {len(shape)} dimensions, got {len(dims)}")
        text = ", ".join("{" + ", ".join(f'"{axis}"' for axis in dim) + "}" for dim in dims)
        return [f"ringconv.sharding = #ringconv.sharding<@mesh, [{text}]>"]

    return attribute
