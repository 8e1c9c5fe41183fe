// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls are collected per thread until the outermost group ends; then each
// communicator gets one plan, which its stream runs when it gets there.
#ifndef GPUSIM_NCCL_PLAN_H
#define GPUSIM_NCCL_PLAN_H

#include "Comm.h"

#include <functional>

namespace gpusim {

struct Pending {
  ncclComm *comm;
  Call call;
};

struct Group {
  int depth = 0;
  std::vector<Pending> calls;
  std::vector<std::function<ncclResult_t()>> inits;
  ncclResult_t error = ncclSuccess;
};
/// The group of the calling thread.
Group &group();

/// Runs what the group collected.
ncclResult_t endGroup(Group &g);
/// An error inside a group is the group's error; returns it.
ncclResult_t note(ncclResult_t r);
/// Adds a call to the group, or runs it if there is none.
ncclResult_t enqueue(ncclComm *comm, Call c);
ncclResult_t collective(Kind kind, const void *send, void *recv, size_t count, int type, int op, int root,
                        ncclComm *comm, CUstream stream);

} // namespace gpusim

#endif // GPUSIM_NCCL_PLAN_H
