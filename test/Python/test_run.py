# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs built in Python, run on several ranks, against NumPy."""
import threading

import numpy as np
import pytest
import ringconv as rc
from conftest import conv2d, max_pool2d


def close(a, b, tolerance=1e-5):
    assert a.shape == b.shape
    assert np.abs(a - b).max() <= tolerance * max(1, np.abs(b).max())


# 13 columns over 4 ranks: 4 + 3 + 3 + 3; over 7: 2 2 2 2 2 2 1, halos of the
# dilated window reach over two ranks.
@pytest.mark.parametrize("ranks", [1, 2, 4, 7])
@pytest.mark.parametrize("stride, padding, dilation", [(1, 1, 1), (2, 3, 1), (1, 2, 3)])
def test_conv2d(random, ranks, stride, padding, dilation):
    x, w, b = random(2, 3, 9, 13), random(5, 3, 3, 3), random(5)
    module = rc.func(
        lambda x, w, b: rc.conv2d(x, w, b, stride=stride, padding=padding, dilation=dilation),
        rc.arg(x.shape, cut=[None, None, None, "w"]), rc.parameter(w.shape), rc.parameter(b.shape), mesh={"w": ranks},
    )  # fmt: skip
    program = rc.compile(module)
    assert program.num_ranks == ranks
    close(program(x, w, b), conv2d(x, w, b, stride, padding, dilation))


def test_network_on_a_mesh_of_two_axes(random):
    x, w = random(2, 3, 12, 12), random(4, 3, 5, 5)

    def network(x, w):
        y = rc.relu(rc.conv2d(x, w, padding=2) * 0.5 - 0.25)
        return rc.pool2d("max", y, 3, stride=2, padding=1), y

    images = [None, None, "h", "w"]
    module = rc.func(network, rc.arg(x.shape, cut=images), rc.parameter(w.shape), mesh={"h": 2, "w": 3},
                     results=[images, None])  # fmt: skip
    pooled, y = rc.compile(module)(x, w)
    expected = np.maximum(conv2d(x, w, padding=2) * 0.5 - 0.25, 0)
    close(y, expected)
    close(pooled, max_pool2d(expected, 3, 2, 1))


def test_layouts_groups_and_given_cuts(random):
    x, w = random(1, 6, 11, 4), random(3, 3, 2, 8)  # NHWC, HWIO with two groups
    cut = [None, None, rc.At("x", [0, 2, 9, 11]), None]
    module = rc.func(
        lambda x, w: rc.conv2d(x, w, padding=[1, (1, 0)], groups=2, layout="NHWC", filter_layout="HWIO"),
        rc.arg(x.shape, cut=cut), rc.parameter(w.shape), mesh={"x": 3},
    )  # fmt: skip
    program = rc.compile(module)
    assert [program.box(r, program.inputs[0])[2] for r in range(3)] == [slice(0, 2), slice(2, 9), slice(9, 11)]
    halves = [
        conv2d(x[..., 2 * g : 2 * g + 2].transpose(0, 3, 1, 2), w[..., 4 * g : 4 * g + 4].transpose(3, 2, 0, 1), None,
               1, 1) for g in (0, 1)
    ]  # fmt: skip
    expected = np.concatenate(halves, 1)[..., :-1].transpose(0, 2, 3, 1)  # one column less padding
    close(program(x, w), expected)


def test_average_and_borders(random):
    x = random(1, 1, 1, 10)
    module = rc.func(
        lambda x: rc.pool2d("avg", x, [1, 3], stride=1, padding=[0, (1, 1)], border=["zero", "circular"]),
        rc.arg(x.shape, cut=[None, None, None, "w"]), mesh={"w": 5},
    )  # fmt: skip
    expected = (np.roll(x, 1, 3) + x + np.roll(x, -1, 3)) / 3
    close(rc.compile(module)(x), expected)


def test_parameters_stay_and_outputs_are_given(random):
    x, w = random(1, 2, 8, 8), random(3, 2, 3, 3)
    program = rc.compile(
        rc.func(lambda x, w: rc.conv2d(x, w), rc.arg(x.shape, cut=[None, None, "h", None]), rc.parameter(w.shape),
                mesh={"h": 2}))  # fmt: skip
    ranks = program.ranks()
    with pytest.raises(TypeError, match="expected 2 inputs, got 1"):
        ranks.run(x)
    ranks.set_parameters(w)
    out = np.empty((1, 3, 6, 6), np.float32)
    assert ranks.run(x, out=out) is out
    close(out, conv2d(x, w))
    close(ranks.run(2 * x), conv2d(2 * x, w))
    close(ranks.run(x, 3 * w), conv2d(x, 3 * w))
    assert ranks.counters(1)["messages_sent"] == 3


def test_reference(random):
    x, w = random(1, 2, 8, 8), random(3, 2, 3, 3)
    module = rc.func(lambda x, w: rc.conv2d(x, w), rc.arg(x.shape, cut=[None, None, "h", None]),
                     rc.parameter(w.shape), mesh={"h": 2})  # fmt: skip
    close(rc.compile(module, reference=True).reference(x, w), conv2d(x, w))
    with pytest.raises(rc.RunError, match="reference=True"):
        rc.compile(module).reference(x, w)


def test_other_extents_and_plain_loops(random):
    x, w = random(1, 2, 8, 8), random(8, 2, 3, 3)
    module = rc.func(lambda x, w: rc.conv2d(x, w), rc.arg(x.shape, cut=[None, None, "h", None]),
                     rc.parameter(w.shape), mesh={"h": 2})  # fmt: skip
    program = rc.compile(module, mesh={"h": 3}, vectorize=False, overlap=False)
    assert program.num_ranks == 3 and '"operations"' in program.report
    close(program(x, w), conv2d(x, w))


@pytest.mark.parametrize("dtype, tolerance", [("f64", 1e-12), ("f16", 2e-3)])
def test_element_types(random, dtype, tolerance):
    kind = {"f64": np.float64, "f16": np.float16}[dtype]
    x, w = random(1, 2, 8, 8).astype(kind), random(3, 2, 3, 3).astype(kind)
    program = rc.compile(rc.func(lambda x, w: rc.conv2d(x, w), rc.arg(x.shape, dtype), rc.parameter(w.shape, dtype)))
    close(program(x, w), conv2d(x, w), tolerance)


def test_integers(random):
    x = np.arange(64, dtype=np.int8).reshape(1, 1, 8, 8) - 30
    w = np.array([3, -2, 1, 0], np.int8).reshape(1, 1, 2, 2)
    module = rc.func(lambda x, w: rc.conv2d(x, w, dtype="i32"), rc.arg(x.shape, "i8", cut=[None, None, "h", None]),
                     rc.arg(w.shape, "i8"), mesh={"h": 3})  # fmt: skip
    y = rc.compile(module)(x, w)
    assert y.dtype == np.int32 and (y == conv2d(x, w)).all()


def test_calls_from_many_threads(random):
    """Long calls let other threads run, and do not disturb each other."""
    x, w = random(1, 8, 48, 48), random(16, 8, 3, 3)
    module = rc.func(lambda x, w: rc.conv2d(x, w, padding=1), rc.arg(x.shape, cut=[None, None, "h", None]),
                     rc.parameter(w.shape), mesh={"h": 2})  # fmt: skip
    program = rc.compile(module)
    expected, wrong = program(x, w), []

    def work():
        ranks = program.ranks()
        for _ in range(5):
            if not (ranks.run(x, w) == expected).all() or not (program(x, w) == expected).all():
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_the_gil_is_released_while_running():
    x, w = np.zeros((1, 8, 400, 400), np.float32), np.zeros((16, 8, 3, 3), np.float32)
    module = rc.func(lambda x, w: rc.conv2d(x, w, padding=1), rc.arg(x.shape), rc.parameter(w.shape))
    program = rc.compile(module, vectorize=False)
    about_to_run, events = threading.Event(), []

    def work():
        about_to_run.set()
        program(x, w)
        events.append("ran")

    thread = threading.Thread(target=work)
    thread.start()
    about_to_run.wait()
    events.append("main")  # holding the GIL, this would come second
    thread.join()
    assert events == ["main", "ran"]
