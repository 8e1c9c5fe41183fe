// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Branches, barriers, exits, fences, traps (PTX ISA, "Control Flow
// Instructions" and "Parallel Synchronization").
#include "Decoder.h"
#include "Lanes.h"

#include <algorithm>

using namespace gpusim;

std::string gpusim::laneList(uint32_t mask) {
  std::string text;
  for (unsigned l = 0; l < warpSize; ++l) {
    if (!(mask >> l & 1))
      continue;
    unsigned last = l;
    while (last + 1 < warpSize && mask >> (last + 1) & 1)
      ++last;
    text += (text.empty() ? "" : ", ") + std::to_string(l);
    if (last > l)
      text += "-" + std::to_string(last);
    l = last;
  }
  return text;
}

namespace {

/// Nobody in the warp can run: those that wait do so for lanes that will not
/// come.
[[noreturn]] void reportStuck(Warp &w) {
  const Group &g = w.groups.front();
  const Inst &i = w.kernel->code[g.pc];
  w.pc = g.pc + 1;
  w.mask = g.mask;
  std::string text = "'" + w.kernel->text[g.pc] + "' is reached by lanes " + laneList(g.mask) + " only";
  if (w.exited & w.lanes)
    text += "; lanes " + laneList(w.exited & w.lanes) + " have exited";
  for (size_t n = 1; n < w.groups.size(); ++n)
    text += "; lanes " + laneList(w.groups[n].mask) + " wait at line " +
            std::to_string(w.kernel->code[w.groups[n].pc].line);
  w.fault(i.cls == Class::Barrier ? FaultKind::Barrier : FaultKind::PartialWarp, __builtin_ctz(g.mask), text);
}

void merge(std::vector<Group> &groups) {
  std::sort(groups.begin(), groups.end(), [](const Group &a, const Group &b) { return a.pc < b.pc; });
  size_t kept = 0;
  for (size_t n = 0; n < groups.size(); ++n) {
    if (kept && groups[kept - 1].pc == groups[n].pc) {
      groups[kept - 1].mask |= groups[n].mask;
      groups[kept - 1].parked = false; // more lanes are here: try again
    } else {
      groups[kept++] = groups[n];
    }
  }
  groups.resize(kept);
}

/// `after`: prefer a group beyond this instruction, so that a group which
/// spins cannot starve the one it waits for.
void pickGroup(Warp &w, uint32_t after) {
  if (w.active)
    w.groups.push_back({w.pc, w.active, false});
  w.active = 0;
  merge(w.groups);
  if (w.groups.empty()) {
    w.state = WarpState::Done;
    w.stop = true;
    return;
  }
  auto ready = [](const Group &g) { return !g.parked; };
  auto it = std::find_if(w.groups.begin(), w.groups.end(), [&](const Group &g) { return ready(g) && g.pc > after; });
  if (it == w.groups.end())
    it = std::find_if(w.groups.begin(), w.groups.end(), ready);
  if (it == w.groups.end())
    reportStuck(w);
  w.pc = it->pc;
  w.active = it->mask;
  w.groups.erase(it);
}

void label(Warp &w, const Inst &) {
  if (!w.groups.empty())
    reschedule(w);
}

constexpr uint32_t branchBudget = 1024;

void spend(Warp &w) {
  if (w.budget--)
    return;
  w.budget = branchBudget;
  w.block->executed += branchBudget;
  w.stop = true; // lets other warps run
  if (!w.groups.empty())
    pickGroup(w, w.pc);
}

void branch(Warp &w, const Inst &i) {
  uint32_t rest = w.active & ~w.mask;
  bool backward = i.target < w.pc;
  if (!rest) {
    w.pc = i.target;
  } else {
    w.groups.push_back({w.pc, rest, false});
    w.active = w.mask;
    w.pc = i.target;
    reschedule(w);
  }
  if (backward)
    spend(w);
}

void branchIndexed(Warp &w, const Inst &i) {
  const uint32_t *index = w.r<uint32_t>(i.a);
  uint32_t rest = w.active & ~w.mask;
  if (rest)
    w.groups.push_back({w.pc, rest, false});
  for (uint32_t m = w.mask; m; m &= m - 1) {
    unsigned l = __builtin_ctz(m);
    if (index[l] >= (uint64_t)i.imm)
      w.fault(FaultKind::Illegal, l,
              "branch index " + std::to_string(index[l]) + " is beyond its " + std::to_string(i.imm) + " targets");
    w.groups.push_back({w.kernel->operandTable[i.target + index[l]], 1u << l, false});
  }
  w.active = 0;
  reschedule(w);
  spend(w);
}

void exitLanes(Warp &w, const Inst &) {
  w.exited |= w.mask;
  w.active &= ~w.mask;
  reschedule(w);
}

void trap(Warp &w, const Inst &) { w.fault(FaultKind::Trap, __builtin_ctz(w.mask), "the kernel executed a trap"); }
void nothing(Warp &, const Inst &) {}
void pauseWarp(Warp &w, const Inst &) { w.stop = true; }

std::string localText(Warp &w, unsigned lane, uint64_t pointerAt) {
  uint64_t address = 0;
  if (pointerAt + 8 > w.kernel->localBytes)
    return "?";
  memcpy(&address, &w.local[lane * w.kernel->localBytes + pointerAt], 8);
  AllocationRef a = MemorySpace::get().find(address);
  if (!a || a->freed)
    return "?";
  std::string text;
  for (uint64_t p = address; p < a->end() && text.size() < 4096; ++p) {
    char c = a->data[p - a->base];
    if (!c)
      break;
    text += c;
  }
  return text;
}

/// Arguments of __assertfail: message, file, line, function, char size.
void assertFail(Warp &w, const Inst &i) {
  unsigned lane = __builtin_ctz(w.mask);
  std::string text = "assertion '" + localText(w, lane, i.a) + "' failed in " + localText(w, lane, i.b);
  w.fault(FaultKind::Assert, lane, text);
}

//===-- Barriers ----------------------------------------------------------===//

enum BarKind { Sync, Arrive, RedPopc, RedAnd, RedOr };

bool complete(Block &b, const BarrierState &s) {
  uint32_t arrived = __builtin_popcount(s.arrived);
  if (s.expected)
    return arrived * warpSize >= s.expected;
  return arrived == b.warps.size();
}

void release(Block &b, BarrierState &s) {
  ++b.progress;
  for (uint32_t n : s.waiting) {
    b.warps[n].state = WarpState::Ready;
    b.warps[n].reduced = s.count;
  }
  learnClocks(b, s.waiting, s.known);
  s.arrived = 0;
  s.waiting.clear();
  memset(s.known, 0, sizeof s.known);
}

/// a: barrier number, b: thread count; imm: kind; flags: 1 count given, 4 of
/// the cluster.
void barrier(Warp &w, const Inst &i) {
  Block &b = *w.block;
  if (w.exited)
    w.fault(FaultKind::Barrier, __builtin_ctz(w.exited),
            "barrier not reached by all: lanes " + laneList(w.exited) + " of this warp have exited");
  if (!converge(w, i, w.lanes))
    return;
  unsigned lane = __builtin_ctz(w.mask);
  uint32_t id = w.r<uint32_t>(i.a)[lane];
  uint32_t threads = i.flags & 1 ? w.r<uint32_t>(i.b)[lane] : 0;
  if (id >= 16 + (i.flags & 4 ? 1u : 0u))
    w.fault(FaultKind::Illegal, lane, "barrier number " + std::to_string(id));
  if (threads % warpSize)
    w.fault(FaultKind::Illegal, lane, "barrier for " + std::to_string(threads) + " threads, not a multiple of 32");
  BarrierState &s = b.barriers[id];
  if (s.arrived && s.expected != threads)
    w.fault(FaultKind::Barrier, lane,
            "barrier " + std::to_string(id) + " is waited for by " + std::to_string(s.expected) + " and by " +
                std::to_string(threads) + " threads at once");
  if (s.arrived >> w.index & 1)
    w.fault(FaultKind::Barrier, lane, "the warp arrives twice at barrier " + std::to_string(id));
  s.expected = threads;
  s.arrived |= 1u << w.index;
  shareClock(w, s.known);
  ++w.worker->counters.barriers;
  if (i.imm == Arrive) {
    // What the arriving warp does from now on is not ordered by this barrier.
    advanceClock(w);
  } else {
    s.waiting.push_back(w.index);
    w.state = WarpState::AtBarrier;
    w.stop = true;
  }
  if (complete(b, s))
    release(b, s);
}

/// bar.red needs the values of all warps: the first half counts and waits,
/// the second (the next instruction) reads the sum.
void barrierReduce(Warp &w, const Inst &i) {
  if (w.exited || (w.lanes & ~w.mask)) {
    barrier(w, i);
    return;
  }
  uint32_t id = w.r<uint32_t>(i.a)[__builtin_ctz(w.mask)] & 15;
  BarrierState &s = w.block->barriers[id];
  if (!s.arrived)
    s.count = 0;
  s.count += __builtin_popcount((w.preds[i.c] ^ (i.flags & 2 ? ~0u : 0)) & w.mask);
  barrier(w, i);
}
void barrierResult(Warp &w, const Inst &i) {
  const uint32_t count = w.reduced;
  uint32_t total = w.block->launch->threads;
  if (i.imm == RedPopc) {
    eachLane<uint32_t>(w, i.d, [&](unsigned) { return count; });
    return;
  }
  bool r = i.imm == RedAnd ? count == total : count > 0;
  setPred(w, i.d, r ? ~0u : 0);
}

bool decodeBarrier(Decoder &d, const Stmt &s) {
  Mods m(s);
  m.take("cta");
  m.take("aligned");
  bool warp = m.take("warp");
  std::string kind = m.oneOf({"sync", "arrive", "red"});
  if (warp || kind.empty())
    m.unsupported();
  BarKind k = kind == "arrive" ? Arrive : Sync;
  if (kind == "red") {
    std::string op = m.oneOf({"popc", "and", "or"});
    m.type();
    m.done();
    k = op == "popc" ? RedPopc : op == "and" ? RedAnd : RedOr;
    if (op.empty() || s.ops.size() != 3)
      m.unsupported();
    uint32_t id = d.src(s.ops[1], 32), p = d.predSrc(s.ops[2], true);
    uint32_t o = k == RedPopc ? d.dst(s.ops[0], 32) : d.predDst(s.ops[0]);
    Inst &first = d.emit(barrierReduce, Class::Barrier);
    first.a = id, first.c = p, first.imm = k;
    first.flags = s.ops[2].negated ? 2 : 0;
    Inst &second = d.emit(barrierResult, Class::None);
    second.d = o, second.imm = k;
    return true;
  }
  m.done();
  if (s.ops.empty() || s.ops.size() > 2 || (k == Arrive && s.ops.size() != 2))
    d.fail("barrier with a wrong number of operands");
  uint32_t id = d.src(s.ops[0], 32), n = 0;
  if (s.ops.size() == 2) {
    n = d.src(s.ops[1], 32);
    d.out().partialBarriers = true;
  }
  Inst &i = d.emit(barrier, Class::Barrier);
  i.a = id, i.b = n, i.imm = k, i.flags = s.ops.size() == 2;
  return true;
}

/// A cluster is one block here: its wait is a barrier of the block, and its
/// arrival, which may come earlier, does nothing.
bool decodeClusterBarrier(Decoder &d, const Stmt &s) {
  Mods m(s);
  m.take("cluster");
  m.take("aligned");
  const std::string kind = m.oneOf({"arrive", "wait"});
  m.ignore({"release", "relaxed", "acquire"});
  m.done();
  d.count(s, 0);
  if (kind.empty())
    m.unsupported();
  const uint32_t id = d.constant(16, false);
  Inst &i = d.emit(kind == "wait" ? barrier : nothing, Class::Barrier);
  i.a = id, i.imm = Sync, i.flags = 4;
  return true;
}

bool decodeFence(Decoder &d, const Stmt &s) {
  static const std::set<std::string> known = {"cta",
                                              "gl",
                                              "sys",
                                              "gpu",
                                              "cluster",
                                              "sc",
                                              "acq_rel",
                                              "proxy",
                                              "async",
                                              "async.global",
                                              "mbarrier_init",
                                              "release",
                                              "acquire",
                                              "shared::cta",
                                              "alias",
                                              "global",
                                              "shared::cluster",
                                              "sync_restrict::shared::cta",
                                              "tensormap::generic"};
  for (const std::string &m : s.mods)
    if (!known.count(m))
      Mods(s).unsupported();
  d.emit(nothing, Class::Control);
  return true;
}

} // namespace

void gpusim::reschedule(Warp &w) { pickGroup(w, 0); }
void gpusim::yieldGroup(Warp &w) {
  w.budget = branchBudget;
  if (!w.groups.empty())
    pickGroup(w, w.pc);
}

bool gpusim::converge(Warp &w, const Inst &i, uint32_t need) {
  (void)i;
  uint32_t here = w.mask;
  if (!(need & ~here))
    return true;
  uint32_t pc = w.pc - 1, rest = w.active & ~here;
  // It will be counted when all are there.
  InstCount &n = w.worker->instCounts[pc];
  --n.warps;
  n.lanes -= __builtin_popcount(here);
  w.groups.push_back({pc, here, true});
  if (rest)
    w.groups.push_back({w.pc, rest, false});
  w.active = 0;
  reschedule(w);
  return false;
}

Handler gpusim::handlerLabel() { return label; }
Handler gpusim::handlerExit() { return exitLanes; }
Handler gpusim::handlerJump() { return branch; }
Handler gpusim::handlerBranchIndexed() { return branchIndexed; }

bool gpusim::decodeControl(Decoder &d, const Stmt &s) {
  const std::string &n = s.name;
  if (n == "bra") {
    Mods m(s);
    m.take("uni");
    m.done();
    d.count(s, 1);
    if (s.ops[0].kind != Operand::Ident)
      d.fail("branch without a label");
    Inst &i = d.emit(branch, Class::Control);
    d.branchTo(i, s.ops[0].name);
    return true;
  }
  if (n == "ret" || n == "exit") {
    Mods m(s);
    m.take("uni");
    m.done();
    d.count(s, 0);
    d.emit(exitLanes, Class::Control);
    return true;
  }
  if (n == "bar" || n == "barrier") {
    if (Mods(s).has("cluster"))
      return decodeClusterBarrier(d, s);
    return !Mods(s).has("warp") && decodeBarrier(d, s);
  }
  if (n == "membar" || n == "fence")
    return decodeFence(d, s);
  if (n == "trap" || n == "brkpt") {
    Mods(s).done();
    d.emit(trap, Class::Control);
    return true;
  }
  if (n == "nanosleep") {
    Mods m(s);
    m.type();
    m.done();
    d.count(s, 1);
    d.src(s.ops[0], 32);
    d.emit(pauseWarp, Class::Control);
    return true;
  }
  if (n == "gpusim_assertfail" && s.ops.size() >= 4) {
    Inst &i = d.emit(assertFail, Class::Control);
    i.a = s.ops[0].value, i.b = s.ops[1].value;
    return true;
  }
  if (n == "gpusim_printf") {
    d.emit(nothing, Class::Control); // output of kernels is not modelled
    return true;
  }
  if (n == "griddepcontrol" || n == "setmaxnreg" || n == "pmevent") {
    d.emit(nothing, Class::Control);
    return true;
  }
  return false;
}
