// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mbarrier objects (PTX ISA, "Parallel Synchronization: mbarrier") and mapa.
// The objects live beside shared memory; their eight bytes there only tell
// races. A cluster is one block, so that all of its memory is the block's own.
#include "Decoder.h"
#include "Lanes.h"

using namespace gpusim;

namespace {

enum Kind { Init, Inval, Arrive, ExpectTx, CompleteTx, Test };
enum Flags { AddressStatic = 1, Address32 = 2, Parity = 4, Expect = 8, NoResult = 16, Poll = 32 };

/// Shared addresses of the objects, checked as accesses of 8 bytes.
void objects(Warp &w, const Inst &i, Access kind, uint32_t *addr) {
  for (unsigned l = 0; l < warpSize; ++l) {
    const uint64_t a = i.flags & AddressStatic ? 0
                       : i.flags & Address32   ? w.r<uint32_t>(i.a)[l]
                                               : w.r<uint64_t>(i.a)[l] & ~windowMask;
    const uint64_t at = a + i.imm;
    addr[l] = at > 0xffffffffull ? 0xffffffffu : (uint32_t)at;
  }
  sharedAccess(w, i, addr, w.mask, 8, kind);
}

MBarrier &barrierAt(Warp &w, unsigned lane, uint32_t addr) {
  auto it = w.block->mbarriers.find(addr);
  if (it == w.block->mbarriers.end())
    w.faultAt(FaultKind::Uninitialised, lane, addr, "no mbarrier.init has made an mbarrier at this shared address");
  return it->second;
}

void completePhase(Block &b, MBarrier &m) {
  if (m.pending || m.bytes)
    return;
  ++m.phase;
  ++b.progress;
  m.pending = m.count;
  memcpy(m.done, m.known, sizeof m.done);
  memset(m.known, 0, sizeof m.known);
}

/// What was copied towards an mbarrier lands.
void land(Block &b, uint32_t addr, MBarrier &m) {
  size_t kept = 0;
  for (BulkCopy &c : b.bulk) {
    if (c.mbarrier != addr) {
      if (&b.bulk[kept] != &c)
        b.bulk[kept] = std::move(c);
      ++kept;
      continue;
    }
    landBulk(b, c);
    m.bytes -= c.data.size();
    m.known[c.warp] = std::max(m.known[c.warp], clockOfTag(c.tag));
  }
  if (kept == b.bulk.size())
    return;
  b.bulk.resize(kept);
  completePhase(b, m);
}

void init(Warp &w, const Inst &i) {
  uint32_t addr[warpSize];
  objects(w, i, Access::Write, addr);
  const uint32_t *count = w.r<uint32_t>(i.b);
  forLanes(w.mask, [&](unsigned l) {
    if (!count[l] || count[l] >= 1u << 20)
      w.faultAt(FaultKind::Illegal, l, addr[l], "mbarrier for " + std::to_string(count[l]) + " arrivals");
    MBarrier m;
    m.count = m.pending = count[l];
    w.block->mbarriers[addr[l]] = m;
  });
}
void invalidate(Warp &w, const Inst &i) {
  uint32_t addr[warpSize];
  objects(w, i, Access::Write, addr);
  forLanes(w.mask, [&](unsigned l) {
    barrierAt(w, l, addr[l]);
    w.block->mbarriers.erase(addr[l]);
  });
}

/// b: number of arrivals, or announced bytes with Expect. The state that an
/// arrival returns is the number of the phase.
void arrive(Warp &w, const Inst &i) {
  uint32_t addr[warpSize];
  objects(w, i, Access::Atomic, addr);
  const uint32_t *operand = w.r<uint32_t>(i.b);
  forLanes(w.mask, [&](unsigned l) {
    MBarrier &m = barrierAt(w, l, addr[l]);
    if (!(i.flags & NoResult))
      w.r<uint64_t>(i.d)[l] = m.phase;
    m.bytes += i.flags & Expect ? operand[l] : 0;
    m.pending -= i.flags & Expect ? 1 : operand[l];
    if (m.pending < 0)
      w.faultAt(FaultKind::Barrier, l, addr[l],
                "more arrivals in a phase than the " + std::to_string(m.count) + " of mbarrier.init");
    shareClock(w, m.known);
    completePhase(*w.block, m);
  });
  advanceClock(w);
}
/// imm of the bytes: 1 announces them, -1 completes them.
template <int Sign> void countBytes(Warp &w, const Inst &i) {
  uint32_t addr[warpSize];
  objects(w, i, Access::Atomic, addr);
  const uint32_t *bytes = w.r<uint32_t>(i.b);
  forLanes(w.mask, [&](unsigned l) {
    MBarrier &m = barrierAt(w, l, addr[l]);
    m.bytes += Sign * (int64_t)bytes[l];
    if (Sign < 0)
      completePhase(*w.block, m);
  });
}

/// Whether the phase of the state, or that of a parity, is complete. One that
/// is not ends the warp's turn.
void test(Warp &w, const Inst &i) {
  uint32_t addr[warpSize], ready = 0;
  objects(w, i, Access::Atomic, addr);
  forLanes(w.mask, [&](unsigned l) {
    MBarrier &m = barrierAt(w, l, addr[l]);
    land(*w.block, addr[l], m);
    const bool done = i.flags & Parity ? (m.phase ^ w.r<uint32_t>(i.b)[l]) & 1 : m.phase != w.r<uint64_t>(i.b)[l];
    ready |= (uint32_t)done << l;
    if (done)
      learnClocks(*w.block, {w.index}, m.done);
  });
  setPred(w, i.d, ready);
  if (ready != w.mask && i.flags & Poll) {
    w.polling = w.stop = true;
    w.polled = addr[__builtin_ctz(w.mask & ~ready)];
    yieldGroup(w); // other lanes of the warp may be those to arrive
  }
}

/// Places of the operands of an address that is shared memory.
void setAddress(Inst &i, const Decoder::Address &a) {
  i.a = a.reg, i.imm = a.offset;
  i.flags |= a.isStatic ? AddressStatic : a.regBits == 32 ? Address32 : 0;
}
Decoder::Address sharedAddress(Decoder &d, const Operand &o) {
  Decoder::Address a = d.address(o);
  if (a.isStatic && a.space != Space::Shared)
    d.fail("an mbarrier outside shared memory");
  d.sharedWidth(8);
  d.out().partialBarriers = true;
  return a;
}

bool decodeTest(Decoder &d, const Stmt &s, bool parity) {
  d.count(s, s.ops.size() == 4 ? 4 : 3); // a time limit makes no difference
  const Decoder::Address a = sharedAddress(d, s.ops[1]);
  const uint32_t b = d.src(s.ops[2], parity ? 32 : 64);
  const uint16_t p = d.predDst(s.ops[0]);
  if (s.ops.size() == 4)
    d.src(s.ops[3], 32);
  Inst &i = d.emit(test, Class::Barrier);
  setAddress(i, a);
  i.b = b, i.d = p;
  i.flags |= Poll | (parity ? Parity : 0);
  return true;
}

bool decodeArrive(Decoder &d, const Stmt &s, bool expect) {
  // Into the memory of a cluster nothing is returned, and `_` may be left out.
  const bool result = !s.ops.empty() && s.ops[0].kind == Operand::Ident;
  const size_t first = result ? 1 : 0, n = s.ops.size();
  if (n < first + 1 + expect || n > first + 2)
    d.fail("mbarrier.arrive with a wrong number of operands");
  const Decoder::Address a = sharedAddress(d, s.ops[first]);
  const uint32_t b = n == first + 2 ? d.src(s.ops[first + 1], 32) : d.constant(1, false);
  const bool sink = !result || s.ops[0].name == "_";
  const uint32_t o = sink ? 0 : d.dst(s.ops[0], 64);
  Inst &i = d.emit(arrive, Class::Barrier);
  setAddress(i, a);
  i.b = b, i.d = o;
  i.flags |= (expect ? Expect : 0) | (sink ? NoResult : 0);
  return true;
}

/// mapa: the address of the same variable in block `b` of the cluster.
template <class T> void mapAddress(Warp &w, const Inst &i) {
  const uint32_t *rank = w.r<uint32_t>(i.b);
  forLanes(w.mask, [&](unsigned l) {
    if (rank[l])
      w.fault(FaultKind::Illegal, l, "mapa to block " + std::to_string(rank[l]) + " of a cluster of one block");
  });
  const T *a = w.r<T>(i.a);
  eachLane<T>(w, i.d, [&](unsigned l) { return a[l]; });
}

bool decodeMap(Decoder &d, const Stmt &s) {
  Mods m(s);
  m.take("shared::cluster");
  const std::string t = m.type();
  m.done();
  d.count(s, 3);
  const bool wide = t == "u64";
  const uint32_t a = d.src(s.ops[1], wide ? 64 : 32), b = d.src(s.ops[2], 32), o = d.dst(s.ops[0], wide ? 64 : 32);
  Inst &i = d.emit(wide ? mapAddress<uint64_t> : mapAddress<uint32_t>, Class::Move);
  i.a = a, i.b = b, i.d = o;
  return true;
}

} // namespace

bool gpusim::decodeMBarrier(Decoder &d, const Stmt &s) {
  if (s.name == "mapa")
    return decodeMap(d, s);
  if (s.name != "mbarrier")
    return false;
  Mods m(s);
  const std::string kind = m.oneOf({"init", "inval", "arrive", "expect_tx", "complete_tx", "test_wait", "try_wait"});
  const bool expect = kind == "arrive" && m.take("expect_tx"), parity = m.take("parity");
  m.ignore({"shared", "shared::cta", "shared::cluster", "release", "acquire", "relaxed", "cta", "cluster", "b64"});
  m.done();
  if (kind == "test_wait" || kind == "try_wait")
    return decodeTest(d, s, parity);
  if (kind.empty() || parity)
    m.unsupported();
  if (kind == "arrive")
    return decodeArrive(d, s, expect);
  d.count(s, kind == "inval" ? 1 : 2);
  const Decoder::Address a = sharedAddress(d, s.ops[0]);
  const uint32_t b = kind == "inval" ? 0 : d.src(s.ops[1], 32);
  Inst &i = d.emit(kind == "init"        ? init
                   : kind == "inval"     ? invalidate
                   : kind == "expect_tx" ? countBytes<1>
                                         : countBytes<-1>,
                   Class::Barrier);
  setAddress(i, a);
  i.b = b;
  return true;
}
