# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""detection.py NETWORKS RINGCONV_RUN OUT [--all]: runs examples/text where its
network has been fetched, on two meshes or (--all) on the others; without it, CI
fails and others are told so."""
import os
import subprocess
import sys

networks, tool, out, *others = sys.argv[1:]
example = os.path.join(os.path.dirname(os.path.abspath(__file__)), *[".."] * 4, "examples", "text", "text.py")
if not os.path.exists(os.path.join(networks, "complete")):
    print("left out: the text-detection network is not there (scripts/networks.sh fetches it)")
    sys.exit(1 if os.environ.get("CI") == "true" else 0)
python = os.path.join(networks, "venv", "bin", "python")
photo = "--photo=" + os.path.join(networks, "page.png")
runs = [["--width=960", "--mesh=w=4"], ["--width=928", "--mesh=h=2,w=2", photo]]
if others:
    runs = [["--width=960", "--mesh=h=2,w=2"], ["--width=928", "--mesh=w=4", photo]]
    runs += [[f"--width={width}", f"--mesh=w={ranks}", photo] for width in (960, 928) for ranks in (2, 3)]
for number, flags in enumerate(runs):
    subprocess.run([python, example, tool, networks, os.path.join(out, str(number)), *flags], check=True)
