// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The entry points of the simulated NCCL.
#include "Plan.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <thread>
#include <unistd.h>

using namespace gpusim;

#define GPUSIM_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

ncclComm *newComm(int size, int rank, const std::string &token) {
  CUcontext context = nullptr;
  CUdevice device = 0;
  if (cuCtxGetCurrent(&context) != CUDA_SUCCESS || !context || cuCtxGetDevice(&device) != CUDA_SUCCESS)
    return nullptr;
  auto *c = new ncclComm;
  c->rank = rank;
  c->size = size;
  c->token = token;
  c->context = context;
  c->device = device;
  return c;
}

ncclResult_t initComm(ncclComm_t *out, int size, const std::string &token, int rank, Door door = {}) {
  if (!out || size < 1 || rank < 0 || rank >= size)
    return note(ncclInvalidArgument);
  ncclComm *c = newComm(size, rank, token);
  if (!c)
    return note(ncclUnhandledCudaError); // no current context
  c->door = std::move(door);
  *out = c;
  auto init = [c, out] {
    ncclResult_t r = c->connect();
    if (r != ncclSuccess) {
      *out = nullptr;
      delete c;
    }
    return r;
  };
  if (group().depth) {
    group().inits.push_back(init);
    return ncclSuccess;
  }
  return init();
}

std::string tokenOf(const ncclUniqueId &id) {
  if (!strncmp(id.internal, "tcp:", 4))
    return std::string(id.internal, strnlen(id.internal, sizeof id.internal));
  std::string text;
  char two[3];
  for (int n = 0; n < 32; ++n) {
    snprintf(two, sizeof two, "%02x", (unsigned char)id.internal[n]);
    text += two;
  }
  return text;
}

/// Waits until everything that was issued has run.
void drain(ncclComm *c) {
  std::unique_lock<std::mutex> lock(c->mutex);
  c->changed.wait(lock, [&] { return c->served == c->issued && !c->busy; });
}

} // namespace

//===-- Communicators -----------------------------------------------------===//

GPUSIM_EXPORT ncclResult_t ncclGetVersion(int *version) {
  if (!version)
    return ncclInvalidArgument;
  *version = 22809;
  return ncclSuccess;
}

/// With NCCL_COMM_ID the id is a function of that text, as in NCCL: the address
/// where the ranks meet. A text that is none names ranks of this machine.
GPUSIM_EXPORT ncclResult_t ncclGetUniqueId(ncclUniqueId *id) {
  if (!id)
    return ncclInvalidArgument;
  memset(id, 0, sizeof *id);
  const char *fixed = getenv("NCCL_COMM_ID");
  if (fixed && isAddress(fixed)) {
    snprintf(id->internal, sizeof id->internal, "tcp:%s", fixed);
    return ncclSuccess;
  }
  if (fixed && *fixed) {
    uint64_t hash = 0xcbf29ce484222325ull; // FNV-1a
    for (const char *p = fixed; *p; ++p)
      hash = (hash ^ (unsigned char)*p) * 0x100000001b3ull;
    memcpy(id->internal, &hash, sizeof hash);
    return ncclSuccess;
  }
  std::random_device random;
  for (int n = 0; n < 32; n += 4) {
    uint32_t v = random();
    memcpy(id->internal + n, &v, 4);
  }
  return ncclSuccess;
}

GPUSIM_EXPORT ncclResult_t ncclCommInitRank(ncclComm_t *out, int size, ncclUniqueId id, int rank) {
  return initComm(out, size, tokenOf(id), rank);
}
GPUSIM_EXPORT ncclResult_t ncclCommInitRankConfig(ncclComm_t *out, int size, ncclUniqueId id, int rank,
                                                  ncclConfig_t *) {
  return initComm(out, size, tokenOf(id), rank);
}
GPUSIM_EXPORT ncclResult_t ncclCommInitAll(ncclComm_t *out, int size, const int *devices) {
  ncclUniqueId id;
  if (!out || size < 1)
    return ncclInvalidArgument;
  const char *fixed = getenv("NCCL_COMM_ID");
  std::string kept = fixed ? fixed : "";
  unsetenv("NCCL_COMM_ID"); // these ranks are all in this process
  ncclGetUniqueId(&id);
  if (!kept.empty())
    setenv("NCCL_COMM_ID", kept.c_str(), 1);
  ncclResult_t r = ncclGroupStart();
  for (int n = 0; n < size && r == ncclSuccess; ++n) {
    CUcontext c;
    if (cuDevicePrimaryCtxRetain(&c, devices ? devices[n] : n) != CUDA_SUCCESS) {
      note(ncclInvalidArgument);
      break;
    }
    cuCtxPushCurrent_v2(c);
    r = ncclCommInitRank(&out[n], size, id, n);
    cuCtxPopCurrent_v2(nullptr);
  }
  ncclResult_t end = ncclGroupEnd();
  return r != ncclSuccess ? r : end;
}

/// What a rank tells all others in a split.
struct SplitWish {
  int color, key;
  uint32_t port; ///< where it listens, if the ranks are connected by TCP
};

static bool exchangeWishes(ncclComm_t comm, SplitWish mine, std::vector<SplitWish> &all) {
  std::vector<Message> sends, receives;
  all.resize(comm->size);
  for (int peer = 0; peer < comm->size; ++peer) {
    Message m;
    m.peer = peer;
    m.what = whatOf(Kind::Split, 0);
    m.bytes = sizeof mine;
    m.data = (uint8_t *)&mine;
    sends.push_back(m);
    m.data = (uint8_t *)&all[peer];
    receives.push_back(m);
  }
  return comm->exchange(sends, receives);
}

/// Every rank learns every colour and key, and computes the same groups.
GPUSIM_EXPORT ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t *out, ncclConfig_t *) {
  if (!comm || !out)
    return ncclInvalidArgument;
  drain(comm);
  *out = nullptr;
  const bool byAddress = !comm->token.compare(0, 4, "tcp:") && comm->size > 1;
  uint16_t port = 0;
  Door door;
  if (byAddress && !(door = openDoor(comm->family(), comm->size, port)).isOpen())
    return ncclSystemError;
  std::vector<SplitWish> all;
  std::string token = comm->token + "." + std::to_string(++comm->splits) + "." + std::to_string(color);
  if (!exchangeWishes(comm, {color, key, port}, all) || color < 0) { // NCCL_SPLIT_NOCOLOR
    door.shut();
    return (ncclResult_t)comm->error.load();
  }
  std::vector<std::pair<int, int>> members; // key, old rank
  for (int n = 0; n < comm->size; ++n)
    if (all[n].color == color)
      members.push_back({all[n].key, n});
  std::sort(members.begin(), members.end());
  int rank = 0;
  for (size_t n = 0; n < members.size(); ++n) {
    int old = members[n].second;
    if (old == comm->rank)
      rank = n;
    if (byAddress)
      door.ranks.push_back(old == comm->rank ? Address() : peerAddress(comm->sockets[old], all[old].port));
  }
  cuCtxPushCurrent_v2(comm->context);
  ncclResult_t r = initComm(out, members.size(), token, rank, std::move(door));
  cuCtxPopCurrent_v2(nullptr);
  return r;
}

GPUSIM_EXPORT ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  if (!comm)
    return ncclInvalidArgument;
  drain(comm);
  return ncclSuccess;
}
GPUSIM_EXPORT ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  if (!comm)
    return ncclSuccess;
  drain(comm);
  comm->disconnect();
  delete comm;
  return ncclSuccess;
}
GPUSIM_EXPORT ncclResult_t ncclCommAbort(ncclComm_t comm) {
  if (!comm)
    return ncclSuccess;
  comm->aborted = true;
  comm->fail(ncclRemoteError, "aborted");
  return ncclCommDestroy(comm);
}
GPUSIM_EXPORT ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *error) {
  if (!comm || !error)
    return ncclInvalidArgument;
  *error = comm->error;
  return ncclSuccess;
}
GPUSIM_EXPORT ncclResult_t ncclCommCount(const ncclComm_t comm, int *count) {
  if (!comm || !count)
    return ncclInvalidArgument;
  *count = comm->size;
  return ncclSuccess;
}
GPUSIM_EXPORT ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int *device) {
  if (!comm || !device)
    return ncclInvalidArgument;
  *device = comm->device;
  return ncclSuccess;
}
GPUSIM_EXPORT ncclResult_t ncclCommUserRank(const ncclComm_t comm, int *rank) {
  if (!comm || !rank)
    return ncclInvalidArgument;
  *rank = comm->rank;
  return ncclSuccess;
}
GPUSIM_EXPORT ncclResult_t ncclCommRegister(const ncclComm_t comm, void *buffer, size_t, void **handle) {
  if (!comm || !handle)
    return ncclInvalidArgument;
  *handle = buffer;
  return ncclSuccess;
}
GPUSIM_EXPORT ncclResult_t ncclCommDeregister(const ncclComm_t comm, void *) {
  return comm ? ncclSuccess : ncclInvalidArgument;
}
GPUSIM_EXPORT ncclResult_t ncclMemAlloc(void **out, size_t bytes) {
  CUresult r = cuMemAlloc_v2((CUdeviceptr *)out, bytes);
  return r == CUDA_SUCCESS ? ncclSuccess : ncclUnhandledCudaError;
}
GPUSIM_EXPORT ncclResult_t ncclMemFree(void *p) {
  CUresult r = cuMemFree_v2((CUdeviceptr)p);
  return r == CUDA_SUCCESS ? ncclSuccess : ncclUnhandledCudaError;
}

/// residence 1: the scalar lies in host memory; 0: in device memory.
GPUSIM_EXPORT ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t *op, void *scalar, ncclDataType_t type, int residence,
                                                    ncclComm_t comm) {
  if (!op || !scalar || !comm || (type != ncclFloat32 && type != ncclFloat64))
    return ncclInvalidArgument; // other types are not simulated
  const void *p = residence ? scalar : gpusimHostAddress((CUdeviceptr)scalar, typeBytes(type));
  if (!p)
    return ncclInvalidArgument;
  ReduceOp r;
  r.premul = true;
  r.scalar = type == ncclFloat32 ? *(const float *)p : *(const double *)p;
  comm->customOps.push_back(r);
  *op = ncclNumOps + comm->customOps.size() - 1;
  return ncclSuccess;
}
GPUSIM_EXPORT ncclResult_t ncclRedOpDestroy(ncclRedOp_t, ncclComm_t comm) {
  return comm ? ncclSuccess : ncclInvalidArgument;
}

GPUSIM_EXPORT const char *ncclGetErrorString(ncclResult_t r) {
  static const char *const texts[] = {"no error",
                                      "unhandled cuda error",
                                      "unhandled system error",
                                      "internal error",
                                      "invalid argument",
                                      "invalid usage",
                                      "remote process exited or there was a network error",
                                      "NCCL operation in progress"};
  return r >= 0 && r < 8 ? texts[r] : "unknown result code";
}
GPUSIM_EXPORT const char *ncclGetLastError(ncclComm_t) { return ""; }

//===-- Communication -----------------------------------------------------===//

GPUSIM_EXPORT ncclResult_t ncclGroupStart(void) {
  ++group().depth;
  return ncclSuccess;
}
GPUSIM_EXPORT ncclResult_t ncclGroupEnd(void) {
  Group &g = group();
  if (!g.depth)
    return ncclInvalidUsage;
  return --g.depth ? ncclSuccess : endGroup(g);
}

/// One end of a message; the other end's buffer is null.
static ncclResult_t point(const void *send, void *recv, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                          CUstream stream, bool isSend) {
  Call c;
  c.isSend = isSend;
  c.send = send;
  c.recv = recv;
  c.count = count;
  c.type = type;
  c.peer = peer;
  c.stream = stream;
  return enqueue(comm, c);
}
GPUSIM_EXPORT ncclResult_t ncclSend(const void *buffer, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                                    CUstream stream) {
  return point(buffer, nullptr, count, type, peer, comm, stream, true);
}
GPUSIM_EXPORT ncclResult_t ncclRecv(void *buffer, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                                    CUstream stream) {
  return point(nullptr, buffer, count, type, peer, comm, stream, false);
}
GPUSIM_EXPORT ncclResult_t ncclAllReduce(const void *s, void *r, size_t n, ncclDataType_t t, ncclRedOp_t op,
                                         ncclComm_t c, CUstream stream) {
  return collective(Kind::AllReduce, s, r, n, t, op, 0, c, stream);
}
GPUSIM_EXPORT ncclResult_t ncclReduce(const void *s, void *r, size_t n, ncclDataType_t t, ncclRedOp_t op, int root,
                                      ncclComm_t c, CUstream stream) {
  return collective(Kind::Reduce, s, r, n, t, op, root, c, stream);
}
GPUSIM_EXPORT ncclResult_t ncclReduceScatter(const void *s, void *r, size_t n, ncclDataType_t t, ncclRedOp_t op,
                                             ncclComm_t c, CUstream stream) {
  return collective(Kind::ReduceScatter, s, r, n, t, op, 0, c, stream);
}
GPUSIM_EXPORT ncclResult_t ncclAllGather(const void *s, void *r, size_t n, ncclDataType_t t, ncclComm_t c,
                                         CUstream stream) {
  return collective(Kind::AllGather, s, r, n, t, 0, 0, c, stream);
}
GPUSIM_EXPORT ncclResult_t ncclBroadcast(const void *s, void *r, size_t n, ncclDataType_t t, int root, ncclComm_t c,
                                         CUstream stream) {
  return collective(Kind::Broadcast, s, r, n, t, 0, root, c, stream);
}
GPUSIM_EXPORT ncclResult_t ncclBcast(void *b, size_t n, ncclDataType_t t, int root, ncclComm_t c, CUstream stream) {
  return ncclBroadcast(b, b, n, t, root, c, stream);
}
GPUSIM_EXPORT ncclResult_t ncclAlltoAll(const void *s, void *r, size_t n, ncclDataType_t t, ncclComm_t c,
                                        CUstream stream) {
  return collective(Kind::AlltoAll, s, r, n, t, 0, 0, c, stream);
}
