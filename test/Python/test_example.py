# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import pathlib
import subprocess
import sys

import pytest

EXAMPLE = pathlib.Path(__file__).parents[2] / "examples" / "python" / "halos.py"


def run(*flags):
    return subprocess.run([sys.executable, EXAMPLE, *flags], capture_output=True, text=True)


def test_sharded_and_unsharded():
    done = run("--ranks=5")
    assert done.returncode == 0, done.stderr
    assert "5 ranks and one rank: bit-identical" in done.stdout and "rank 4 owns columns [36, 45)" in done.stdout


def test_plot(tmp_path):
    pytest.importorskip("matplotlib", reason="left out: the plot of halos (no matplotlib)")
    done = run(f"--plot={tmp_path / 'halos.png'}")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "halos.png").read_bytes()[:4] == b"\x89PNG"
