# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mistakes become exceptions that say where and what was expected."""
import inspect

import numpy as np
import pytest
import ringconv as rc


def test_text_that_does_not_parse():
    with pytest.raises(rc.CompileError, match="nothing") as caught:
        rc.parse("func.func @f() {\n  ringconv.nothing\n}\n", "bad.mlir")
    error = caught.value
    assert (error.file, error.line, error.column) == ("bad.mlir", 2, 3)
    assert error.diagnostics[0].severity == "error" and str(error).startswith("bad.mlir:2:3: error: ")


def test_a_python_line_is_the_place():
    line = inspect.currentframe().f_lineno + 2
    with pytest.raises(rc.CompileError, match="conv_c5") as caught:
        rc.func(lambda x, w: rc.conv2d(x, w, groups=3), rc.arg((1, 8, 9, 9)), rc.parameter((16, 8, 3, 3)))
    assert (caught.value.file, caught.value.line) == (__file__, line)


def test_a_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        rc.parse_file(tmp_path / "none.mlir")


def tiny(**words):
    return rc.func(lambda x, w: rc.conv2d(x, w), rc.arg((1, 1, 5, 5)), rc.parameter((1, 1, 3, 3)), **words)


@pytest.mark.parametrize(
    "options, text",
    [
        ({"target": "abacus"}, "abacus"),
        ({"entry": "g"}, "no public function @g"),
        ({"mesh": {"x": 2}}, 'no axis "x"'),
        ({"cpu": "abacus"}, "unknown target cpu 'abacus'"),
    ],
)
def test_options_of_compile(options, text):
    with pytest.raises(rc.CompileError, match=text):
        rc.compile(tiny(), **options)


def test_pipelines_and_files(tmp_path):
    module = tiny()
    with pytest.raises(rc.CompileError, match="no-such-pass"):
        module.run_pipeline("builtin.module(no-such-pass)")
    with pytest.raises(ValueError, match="emit='zip'"):
        module.save(tmp_path / "f", emit="zip")
    with pytest.raises(rc.CompileError, match="nowhere"):
        module.save(tmp_path / "nowhere" / "f.o", emit="obj")


def test_arrays_that_do_not_fit():
    program = rc.compile(tiny())
    x, w = np.zeros((1, 1, 5, 5), np.float32), np.zeros((1, 1, 3, 3), np.float32)
    with pytest.raises(TypeError, match="expected 2 inputs"):
        program(x, w, w)
    with pytest.raises(TypeError, match=r"input 0: expected f32 elements \(float32\), got float64"):
        program(x.astype(np.float64), w)
    with pytest.raises(ValueError, match=r"input 0: expected shape \(1, 1, 5, 5\), got \(1, 1, 5, 4\)"):
        program(x[..., :4], w)
    with pytest.raises(ValueError, match="output 0: expected shape"):
        program(x, w, out=x)
    with pytest.raises(ValueError, match="output 0: expected a writable, dense"):
        program(x, w, out=np.zeros((1, 1, 3, 6), np.float32)[..., ::2])
    with pytest.raises(TypeError, match="output 0: expected an array"):
        program(x, w, out=[0.0])
    with pytest.raises(IndexError, match="no rank 1"):
        program.box(1, program.inputs[0])


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda x: rc.conv2d(x, x, layout="NCWW"), "layout 'NCWW'"),
        (lambda x: rc.conv2d(x, x, stride=[1, 1, 1]), "stride has 3 entries for 2"),
        (lambda x: rc.conv2d(x, x, padding=[(1, 2, 3), 0]), "low and high"),
        (lambda x: rc.conv(x, x, dims="b f 0 x o i 0 -> b f 0"), "3 dimensions for tensor"),
        (lambda x: rc.conv(x, x, dims="b f 0 1 x o i 0 2 -> b f 0 1"), "no dimension '1'"),
        (lambda x: x + rc.pool2d("max", x, 2), "expected the same"),
        (lambda x: rc.reshard(x, [None]), "cut has 1 entries"),
    ],
)
def test_words_that_do_not_fit(call, text):
    with pytest.raises(ValueError, match=text):
        rc.func(call, rc.arg((1, 1, 5, 5)))


def test_arguments_that_do_not_fit():
    with pytest.raises(ValueError, match="dtype='f8'"):
        rc.arg((1,), "f8")
    with pytest.raises(ValueError, match="cut has 1 entries"):
        rc.arg((1, 1), cut=["w"])
    with pytest.raises(TypeError, match="got the string"):
        rc.cuts.cut_text("w")
    with pytest.raises(ValueError, match="results has 2 cuts for 1 results"):
        tiny(results=[None, None])
    with pytest.raises(rc.CompileError, match="sharding_c3"):
        rc.func(lambda x: rc.relu(x), rc.arg((4,), cut=["y"]), mesh={"x": 2})
