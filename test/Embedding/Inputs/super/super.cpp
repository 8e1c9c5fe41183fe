// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ringconv/Halo/Halo.h"
#include <cstdio>

int main() {
  ringconv::halo::Interval last = ringconv::halo::Cuts::balanced(13, 4).part(3);
  std::printf("the last of four parts of 13 is [%d, %d)\n", int(last.begin), int(last.end));
}
