#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# scripts/test.sh [--quick|--long]: builds everything and runs the tests.
#   --quick   under a minute once built: no MPI, no test that takes seconds
#   (none)    all that is expected of a change
#   --long    also tests of many minutes
# The last line is 'N passed, N failed'.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

level=default
for word in "$@"; do
  case $word in
  --quick) level=quick ;;
  --long) level=long ;;
  *) die "unknown word '$word', expected --quick or --long" ;;
  esac
done
case $level in
quick) length="under a minute" ;;
default) length="2 to 20 minutes" ;;
long) length="an hour or more" ;;
esac

find_missing
say "tests ($level): 3 steps: setup with $(packages_phrase), $(build_phrase ringconv-compile), tests ($length)"
say "[1/3] setup"
"$top/scripts/setup.sh"
if [[ $level != quick ]]; then "$top/scripts/networks.sh" || true; fi
say "[2/3] build"
build_targets all ringconv-test-depends
say "[3/3] tests"
exec "$venv_python" "$top/test/check.py" "$build/test/check.json" "--level=$level" "--jobs=$(nproc)"
