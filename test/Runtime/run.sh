#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Runs all tests of the host runtime: run.sh BUILD_DIR [--no-mpi]
# Each test prints 'N passed, N failed'; so does this script at its end. Parts
# whose MPI is missing are left out with one line.
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${1:?usage: run.sh BUILD_DIR [--no-mpi]}" && pwd)
bin=$build/bin
total_passed=0
total_failed=0

# run NAME COMMAND...: adds the counts of the command's last line.
run() {
  name=$1
  shift
  output=$("$@" 2>&1 </dev/null)
  code=$?
  last=$(printf '%s\n' "$output" | tail -n 1)
  case $last in
  *" passed, "*" failed")
    passed=${last%% passed*}
    failed=${last##*passed, }
    failed=${failed%% failed*}
    ;;
  *) # it did not come to its end
    passed=0
    failed=1
    ;;
  esac
  if [ "$code" -ne 0 ] && [ "$failed" -eq 0 ]; then
    failed=1
  fi
  if [ "$failed" -ne 0 ]; then
    printf '%s\n' "$output"
    echo "$name: exit code $code"
  else
    printf '%s\n' "$output" | grep '^left out' | sed "s/^/$name: /"
  fi
  echo "$name: $passed passed, $failed failed"
  total_passed=$((total_passed + passed))
  total_failed=$((total_failed + failed))
}

run data "$bin/ringconv-data-test"
run exchange "$bin/ringconv-exchange-test"
run failure "$bin/ringconv-failure-test"
if [ "$2" = --no-mpi ]; then
  run driver python3 "$here/driver_test.py" "$bin/ringconv-stencil-test" "$build/lib" threads
else
  run driver python3 "$here/driver_test.py" "$bin/ringconv-stencil-test" "$build/lib"
  for mpi in openmpi mpich; do
    if ! command -v "mpirun.$mpi" >/dev/null || [ ! -e "$build/lib/libringconv_mpi_$mpi.so" ]; then
      echo "left out: exchange under $mpi (no mpirun.$mpi or no libringconv_mpi_$mpi.so)"
      continue
    fi
    flags=
    if [ "$mpi" = openmpi ]; then
      flags=--oversubscribe
      [ "$(id -u)" -eq 0 ] && flags="$flags --allow-run-as-root"
    fi
    for ranks in 1 2 4 5 8; do
      run "exchange, $mpi, $ranks processes" "mpirun.$mpi" $flags -n $ranks "$bin/ringconv-exchange-test"
    done
  done
fi
echo "$total_passed passed, $total_failed failed"
[ "$total_failed" -eq 0 ]
