// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Launching: blocks in a seeded order over worker threads, the warps of a
// block interleaved in a seeded order, and the sum of the counters.
#include "Runtime.h"

#include <algorithm>
#include <set>
#include <thread>

using namespace gpusim;

const char *gpusim::faultName(FaultKind k) {
  switch (k) {
  case FaultKind::IllegalAddress:
    return "illegal address";
  case FaultKind::Misaligned:
    return "misaligned address";
  case FaultKind::Uninitialised:
    return "uninitialised read";
  case FaultKind::SharedRace:
    return "race in shared memory";
  case FaultKind::PartialWarp:
    return "warp-wide operation under a partial mask";
  case FaultKind::Barrier:
    return "barrier not reached by all";
  case FaultKind::Deadlock:
    return "deadlock";
  case FaultKind::Timeout:
    return "kernel does not end";
  case FaultKind::Trap:
    return "trap";
  case FaultKind::Assert:
    return "assertion";
  case FaultKind::Illegal:
    return "illegal instruction";
  }
  return "fault";
}

std::string Fault::describe() const {
  char at[200];
  snprintf(at, sizeof at, " at PTX line %u (%s), block (%u,%u,%u), thread (%u,%u,%u)", line, opcode.c_str(), block[0],
           block[1], block[2], thread[0], thread[1], thread[2]);
  std::string text = std::string(faultName(kind)) + " in kernel '" + kernel + "'" + at;
  if (hasAddress) {
    snprintf(at, sizeof at, ", address 0x%llx", (unsigned long long)address);
    text += at;
  }
  return text + ": " + message;
}

void Warp::fault(FaultKind kind, unsigned lane, const std::string &message) const {
  Fault f;
  f.kind = kind;
  f.kernel = kernel->name;
  f.message = message;
  if (pc) {
    f.line = kernel->code[pc - 1].line;
    f.opcode = kernel->text[pc - 1];
  }
  const unsigned *n = block->launch->config.block;
  unsigned t = index * warpSize + lane;
  std::copy(block->id, block->id + 3, f.block);
  f.thread[0] = t % n[0];
  f.thread[1] = t / n[0] % n[1];
  f.thread[2] = t / n[0] / n[1];
  throw f;
}

void Warp::faultAt(FaultKind kind, unsigned lane, uint64_t address, const std::string &message) const {
  try {
    fault(kind, lane, message);
  } catch (Fault &f) {
    f.address = address;
    f.hasAddress = true;
    throw;
  }
}

uint64_t Counters::totalWarpInsts() const {
  uint64_t n = 0;
  for (uint64_t v : warpInsts)
    n += v;
  return n;
}
uint64_t Counters::totalThreadInsts() const {
  uint64_t n = 0;
  for (uint64_t v : threadInsts)
    n += v;
  return n;
}
void Counters::add(const Counters &o) {
  static_assert(sizeof(Counters) % sizeof(uint64_t) == 0, "only sums");
  auto *to = reinterpret_cast<uint64_t *>(this);
  auto *from = reinterpret_cast<const uint64_t *>(&o);
  for (size_t n = 0; n < sizeof(Counters) / sizeof(uint64_t); ++n)
    to[n] += from[n];
}

const char *gpusim::className(Class c) {
  static const char *const names[] = {
      "none",   "fp32",        "half",         "fp64",        "int",          "convert",    "special",
      "move",   "load.global", "store.global", "load.shared", "store.shared", "load.other", "store.other",
      "atomic", "cp.async",    "ldmatrix",     "mma",         "shuffle",      "barrier",    "control"};
  return names[(int)c];
}
const char *gpusim::unitName(Unit u) {
  static const char *const names[] = {"none",       "fp32",        "fp16",        "bf16",
                                      "fp64",       "tensor.f16",  "tensor.bf16", "tensor.tf32",
                                      "tensor.f64", "tensor.int8", "tensor.fp8"};
  return names[(int)u];
}

namespace {

/// Random numbers (Steele, Lea, Flood 2014) that are cheap to seed.
class SplitMix {
public:
  using result_type = uint64_t;
  explicit SplitMix(uint64_t seed) : state(seed) {}
  static constexpr uint64_t min() { return 0; }
  static constexpr uint64_t max() { return ~0ull; }
  uint64_t operator()() {
    uint64_t z = state += 0x9e3779b97f4a7c15ull;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
  }

private:
  uint64_t state;
};

class BlockRunner {
public:
  explicit BlockRunner(Worker &worker);
  void run(uint64_t linear);

private:
  void reset(uint64_t linear);
  void setSpecials(Warp &w);
  void setBlockId(Warp &w);
  void execute(Warp &w);
  [[noreturn]] void reportDeadlock();
  [[noreturn]] void reportPolling();

  Worker &worker;
  Launch &launch;
  const Kernel &kernel;
  Block block;
  std::unique_ptr<uint8_t[]> storage;
  std::vector<uint32_t> predStorage;
  std::vector<std::pair<uint32_t, int>> blockIds; ///< register, dimension
};

BlockRunner::BlockRunner(Worker &worker) : worker(worker), launch(worker.launch), kernel(launch.kernel) {
  const uint32_t warps = launch.warpsPerBlock;
  const size_t file = (kernel.fileBytes + 63) & ~63u;
  storage.reset(new uint8_t[file * warps + 64]);
  auto *base = (uint8_t *)(((uintptr_t)storage.get() + 63) & ~(uintptr_t)63);
  predStorage.resize((size_t)kernel.numPreds * warps);
  block.launch = &launch;
  block.checkRaces = launch.options.checkRaces && warps > 1;
  block.warps.resize(warps);
  block.shared.resize(launch.sharedBytes + 16);
  size_t granules = (launch.sharedBytes >> kernel.granuleShift) + 16;
  block.writer.resize(granules);
  block.reader.resize(granules);
  block.readerMask.resize(granules);
  for (uint32_t n = 0; n < warps; ++n) {
    Warp &w = block.warps[n];
    w.regs = base + file * n;
    w.preds = &predStorage[(size_t)kernel.numPreds * n];
    w.index = n;
    w.block = &block;
    w.worker = &worker;
    w.kernel = &kernel;
    uint32_t left = launch.threads - n * warpSize;
    w.lanes = left >= warpSize ? fullMask : (1u << left) - 1;
    w.local.resize((size_t)kernel.localBytes * warpSize);
    // Registers that are read before they are written show this pattern.
    memset(w.regs, MemorySpace::poison, kernel.fileBytes);
    for (const Constant &c : kernel.constants)
      for (unsigned l = 0; l < warpSize; ++l) {
        if (c.wide)
          w.r<uint64_t>(c.offset)[l] = c.value;
        else
          w.r<uint32_t>(c.offset)[l] = (uint32_t)c.value;
      }
    setSpecials(w);
  }
}

/// Special registers that are the same in every block.
void BlockRunner::setSpecials(Warp &w) {
  blockIds.clear();
  const LaunchConfig &c = launch.config;
  for (const SpecialUse &s : kernel.specials) {
    auto fill = [&](auto f) {
      for (unsigned l = 0; l < warpSize; ++l)
        w.r<uint32_t>(s.offset)[l] = f(l, w.index * warpSize + l);
    };
    const std::string &n = s.name;
    int dim = n.back() == 'x' ? 0 : n.back() == 'y' ? 1 : 2;
    auto is = [&](const char *prefix) { return n.compare(0, strlen(prefix), prefix) == 0; };
    if (is("%tid."))
      fill([&](unsigned, unsigned t) {
        return dim == 0 ? t % c.block[0] : dim == 1 ? t / c.block[0] % c.block[1] : t / c.block[0] / c.block[1];
      });
    else if (is("%ntid."))
      fill([&](unsigned, unsigned) { return c.block[dim]; });
    else if (is("%ctaid.") || is("%clusterid."))
      blockIds.push_back({s.offset, dim});
    else if (is("%nctaid.") || is("%nclusterid."))
      fill([&](unsigned, unsigned) { return c.grid[dim]; });
    else if (n == "%laneid")
      fill([](unsigned l, unsigned) { return l; });
    else if (n == "%warpid")
      fill([&](unsigned, unsigned) { return w.index; });
    else if (n == "%nwarpid")
      fill([&](unsigned, unsigned) { return launch.warpsPerBlock; });
    else if (n == "WARP_SZ")
      fill([](unsigned, unsigned) { return warpSize; });
    else if (n == "%lanemask_eq")
      fill([](unsigned l, unsigned) { return 1u << l; });
    else if (n == "%lanemask_lt")
      fill([](unsigned l, unsigned) { return (1u << l) - 1; });
    else if (n == "%lanemask_le")
      fill([](unsigned l, unsigned) { return (2u << l) - 1; });
    else if (n == "%lanemask_gt")
      fill([](unsigned l, unsigned) { return ~((2u << l) - 1); });
    else if (n == "%lanemask_ge")
      fill([](unsigned l, unsigned) { return ~((1u << l) - 1); });
    else if (n == "%dynamic_smem_size")
      fill([&](unsigned, unsigned) { return c.dynamicShared; });
    else if (n == "%total_smem_size")
      fill([&](unsigned, unsigned) { return launch.sharedBytes; });
    else if (is("%cluster_nctaid.") || n == "%cluster_nctarank" || n == "%nsmid")
      fill([](unsigned, unsigned) { return 1u; });
    else if (n == "%gridid")
      for (unsigned l = 0; l < warpSize; ++l)
        w.r<uint64_t>(s.offset)[l] = 1;
    else // %cluster_ctaid, %smid
      fill([](unsigned, unsigned) { return 0u; });
  }
}

void BlockRunner::setBlockId(Warp &w) {
  for (const auto &use : blockIds)
    std::fill_n(w.r<uint32_t>(use.first), warpSize, block.id[use.second]);
}

void BlockRunner::reset(uint64_t linear) {
  const unsigned *g = launch.config.grid;
  block.linear = linear;
  block.id[0] = linear % g[0];
  block.id[1] = linear / g[0] % g[1];
  block.id[2] = linear / g[0] / g[1];
  std::fill(block.shared.begin(), block.shared.end(), MemorySpace::poison);
  std::fill(block.writer.begin(), block.writer.end(), 0);
  std::fill(block.reader.begin(), block.reader.end(), 0);
  std::fill(block.readerMask.begin(), block.readerMask.end(), 0);
  block.clock = 1;
  block.executed = 0;
  block.progress = 0;
  block.mbarriers.clear();
  block.bulk.clear();
  for (BarrierState &b : block.barriers)
    b = BarrierState();
  for (Warp &w : block.warps) {
    memset(w.preds, 0, kernel.numPreds * sizeof(uint32_t));
    w.preds[0] = fullMask;
    w.pc = 0;
    w.active = w.lanes;
    w.exited = 0;
    w.stop = false;
    w.state = WarpState::Ready;
    w.budget = 256;
    w.carry = 0;
    w.groups.clear();
    w.pending.clear();
    w.landed = 0;
    w.tensorReads.clear();
    w.tensorGroup = 0;
    w.bulkReads.clear();
    w.bulkGroup = 0;
    memset(w.asyncGroup, 0, sizeof w.asyncGroup);
    memset(w.known, 0, sizeof w.known);
    w.clock = 1;
    w.floor = 0;
    setBlockId(w);
  }
}

void BlockRunner::execute(Warp &w) {
  const Inst *code = kernel.code.data();
  InstCount *counts = worker.instCounts.data();
  w.stop = w.polling = false;
  while (!w.stop) {
    const Inst &i = code[w.pc];
    const uint32_t m = w.active & (w.preds[i.pred] ^ i.predXor);
    InstCount &n = counts[w.pc];
    ++n.warps;
    n.lanes += __builtin_popcount(m);
    ++w.pc;
    if (!m)
      continue;
    w.mask = m;
    i.fn(w, i);
  }
}

/// All warps wait or are done, but some wait: their barriers never complete.
void BlockRunner::reportDeadlock() {
  Warp *waiting = nullptr;
  std::string text;
  for (Warp &w : block.warps) {
    if (w.state == WarpState::AtBarrier) {
      waiting = waiting ? waiting : &w;
      text += "; warp " + std::to_string(w.index) + " waits at line " + std::to_string(kernel.code[w.pc - 1].line);
    } else {
      text += "; warp " + std::to_string(w.index) + " has ended";
    }
  }
  waiting->fault(FaultKind::Barrier, 0, "barrier not reached by all" + text);
}

/// Every warp asks its mbarrier again and again, and nobody changes one.
void BlockRunner::reportPolling() {
  std::string text = "every warp waits for an mbarrier";
  const Warp *first = nullptr;
  std::set<uint32_t> polled;
  for (const Warp &w : block.warps)
    if (w.state != WarpState::Done) {
      first = first ? first : &w;
      polled.insert(w.polled);
      text += "; warp " + std::to_string(w.index) + " waits at line " + std::to_string(kernel.code[w.pc - 1].line) +
              " for that at " + std::to_string(w.polled);
    }
  for (const auto &m : block.mbarriers)
    if (polled.count(m.first))
      text += "; that at " + std::to_string(m.first) + " lacks " + std::to_string(m.second.pending) + " arrivals and " +
              std::to_string(m.second.bytes) + " bytes of its phase " + std::to_string(m.second.phase);
  first->fault(FaultKind::Deadlock, 0, text);
}

void BlockRunner::run(uint64_t linear) {
  reset(linear);
  constexpr unsigned mostIdleRounds = 1000;
  unsigned idleRounds = 0;
  // Every block has its own sequence, whichever worker runs it.
  SplitMix rng(SplitMix(launch.options.seed)() + linear);
  std::vector<uint32_t> ready;
  for (;;) {
    ready.clear();
    bool waiting = false;
    for (const Warp &w : block.warps) {
      if (w.state == WarpState::Ready)
        ready.push_back(w.index);
      waiting |= w.state == WarpState::AtBarrier;
    }
    if (ready.empty()) {
      if (waiting)
        reportDeadlock();
      break;
    }
    std::shuffle(ready.begin(), ready.end(), rng);
    const uint64_t before = block.progress;
    bool polling = true;
    for (uint32_t n : ready) {
      execute(block.warps[n]);
      polling &= block.warps[n].polling;
      if (block.executed > launch.options.maxWarpInsts)
        block.warps[n].fault(FaultKind::Timeout, 0,
                             "more than " + std::to_string(launch.options.maxWarpInsts) + " branches in one block");
      if (launch.failed)
        return;
    }
    idleRounds = polling && block.progress == before ? idleRounds + 1 : 0;
    if (idleRounds > mostIdleRounds)
      reportPolling();
  }
  ++worker.counters.blocks;
  worker.counters.warps += block.warps.size();
}

void work(Launch &launch) {
  Worker worker(launch);
  worker.instCounts.resize(launch.kernel.code.size());
  worker.patterns.resize(2 * launch.kernel.code.size());
  try {
    BlockRunner runner(worker);
    while (!launch.failed) {
      uint64_t n = launch.nextBlock++;
      if (n >= launch.blockOrder.size())
        break;
      runner.run(launch.blockOrder[n]);
    }
  } catch (Fault &f) {
    std::lock_guard<std::mutex> lock(launch.mutex);
    if (!launch.fault)
      launch.fault = std::make_unique<Fault>(f);
    launch.failed = true;
  }
  std::lock_guard<std::mutex> lock(launch.mutex);
  launch.counters.add(worker.counters);
  for (size_t n = 0; n < worker.instCounts.size(); ++n) {
    launch.instCounts[n].first += worker.instCounts[n].warps;
    launch.instCounts[n].second += worker.instCounts[n].lanes;
  }
}

void sumInstructions(Launch &launch) {
  Counters &c = launch.counters;
  for (size_t n = 0; n < launch.instCounts.size(); ++n) {
    const Inst &i = launch.kernel.code[n];
    if (i.cls == Class::None)
      continue;
    c.warpInsts[(int)i.cls] += launch.instCounts[n].first;
    c.threadInsts[(int)i.cls] += launch.instCounts[n].second;
    if (i.unit != Unit::None)
      c.flops[(int)i.unit] +=
          i.flops * (i.cls == Class::Tensor ? launch.instCounts[n].first : launch.instCounts[n].second);
  }
}

void checkConfig(const Launch &launch) {
  const LaunchConfig &c = launch.config;
  Fault f;
  f.kernel = launch.kernel.name;
  auto refuse = [&](const std::string &why) {
    f.message = why;
    throw f;
  };
  uint64_t threads = (uint64_t)c.block[0] * c.block[1] * c.block[2];
  uint64_t blocks = (uint64_t)c.grid[0] * c.grid[1] * c.grid[2];
  if (!threads || threads > 1024 || !blocks || blocks > 1ull << 32)
    refuse("launch of " + std::to_string(blocks) + " blocks of " + std::to_string(threads) + " threads");
  if (c.params.size() < launch.kernel.paramBytes)
    refuse("launch with too few parameters");
}

} // namespace

LaunchResult gpusim::runKernel(const Kernel &k, const LaunchConfig &config, const LaunchOptions &options) {
  Launch launch(k, config, options);
  LaunchResult result;
  try {
    checkConfig(launch);
  } catch (Fault &f) {
    result.fault = std::make_unique<Fault>(f);
    return result;
  }
  launch.threads = config.block[0] * config.block[1] * config.block[2];
  launch.warpsPerBlock = (launch.threads + warpSize - 1) / warpSize;
  launch.dynamicOffset = k.staticShared;
  launch.sharedBytes = k.staticShared + config.dynamicShared;
  launch.instCounts.resize(k.code.size());
  uint64_t blocks = (uint64_t)config.grid[0] * config.grid[1] * config.grid[2];
  launch.blockOrder.resize(blocks);
  for (uint64_t n = 0; n < blocks; ++n)
    launch.blockOrder[n] = n;
  SplitMix rng(options.seed);
  if (options.seed)
    std::shuffle(launch.blockOrder.begin(), launch.blockOrder.end(), rng);
  unsigned cores = std::max<uint64_t>(1, std::min<uint64_t>(options.cores, blocks));
  std::vector<std::thread> threads;
  for (unsigned n = 1; n < cores; ++n)
    threads.emplace_back([&] { work(launch); });
  work(launch);
  for (std::thread &t : threads)
    t.join();
  sumInstructions(launch);
  for (auto &t : launch.touched) {
    AccessSet set;
    set.alloc = t.second.alloc;
    set.readMap = t.second.reads;
    set.writeMap = t.second.writes;
    set.reads = set.readMap->ranges(*set.alloc, launch.counters.distinctLoadSectors);
    set.writes = set.writeMap->ranges(*set.alloc, launch.counters.distinctStoreSectors);
    result.accesses.push_back(std::move(set));
  }
  result.counters = launch.counters;
  result.fault = std::move(launch.fault);
  return result;
}
