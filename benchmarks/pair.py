# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times one layer, ours and peers in turn, in this process. Started by compare.py with a JSON file; prints JSON.

Every side runs on the same core with one thread (ours: one per rank). A round runs each side once, for about `slice_ms`;
ratios are taken within rounds. The first results are compared, so that all sides do the same work.
"""
import ctypes
import json
import os
import statistics
import sys

import numpy as np

import layers


Numbers = ctypes.c_int64 * 12   # dnnl_dims_t


class Layer(ctypes.Structure):
    """struct layer of peers/onednn.c"""
    _fields_ = ([(n, ctypes.c_int64) for n in ("spatial", "batch", "in", "out", "groups")] +
                [(n, Numbers) for n in ("size", "outputs", "taps", "stride", "pad", "dilation")] +
                [(n, ctypes.c_int64) for n in ("kind", "features_last", "circular", "own_layouts")])

    def __init__(self, layer, own_layouts):
        super().__init__(len(layer["taps"]), layer["batch"], layer["input"][0], layer["out"], layer["groups"],
                         Numbers(*layer["input"][1:]), Numbers(*layer["outputs"]), Numbers(*layer["taps"]),
                         Numbers(*layer["stride"]), Numbers(*layer["pad"]), Numbers(*layer["dilation"]),
                         ("forward", "dx", "dw").index(layer["pass"]), layer["layout"] == "last",
                         layer["border"] == "circular", own_layouts)


def pointers(arrays):
    return (ctypes.c_void_p * len(arrays))(*[a.ctypes.data for a in arrays])


class Repeat:
    """peers/repeat.c"""

    def __init__(self, path, cores):
        self.library = ctypes.CDLL(path)
        self.library.repeat.restype = ctypes.c_double
        self.cores = cores

    def seconds(self, count, function, states):
        cores = (ctypes.c_int32 * len(states))(*[self.cores[t % len(self.cores)] for t in range(len(states))])
        address = ctypes.cast(function, ctypes.c_void_p)
        result = self.library.repeat(ctypes.c_int64(len(states)), cores, ctypes.c_int64(count), address,
                                     (ctypes.c_void_p * len(states))(*states))
        if result < 0:
            sys.exit("a timed call failed")
        return result


class World(ctypes.Structure):
    _fields_ = [("rank", ctypes.c_int64), ("size", ctypes.c_int64), ("transport", ctypes.c_int32),
                ("team", ctypes.c_void_p), ("mpi_comm", ctypes.c_int32), ("device", ctypes.c_int32),
                ("nccl_comm", ctypes.c_void_p)]


class SessionCall(ctypes.Structure):
    """struct session_call of peers/repeat.c"""
    _fields_ = [("run", ctypes.c_void_p), ("session", ctypes.c_void_p), ("inputs", ctypes.c_void_p),
                ("outputs", ctypes.c_void_p)]


class Ours:
    """A library of ringconv-compile --emit=lib, all ranks as threads."""

    def __init__(self, path, repeat, spec, arrays):
        self.library, self.repeat, self.ranks = ctypes.CDLL(path), repeat, spec["ranks"]
        self.library.main_team_create.restype = ctypes.c_void_p
        self.library.main_error.restype = ctypes.c_char_p
        team = ctypes.c_void_p(self.library.main_team_create(ctypes.c_int64(self.ranks)))
        self.parameter = spec["layer"]["pass"] != "dw"
        self.sessions = [self.open(r, team, arrays) for r in range(self.ranks)]
        self.function = repeat.library.call_session

    def box(self, world, operand, array):
        offsets, sizes = ((ctypes.c_int64 * array.ndim)() for _ in range(2))
        if self.library.main_shard(ctypes.byref(world), operand, offsets, sizes):
            sys.exit("no shard")
        return tuple(slice(o, o + s) for o, s in zip(offsets, sizes))

    def open(self, rank, team, arrays):
        a, b, result = arrays
        world = World(rank, self.ranks, 0, team, 0, -1, None)
        session = ctypes.c_void_p()
        self.check(session, self.library.main_create(ctypes.byref(session), ctypes.byref(world), None))
        a = np.ascontiguousarray(a[self.box(world, 0, a)])
        b = np.ascontiguousarray(b[self.box(world, 1, b)])
        out = self.box(world, 2, result)
        y = np.zeros_like(result[out])
        parameters, inputs = (pointers([b]), pointers([a])) if self.parameter else (None, pointers([a, b]))
        if parameters:
            self.check(session, self.library.main_set_parameters(session, parameters))
        outputs = pointers([y])
        call = SessionCall(ctypes.cast(self.library.main_run, ctypes.c_void_p), session,
                           ctypes.cast(inputs, ctypes.c_void_p), ctypes.cast(outputs, ctypes.c_void_p))
        return {"keep": (a, b, parameters, inputs, outputs), "y": y, "box": out, "call": call}

    def check(self, session, code):
        if code:
            sys.exit(self.library.main_error(session).decode())

    def seconds(self, count):
        return self.repeat.seconds(count, self.function, [ctypes.addressof(s["call"]) for s in self.sessions])

    def result(self, like):
        whole = np.empty_like(like)
        for s in self.sessions:
            whole[s["box"]] = s["y"]
        return whole


class OneDNN:
    """peers/onednn.c"""

    def __init__(self, path, repeat, spec, arrays, own_layouts):
        self.library, self.repeat = ctypes.CDLL(path), repeat
        self.library.onednn_create.restype = ctypes.c_void_p
        self.library.onednn_chosen.restype = ctypes.c_char_p
        self.arrays, self.out = arrays, np.zeros_like(arrays[2])
        a, b, y = arrays[0], arrays[1], self.out
        # As x, w, y of the forward convolution.
        x, w, y = {"forward": (a, b, y), "dx": (y, b, a), "dw": (a, y, b)}[spec["layer"]["pass"]]
        self.state = self.library.onednn_create(ctypes.byref(Layer(spec["layer"], own_layouts)),
                                                *[ctypes.c_void_p(v.ctypes.data) for v in (x, w, y)])
        if not self.state:
            raise RuntimeError("onednn does not take this layer")

    def seconds(self, count):
        return self.repeat.seconds(count, self.library.onednn_call, [self.state])

    def result(self, _):
        self.library.onednn_finish(ctypes.c_void_p(self.state))
        return self.out

    def about(self):
        numbers = (ctypes.c_int32 * 3)()
        self.library.onednn_version(numbers)
        chosen = self.library.onednn_chosen(ctypes.c_void_p(self.state)).decode()
        return "oneDNN " + ".".join(map(str, numbers)), chosen


class OnnxRuntime:
    """One session of ONNX Runtime with one thread, its arrays bound."""

    def __init__(self, spec, arrays):
        import onnx
        import onnxruntime as ort
        layer = spec["layer"]
        if layer["pass"] != "forward" or layer["layout"] != "first" or layer["border"] != "zero":
            raise RuntimeError("ONNX has no such convolution")
        x, w, _ = arrays
        node = onnx.helper.make_node("Conv", ["x", "w"], ["y"], strides=layer["stride"], group=layer["groups"],
                                     pads=layer["pad"] * 2, dilations=layer["dilation"])
        kind = onnx.TensorProto.FLOAT
        graph = onnx.helper.make_graph([node], "layer", [onnx.helper.make_tensor_value_info("x", kind, x.shape)],
                                       [onnx.helper.make_tensor_value_info("y", kind, arrays[2].shape)],
                                       [onnx.numpy_helper.from_array(w, "w")])
        model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
        options = ort.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self.session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        self.out = np.zeros_like(arrays[2])
        self.binding = self.session.io_binding()
        self.binding.bind_ortvalue_input("x", ort.OrtValue.ortvalue_from_numpy(x))
        self.binding.bind_output("y", "cpu", 0, np.float32, self.out.shape, self.out.ctypes.data)
        self.version = "ONNX Runtime " + ort.__version__

    def seconds(self, count):
        import time
        begin = time.perf_counter()
        for _ in range(count):
            self.session.run_with_iobinding(self.binding)
        return (time.perf_counter() - begin) / count

    def result(self, _):
        return self.out

    def about(self):
        return self.version, ""


def make_peer(name, spec, repeat, arrays):
    if name == "onnxruntime":
        return OnnxRuntime(spec, arrays)
    if name == "onednn-own" and spec["layer"]["border"] != "zero":
        raise RuntimeError("its own layouts have no circular border")
    return OneDNN(spec["onednn"], repeat, spec, arrays, own_layouts=name == "onednn-own")


def arrays_of(layer):
    rng = np.random.default_rng(0)
    x, w, y = (rng.standard_normal(s, np.float32) for s in layers.shapes(layer))
    return {"forward": (x, w, y), "dx": (y, w, x), "dw": (x, y, w)}[layer["pass"]]


def agree(ours, theirs, name):
    scale = np.abs(theirs).max()
    error = np.abs(ours - theirs).max() / scale
    if not error < 1e-3:
        sys.exit(f"ours and {name} differ by {error:.2g} of the greatest value")


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        spec = json.load(f)
    os.sched_setaffinity(0, {spec["cores"][0]})
    repeat = Repeat(spec["repeat"], spec["cores"])
    arrays = arrays_of(spec["layer"])
    sides, about, refused = {"ours": Ours(spec["library"], repeat, spec, arrays)}, {}, {}
    for name in spec["peers"]:
        try:
            sides[name] = make_peer(name, spec, repeat, arrays)
            about[name] = sides[name].about()
        except RuntimeError as e:
            refused[name] = str(e)
    counts, times = {}, {name: [] for name in sides}
    for name, side in sides.items():
        side.seconds(1)
        counts[name] = max(1, round(spec["slice_ms"] / 1e3 / side.seconds(2)))
        if name != "ours":
            agree(sides["ours"].result(arrays[2]), side.result(arrays[2]), name)
    for _ in range(spec["rounds"]):
        for name, side in sides.items():
            times[name].append(side.seconds(counts[name]))
    json.dump(summary(layers.operations(spec["layer"]), times, about) | {"refused": refused}, sys.stdout)


def summary(flops, times, about):
    """Medians, the median of the rounds' ratios, and, less disturbed by other programs, the ratio of the best times."""
    def side(seconds):
        return {"ms": statistics.median(seconds) * 1e3, "best_ms": min(seconds) * 1e3,
                "gflops": flops / statistics.median(seconds) / 1e9}
    ours = times.pop("ours")
    return {"ours": side(ours),
            "peers": {name: side(t) | {"ratio": statistics.median(theirs / mine for theirs, mine in zip(t, ours)),
                                       "best_ratio": min(t) / min(ours), "version": about[name][0],
                                       "chosen": about[name][1]} for name, t in times.items()}}


if __name__ == "__main__":
    main()
