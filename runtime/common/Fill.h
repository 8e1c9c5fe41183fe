/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Inputs that no file gives: a hash of (seed, argument number, global linear
 * index), so that they are the same on any mesh and target. */
#ifndef RINGCONV_COMMON_FILL_H
#define RINGCONV_COMMON_FILL_H

#include "common/Base.h"

/* Fills `data`, the dense box of the operand at `offsets`. Floats lie in
 * [-1, 1) and are exact in their type, integers in [-4, 4], i1 is 0 or 1. */
void rcrt_fill(const ringconv_operand *operand, int64_t argument, uint64_t seed, const int64_t *offsets,
               const int64_t *sizes, void *data);

#endif
