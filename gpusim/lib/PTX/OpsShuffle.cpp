// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exchange between the lanes of a warp: shfl, vote, match, redux, elect,
// bar.warp.sync. All wait for the lanes their member mask names.
#include "Decoder.h"
#include "Lanes.h"

using namespace gpusim;

namespace {

/// True once every lane that the member masks name is here. Fails if an
/// executing lane is not in its own mask, or if a named lane has exited.
bool membersHere(Warp &w, const Inst &i, uint32_t maskReg) {
  const auto *members = w.r<uint32_t>(maskReg);
  uint32_t need = 0;
  for (uint32_t m = w.mask; m; m &= m - 1) {
    unsigned l = __builtin_ctz(m);
    if (!(members[l] >> l & 1))
      w.fault(FaultKind::PartialWarp, l, "the executing lane is not in its own member mask");
    need |= members[l];
  }
  uint32_t gone = need & (w.exited | ~w.lanes);
  if (gone)
    w.fault(FaultKind::PartialWarp, __builtin_ctz(gone),
            "the member mask names lanes " + laneList(gone) + ", which have exited or do not exist");
  return converge(w, i, need);
}

enum ShflMode { Up, Down, Bfly, Idx };

/// PTX ISA, "shfl.sync". c holds the clamp in bits 0-4 and the segment mask
/// in bits 8-12. imm: mode; target: predicate destination or 0.
void shuffle(Warp &w, const Inst &i) {
  const uint32_t maskReg = w.kernel->operandTable[i.target];
  const uint32_t pred = w.kernel->operandTable[i.target + 1];
  if (!membersHere(w, i, maskReg))
    return;
  const auto *a = w.r<uint32_t>(i.a), *b = w.r<uint32_t>(i.b), *c = w.r<uint32_t>(i.c),
             *members = w.r<uint32_t>(maskReg);
  uint32_t value[warpSize] = {}, ok = 0;
  for (uint32_t m = w.mask; m; m &= m - 1) {
    int l = __builtin_ctz(m);
    int clamp = c[l] & 31, segment = c[l] >> 8 & 31, delta = b[l] & 31;
    int last = (l & segment) | (clamp & ~segment), first = l & segment;
    int from;
    bool inside;
    switch (i.imm) {
    case Up:
      from = l - delta, inside = from >= last;
      break;
    case Down:
      from = l + delta, inside = from <= last;
      break;
    case Bfly:
      from = l ^ delta, inside = from <= last;
      break;
    default:
      from = first | (delta & ~segment), inside = from <= last;
      break;
    }
    if (!inside)
      from = l;
    if (!(w.mask >> from & 1) || !(members[l] >> from & 1))
      w.fault(FaultKind::PartialWarp, l, "shfl reads lane " + std::to_string(from) + ", which takes no part in it");
    value[l] = a[from];
    ok |= (uint32_t)inside << l;
  }
  eachLane<uint32_t>(w, i.d, [&](unsigned l) { return value[l]; });
  if (pred)
    setPred(w, pred, ok);
}

bool decodeShfl(Decoder &d, const Stmt &s) {
  Mods m(s);
  if (!m.take("sync"))
    m.unsupported();
  std::string mode = m.oneOf({"up", "down", "bfly", "idx"});
  std::string t = m.type();
  m.done();
  if (mode.empty() || t != "b32")
    m.unsupported();
  d.count(s, 5);
  uint32_t a = d.src(s.ops[1], 32), b = d.src(s.ops[2], 32), c = d.src(s.ops[3], 32), mask = d.src(s.ops[4], 32);
  Operand first = s.ops[0];
  uint32_t pred = first.pair.empty() ? 0 : d.predByName(first.pair, true);
  first.pair.clear();
  uint32_t o = d.dst(first, 32), at = d.table({mask, pred});
  Inst &i = d.emit(shuffle, Class::Shuffle);
  i.a = a, i.b = b, i.c = c, i.d = o, i.target = at;
  i.imm = mode == "up" ? Up : mode == "down" ? Down : mode == "bfly" ? Bfly : Idx;
  return true;
}

enum VoteMode { All, Any, Uni, Ballot };
/// a: predicate, predXor in flags; b: member mask.
void vote(Warp &w, const Inst &i) {
  if (!membersHere(w, i, i.b))
    return;
  const auto *members = w.r<uint32_t>(i.b);
  uint32_t p = w.preds[i.a] ^ (i.flags ? ~0u : 0);
  if (i.imm == Ballot) {
    eachLane<uint32_t>(w, i.d, [&](unsigned l) { return p & members[l]; });
    return;
  }
  uint32_t r = 0;
  for (uint32_t m = w.mask; m; m &= m - 1) {
    unsigned l = __builtin_ctz(m);
    uint32_t set = p & members[l];
    bool v = i.imm == All ? set == members[l] : i.imm == Any ? set != 0 : set == 0 || set == members[l];
    r |= (uint32_t)v << l;
  }
  setPred(w, i.d, r);
}

bool decodeVote(Decoder &d, const Stmt &s) {
  Mods m(s);
  if (!m.take("sync"))
    m.unsupported();
  std::string mode = m.oneOf({"all", "any", "uni", "ballot"});
  std::string t = m.type();
  m.done();
  bool ballot = mode == "ballot";
  if (mode.empty() || t != (ballot ? "b32" : "pred"))
    m.unsupported();
  d.count(s, 3);
  uint32_t mask = d.src(s.ops[2], 32), p = d.predSrc(s.ops[1], true),
           o = ballot ? d.dst(s.ops[0], 32) : d.predDst(s.ops[0]);
  Inst &i = d.emit(vote, Class::Shuffle);
  i.a = p, i.b = mask, i.d = o, i.flags = s.ops[1].negated;
  i.imm = mode == "all" ? All : mode == "any" ? Any : mode == "uni" ? Uni : Ballot;
  return true;
}

/// imm: 1 all; target: predicate destination of match.all or 0.
template <class T> void match(Warp &w, const Inst &i) {
  if (!membersHere(w, i, i.b))
    return;
  const auto *a = w.r<T>(i.a);
  const auto *members = w.r<uint32_t>(i.b);
  uint32_t value[warpSize] = {}, all = 0;
  for (uint32_t m = w.mask; m; m &= m - 1) {
    unsigned l = __builtin_ctz(m);
    uint32_t same = 0;
    for (uint32_t k = members[l]; k; k &= k - 1) {
      unsigned o = __builtin_ctz(k);
      same |= (uint32_t)(a[o] == a[l]) << o;
    }
    bool every = same == members[l];
    value[l] = i.imm ? (every ? members[l] : 0) : same;
    all |= (uint32_t)every << l;
  }
  eachLane<uint32_t>(w, i.d, [&](unsigned l) { return value[l]; });
  if (i.target)
    setPred(w, i.target, all);
}

bool decodeMatch(Decoder &d, const Stmt &s) {
  Mods m(s);
  std::string mode = m.oneOf({"all", "any"});
  bool sync = m.take("sync");
  std::string t = m.type();
  m.done();
  if (mode.empty() || !sync || (t != "b32" && t != "b64"))
    m.unsupported();
  d.count(s, 3);
  uint32_t a = d.src(s.ops[1], t == "b32" ? 32 : 64), mask = d.src(s.ops[2], 32);
  Operand first = s.ops[0];
  uint32_t pred = first.pair.empty() ? 0 : d.predByName(first.pair, true);
  first.pair.clear();
  uint32_t o = d.dst(first, 32);
  Inst &i = d.emit(t == "b32" ? match<uint32_t> : match<uint64_t>, Class::Shuffle);
  i.a = a, i.b = mask, i.d = o, i.target = pred, i.imm = mode == "all";
  return true;
}

enum ReduxOp { RAdd, RMin, RMax, RAnd, ROr, RXor };
template <class T> void redux(Warp &w, const Inst &i) {
  if (!membersHere(w, i, i.b))
    return;
  const auto *a = w.r<uint32_t>(i.a), *members = w.r<uint32_t>(i.b);
  uint32_t value[warpSize] = {};
  for (uint32_t m = w.mask; m; m &= m - 1) {
    unsigned l = __builtin_ctz(m);
    T r = (T)a[__builtin_ctz(members[l])];
    for (uint32_t k = members[l] & (members[l] - 1); k; k &= k - 1) {
      T v = (T)a[__builtin_ctz(k)];
      r = i.imm == RAdd   ? r + v
          : i.imm == RMin ? (v < r ? v : r)
          : i.imm == RMax ? (v > r ? v : r)
          : i.imm == RAnd ? (r & v)
          : i.imm == ROr  ? (r | v)
                          : (r ^ v);
    }
    value[l] = (uint32_t)r;
  }
  eachLane<uint32_t>(w, i.d, [&](unsigned l) { return value[l]; });
}

bool decodeRedux(Decoder &d, const Stmt &s) {
  Mods m(s);
  bool sync = m.take("sync");
  static const char *const names[] = {"add", "min", "max", "and", "or", "xor"};
  int op = -1;
  for (int n = 0; n < 6; ++n)
    if (m.take(names[n]))
      op = n;
  std::string t = m.type();
  m.done();
  bool bits = op >= RAnd;
  if (!sync || op < 0 || (bits ? t != "b32" : t != "u32" && t != "s32"))
    m.unsupported();
  d.count(s, 3);
  uint32_t a = d.src(s.ops[1], 32), mask = d.src(s.ops[2], 32), o = d.dst(s.ops[0], 32);
  Inst &i = d.emit(t == "s32" ? redux<int32_t> : redux<uint32_t>, Class::Shuffle);
  i.a = a, i.b = mask, i.d = o, i.imm = op;
  return true;
}

void warpBarrier(Warp &w, const Inst &i) {
  if (membersHere(w, i, i.b) && w.budget)
    --w.budget;
}

void elect(Warp &w, const Inst &i) {
  if (!membersHere(w, i, i.b))
    return;
  const auto *members = w.r<uint32_t>(i.b);
  unsigned leader = __builtin_ctz(members[__builtin_ctz(w.mask)]);
  eachLane<uint32_t>(w, i.d, [&](unsigned) { return leader; });
  setPred(w, i.target, 1u << leader);
}

} // namespace

bool gpusim::wholeWarp(Warp &w, const Inst &i) {
  uint32_t gone = w.exited | ~w.lanes;
  if (gone)
    w.fault(FaultKind::PartialWarp, __builtin_ctz(gone), "a warp-wide operation without lanes " + laneList(gone));
  return converge(w, i, fullMask);
}

bool gpusim::decodeShuffle(Decoder &d, const Stmt &s) {
  if (s.name == "shfl")
    return decodeShfl(d, s);
  if (s.name == "vote")
    return decodeVote(d, s);
  if (s.name == "match")
    return decodeMatch(d, s);
  if (s.name == "redux")
    return decodeRedux(d, s);
  if (s.name == "elect") {
    Mods m(s);
    if (!m.take("sync"))
      m.unsupported();
    m.done();
    d.count(s, 2);
    uint32_t mask = d.src(s.ops[1], 32);
    Operand first = s.ops[0];
    if (first.pair.empty())
      d.fail("elect.sync needs a predicate");
    uint32_t pred = d.predByName(first.pair, true);
    first.pair.clear();
    uint32_t o = d.dst(first, 32);
    Inst &i = d.emit(elect, Class::Shuffle);
    i.b = mask, i.d = o, i.target = pred;
    return true;
  }
  if ((s.name == "bar" || s.name == "barrier") && Mods(s).has("warp")) {
    Mods m(s);
    m.take("warp");
    if (!m.take("sync"))
      m.unsupported();
    m.done();
    d.count(s, 1);
    uint32_t mask = d.src(s.ops[0], 32);
    d.emit(warpBarrier, Class::Shuffle).b = mask;
    return true;
  }
  return false;
}
