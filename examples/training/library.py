# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A compiled training step as a C library, called by ctypes: a thread for each rank, each with its own shards."""
import ctypes
import os
import subprocess
import threading

import numpy as np

THREADS = 0


class World(ctypes.Structure):
    """ringconv_world of the library's header."""

    _fields_ = [("rank", ctypes.c_int64), ("size", ctypes.c_int64), ("transport", ctypes.c_int32),
                ("team", ctypes.c_void_p), ("mpi_comm", ctypes.c_int32), ("device", ctypes.c_int32),
                ("nccl_comm", ctypes.c_void_p)]


def compile_step(bin_folder, source, folder, name, mesh):
    """Differentiates and compiles `source` (text) for a mesh; the path of the library."""
    path = os.path.join(folder, name)
    with open(path + ".mlir", "w") as file:
        file.write(source)
    opt, compiler = (os.path.join(bin_folder, tool) for tool in ("ringconv-opt", "ringconv-compile"))
    subprocess.run([opt, path + ".mlir", "--ringconv-differentiate=train", "-o", path + ".train.mlir"], check=True)
    subprocess.run([compiler, path + ".train.mlir", "--entry=main_train", "--emit=lib", f"--mesh={mesh}",
                    "--target-cpu=native", "-o", path + ".so"], check=True)
    return path + ".so"


class Step:
    """The library's function: run(inputs of each rank) -> outputs of each rank. `shapes` are those of the whole
    arrays, inputs first; boxes[rank][operand] is the part that a rank owns, as slices."""

    def __init__(self, path, ranks, dtype, shapes, num_inputs):
        self.library = ctypes.CDLL(os.path.abspath(path))
        self.dtype, self.num_inputs, self.ranks = dtype, num_inputs, ranks
        for name in ("team_create", "error"):
            getattr(self.library, f"main_train_{name}").restype = ctypes.c_void_p
        self.team = ctypes.c_void_p(self._function("team_create")(ctypes.c_int64(ranks)))
        self.worlds = [World(rank, ranks, THREADS, self.team, 0, 0, None) for rank in range(ranks)]
        self.boxes = [[self._box(world, i, len(shape)) for i, shape in enumerate(shapes)] for world in self.worlds]
        self.sessions = [ctypes.c_void_p() for _ in range(ranks)]
        self.outputs = [[np.empty([s.stop - s.start for s in box], dtype) for box in boxes[num_inputs:]]
                        for boxes in self.boxes]
        self._each(self._create)

    def _function(self, name):
        return getattr(self.library, f"main_train_{name}")

    def _box(self, world, operand, rank):
        offsets, sizes = (ctypes.c_int64 * rank)(), (ctypes.c_int64 * rank)()
        if self._function("shard")(ctypes.byref(world), operand, offsets, sizes):
            raise RuntimeError(f"operand {operand} has no box")
        return tuple(slice(o, o + s) for o, s in zip(offsets, sizes))

    def _each(self, body):
        """body(rank) in a thread for each rank; their first error is raised."""
        errors = []

        def guarded(rank):
            try:
                body(rank)
            except Exception as error:
                errors.append(error)

        threads = [threading.Thread(target=guarded, args=(rank,)) for rank in range(self.ranks)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if errors:
            raise errors[0]

    def _check(self, rank, code):
        if code:
            text = ctypes.string_at(self._function("error")(self.sessions[rank])) if self.sessions[rank] else b""
            raise RuntimeError(text.decode() or f"error {code}")

    def _create(self, rank):
        self._check(rank, self._function("create")(ctypes.byref(self.sessions[rank]), ctypes.byref(self.worlds[rank]),
                                                   None))

    def run(self, inputs):
        def call(rank):
            arrays = [np.ascontiguousarray(a, self.dtype) for a in inputs[rank]]
            pointers = lambda arrays: (ctypes.c_void_p * len(arrays))(*[a.ctypes.data for a in arrays])
            self._check(rank, self._function("run")(self.sessions[rank], None, pointers(arrays),
                                                    pointers(self.outputs[rank])))

        self._each(call)
        return self.outputs

    def close(self):
        self._each(lambda rank: self._function("destroy")(self.sessions[rank]))
        self._function("team_destroy")(self.team)
