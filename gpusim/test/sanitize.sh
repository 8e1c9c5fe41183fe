#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Builds gpusim with sanitizers of Clang and runs its tests on that:
# sanitize.sh address,undefined|thread BUILD_FOLDER. CXX and CC name the
# compiler (clang++, clang). Findings appear as failed checks.
set -e
kind=${1:?usage: sanitize.sh address,undefined|thread BUILD_FOLDER}
build=${2:?usage: sanitize.sh address,undefined|thread BUILD_FOLDER}
here=$(cd "$(dirname "$0")" && pwd)
CXX=${CXX:-clang++} CC=${CC:-clang}
export CXX CC
cmake -S "$here/.." -B "$build" -DGPUSIM_SANITIZE="$kind" > /dev/null
cmake --build "$build" -j "${JOBS:-2}" > /dev/null
case $kind in
thread) runtime=tsan ;;
*) runtime=asan ;;
esac
# Python leaks on purpose; tests fork while threads run, ask for far too much
# memory, and expect SIGSEGV.
export ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:handle_segv=0
# Kernels that race on purpose race in the host's memory, too: their tests read
# on, while those of correct code fail if they see any report.
export TSAN_OPTIONS=die_after_fork=0:handle_segv=0:exitcode=0
export UBSAN_OPTIONS=print_stacktrace=1
export FUZZ_COUNT="${FUZZ_COUNT:-1000}"
LD_PRELOAD=$("$CXX" -print-file-name="libclang_rt.$runtime-$(uname -m).so") sh "$here/run.sh" "$build"
