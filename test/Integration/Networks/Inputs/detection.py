# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""detection.py NETWORKS RINGCONV_RUN OUT: runs examples/text where its network
has been fetched; without it, CI fails and others are told so."""
import os
import subprocess
import sys

networks, tool, out = sys.argv[1:]
example = os.path.join(os.path.dirname(os.path.abspath(__file__)), *[".."] * 4, "examples", "text", "text.py")
if not os.path.exists(os.path.join(networks, "complete")):
    print("left out: the text-detection network is not there (scripts/networks.sh fetches it)")
    sys.exit(1 if os.environ.get("CI") == "true" else 0)
python = os.path.join(networks, "venv", "bin", "python")
for number, flags in enumerate((["--width=960", "--mesh=w=4"], ["--width=928", "--mesh=h=2,w=2"])):
    subprocess.run([python, example, tool, networks, os.path.join(out, str(number)), *flags], check=True)
