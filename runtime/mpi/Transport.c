/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "mpi/Transport.h"
int32_t rcrt_mpi_open(ringconv_context *context, int32_t comm) {
  (void)comm;
  return rcrt_fail(context, RCRT_ERR_TRANSPORT, "no MPI yet");
}
