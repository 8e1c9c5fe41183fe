#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Speed of the interpreter on one core with all checks on: run.sh BUILD_FOLDER.
# A 3x3 convolution of 64 to 64 channels on 56x56 pixels, in f32 on fused
# multiply-adds and in f16 on tensor cores, and two kernels of nvcc.
speed=${1:?usage: run.sh BUILD_FOLDER}/bin/gpusim-speed
here=$(cd "$(dirname "$0")" && pwd)
measure() {
  name=$1
  shift
  printf '%-20s ' "$name"
  "$speed" "$@" | head -n 1
}
pixels=$((64 * 56 * 56))
measure "f32 convolution" "$here/conv-f32-56x56.ptx" conv 25,1,1 128,1,1 18432 1 \
  $((pixels * 4)) $((9 * 64 * 64 * 4)) 256 $((pixels * 4))
measure "f16 convolution" "$here/conv-f16-56x56.ptx" conv 13,1,1 128,1,1 81920 1 \
  $((pixels * 2)) $((9 * 64 * 64 * 2)) 256 $((pixels * 2))
measure "vector add" "$here/../test/kernels.ptx" vectorAdd 10000,1,1 256,1,1 0 1 \
  10240000 10240000 10240000 i2560000
measure "tiled matmul" "$here/../test/kernels.ptx" matmul 16,16,1 16,16,1 0 1 \
  262144 262144 262144 i256 i256 i256
