// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Devices, contexts, streams, events and graphs of the simulated driver.
#ifndef GPUSIM_DRIVER_STATE_H
#define GPUSIM_DRIVER_STATE_H

#include "Order.h"
#include "gpusim/CUDA.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <random>
#include <thread>

namespace gpusim {

/// Settings from the environment; docs/gpusim.md lists them.
struct Settings {
  unsigned devices = 1, arch = 90, cores = 1, delayMicros = 50;
  uint64_t memory = 2ull << 30, seed = 1, maxBranches = 1ull << 34;
  bool checkInit = true, checkRaces = true, detect = true;
  std::string reportDir, ptxas;
  static const Settings &get();
};

/// Done once; whoever waits sees it for ever.
class Completion {
public:
  void signal();
  void wait();
  bool done();
  std::chrono::steady_clock::time_point when();

private:
  std::mutex mutex;
  std::condition_variable changed;
  bool isDone = false;
  std::chrono::steady_clock::time_point time;
};
using CompletionRef = std::shared_ptr<Completion>;

struct Device {
  int ordinal = 0;
  uint64_t used = 0; ///< bytes, guarded by State::mutex
  CUctx_st *primary = nullptr;
  unsigned primaryUses = 0;
  CUmemPoolHandle_st *defaultPool = nullptr, *pool = nullptr;
};

/// What a stream does when it gets there. Returns the driver's error code.
using Work = std::function<CUresult(Operation &)>;

} // namespace gpusim

struct CUctx_st {
  gpusim::Device *device = nullptr;
  unsigned flags = 0;
  bool primary = false;
  std::atomic<int> sticky{0};
  CUstream legacy = nullptr;
  std::set<CUstream> streams;
  std::set<CUctx_st *> peers;
};

struct CUstream_st {
  CUctx_st *context = nullptr;
  unsigned id = 0, flags = 0;
  int priority = 0;
  // Guarded by State::mutex.
  gpusim::Clock clock;
  uint64_t issued = 0;
  gpusim::CompletionRef tail;
  CUgraph capture = nullptr;
  unsigned captureIndex = 0; ///< number of this stream within the graph
  // The worker.
  struct Task {
    std::function<void()> run;
    gpusim::CompletionRef done;
  };
  std::thread worker;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Task> queue;
  bool closing = false;
};

struct CUevent_st {
  CUctx_st *context = nullptr;
  unsigned flags = 0;
  // State of the last record; guarded by State::mutex.
  gpusim::CompletionRef done;
  gpusim::Clock clock;
  CUgraph capture = nullptr;
  unsigned captureMark = 0;
};

struct CUmemPoolHandle_st {
  gpusim::Device *device = nullptr;
  uint64_t maxSize = 0, used = 0, high = 0, threshold = 0;
  bool isDefault = false;
};

struct CUmod_st {
  CUctx_st *context = nullptr;
  std::unique_ptr<gpusim::Module> module;
  std::map<std::string, CUfunction> functions;
};

struct CUfunc_st {
  CUmod_st *module = nullptr;
  const gpusim::Kernel *kernel = nullptr;
  int maxDynamicShared = 48 << 10, carveout = -1;
};

/// A captured sequence of calls, replayed on as many streams as took part.
struct CUgraph_st {
  struct Step {
    enum Kind { Submit, Record, Wait } kind;
    unsigned stream, mark;
    std::string what;
    gpusim::Work work;
    std::vector<gpusim::AccessSet> declared;
  };
  std::vector<Step> steps;
  unsigned numStreams = 0, numMarks = 0;
  CUstream origin = nullptr;
  std::set<CUstream> members;
};

struct CUgraphExec_st {
  CUgraph_st graph;
  CUctx_st *context = nullptr;
  std::vector<CUstream> branches;
};

namespace gpusim {

class State {
public:
  static State &get();

  /// The context of the calling thread; null if there is none.
  static CUctx_st *&current();

  CUresult initialise();
  bool ready() const { return initialised; }
  Device *device(int ordinal);
  CUctx_st *createContext(Device &d, unsigned flags, bool primary);
  void destroyContext(CUctx_st *c);

  CUstream createStream(CUctx_st *c, unsigned flags, int priority);
  void destroyStream(CUstream s);
  /// Resolves the special handles 0, 1, 2; null if it is not a stream.
  CUstream stream(CUstream handle);
  bool isEvent(CUevent e);
  bool isContext(CUctx_st *c);

  /// `declared` is what the work would touch, where that is known beforehand:
  /// it is compared even if an error keeps the work from running.
  CUresult submit(CUstream s, const std::string &what, Work work, std::vector<AccessSet> declared = {});
  void record(CUstream s, CUevent e);
  CUresult waitEvent(CUstream s, CUevent e);
  void hostWait(CUstream s);
  void hostWait(CUctx_st *c);
  /// Work of the host's own, such as a synchronous copy: on the legacy stream.
  CUresult submitAndWait(CUctx_st *c, const std::string &what, Work work);

  /// Lets queued work end before the process does, for a moment at most.
  void drainAtExit();
  void report(const std::string &text);
  std::vector<std::string> reports();

  std::mutex mutex;
  Clock host;
  std::set<CUevent> events;
  std::set<CUmod_st *> modules;
  std::set<CUctx_st *> contexts;
  RaceDetector detector;
  std::vector<Device> devices;

private:
  void enqueue(CUstream s, std::function<void()> run, CompletionRef done);
  void syncWithLegacy(CUstream s, std::vector<CompletionRef> &waits);
  void work(CUstream s);

  bool initialised = false;
  unsigned nextStream = 0;
  std::set<CUstream> streams;
  std::atomic<uint64_t> underWay{0};
  std::mutex reportMutex;
  std::vector<std::string> reportTexts;
};

} // namespace gpusim

#endif // GPUSIM_DRIVER_STATE_H
