/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Inside of a session, for the session's functions and the driver. */
#ifndef RINGCONV_COMMON_SESSIONSTATE_H
#define RINGCONV_COMMON_SESSIONSTATE_H

#include "common/Context.h"

struct ringconv_session {
  const ringconv_program *program;
  ringconv_context context;
  void **in, **out; /* arguments of the program's function; parameters stay in `in` */
  int32_t num_parameters;
  bool usable, has_parameters;
  int32_t dead; /* code of the failure after which ranks may be anywhere in the program */
};

/* A fault of the caller's own that the other ranks must hear of. */
void rcrt_session_fail(ringconv_session *session);

/* The first feature of `wanted` (comma separated, as LLVM names them) that this
 * processor lacks, as text into `name`; false: none. Features that cannot be
 * asked for count as present. */
bool rcrt_missing_cpu_feature(const char *wanted, char *name, size_t size);

#endif
