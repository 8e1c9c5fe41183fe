/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "common/Shard.h"

#include "ringconv/Runtime/Session.h"

#include <inttypes.h>
#include <stdio.h>

int64_t rcrt_table_at(const ringconv_table *table, int64_t c) {
  int64_t low = 0, high = table->num_runs; /* the last run with begin <= c is in [low, high) */
  while (high - low > 1) {
    int64_t middle = low + (high - low) / 2;
    if (table->runs[middle].begin <= c)
      low = middle;
    else
      high = middle;
  }
  const ringconv_run *run = &table->runs[low];
  return run->base + run->slope * (c - run->begin);
}

int64_t rcrt_mesh_size(const ringconv_mesh *mesh) {
  int64_t size = 1;
  for (int32_t a = 0; a < mesh->num_axes; ++a)
    if (mesh->extents[a] <= 0 || __builtin_mul_overflow(size, mesh->extents[a], &size))
      return -1;
  return size;
}

int64_t rcrt_mesh_coord(const ringconv_mesh *mesh, int64_t position, int64_t axis) {
  for (int32_t a = mesh->num_axes - 1; a > axis; --a)
    position /= mesh->extents[a];
  return position % mesh->extents[axis];
}

int64_t rcrt_mesh_part(const ringconv_mesh *mesh, int64_t position, int32_t num_axes, const int32_t *axes) {
  int64_t part = 0;
  for (int32_t i = 0; i < num_axes; ++i)
    part = part * mesh->extents[axes[i]] + rcrt_mesh_coord(mesh, position, axes[i]);
  return part;
}

int64_t rcrt_mesh_rank(const ringconv_mesh *mesh, int64_t position) {
  return mesh->device_ids ? mesh->device_ids[position] : position;
}

int64_t rcrt_mesh_position(const ringconv_mesh *mesh, int64_t rank) {
  int64_t size = rcrt_mesh_size(mesh);
  if (!mesh->device_ids)
    return rank >= 0 && rank < size ? rank : -1;
  for (int64_t p = 0; p < size; ++p)
    if (mesh->device_ids[p] == rank)
      return p;
  return -1;
}

void rcrt_mesh_text(const ringconv_mesh *mesh, char *text, size_t size) {
  size_t used = 0;
  text[0] = 0;
  for (int32_t a = 0; a < mesh->num_axes && used < size; ++a)
    used += (size_t)snprintf(text + used, size - used, "%s\"%s\" = %" PRId64, a ? ", " : "", mesh->names[a],
                             mesh->extents[a]);
}

const ringconv_operand *rcrt_operand(const ringconv_program *program, int32_t operand) {
  if (operand < 0 || operand >= program->num_inputs + program->num_outputs)
    return NULL;
  return operand < program->num_inputs ? &program->inputs[operand] : &program->outputs[operand - program->num_inputs];
}

void rcrt_box(const ringconv_mesh *mesh, const ringconv_operand *operand, int64_t position, int64_t *offsets,
              int64_t *sizes) {
  for (int32_t d = 0; d < operand->rank; ++d) {
    const ringconv_cut *cut = &operand->cuts[d];
    if (cut->num_axes == 0) {
      offsets[d] = 0;
      sizes[d] = operand->sizes[d];
      continue;
    }
    int64_t part = rcrt_mesh_part(mesh, position, cut->num_axes, cut->axes);
    offsets[d] = rcrt_table_at(&cut->bounds, part);
    sizes[d] = rcrt_table_at(&cut->bounds, part + 1) - offsets[d];
  }
}

static bool cuts(const ringconv_operand *operand, int32_t axis) {
  for (int32_t d = 0; d < operand->rank; ++d)
    for (int32_t i = 0; i < operand->cuts[d].num_axes; ++i)
      if (operand->cuts[d].axes[i] == axis)
        return true;
  return false;
}

bool rcrt_is_first_replica(const ringconv_mesh *mesh, const ringconv_operand *operand, int64_t position) {
  for (int32_t a = 0; a < mesh->num_axes; ++a)
    if (!cuts(operand, a) && rcrt_mesh_coord(mesh, position, a) != 0)
      return false;
  return true;
}

RCRT_API int32_t ringconv_shard(const ringconv_program *program, const ringconv_world *world, int32_t operand,
                                int64_t *offsets, int64_t *sizes) {
  if (!program || !world || program->abi_version != RINGCONV_ABI_VERSION)
    return RCRT_ERR_ARGUMENT;
  const ringconv_operand *o = rcrt_operand(program, operand);
  if (!o || world->size != rcrt_mesh_size(&program->mesh) || world->rank < 0 || world->rank >= world->size)
    return RCRT_ERR_ARGUMENT;
  int64_t position = rcrt_mesh_position(&program->mesh, world->rank);
  if (position < 0)
    return RCRT_ERR_ARGUMENT;
  rcrt_box(&program->mesh, o, position, offsets, sizes);
  return RCRT_OK;
}
