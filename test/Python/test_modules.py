# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules: text, bytecode, annotation, passes, files."""
import ctypes
import subprocess

import numpy as np
import pytest
import ringconv as rc
from conftest import conv2d

PLAIN = """
func.func @main(%x: tensor<1x1x6x7xf32>, %w: tensor<1x1x3x3xf32>) -> tensor<1x1x4x5xf32> {
  %y = ringconv.conv %x, %w dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1]
     : (tensor<1x1x6x7xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x4x5xf32>
  return %y : tensor<1x1x4x5xf32>
}
"""


def annotated():
    module = rc.parse(PLAIN).add_mesh({"h": 2}, device_ids=[1, 0])
    return module.annotate("main", 0, cut=[None, None, "h", None], name="x").annotate("main", 1, parameter=True)


def test_annotations():
    text = str(annotated())
    assert '<["h" = 2], device_ids = [1, 0]>' in text and 'ringconv.name = "x"' in text and "parameter" in text
    with pytest.raises(rc.CompileError, match="no axis"):
        annotated().annotate("main", 2, cut=[None, None, "w", None])
    program = rc.compile(annotated())
    assert program.inputs[0].name == "x" and program.inputs[1].is_parameter
    assert program.box(0, program.inputs[0])[2] == slice(3, 6)  # device 0 is position 1


def test_a_round_trip_by_bytecode(tmp_path):
    module = annotated()
    (tmp_path / "m.mlirbc").write_bytes(module.bytecode())
    assert str(rc.parse_file(tmp_path / "m.mlirbc")) == str(module) == str(module.clone())


def test_passes_and_the_program_of_one_rank():
    module = annotated()
    local = module.partition(mesh={"h": 3})
    assert "ringconv.local_conv" in str(local) and "ringconv.conv " in str(module)
    remarks = module.run_pipeline("builtin.module(ringconv-partition-pipeline)")
    assert "ringconv.local_conv" in str(module)
    assert any(r.severity == "remark" and "halo" in r.text for r in remarks)


def test_an_executable(tmp_path):
    annotated().save(tmp_path / "conv", emit="exe", mesh={"h": 4})
    done = subprocess.run([tmp_path / "conv", "--check"], capture_output=True, text=True)
    assert done.returncode == 0 and "check: output 0" in done.stdout + done.stderr


def test_a_library(tmp_path, random):
    annotated().save(tmp_path / "libconv.so", mesh={"h": 1})
    assert "main_run" in (tmp_path / "libconv.h").read_text()
    x, w, y = random(1, 1, 6, 7), random(1, 1, 3, 3), np.empty((1, 1, 4, 5), np.float32)
    library = ctypes.CDLL(str(tmp_path / "libconv.so"))
    session, pointers = ctypes.c_void_p(), ctypes.c_void_p * 1

    class World(ctypes.Structure):
        _fields_ = [("rank", ctypes.c_int64), ("size", ctypes.c_int64), ("transport", ctypes.c_int32),
                    ("team", ctypes.c_void_p), ("mpi_comm", ctypes.c_int32)]  # fmt: skip

    assert library.main_create(ctypes.byref(session), ctypes.byref(World(0, 1, 0, None, 0)), None) == 0
    assert library.main_set_parameters(session, pointers(w.ctypes.data)) == 0
    assert library.main_run(session, None, pointers(x.ctypes.data), pointers(y.ctypes.data)) == 0
    library.main_destroy(session)
    assert np.abs(y - conv2d(x, w)).max() < 1e-5


def test_cache(random, tmp_path):
    x, w = random(1, 2, 5, 8), random(3, 2, 3, 3)
    module = rc.func(lambda x, w: rc.conv2d(x, w, padding=1), rc.arg(x.shape, cut=[None, None, None, "w"]),
                     rc.parameter(w.shape), mesh={"w": 2})  # fmt: skip
    plain = rc.compile(module)
    programs = [rc.compile(module, cache_dir=tmp_path / "cache") for _ in range(2)]
    entry, = (tmp_path / "cache").iterdir()
    for program in programs:
        assert np.array_equal(program(x, w), plain(x, w))
        assert [o.cut for o in program.inputs] == [o.cut for o in plain.inputs]
        assert (program.report, program.remarks) == (plain.report, plain.remarks)
    entry.write_bytes(b"damaged")
    damaged = rc.compile(module, cache_dir=tmp_path / "cache")
    assert [d.severity for d in damaged.remarks if "damaged" in d.text] == ["warning"]
    assert np.array_equal(damaged(x, w), plain(x, w))
