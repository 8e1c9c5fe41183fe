// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Streams, events, host functions, graphs, and the interface for gpusim's own
// libraries.
#include "Api.h"
#include "Report.h"

#include <cstring>

using namespace gpusim;

//===-- Streams -----------------------------------------------------------===//

GPUSIM_EXPORT CUresult cuStreamCreateWithPriority(CUstream *out, unsigned flags, int priority) {
  NEED_CONTEXT;
  NEED(out && flags <= 1, CUDA_ERROR_INVALID_VALUE);
  *out = State::get().createStream(context, flags, priority);
  return CUDA_SUCCESS;
}
GPUSIM_EXPORT CUresult cuStreamCreate(CUstream *out, unsigned flags) {
  return cuStreamCreateWithPriority(out, flags, 0);
}
/// Work that is still queued is finished first.
GPUSIM_EXPORT CUresult cuStreamDestroy_v2(CUstream s) {
  NEED_INIT;
  NEED((uintptr_t)s > 2 && State::get().stream(s), CUDA_ERROR_INVALID_HANDLE);
  State::get().destroyStream(s);
  return CUDA_SUCCESS;
}
GPUSIM_EXPORT CUresult cuStreamSynchronize(CUstream h) {
  NEED_CONTEXT;
  NEED_STREAM(h);
  NEED(!stream->capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  State::get().hostWait(stream);
  return stream->context->sticky;
}
GPUSIM_EXPORT CUresult cuStreamQuery(CUstream h) {
  NEED_CONTEXT;
  NEED_STREAM(h);
  NEED(!stream->capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  {
    std::lock_guard<std::mutex> lock(State::get().mutex);
    if (stream->tail && !stream->tail->done())
      return CUDA_ERROR_NOT_READY;
  }
  State::get().hostWait(stream);
  return stream->context->sticky;
}
GPUSIM_EXPORT CUresult cuStreamGetFlags(CUstream h, unsigned *flags) {
  NEED_CONTEXT;
  NEED_STREAM(h);
  *flags = stream->flags;
  return CUDA_SUCCESS;
}
GPUSIM_EXPORT CUresult cuStreamGetPriority(CUstream h, int *priority) {
  NEED_CONTEXT;
  NEED_STREAM(h);
  *priority = stream->priority;
  return CUDA_SUCCESS;
}
GPUSIM_EXPORT CUresult cuStreamGetCtx(CUstream h, CUcontext *out) {
  NEED_CONTEXT;
  NEED_STREAM(h);
  *out = stream->context;
  return CUDA_SUCCESS;
}
GPUSIM_EXPORT CUresult cuStreamGetId(CUstream h, unsigned long long *id) {
  NEED_CONTEXT;
  NEED_STREAM(h);
  *id = stream->id;
  return CUDA_SUCCESS;
}

GPUSIM_EXPORT CUresult cuLaunchHostFunc(CUstream h, CUhostFn fn, void *data) {
  NEED_CONTEXT;
  NEED_STREAM(h);
  NEED(fn, CUDA_ERROR_INVALID_VALUE);
  return State::get().submit(stream, "host function", [fn, data](Operation &) {
    fn(data);
    return CUDA_SUCCESS;
  });
}
GPUSIM_EXPORT CUresult cuStreamAddCallback(CUstream h, CUstreamCallback fn, void *data, unsigned) {
  NEED_CONTEXT;
  NEED_STREAM(h);
  NEED(fn, CUDA_ERROR_INVALID_VALUE);
  CUcontext c = stream->context;
  return State::get().submit(stream, "stream callback", [fn, data, h, c](Operation &) {
    fn(h, c->sticky, data);
    return CUDA_SUCCESS;
  });
}

//===-- Events ------------------------------------------------------------===//

GPUSIM_EXPORT CUresult cuEventCreate(CUevent *out, unsigned flags) {
  NEED_CONTEXT;
  NEED(out, CUDA_ERROR_INVALID_VALUE);
  *out = new CUevent_st;
  (*out)->context = context;
  (*out)->flags = flags;
  std::lock_guard<std::mutex> lock(State::get().mutex);
  State::get().events.insert(*out);
  return CUDA_SUCCESS;
}
GPUSIM_EXPORT CUresult cuEventDestroy_v2(CUevent e) {
  NEED_INIT;
  std::lock_guard<std::mutex> lock(State::get().mutex);
  NEED(State::get().events.erase(e), CUDA_ERROR_INVALID_HANDLE);
  delete e;
  return CUDA_SUCCESS;
}
GPUSIM_EXPORT CUresult cuEventRecord(CUevent e, CUstream h) {
  NEED_CONTEXT;
  NEED_STREAM(h);
  NEED(State::get().isEvent(e), CUDA_ERROR_INVALID_HANDLE);
  NEED(e->context == stream->context, CUDA_ERROR_INVALID_HANDLE);
  State::get().record(stream, e);
  return CUDA_SUCCESS;
}
GPUSIM_EXPORT CUresult cuEventRecordWithFlags(CUevent e, CUstream h, unsigned) { return cuEventRecord(e, h); }
GPUSIM_EXPORT CUresult cuStreamWaitEvent(CUstream h, CUevent e, unsigned) {
  NEED_CONTEXT;
  NEED_STREAM(h);
  NEED(State::get().isEvent(e), CUDA_ERROR_INVALID_HANDLE);
  return State::get().waitEvent(stream, e);
}

static void hostPassed(CUevent e) {
  std::lock_guard<std::mutex> lock(State::get().mutex);
  State::get().host.join(e->clock);
}
static CompletionRef doneOf(CUevent e) {
  std::lock_guard<std::mutex> lock(State::get().mutex);
  return e->done;
}
GPUSIM_EXPORT CUresult cuEventQuery(CUevent e) {
  NEED_CONTEXT;
  NEED(State::get().isEvent(e), CUDA_ERROR_INVALID_HANDLE);
  CompletionRef done = doneOf(e);
  if (!done)
    return CUDA_SUCCESS;
  if (!done->done())
    return CUDA_ERROR_NOT_READY;
  hostPassed(e);
  return context->sticky;
}
GPUSIM_EXPORT CUresult cuEventSynchronize(CUevent e) {
  NEED_CONTEXT;
  NEED(State::get().isEvent(e), CUDA_ERROR_INVALID_HANDLE);
  if (CompletionRef done = doneOf(e)) {
    done->wait();
    hostPassed(e);
  }
  return context->sticky;
}
GPUSIM_EXPORT CUresult cuEventElapsedTime_v2(float *ms, CUevent a, CUevent b) {
  NEED_CONTEXT;
  NEED(ms && State::get().isEvent(a) && State::get().isEvent(b), CUDA_ERROR_INVALID_HANDLE);
  NEED(!((a->flags | b->flags) & 2), CUDA_ERROR_INVALID_HANDLE); // no timing
  CompletionRef first = doneOf(a), last = doneOf(b);
  NEED(first && last, CUDA_ERROR_INVALID_HANDLE);
  NEED(first->done() && last->done(), CUDA_ERROR_NOT_READY);
  *ms = std::chrono::duration<float, std::milli>(last->when() - first->when()).count();
  return CUDA_SUCCESS;
}
GPUSIM_EXPORT CUresult cuEventElapsedTime(float *ms, CUevent a, CUevent b) { return cuEventElapsedTime_v2(ms, a, b); }

//===-- Graphs ------------------------------------------------------------===//

GPUSIM_EXPORT CUresult cuStreamBeginCapture_v2(CUstream h, int) {
  NEED_CONTEXT;
  NEED_STREAM(h);
  NEED(stream != context->legacy, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  std::lock_guard<std::mutex> lock(State::get().mutex);
  NEED(!stream->capture, CUDA_ERROR_INVALID_VALUE);
  auto *g = new CUgraph_st;
  g->origin = stream;
  g->numStreams = 1;
  g->members.insert(stream);
  stream->capture = g;
  stream->captureIndex = 0;
  return CUDA_SUCCESS;
}

/// Has every stream that joined the capture been waited for again?
static bool joined(const CUgraph_st &g) {
  std::vector<size_t> lastStep(g.numStreams, 0);
  std::vector<bool> open(g.numStreams, false);
  std::map<unsigned, unsigned> streamOfMark;
  std::map<unsigned, std::vector<bool>> covered; // mark -> streams it joins
  std::vector<std::vector<bool>> seen(g.numStreams, std::vector<bool>(g.numStreams, true));
  for (const auto &s : g.steps) {
    if (s.kind == CUgraph_st::Step::Submit) {
      for (auto &other : seen)
        other[s.stream] = false; // new work that only its stream has seen
      seen[s.stream][s.stream] = true;
    } else if (s.kind == CUgraph_st::Step::Record) {
      covered[s.mark] = seen[s.stream];
    } else {
      for (unsigned n = 0; n < g.numStreams; ++n)
        seen[s.stream][n] = seen[s.stream][n] || covered[s.mark][n];
    }
  }
  for (bool b : seen[0])
    if (!b)
      return false;
  return true;
}

GPUSIM_EXPORT CUresult cuStreamEndCapture(CUstream h, CUgraph *out) {
  NEED_CONTEXT;
  NEED_STREAM(h);
  std::lock_guard<std::mutex> lock(State::get().mutex);
  CUgraph g = stream->capture;
  NEED(g && g->origin == stream && out, CUDA_ERROR_INVALID_VALUE);
  for (CUstream s : g->members)
    s->capture = nullptr;
  for (CUevent e : State::get().events)
    if (e->capture == g)
      e->capture = nullptr;
  *out = nullptr;
  if (!joined(*g)) {
    delete g;
    return CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
  }
  *out = g;
  return CUDA_SUCCESS;
}
GPUSIM_EXPORT CUresult cuStreamIsCapturing(CUstream h, int *status) {
  NEED_CONTEXT;
  NEED_STREAM(h);
  *status = stream->capture != nullptr;
  return CUDA_SUCCESS;
}
GPUSIM_EXPORT CUresult cuThreadExchangeStreamCaptureMode(int *mode) {
  thread_local int current = 0;
  NEED(mode, CUDA_ERROR_INVALID_VALUE);
  std::swap(*mode, current);
  return CUDA_SUCCESS;
}
GPUSIM_EXPORT CUresult cuGraphCreate(CUgraph *out, unsigned) {
  NEED_CONTEXT;
  *out = new CUgraph_st;
  (*out)->numStreams = 1;
  return CUDA_SUCCESS;
}
GPUSIM_EXPORT CUresult cuGraphDestroy(CUgraph g) {
  NEED(g, CUDA_ERROR_INVALID_VALUE);
  delete g;
  return CUDA_SUCCESS;
}
GPUSIM_EXPORT CUresult cuGraphGetNodes(CUgraph g, CUgraphNode *nodes, size_t *count) {
  NEED_CONTEXT;
  NEED(g && count, CUDA_ERROR_INVALID_VALUE);
  NEED(!nodes, CUDA_ERROR_NOT_SUPPORTED); // nodes have no handles here
  *count = 0;
  for (const auto &s : g->steps)
    *count += s.kind == CUgraph_st::Step::Submit;
  return CUDA_SUCCESS;
}
GPUSIM_EXPORT CUresult cuGraphInstantiateWithFlags(CUgraphExec *out, CUgraph g, unsigned long long) {
  NEED_CONTEXT;
  NEED(out && g, CUDA_ERROR_INVALID_VALUE);
  *out = new CUgraphExec_st;
  (*out)->graph = *g;
  (*out)->context = context;
  for (unsigned n = 1; n < g->numStreams; ++n)
    (*out)->branches.push_back(State::get().createStream(context, 1, 0));
  return CUDA_SUCCESS;
}
GPUSIM_EXPORT CUresult cuGraphUpload(CUgraphExec, CUstream) { return CUDA_SUCCESS; }

/// The calls are made again, the origin's in the launching stream and the
/// others' in further streams that start after it.
GPUSIM_EXPORT CUresult cuGraphLaunch(CUgraphExec e, CUstream h) {
  NEED_CONTEXT;
  NEED_STREAM(h);
  NEED(e, CUDA_ERROR_INVALID_VALUE);
  State &state = State::get();
  std::vector<std::unique_ptr<CUevent_st>> marks(e->graph.numMarks + 1);
  for (auto &m : marks) {
    m = std::make_unique<CUevent_st>();
    m->context = context;
  }
  CUevent start = marks.back().get();
  state.record(stream, start);
  for (CUstream branch : e->branches)
    state.waitEvent(branch, start);
  auto streamOf = [&](unsigned n) { return n ? e->branches[n - 1] : stream; };
  for (const CUgraph_st::Step &s : e->graph.steps) {
    if (s.kind == CUgraph_st::Step::Submit)
      state.submit(streamOf(s.stream), s.what, s.work, s.declared);
    else if (s.kind == CUgraph_st::Step::Record)
      state.record(streamOf(s.stream), marks[s.mark].get());
    else
      state.waitEvent(streamOf(s.stream), marks[s.mark].get());
  }
  return CUDA_SUCCESS;
}
GPUSIM_EXPORT CUresult cuGraphExecDestroy(CUgraphExec e) {
  NEED_CONTEXT;
  NEED(e, CUDA_ERROR_INVALID_VALUE);
  for (CUstream s : e->branches)
    State::get().destroyStream(s);
  delete e;
  return CUDA_SUCCESS;
}

//===-- For gpusim's own libraries ----------------------------------------===//

GPUSIM_EXPORT CUresult gpusimSubmit(CUstream h, const char *what, void (*run)(void *), void (*drop)(void *), void *data,
                                    const gpusimBuffer *buffers, size_t count) {
  NEED_CONTEXT;
  NEED_STREAM(h);
  std::shared_ptr<void> owned(data, [drop](void *p) {
    if (drop)
      drop(p);
  });
  std::vector<AccessSet> declared;
  for (size_t n = 0; n < count; ++n) {
    const gpusimBuffer &b = buffers[n];
    AccessSet set;
    set.alloc = MemorySpace::get().findRange(b.ptr, b.bytes);
    if (!set.alloc || !b.bytes)
      continue;
    (b.writes ? set.writes : set.reads).push_back({b.ptr, b.ptr + b.bytes});
    declared.push_back(std::move(set));
  }
  return State::get().submit(
      stream, what,
      [run, owned](Operation &) {
        run(owned.get());
        return CUDA_SUCCESS;
      },
      std::move(declared));
}
GPUSIM_EXPORT void *gpusimHostAddress(CUdeviceptr ptr, size_t bytes) {
  AllocationRef a = MemorySpace::get().findRange(ptr, bytes);
  return a ? a->data + (ptr - a->base) : nullptr;
}
GPUSIM_EXPORT void gpusimGetWritten(CUdeviceptr ptr, size_t bytes, unsigned char *bits) {
  AllocationRef a = MemorySpace::get().findRange(ptr, bytes);
  memset(bits, a && a->valid ? 0 : 0xff, (bytes + 7) / 8);
  if (!a || !a->valid)
    return;
  uint64_t at = ptr - a->base;
  if (at % 8 == 0) {
    memcpy(bits, a->valid + at / 8, (bytes + 7) / 8);
    return;
  }
  for (size_t n = 0; n < bytes; ++n, ++at)
    bits[n / 8] |= (a->valid[at / 8] >> (at % 8) & 1) << (n % 8);
}
GPUSIM_EXPORT void gpusimSetWritten(CUdeviceptr ptr, size_t bytes, const unsigned char *bits) {
  AllocationRef a = MemorySpace::get().findRange(ptr, bytes);
  if (!a)
    return;
  auto bit = [&](size_t n) { return bits[n / 8] >> (n % 8) & 1; };
  for (size_t n = 0; n < bytes;) {
    size_t length = 1;
    while (n + length < bytes && bit(n + length) == bit(n)) {
      // Whole bytes of the map at a time.
      bool same = (n + length) % 8 == 0 && n + length + 8 <= bytes && bits[(n + length) / 8] == (bit(n) ? 0xff : 0);
      length += same ? 8 : 1;
    }
    MemorySpace::setValid(*a, ptr + n, length, bit(n));
    n += length;
  }
}
GPUSIM_EXPORT void gpusimReport(const char *text) { State::get().report(text); }
GPUSIM_EXPORT int gpusimReportCount(void) { return State::get().reports().size(); }
GPUSIM_EXPORT void gpusimCountMessage(const char *kind, size_t bytes) { countMessage(kind, bytes); }
