/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Element types: sizes, names, and conversions to and from double. */
#ifndef RINGCONV_COMMON_DTYPE_H
#define RINGCONV_COMMON_DTYPE_H

#include "common/Base.h"

bool rcrt_dtype_valid(int32_t dtype);
bool rcrt_dtype_is_float(int32_t dtype);
int64_t rcrt_dtype_size(int32_t dtype);
/* "f32", as in MLIR. */
const char *rcrt_dtype_name(int32_t dtype);
/* "<f4": what a .npy file of this type says, and what we write. */
const char *rcrt_dtype_npy(int32_t dtype);

/* Conversions round to nearest, ties to even; NaN stays NaN. */
double rcrt_f16_to_double(uint16_t bits);
uint16_t rcrt_double_to_f16(double value);
double rcrt_bf16_to_double(uint16_t bits);
uint16_t rcrt_double_to_bf16(double value);

/* Element `index` of an array; i64 beyond 2^53 is rounded. */
double rcrt_load(int32_t dtype, const void *data, int64_t index);
/* A value the type can hold exactly or by rounding; integers in range. */
void rcrt_store(int32_t dtype, void *data, int64_t index, double value);

#endif
