#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Runs gpusim's tests on a build: run.sh BUILD_FOLDER. The last line says how
# many checks passed and failed. FUZZ_COUNT (10000) sets the mutations.
build=${1:?usage: run.sh BUILD_FOLDER}
here=$(cd "$(dirname "$0")" && pwd)
export GPUSIM_LIBRARY_DIR="$build/lib/gpusim"
export GPUSIM_RUNNER="$build/bin/ringconv-gpusim"
export GPUSIM_RING="$build/bin/gpusim-ring" PYTHONDONTWRITEBYTECODE=1
export GPUSIM_HANDLERS="$build/bin/gpusim-handlers"
python=${PYTHON:-python3}
"$python" -c 'import numpy' 2>/dev/null || python=/usr/bin/python3
passed=0
failed=0

# Adds the "N passed, N failed" of a suite; a suite that dies has failed.
suite() {
  name=$1
  shift
  output=$("$@" 2>&1)
  line=$(printf '%s\n' "$output" | tail -n 1)
  case $output in
  *"Sanitizer: "* | *"runtime error: "*) # of a process that no test looks at
    failed=$((failed + 1))
    printf '%s\n' "$output"
    ;;
  esac
  case $line in
  *" passed, "*" failed")
    passed=$((passed + ${line%% passed*}))
    bad=${line#*passed, }
    failed=$((failed + ${bad%% failed*}))
    printf '%s\n' "$output" | grep '^skipped' | sed "s/^/$name: /"
    [ "${bad%% failed*}" = 0 ] || printf '%s\n' "$output"
    ;;
  *)
    failed=$((failed + 1))
    printf '%s: did not finish\n%s\n' "$name" "$output"
    ;;
  esac
  printf '%-10s %s\n' "$name" "$line"
}

if ! "$python" -c 'import numpy' 2>/dev/null; then
  echo "skipped: no Python with NumPy, only the fuzz test runs"
else
  kept=$(mktemp -d)
  trap 'rm -rf "$kept"' EXIT
  GPUSIM_KEEP_PTX=$kept suite opcodes "$python" "$here/opcodes.py"
  GPUSIM_KEEP_PTX=$kept suite hopper "$python" "$here/hopper.py"
  GPUSIM_KEEP_PTX=$kept suite handlers "$python" "$here/handlers.py"
  for name in kernels api mlir faults driver nccl ring counters cutlass; do
    suite "$name" "$python" "$here/$name.py"
  done
fi
suite fuzz "$build/bin/gpusim-fuzz" "${FUZZ_COUNT:-10000}" 1 \
  "$here/kernels.ptx" "$here/ring.ptx" "$here/hopper.ptx" "$here/mlir/kernels.ptx" "$here"/ptx/*.ptx
if [ -x "$build/bin/gpusim-abi" ]; then
  # It has passed by compiling.
  passed=$((passed + 1))
else
  echo "skipped: no cuda.h and nccl.h to compare the declarations with"
fi
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
