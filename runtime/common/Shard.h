/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Tables of a program: piecewise linear functions, mesh positions, boxes. */
#ifndef RINGCONV_COMMON_SHARD_H
#define RINGCONV_COMMON_SHARD_H

#include "common/Base.h"

int64_t rcrt_table_at(const ringconv_table *table, int64_t c);

/* Number of ranks; -1 where it overflows or an extent is not positive. */
int64_t rcrt_mesh_size(const ringconv_mesh *mesh);
int64_t rcrt_mesh_coord(const ringconv_mesh *mesh, int64_t position, int64_t axis);
/* The number that row-major order over `axes` (major first) gives `position`. */
int64_t rcrt_mesh_part(const ringconv_mesh *mesh, int64_t position, int32_t num_axes, const int32_t *axes);
/* The rank that plays `position`, and back (-1: nobody). */
int64_t rcrt_mesh_rank(const ringconv_mesh *mesh, int64_t position);
int64_t rcrt_mesh_position(const ringconv_mesh *mesh, int64_t rank);
/* `"dp" = 2, "sp" = 4`, cut to `size` bytes. */
void rcrt_mesh_text(const ringconv_mesh *mesh, char *text, size_t size);

/* Inputs first, then outputs; NULL for a number out of range. */
const ringconv_operand *rcrt_operand(const ringconv_program *program, int32_t operand);
void rcrt_box(const ringconv_mesh *mesh, const ringconv_operand *operand, int64_t position, int64_t *offsets,
              int64_t *sizes);
/* Whether `position` has coordinate 0 on every axis that does not cut the
 * operand: exactly one such rank holds each box. */
bool rcrt_is_first_replica(const ringconv_mesh *mesh, const ringconv_operand *operand, int64_t position);

#endif
