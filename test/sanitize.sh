#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Builds the runtime and gpusim with sanitizers of Clang and runs their tests:
# sanitize.sh BUILD_DIR [address|thread]; `address` is with `undefined`; both
# without a word. The compiler is not among them: MLIR's packages are not
# instrumented. CC and CXX name the compiler (clang-22 or clang).
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${1:?usage: sanitize.sh BUILD_DIR [address|thread]}" && pwd)/sanitize
kinds=${2:-address thread}
if [ -z "$CC" ]; then
  CC=clang CXX=clang++
  command -v clang-22 >/dev/null && CC=clang-22 CXX=clang++-22
fi
export CC CXX
passed=0
failed=0
reports=$(mktemp -d)
trap 'rm -rf "$reports"' EXIT

# part NAME COMMAND...: adds the counts of the command's last line. What a
# sanitizer wrote into $reports meanwhile counts as failed.
part() {
  name=$1
  shift
  output=$("$@" 2>&1)
  last=$(printf '%s\n' "$output" | tail -n 1)
  case $last in
  *" passed, "*" failed")
    good=${last%% passed*}
    bad=${last##*passed, }
    bad=${bad%% failed*}
    ;;
  *) # it did not come to its end
    good=0
    bad=1
    ;;
  esac
  for report in "$reports"/*; do
    [ -e "$report" ] || continue
    bad=$((bad + 1))
    head -n 40 "$report"
    rm "$report"
  done
  [ "$bad" = 0 ] || printf '%s\n' "$output"
  echo "$name: $good passed, $bad failed"
  passed=$((passed + good))
  failed=$((failed + bad))
}

# runtime KIND SANITIZERS
runtime() {
  cmake -S "$here/../runtime" -B "$build/$1/runtime" -DCMAKE_BUILD_TYPE=RelWithDebInfo -DRINGCONV_SANITIZE="$2" &&
    cmake --build "$build/$1/runtime" --parallel "${JOBS:-2}" --target ringconv-runtime-tests &&
    sh "$here/Runtime/run.sh" "$build/$1/runtime" --no-mpi
}

# MPI programs leak on purpose, and MPI itself is not instrumented, which rules
# out `thread`. MPICH is no use under `address`: its start dies of it.
open_mpi() {
  set -- --oversubscribe -n 4
  [ "$(id -u)" -eq 0 ] && set -- "$@" --allow-run-as-root
  ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0 mpirun.openmpi "$@" "$build/address/runtime/bin/ringconv-exchange-test"
}

for kind in $kinds; do
  sanitizers=$kind
  [ "$kind" = address ] && sanitizers=address,undefined
  if ! echo 'int main(void) { return 0; }' | $CC -fsanitize="$sanitizers" -x c - -o "$reports/probe" 2>/dev/null; then
    echo "left out: $kind: $CC has no sanitizers (libclang-rt-22-dev)"
    continue
  fi
  rm "$reports/probe"
  for family in ASAN UBSAN TSAN; do
    export "${family}_OPTIONS=log_path=$reports/report:print_stacktrace=1"
  done
  part "runtime, $kind" runtime "$kind" "$sanitizers"
  if [ "$kind" = address ] && command -v mpirun.openmpi >/dev/null; then
    part "runtime under Open MPI, $kind" open_mpi
  fi
  # It has planted races and looks at the reports itself.
  part "gpusim, $kind" sh "$here/../gpusim/test/sanitize.sh" "$sanitizers" "$build/$kind/gpusim"
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
