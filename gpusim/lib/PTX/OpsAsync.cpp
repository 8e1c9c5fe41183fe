// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cp.async and its groups (PTX ISA, "Data Movement and Conversion
// Instructions: Asynchronous copy"). Bytes land only when a wait orders it:
// until then they are marked as under way, so that a wait for too few groups
// is found whatever the timing of a real device would be.
#include "Decoder.h"
#include "Lanes.h"

#include <algorithm>

using namespace gpusim;

namespace {

enum AsyncFlags { SharedStatic = 1, Shared32 = 2, GlobalStatic = 4, HasSize = 8, IgnoreSrc = 16 };

inline void fetchBytes(uint8_t *to, const uint8_t *from, unsigned bytes) {
  if (bytes == 16)
    memcpy(to, from, 16);
  else if (bytes == 8)
    memcpy(to, from, 8);
  else
    memcpy(to, from, 4);
}

/// Lanes whose source is as long as the copy, and those with a shorter one.
struct Sources {
  uint32_t whole = fullMask, partial = 0;
};

/// i.c: the lanes' source sizes, or the predicate that ignores the source.
Sources sourcesOf(Warp &w, const Inst &i) {
  Sources s;
  if (i.flags & IgnoreSrc)
    s.whole = ~w.preds[i.c];
  if (!(i.flags & HasSize))
    return s;
  const uint32_t *sizes = w.r<uint32_t>(i.c);
  uint32_t tooLong = 0;
  s.whole = 0;
  for (unsigned l = 0; l < warpSize; ++l) {
    s.whole |= (uint32_t)(sizes[l] == i.size) << l;
    s.partial |= (uint32_t)(sizes[l] != 0) << l;
    tooLong |= (uint32_t)(sizes[l] > i.size) << l;
  }
  s.partial &= ~s.whole;
  if (tooLong &= w.mask) {
    const unsigned l = __builtin_ctz(tooLong);
    w.fault(FaultKind::Illegal, l,
            "cp.async source size " + std::to_string(sizes[l]) + " is more than the copy's " + std::to_string(i.size));
  }
  return s;
}

void sharedTargets(Warp &w, const Inst &i, int64_t offset, uint32_t *to) {
  if (i.flags & SharedStatic) {
    std::fill(to, to + warpSize, (uint32_t)offset);
  } else if (i.flags & Shared32) {
    for (unsigned l = 0; l < warpSize; ++l)
      to[l] = w.r<uint32_t>(i.a)[l] + (uint32_t)offset;
  } else {
    for (unsigned l = 0; l < warpSize; ++l) {
      uint64_t s = (w.r<uint64_t>(i.a)[l] & ~windowMask) + offset;
      to[l] = s > 0xffffffffull ? 0xffffffffu : (uint32_t)s;
    }
  }
}

/// A source shorter than the copy: its bytes must be in bounds one by one.
void fetchPartial(Warp &w, const Inst &i, unsigned lane, uint64_t from, uint8_t *to) {
  if (from % i.size) {
    const AllocationRef a = MemorySpace::get().find(from);
    w.faultAt(FaultKind::Misaligned, lane, from,
              "source of a cp.async of " + std::to_string(i.size) + " bytes is not aligned" +
                  (a ? ", in " + a->describe() : ""));
  }
  const uint32_t size = w.r<uint32_t>(i.c)[lane];
  for (unsigned n = 0; n < size; ++n) {
    uint64_t addr[warpSize];
    uint8_t *ptr[warpSize];
    addr[lane] = from + n;
    globalAccess(w, i, addr, 1u << lane, 1, Access::Read, ptr);
    to[n] = *ptr[lane];
  }
}

/// a: shared address, b: global address; operand table: offset of the shared
/// address; imm: of the global one.
void copyAsync(Warp &w, const Inst &i) {
  const int64_t offset = (int32_t)w.kernel->operandTable[i.target];
  const unsigned bytes = i.size;
  const Sources sources = sourcesOf(w, i);
  const uint32_t whole = sources.whole & w.mask;
  w.pending.emplace_back();
  AsyncCopy &copy = w.pending.back();
  copy.mask = w.mask, copy.bytes = bytes;
  copy.site = &i - w.kernel->code.data();
  copy.tag = raceTag(w, inFlightTag);
  memcpy(copy.group, w.asyncGroup, sizeof w.asyncGroup);
  sharedTargets(w, i, offset, copy.dst);
  sharedAccess(w, i, copy.dst, w.mask, bytes, Access::Write, true);
  uint64_t from[warpSize];
  for (unsigned l = 0; l < warpSize; ++l)
    from[l] = (i.flags & GlobalStatic ? 0 : w.r<uint64_t>(i.b)[l]) + i.imm;
  uint8_t *ptr[warpSize];
  globalAccess(w, i, from, whole, bytes, Access::Read, ptr);
  if (whole != fullMask)
    memset(copy.data, 0, sizeof copy.data);
  forLanes(whole, [&](unsigned l) { fetchBytes(copy.data[l], ptr[l], bytes); });
  for (uint32_t m = sources.partial & w.mask; m; m &= m - 1) {
    const unsigned l = __builtin_ctz(m);
    fetchPartial(w, i, l, from[l], copy.data[l]);
  }
  if (w.pending.size() > 100000)
    w.fault(FaultKind::Illegal, __builtin_ctz(w.mask), "too many asynchronous copies are under way");
}

void commit(Warp &w, const Inst &) {
  for (unsigned l = 0; l < warpSize; ++l)
    w.asyncGroup[l] += w.mask >> l & 1;
}
void waitGroup(Warp &w, const Inst &i) { landAsync(w, w.mask, i.imm, false); }
/// Waits for everything, also for copies that no group holds.
void waitAll(Warp &w, const Inst &) { landAsync(w, w.mask, 0, true); }

bool decodeCopy(Decoder &d, const Stmt &s, Mods &m) {
  bool cg = m.take("cg"), ca = m.take("ca");
  if (cg == ca || !(m.take("shared") || m.take("shared::cta")) || !m.take("global"))
    m.unsupported();
  m.ignore({"L2::64B", "L2::128B", "L2::256B"});
  bool policy = m.take("L2::cache_hint");
  m.done();
  size_t n = s.ops.size() - policy;
  if (s.ops.size() < 3u + policy || n > 4)
    d.fail("cp.async with a wrong number of operands");
  uint64_t bytes = d.immediate(s.ops[2]);
  if ((bytes != 4 && bytes != 8 && bytes != 16) || (cg && bytes != 16))
    d.fail("cp.async of " + std::to_string(bytes) + " bytes");
  Decoder::Address to = d.address(s.ops[0]), from = d.address(s.ops[1]);
  if ((to.isStatic && to.space != Space::Shared) || (from.isStatic && from.space != Space::Global) ||
      (!from.isStatic && from.regBits != 64) || to.offset != (int32_t)to.offset)
    d.fail("cp.async with an address in the wrong space");
  uint8_t flags = (to.isStatic ? SharedStatic : 0) | (!to.isStatic && to.regBits == 32 ? Shared32 : 0) |
                  (from.isStatic ? GlobalStatic : 0);
  uint32_t c = 0;
  if (n == 4) {
    std::string name = s.ops[3].name;
    bool isPred = false;
    if (s.ops[3].kind == Operand::Ident) {
      try {
        c = d.predSrc(s.ops[3]);
        isPred = true;
      } catch (PTXError &) {
        c = d.src(s.ops[3], 32);
      }
    } else {
      c = d.src(s.ops[3], 32);
    }
    flags |= isPred ? IgnoreSrc : HasSize;
  }
  d.sharedWidth(bytes);
  uint32_t at = d.table({(uint32_t)to.offset});
  Inst &i = d.emit(copyAsync, Class::AsyncCopy);
  i.a = to.reg, i.b = from.reg, i.c = c, i.imm = from.offset;
  i.size = bytes, i.flags = flags, i.target = at;
  return true;
}

} // namespace

bool gpusim::decodeAsync(Decoder &d, const Stmt &s) {
  if (s.name != "cp" || s.mods.empty() || s.mods[0] != "async")
    return false;
  Mods m(s);
  m.take("async");
  if (m.has("bulk") || m.has("mbarrier"))
    return false;
  if (m.take("commit_group")) {
    m.done();
    d.count(s, 0);
    d.emit(commit, Class::AsyncCopy);
    return true;
  }
  if (m.take("wait_all")) {
    m.done();
    d.count(s, 0);
    d.emit(waitAll, Class::AsyncCopy);
    return true;
  }
  if (m.take("wait_group")) {
    m.done();
    d.count(s, 1);
    uint64_t n = d.immediate(s.ops[0]);
    d.emit(waitGroup, Class::AsyncCopy).imm = std::min<uint64_t>(n, 1u << 20);
    return true;
  }
  return decodeCopy(d, s, m);
}
