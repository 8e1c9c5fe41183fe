// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Plan.h"

#include <algorithm>
#include <thread>

using namespace gpusim;

namespace {
/// All calls of one group on one communicator.
struct Plan {
  ncclComm *comm;
  uint64_t ticket;
  bool ordered; ///< false inside a graph, which may run many times
  std::vector<Call> calls;
  bool ran = false;
};
} // namespace

Group &gpusim::group() {
  thread_local Group g;
  return g;
}

static uint64_t sendElements(const ncclComm &comm, const Call &c) {
  bool many = c.kind == Kind::ReduceScatter || c.kind == Kind::AlltoAll;
  return many ? c.count * comm.size : c.count;
}
static uint64_t recvElements(const ncclComm &comm, const Call &c) {
  bool many = c.kind == Kind::AllGather || c.kind == Kind::AlltoAll;
  return many ? c.count * comm.size : c.count;
}
static bool reads(const ncclComm &comm, const Call &c) {
  if (c.kind == Kind::Point)
    return c.isSend;
  return c.kind != Kind::Broadcast || comm.rank == c.peer;
}
static bool writes(const ncclComm &comm, const Call &c) {
  if (c.kind == Kind::Point)
    return !c.isSend;
  return c.kind != Kind::Reduce || comm.rank == c.peer;
}

static bool runPoints(ncclComm &comm, const std::vector<Call> &calls) {
  std::vector<Message> sends, receives;
  for (const Call &c : calls) {
    if (c.kind != Kind::Point)
      continue;
    Message m;
    m.peer = c.peer;
    m.bytes = c.count * typeBytes(c.type);
    m.what = whatOf(Kind::Point, c.type);
    m.device = m.bytes ? (CUdeviceptr)(c.isSend ? c.send : c.recv) : 0;
    if (m.bytes)
      m.data = (uint8_t *)gpusimHostAddress(m.device, m.bytes);
    if (m.bytes && !m.data) {
      comm.fail(ncclInvalidArgument, "a buffer was freed before its message");
      return false;
    }
    (c.isSend ? sends : receives).push_back(m);
    gpusimCountMessage(c.isSend ? "sent" : "received", m.bytes);
  }
  return sends.empty() && receives.empty() ? true : comm.exchange(sends, receives);
}

/// Runs on the stream's thread.
static void runPlan(void *data) {
  Plan &p = *(Plan *)data;
  ncclComm &comm = *p.comm;
  {
    std::unique_lock<std::mutex> lock(comm.mutex);
    comm.changed.wait(lock, [&] { return !comm.busy && (!p.ordered || comm.served == p.ticket); });
    comm.busy = true;
  }
  bool ok = !comm.error && !comm.aborted;
  // Every rank runs its collectives before its messages, so that the order
  // inside the group cannot matter.
  for (const Call &c : p.calls)
    if (ok && c.kind != Kind::Point) {
      ok = comm.run(c);
      gpusimCountMessage(kindName(c.kind), c.count * typeBytes(c.type));
    }
  if (ok)
    runPoints(comm, p.calls);
  std::lock_guard<std::mutex> lock(comm.mutex);
  p.ran = true;
  comm.busy = false;
  comm.served += p.ordered;
  comm.changed.notify_all();
}
/// A plan that was never run belongs to a context with an error; the peers
/// must learn that nothing comes.
static void dropPlan(void *data) {
  Plan *p = (Plan *)data;
  if (!p->ran && p->ordered) {
    p->comm->fail(ncclUnhandledCudaError, "an error of its context keeps its messages from running");
    std::lock_guard<std::mutex> lock(p->comm->mutex);
    ++p->comm->served;
    p->comm->changed.notify_all();
  }
  delete p;
}

static std::vector<gpusimBuffer> buffersOf(const ncclComm &comm, const std::vector<Call> &calls) {
  std::vector<gpusimBuffer> buffers;
  for (const Call &c : calls) {
    const size_t width = typeBytes(c.type);
    if (reads(comm, c) && c.count)
      buffers.push_back({(CUdeviceptr)c.send, sendElements(comm, c) * width, 0});
    if (writes(comm, c) && c.count)
      buffers.push_back({(CUdeviceptr)c.recv, recvElements(comm, c) * width, 1});
  }
  return buffers;
}

/// A group may use several streams; the plan runs in the first, which waits
/// for the others and which the others wait for.
static ncclResult_t submitPlan(ncclComm &comm, std::vector<Call> calls) {
  cuCtxPushCurrent_v2(comm.context);
  CUstream main = calls.front().stream;
  std::vector<CUstream> others;
  for (const Call &c : calls)
    if (c.stream != main && std::find(others.begin(), others.end(), c.stream) == others.end())
      others.push_back(c.stream);
  auto order = [](CUstream before, CUstream after) {
    CUevent e;
    cuEventCreate(&e, 2);
    cuEventRecord(e, before);
    cuStreamWaitEvent(after, e, 0);
    cuEventDestroy_v2(e);
  };
  for (CUstream s : others)
    order(s, main);
  std::vector<gpusimBuffer> buffers = buffersOf(comm, calls);
  int capturing = 0;
  cuStreamIsCapturing(main, &capturing);
  auto *plan = new Plan{&comm, 0, !capturing, std::move(calls), false};
  std::string what = "NCCL group of rank " + std::to_string(comm.rank);
  CUresult r;
  {
    std::lock_guard<std::mutex> lock(comm.mutex);
    plan->ticket = comm.issued;
    r = gpusimSubmit(main, what.c_str(), runPlan, dropPlan, plan, buffers.data(), buffers.size());
    if (r == CUDA_SUCCESS && !capturing)
      ++comm.issued;
  }
  for (CUstream s : others)
    order(main, s);
  cuCtxPopCurrent_v2(nullptr);
  return r == CUDA_SUCCESS ? ncclSuccess : ncclUnhandledCudaError;
}

ncclResult_t gpusim::endGroup(Group &g) {
  std::vector<std::function<ncclResult_t()>> inits;
  std::vector<Pending> calls;
  inits.swap(g.inits);
  calls.swap(g.calls);
  ncclResult_t result = g.error;
  g.error = ncclSuccess;
  if (result != ncclSuccess)
    return result; // as in NCCL, nothing of a group with an error runs
  std::vector<std::thread> threads;
  std::vector<ncclResult_t> results(inits.size());
  for (size_t n = 0; n < inits.size(); ++n)
    threads.emplace_back([&, n] { results[n] = inits[n](); });
  for (std::thread &t : threads)
    t.join();
  for (ncclResult_t r : results)
    if (r != ncclSuccess)
      result = r;
  while (!calls.empty()) {
    ncclComm *comm = calls.front().comm;
    std::vector<Call> mine;
    std::vector<Pending> rest;
    for (Pending &p : calls) {
      if (p.comm == comm)
        mine.push_back(p.call);
      else
        rest.push_back(p);
    }
    calls.swap(rest);
    ncclResult_t r = submitPlan(*comm, std::move(mine));
    if (r != ncclSuccess)
      result = r;
  }
  return result;
}

ncclResult_t gpusim::note(ncclResult_t r) {
  if (r != ncclSuccess && group().depth)
    group().error = r;
  return r;
}

static bool inBounds(const void *p, uint64_t bytes, const char *what, ncclComm &comm) {
  if (!bytes || gpusimHostAddress((CUdeviceptr)p, bytes))
    return true;
  char text[200];
  snprintf(text, sizeof text, "NCCL, %s: %s buffer %p of %llu bytes is not one live allocation", comm.name().c_str(),
           what, p, (unsigned long long)bytes);
  gpusimReport(text);
  return false;
}

ncclResult_t gpusim::enqueue(ncclComm *comm, Call c) {
  if (!comm || c.peer < 0 || c.peer >= comm->size || !typeBytes(c.type))
    return note(ncclInvalidArgument);
  if (comm->error)
    return note(comm->error);
  const uint64_t width = typeBytes(c.type);
  if (reads(*comm, c) && !inBounds(c.send, sendElements(*comm, c) * width, "send", *comm))
    return note(ncclInvalidArgument);
  if (writes(*comm, c) && !inBounds(c.recv, recvElements(*comm, c) * width, "receive", *comm))
    return note(ncclInvalidArgument);
  Group &g = group();
  g.calls.push_back({comm, c});
  return g.depth ? ncclSuccess : endGroup(g);
}

ncclResult_t gpusim::collective(Kind kind, const void *send, void *recv, size_t count, int type, int op, int root,
                                ncclComm *comm, CUstream stream) {
  Call c;
  c.kind = kind;
  c.send = send;
  c.recv = recv;
  c.count = count;
  c.type = type;
  c.peer = root;
  c.stream = stream;
  c.op.op = op;
  if (comm && op >= ncclNumOps) {
    size_t n = op - ncclNumOps;
    if (n >= comm->customOps.size())
      return note(ncclInvalidArgument);
    c.op = comm->customOps[n];
  } else if (op < 0 || op >= ncclNumOps) {
    return note(ncclInvalidArgument);
  }
  return enqueue(comm, c);
}
