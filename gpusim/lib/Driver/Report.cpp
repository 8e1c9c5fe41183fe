// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Report.h"

#include "State.h"

#include <algorithm>
#include <cstdarg>
#include <fstream>
#include <unistd.h>

using namespace gpusim;

Limits gpusim::limitsOf(unsigned arch) {
  if (arch >= 100)
    return {148, 2048, 32, 65536, 228 << 10, 227 << 10, 1024, 256};
  if (arch >= 90)
    return {132, 2048, 32, 65536, 228 << 10, 227 << 10, 1024, 256};
  if (arch == 86 || arch == 89)
    return {84, 1536, arch == 89 ? 24u : 16u, 65536, 100 << 10, 99 << 10, 1024, 256};
  return {108, 2048, 32, 65536, 164 << 10, 163 << 10, 1024, 256};
}

unsigned gpusim::blocksPerSM(unsigned arch, unsigned threads, unsigned registers, unsigned shared) {
  const Limits l = limitsOf(arch);
  if (!threads)
    return 0;
  const unsigned warps = (threads + 31) / 32;
  unsigned blocks = std::min(l.blocksPerSM, l.threadsPerSM / (warps * 32));
  // Registers are given to warps in units, and warps to four schedulers.
  unsigned perWarp = (std::max(registers, 1u) * 32 + l.registerGranule - 1) / l.registerGranule * l.registerGranule;
  unsigned warpsByRegisters = l.registersPerSM / 4 / perWarp * 4;
  blocks = std::min(blocks, warpsByRegisters / warps);
  unsigned perBlock = (shared + l.reservedShared + 127) / 128 * 128;
  return std::min(blocks, l.sharedPerSM / perBlock);
}

namespace {

struct LaunchRecord {
  KernelFacts facts;
  unsigned grid[3], block[3];
  Counters counters;
};

// Never destroyed: the report is written when the process ends.
std::mutex &reportLock = *new std::mutex;
std::vector<LaunchRecord> &launches = *new std::vector<LaunchRecord>;
auto &messages = *new std::map<std::string, std::pair<uint64_t, uint64_t>>;

std::string format(const char *f, ...) {
  char text[600];
  va_list args;
  va_start(args, f);
  vsnprintf(text, sizeof text, f, args);
  va_end(args);
  return text;
}

std::string quoted(const std::string &s) {
  std::string r = "\"";
  for (char c : s) {
    if (c == '"' || c == '\\')
      r += '\\';
    if ((unsigned char)c < 32)
      r += format("\\u%04x", c);
    else
      r += c;
  }
  return r + "\"";
}

using U = unsigned long long;

std::string countersJson(const Counters &c) {
  std::string s = "{\"warp_instructions\": {";
  const char *comma = "";
  for (int n = 1; n < (int)Class::Count; ++n)
    if (c.warpInsts[n]) {
      s += format("%s\"%s\": %llu", comma, className((Class)n), (U)c.warpInsts[n]);
      comma = ", ";
    }
  s += "}, \"thread_instructions\": {";
  comma = "";
  for (int n = 1; n < (int)Class::Count; ++n)
    if (c.threadInsts[n]) {
      s += format("%s\"%s\": %llu", comma, className((Class)n), (U)c.threadInsts[n]);
      comma = ", ";
    }
  s += "}, \"flops\": {";
  comma = "";
  for (int n = 1; n < (int)Unit::Count; ++n)
    if (c.flops[n]) {
      s += format("%s\"%s\": %llu", comma, unitName((Unit)n), (U)c.flops[n]);
      comma = ", ";
    }
  s += format("}, \"global_load_bytes\": %llu, \"global_store_bytes\": %llu, "
              "\"global_requests\": %llu, \"global_sectors\": %llu, "
              "\"distinct_load_sectors\": %llu, \"distinct_store_sectors\": %llu, "
              "\"shared_requests\": %llu, \"shared_wavefronts\": %llu, "
              "\"shared_wavefronts_ideal\": %llu, \"bank_conflicts\": %llu, ",
              (U)c.globalLoadBytes, (U)c.globalStoreBytes, (U)c.globalRequests, (U)c.globalSectors,
              (U)c.distinctLoadSectors, (U)c.distinctStoreSectors, (U)c.sharedRequests, (U)c.sharedWavefronts,
              (U)c.sharedIdeal, (U)(c.sharedWavefronts - c.sharedIdeal));
  s += format("\"barriers\": %llu, \"blocks\": %llu, \"warps\": %llu}", (U)c.barriers, (U)c.blocks, (U)c.warps);
  return s;
}

std::string factsJson(const KernelFacts &f) {
  return format("\"registers\": %d, \"registers_from_ptxas\": %s, "
                "\"static_shared\": %u, \"dynamic_shared\": %u, "
                "\"threads_per_block\": %u, \"blocks_per_sm\": %u, "
                "\"occupancy\": %.4f",
                f.registers, f.registersFromPtxas ? "true" : "false", f.staticShared, f.dynamicShared, f.threads,
                f.blocksPerSM, f.warpsPerSM * 32.0 / limitsOf(Settings::get().arch).threadsPerSM);
}

} // namespace

void gpusim::addLaunch(const KernelFacts &facts, const LaunchConfig &config, const Counters &c) {
  std::lock_guard<std::mutex> lock(reportLock);
  LaunchRecord r{facts, {}, {}, c};
  std::copy(config.grid, config.grid + 3, r.grid);
  std::copy(config.block, config.block + 3, r.block);
  launches.push_back(r);
}

void gpusim::countMessage(const char *kind, size_t bytes) {
  std::lock_guard<std::mutex> lock(reportLock);
  auto &m = messages[kind];
  ++m.first;
  m.second += bytes;
}

std::string gpusim::reportJson() {
  std::vector<std::string> reports = State::get().reports();
  std::lock_guard<std::mutex> lock(reportLock);
  std::string s = format("{\"pid\": %d, \"arch\": \"sm_%u\", \"seed\": %llu,\n "
                         "\"reports\": [",
                         (int)getpid(), Settings::get().arch, (U)Settings::get().seed);
  for (size_t n = 0; n < reports.size(); ++n)
    s += (n ? ",\n  " : "\n  ") + quoted(reports[n]);
  s += "],\n \"messages\": {";
  const char *comma = "";
  for (const auto &m : messages) {
    s +=
        comma + quoted(m.first) + format(": {\"count\": %llu, \"bytes\": %llu}", (U)m.second.first, (U)m.second.second);
    comma = ", ";
  }
  s += "},\n \"launches\": [";
  comma = "\n  ";
  for (const LaunchRecord &l : launches) {
    s += comma + ("{\"kernel\": " + quoted(l.facts.name)) +
         format(", \"grid\": [%u, %u, %u], \"block\": [%u, %u, %u], ", l.grid[0], l.grid[1], l.grid[2], l.block[0],
                l.block[1], l.block[2]) +
         factsJson(l.facts) + ", \"counters\": " + countersJson(l.counters) + "}";
    comma = ",\n  ";
  }
  return s + "]}\n";
}

std::string gpusim::reportTable() {
  std::vector<std::string> reports = State::get().reports();
  std::lock_guard<std::mutex> lock(reportLock);
  std::string s =
      format("gpusim: process %d, sm_%u, seed %llu\n", (int)getpid(), Settings::get().arch, (U)Settings::get().seed);
  struct Sum {
    KernelFacts facts;
    Counters c;
    uint64_t launches = 0;
  };
  std::map<std::string, Sum> byKernel;
  for (const LaunchRecord &l : launches) {
    Sum &sum = byKernel[l.facts.name];
    sum.facts = l.facts;
    sum.c.add(l.counters);
    ++sum.launches;
  }
  for (const auto &k : byKernel) {
    const Counters &c = k.second.c;
    const KernelFacts &f = k.second.facts;
    s += format("\nkernel %s: %llu launches, %llu blocks of %u threads\n", k.first.c_str(), (U)k.second.launches,
                (U)c.blocks, f.threads);
    s += format("  %-28s %d%s, shared %u + %u bytes, %u blocks/SM\n", "registers", f.registers,
                f.registersFromPtxas ? " (ptxas)" : " (estimate)", f.staticShared, f.dynamicShared, f.blocksPerSM);
    for (int n = 1; n < (int)Class::Count; ++n)
      if (c.warpInsts[n])
        s += format("  %-28s %16llu warp %18llu thread\n", className((Class)n), (U)c.warpInsts[n], (U)c.threadInsts[n]);
    s += format("  %-28s %16llu warp %18llu thread\n", "all instructions", (U)c.totalWarpInsts(),
                (U)c.totalThreadInsts());
    for (int n = 1; n < (int)Unit::Count; ++n)
      if (c.flops[n])
        s += format("  flop %-23s %16llu\n", unitName((Unit)n), (U)c.flops[n]);
    double wanted = (c.globalLoadBytes + c.globalStoreBytes) / 32.0;
    s += format("  %-28s %16llu load %18llu store\n", "global bytes requested", (U)c.globalLoadBytes,
                (U)c.globalStoreBytes);
    s += format("  %-28s %16llu (%.2f x bytes)\n", "32-byte sectors requested", (U)c.globalSectors,
                wanted ? c.globalSectors / wanted : 0.0);
    s += format("  %-28s %16llu load %18llu store\n", "distinct sectors touched", (U)c.distinctLoadSectors,
                (U)c.distinctStoreSectors);
    s += format("  %-28s %16llu, %llu of them conflicts\n", "shared wavefronts", (U)c.sharedWavefronts,
                (U)(c.sharedWavefronts - c.sharedIdeal));
    s += format("  %-28s %16llu\n", "barriers (per warp)", (U)c.barriers);
  }
  for (const auto &m : messages)
    s += format("\nmessages %-19s %16llu, %llu bytes\n", m.first.c_str(), (U)m.second.first, (U)m.second.second);
  s += format("\nreports: %zu\n", reports.size());
  for (const std::string &r : reports)
    s += "  " + r + "\n";
  return s;
}

void gpusim::writeReportFiles() {
  const std::string &dir = Settings::get().reportDir;
  if (dir.empty())
    return;
  std::string base = dir + "/" + std::to_string(getpid());
  std::ofstream(base + ".txt") << reportTable();
  std::ofstream(base + ".json") << reportJson();
}
