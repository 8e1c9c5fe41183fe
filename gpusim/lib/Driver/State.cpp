// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "State.h"

#include "Report.h"

#include <cstdlib>

using namespace gpusim;

//===-- Settings ----------------------------------------------------------===//

static uint64_t number(const char *name, uint64_t otherwise) {
  const char *text = getenv(name);
  if (!text || !*text)
    return otherwise;
  char *end;
  uint64_t v = strtoull(text, &end, 0);
  if (*end == 'K' || *end == 'k')
    v <<= 10;
  if (*end == 'M' || *end == 'm')
    v <<= 20;
  if (*end == 'G' || *end == 'g')
    v <<= 30;
  return v;
}

const Settings &Settings::get() {
  // Never destroyed: the final report still needs it.
  static const Settings &settings = *new Settings([] {
    Settings s;
    s.devices = number("GPUSIM_DEVICES", s.devices);
    s.memory = number("GPUSIM_MEMORY", s.memory);
    s.arch = number("GPUSIM_ARCH", s.arch);
    s.cores = number("GPUSIM_CORES", s.cores);
    s.seed = number("GPUSIM_SEED", s.seed);
    s.delayMicros = number("GPUSIM_DELAY", s.delayMicros);
    s.maxBranches = number("GPUSIM_MAX_BRANCHES", s.maxBranches);
    s.checkInit = number("GPUSIM_CHECK_INIT", 1);
    s.checkRaces = number("GPUSIM_CHECK_SHARED_RACES", 1);
    s.detect = number("GPUSIM_CHECK_ORDER", 1);
    if (const char *dir = getenv("GPUSIM_REPORT_DIR"))
      s.reportDir = dir;
    if (const char *ptxas = getenv("GPUSIM_PTXAS"))
      s.ptxas = ptxas;
    return s;
  }());
  return settings;
}

//===-- Completion --------------------------------------------------------===//

void Completion::signal() {
  std::lock_guard<std::mutex> lock(mutex);
  isDone = true;
  time = std::chrono::steady_clock::now();
  changed.notify_all();
}
void Completion::wait() {
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait(lock, [&] { return isDone; });
}
bool Completion::done() {
  std::lock_guard<std::mutex> lock(mutex);
  return isDone;
}
std::chrono::steady_clock::time_point Completion::when() {
  std::lock_guard<std::mutex> lock(mutex);
  return time;
}

//===-- Devices and contexts ----------------------------------------------===//

State &State::get() {
  static State *state = new State; // stream threads may outlive main
  return *state;
}

CUctx_st *&State::current() {
  thread_local CUctx_st *context = nullptr;
  return context;
}

CUresult State::initialise() {
  std::lock_guard<std::mutex> lock(mutex);
  if (initialised)
    return CUDA_SUCCESS;
#ifdef __AVX2__
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) {
    fprintf(stderr, "gpusim: this build needs a processor with AVX2 and FMA\n");
    return CUDA_ERROR_NO_DEVICE;
  }
#endif
  devices.resize(Settings::get().devices);
  for (size_t n = 0; n < devices.size(); ++n)
    devices[n].ordinal = n;
  if (devices.empty())
    return CUDA_ERROR_NO_DEVICE;
  initialised = true;
  return CUDA_SUCCESS;
}

Device *State::device(int ordinal) {
  return ordinal >= 0 && ordinal < (int)devices.size() ? &devices[ordinal] : nullptr;
}

CUctx_st *State::createContext(Device &d, unsigned flags, bool primary) {
  auto *c = new CUctx_st;
  c->device = &d;
  c->flags = flags;
  c->primary = primary;
  c->legacy = createStream(c, 0, 0);
  std::lock_guard<std::mutex> lock(mutex);
  contexts.insert(c);
  return c;
}

void State::destroyContext(CUctx_st *c) {
  hostWait(c);
  std::set<CUstream> mine;
  {
    std::lock_guard<std::mutex> lock(mutex);
    mine = c->streams;
    contexts.erase(c);
  }
  for (CUstream s : mine)
    destroyStream(s);
  writeReportFiles();
}

bool State::isContext(CUctx_st *c) {
  std::lock_guard<std::mutex> lock(mutex);
  return contexts.count(c);
}

//===-- Streams -----------------------------------------------------------===//

CUstream State::createStream(CUctx_st *c, unsigned flags, int priority) {
  auto *s = new CUstream_st;
  s->context = c;
  s->flags = flags;
  s->priority = priority;
  std::lock_guard<std::mutex> lock(mutex);
  s->id = nextStream++;
  // What the host knows at its birth comes before everything in it.
  s->clock = host;
  streams.insert(s);
  c->streams.insert(s);
  return s;
}

void State::destroyStream(CUstream s) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    streams.erase(s);
    s->context->streams.erase(s);
  }
  if (s->worker.joinable()) {
    {
      std::lock_guard<std::mutex> lock(s->mutex);
      s->closing = true;
      s->changed.notify_all();
    }
    s->worker.join();
  }
  delete s;
}

CUstream State::stream(CUstream handle) {
  CUctx_st *c = current();
  // 0 and 1 name the legacy stream; 2, one stream per thread, is a stream that
  // is ordered with the legacy one just so, and one for all threads here.
  if ((uintptr_t)handle <= 2)
    return c ? c->legacy : nullptr;
  std::lock_guard<std::mutex> lock(mutex);
  return streams.count(handle) ? handle : nullptr;
}

bool State::isEvent(CUevent e) {
  std::lock_guard<std::mutex> lock(mutex);
  return events.count(e);
}

void State::enqueue(CUstream s, std::function<void()> run, CompletionRef done) {
  std::lock_guard<std::mutex> lock(s->mutex);
  s->queue.push_back({std::move(run), std::move(done)});
  if (!s->worker.joinable())
    s->worker = std::thread([this, s] { work(s); });
  s->changed.notify_all();
}

void State::work(CUstream s) {
  const Settings &settings = Settings::get();
  std::mt19937_64 rng(settings.seed * 1000003 + s->id);
  for (;;) {
    CUstream_st::Task task;
    {
      std::unique_lock<std::mutex> lock(s->mutex);
      s->changed.wait(lock, [&] { return s->closing || !s->queue.empty(); });
      if (s->queue.empty())
        return;
      task = std::move(s->queue.front());
      s->queue.pop_front();
    }
    // Seeded delays try out other interleavings of the streams.
    if (settings.delayMicros && rng() % 2)
      std::this_thread::sleep_for(std::chrono::microseconds(rng() % settings.delayMicros));
    task.run();
    task.done->signal();
  }
}

/// The legacy stream and the blocking streams wait for each other. Called with
/// the mutex held.
void State::syncWithLegacy(CUstream s, std::vector<CompletionRef> &waits) {
  CUctx_st *c = s->context;
  auto after = [&](CUstream other) {
    if (other->tail && !other->tail->done())
      waits.push_back(other->tail);
    s->clock.join(other->clock);
  };
  if (s != c->legacy) {
    if (!(s->flags & 1) && c->legacy->issued)
      after(c->legacy);
    return;
  }
  for (CUstream other : c->streams)
    if (other != s && !(other->flags & 1))
      after(other);
}

CUresult State::submit(CUstream s, const std::string &what, Work work, std::vector<AccessSet> declared) {
  std::unique_lock<std::mutex> lock(mutex);
  if (s->capture) {
    s->capture->steps.push_back(
        {CUgraph_st::Step::Submit, s->captureIndex, 0, what, std::move(work), std::move(declared)});
    return CUDA_SUCCESS;
  }
  std::vector<CompletionRef> waits;
  syncWithLegacy(s, waits);
  s->clock.join(host);
  auto op = std::make_shared<Operation>();
  op->stream = s->id;
  op->number = ++s->issued;
  op->clock = s->clock;
  op->accesses = std::move(declared);
  op->what = what + " (operation " + std::to_string(op->number) + " of stream " + std::to_string(s->id) + ")";
  s->clock.set(s->id, op->number);
  auto done = std::make_shared<Completion>();
  s->tail = done;
  ++underWay;
  CUctx_st *c = s->context;
  enqueue(
      s,
      [this, c, op, waits, work = std::move(work)] {
        for (const CompletionRef &w : waits)
          w->wait();
        // After an error nothing runs any more in a context.
        if (!c->sticky) {
          CUresult r = work(*op);
          if (r != CUDA_SUCCESS) {
            int none = 0;
            c->sticky.compare_exchange_strong(none, r);
          }
        }
        if (Settings::get().detect)
          for (const std::string &text : detector.finish(op))
            report(text);
        --underWay;
      },
      done);
  return CUDA_SUCCESS;
}

void State::record(CUstream s, CUevent e) {
  std::lock_guard<std::mutex> lock(mutex);
  if (s->capture) {
    e->capture = s->capture;
    e->captureMark = s->capture->numMarks++;
    s->capture->steps.push_back({CUgraph_st::Step::Record, s->captureIndex, e->captureMark, "", nullptr, {}});
    return;
  }
  std::vector<CompletionRef> waits;
  syncWithLegacy(s, waits);
  s->clock.join(host);
  e->capture = nullptr;
  e->clock = s->clock;
  e->done = std::make_shared<Completion>();
  s->tail = e->done;
  enqueue(
      s,
      [waits] {
        for (const CompletionRef &w : waits)
          w->wait();
      },
      e->done);
}

CUresult State::waitEvent(CUstream s, CUevent e) {
  std::lock_guard<std::mutex> lock(mutex);
  if (e->capture) {
    // Waiting for a captured event pulls the stream into the capture.
    CUgraph g = e->capture;
    if (!s->capture) {
      s->capture = g;
      s->captureIndex = g->numStreams++;
      g->members.insert(s);
    } else if (s->capture != g) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    g->steps.push_back({CUgraph_st::Step::Wait, s->captureIndex, e->captureMark, "", nullptr, {}});
    return CUDA_SUCCESS;
  }
  if (!e->done)
    return CUDA_SUCCESS; // never recorded: nothing to wait for
  s->clock.join(e->clock);
  CompletionRef until = e->done;
  auto done = std::make_shared<Completion>();
  s->tail = done;
  enqueue(s, [until] { until->wait(); }, done);
  return CUDA_SUCCESS;
}

void State::hostWait(CUstream s) {
  CompletionRef tail;
  Clock clock;
  {
    std::lock_guard<std::mutex> lock(mutex);
    tail = s->tail;
    clock = s->clock;
  }
  if (tail)
    tail->wait();
  Clock now; // a copy: other threads go on
  {
    std::lock_guard<std::mutex> lock(mutex);
    host.join(clock);
    now = host;
  }
  detector.prune(now, underWay == 0);
}

void State::hostWait(CUctx_st *c) {
  std::vector<CUstream> all;
  {
    std::lock_guard<std::mutex> lock(mutex);
    all.assign(c->streams.begin(), c->streams.end());
  }
  for (CUstream s : all)
    hostWait(s);
}

CUresult State::submitAndWait(CUctx_st *c, const std::string &what, Work work) {
  CUresult r = submit(c->legacy, what, std::move(work));
  hostWait(c->legacy);
  return c->sticky ? c->sticky.load() : r;
}

void State::drainAtExit() {
  for (int n = 0; n < 1000 && underWay; ++n)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

//===-- Reports -----------------------------------------------------------===//

void State::report(const std::string &text) {
  std::lock_guard<std::mutex> lock(reportMutex);
  reportTexts.push_back(text);
  fprintf(stderr, "gpusim: %s\n", text.c_str());
}

std::vector<std::string> State::reports() {
  std::lock_guard<std::mutex> lock(reportMutex);
  return reportTexts;
}
