/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "common/Context.h"
#include "common/Shard.h"

#include "ringconv/Runtime/Calls.h"

RCRT_API int64_t ringconv_rt_extent(ringconv_context *context, int64_t operand, int64_t dim) {
  const ringconv_program *program = context->program;
  const ringconv_operand *o = rcrt_operand(program, (int32_t)operand);
  const ringconv_cut *cut = &o->cuts[dim];
  if (cut->num_axes == 0)
    return o->sizes[dim];
  int64_t part = rcrt_mesh_part(&program->mesh, context->position, cut->num_axes, cut->axes);
  return rcrt_table_at(&cut->bounds, part + 1) - rcrt_table_at(&cut->bounds, part);
}
