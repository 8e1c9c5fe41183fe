/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "ringconv/Runtime/Session.h"

extern const ringconv_program main_program;

int main(int argc, char **argv) { return ringconv_main(argc, argv, &main_program); }
