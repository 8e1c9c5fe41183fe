# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One rank per process, local shards in and out."""
import os
import shutil
import subprocess
import sys

import pytest

pytest.importorskip("mpi4py", reason="left out: ranks under mpirun (no mpi4py)")
launcher = shutil.which("mpirun.openmpi") or shutil.which("mpirun")
pytestmark = [
    pytest.mark.skipif(launcher is None, reason="left out: ranks under mpirun (no mpirun)"),
    pytest.mark.skipif(os.environ.get("RINGCONV_TEST_LEVEL") == "quick", reason="not in the quick suite"),
]

PROGRAM = """
import sys
from mpi4py import MPI
import numpy as np, ringconv as rc
sys.path.insert(0, sys.argv[1])
from conftest import conv2d

comm = MPI.COMM_WORLD
random = np.random.default_rng(3)
x, w = (random.uniform(-1, 1, s).astype(np.float32) for s in ((1, 2, 7, 11), (3, 2, 3, 3)))
cut = [None, None, None, "w"]
module = rc.func(lambda x, w: rc.conv2d(x, w, padding=1), rc.arg(x.shape, cut=cut), rc.parameter(w.shape),
                 mesh={"w": 3}, results=[cut])
program = rc.compile(module)
local = program.local(comm)
local.set_parameters(w)
for factor in (1, 2):
    y = local.run(factor * x[local.box(program.inputs[0])])
    expected = conv2d(factor * x, w, padding=1)[local.box(program.outputs[0])]
    assert y.shape == expected.shape and np.abs(y - expected).max() < 1e-5, comm.rank
assert local.counters()["messages_sent"] == 2 * (1 if comm.rank in (0, 2) else 2)
total = comm.allreduce(1)
if comm.rank == 0:
    print(total, "ranks agree")
"""


def mpirun(processes):
    flags = ["--oversubscribe"] if "openmpi" in os.path.realpath(launcher) or "orte" in os.path.realpath(launcher) else []
    if flags and os.geteuid() == 0:
        flags.append("--allow-run-as-root")
    here = os.path.dirname(os.path.abspath(__file__))
    return subprocess.run([launcher, *flags, "-n", str(processes), sys.executable, "-c", PROGRAM, here],
                          capture_output=True, text=True)  # fmt: skip


def test_three_processes():
    done = mpirun(3)
    assert done.returncode == 0 and "3 ranks agree" in done.stdout, done.stderr


def test_a_mesh_of_another_size():
    done = mpirun(2)
    assert done.returncode != 0
    assert 'mesh <["w" = 3]> has size 3, but the number of MPI processes is 2' in done.stderr
