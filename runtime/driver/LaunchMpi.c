/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "driver/Driver.h"
int rcrt_launch_mpi(rcrt_driver *d, const rcrt_launcher *launcher) {
  (void)launcher;
  rcrt_print_error(d, "no MPI yet");
  return 1;
}
