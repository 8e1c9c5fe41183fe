#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# scripts/demo.sh [flags for ringconv-run]: builds ringconv-run and runs the
# photograph of examples/photo on four ranks. Pictures: build/photo/.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

find_missing
say "demo: 3 steps: setup with $(packages_phrase), $(build_phrase ringconv-run), photograph (10 s, 15 MB)"
say "[1/3] setup"
"$top/scripts/setup.sh"
say "[2/3] build"
build_targets ringconv-run
say "[3/3] photograph"
"$venv_python" "$top/examples/photo/photo.py" "$build/bin/ringconv-run" "$build/photo" "$@"
