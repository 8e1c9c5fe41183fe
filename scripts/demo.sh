#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# scripts/demo.sh [flags for ringconv-run]: builds ringconv-run and runs the
# photograph of examples/photo on four ranks, then the text-detection network of
# examples/text if it can be fetched. Pictures: build/photo/ and build/text/.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

find_missing
say "demo: 4 steps: setup with $(packages_phrase), $(build_phrase ringconv-run), photograph (10 s, 15 MB), text (30 s)"
say "[1/4] setup"
"$top/scripts/setup.sh"
say "[2/4] build"
build_targets ringconv-run
say "[3/4] photograph"
"$venv_python" "$top/examples/photo/photo.py" "$build/bin/ringconv-run" "$build/photo" "$@"
say "[4/4] text on a page, by a whole network"
if "$top/scripts/networks.sh"; then
  "$build/networks/venv/bin/python" "$top/examples/text/text.py" "$build/bin/ringconv-run" "$build/networks" "$build/text"
  say "the picture is $build/text/text.png"
fi
