// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ld and st in all state spaces (PTX ISA, "Data Movement and Conversion
// Instructions"). Addresses are gathered first; each space then turns them
// into host pointers, and one loop moves the bytes.
#include "Decoder.h"
#include "Lanes.h"

using namespace gpusim;

namespace {

enum MemFlags { SignExtend = 1, StaticAddress = 2, Narrow32 = 4 };

struct Addresses {
  uint64_t at[warpSize];
};

void gather(Warp &w, const Inst &i, Addresses &out) {
  if (i.flags & StaticAddress) {
    for (unsigned l = 0; l < warpSize; ++l)
      out.at[l] = i.imm;
  } else if (i.flags & Narrow32) {
    const auto *a = w.r<uint32_t>(i.a);
    for (unsigned l = 0; l < warpSize; ++l)
      out.at[l] = (uint32_t)(a[l] + (uint32_t)i.imm);
  } else {
    const auto *a = w.r<uint64_t>(i.a);
    for (unsigned l = 0; l < warpSize; ++l)
      out.at[l] = a[l] + i.imm;
  }
}

/// Addresses in shared memory; those that do not fit are out of bounds anyway.
void sharedAddresses(const uint64_t *at, uint32_t *addr) {
  for (unsigned l = 0; l < warpSize; ++l) {
    const uint64_t a = at[l] & ~windowMask;
    addr[l] = a > 0xffffffffull ? 0xffffffffu : (uint32_t)a;
  }
}

void sharedPointers(Warp &w, const Inst &i, const uint64_t *at, uint32_t mask, unsigned bytes, Access kind,
                    uint8_t **ptr) {
  uint32_t addr[warpSize];
  sharedAddresses(at, addr);
  sharedAccess(w, i, addr, mask, bytes, kind);
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned l = __builtin_ctz(m);
    ptr[l] = &w.block->shared[addr[l]];
  }
}

void localPointers(Warp &w, const uint64_t *at, uint32_t mask, unsigned bytes, uint8_t **ptr) {
  const uint64_t size = w.kernel->localBytes;
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned l = __builtin_ctz(m);
    uint64_t a = at[l] & ~windowMask;
    if (a + bytes > size || a + bytes < a)
      w.faultAt(FaultKind::IllegalAddress, l, a,
                "local access of " + std::to_string(bytes) + " bytes beyond the thread's " + std::to_string(size) +
                    " bytes");
    if (a & (bytes - 1))
      w.faultAt(FaultKind::Misaligned, l, a,
                "access of " + std::to_string(bytes) + " bytes to the thread's local memory is not aligned");
    ptr[l] = &w.local[l * size + a];
  }
}

void paramPointers(Warp &w, const uint64_t *at, uint32_t mask, unsigned bytes, bool write, uint8_t **ptr) {
  const auto &params = w.block->launch->config.params;
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned l = __builtin_ctz(m);
    uint64_t a = at[l] & ~windowMask;
    if (a + bytes > params.size() || a + bytes < a || write)
      w.faultAt(FaultKind::IllegalAddress, l, a,
                write ? "write to a kernel parameter" : "read beyond the kernel's parameters");
    if (a & (bytes - 1))
      w.faultAt(FaultKind::Misaligned, l, a, "parameter read is not aligned");
    ptr[l] = const_cast<uint8_t *>(&params[a]);
  }
}

/// Lanes of a generic access whose addresses lie in one window.
uint32_t lanesIn(const uint64_t *at, uint32_t mask, uint64_t window) {
  uint32_t r = 0;
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned l = __builtin_ctz(m);
    r |= (uint32_t)((at[l] & windowMask) == window) << l;
  }
  return r;
}

void pointers(Warp &w, const Inst &i, const Addresses &a, unsigned bytes, Access kind, uint8_t **ptr) {
  const bool write = kind == Access::Write;
  switch (i.space) {
  case Space::Global:
  case Space::Const:
    return globalAccess(w, i, a.at, w.mask, bytes, kind, ptr);
  case Space::Shared:
    return sharedPointers(w, i, a.at, w.mask, bytes, kind, ptr);
  case Space::Local:
    return localPointers(w, a.at, w.mask, bytes, ptr);
  case Space::Param:
    return paramPointers(w, a.at, w.mask, bytes, write, ptr);
  case Space::Generic:
    break;
  }
  uint32_t s = lanesIn(a.at, w.mask, sharedWindow);
  uint32_t l = lanesIn(a.at, w.mask, localWindow);
  uint32_t p = lanesIn(a.at, w.mask, paramWindow);
  sharedPointers(w, i, a.at, s, bytes, kind, ptr);
  localPointers(w, a.at, l, bytes, ptr);
  paramPointers(w, a.at, p, bytes, write, ptr);
  globalAccess(w, i, a.at, w.mask & ~(s | l | p), bytes, kind, ptr);
}

template <unsigned Size> uint64_t fetch(const uint8_t *p) {
  std::conditional_t<Size == 8, uint64_t,
                     std::conditional_t<Size == 4, uint32_t, std::conditional_t<Size == 2, uint16_t, uint8_t>>>
      v;
  memcpy(&v, p, Size);
  return v;
}

/// Loads into registers from place(lane). Operand-table entries: offset, then
/// the register's bits.
template <unsigned Size, typename F> inline void loadFrom(Warp &w, const Inst &i, F place) {
  const uint32_t *regs = &w.kernel->operandTable[i.target];
  for (unsigned n = 0; n < i.vec; ++n) {
    const unsigned bits = regs[2 * n + 1];
    const unsigned shift = 64 - Size * 8;
    const uint64_t keep = bits == 64 ? ~0ull : (1ull << bits) - 1;
    auto value = [&](unsigned l) {
      uint64_t v = fetch<Size>(place(l) + n * Size);
      if (i.flags & SignExtend)
        v = (uint64_t)((int64_t)(v << shift) >> shift) & keep;
      return v;
    };
    auto *wide = w.r<uint64_t>(regs[2 * n]);
    auto *narrow = w.r<uint32_t>(regs[2 * n]);
    if (bits != 64 && w.mask == fullMask && !(i.flags & SignExtend)) {
      for (unsigned l = 0; l < warpSize; ++l)
        narrow[l] = (uint32_t)fetch<Size>(place(l) + n * Size);
      continue;
    }
    for (uint32_t m = w.mask; m; m &= m - 1) {
      const unsigned l = __builtin_ctz(m);
      if (bits == 64)
        wide[l] = value(l);
      else
        narrow[l] = (uint32_t)value(l);
    }
  }
}

template <unsigned Size> void loadOp(Warp &w, const Inst &i) {
  Addresses a;
  gather(w, i, a);
  uint8_t *ptr[warpSize];
  pointers(w, i, a, Size * i.vec, Access::Read, ptr);
  loadFrom<Size>(w, i, [&](unsigned l) { return ptr[l]; });
}

/// `ld.shared`, without the detour over pointers.
template <unsigned Size> void loadShared(Warp &w, const Inst &i) {
  uint32_t addr[warpSize];
  if (i.flags & Narrow32) {
    const auto *a = w.r<uint32_t>(i.a);
    for (unsigned l = 0; l < warpSize; ++l)
      addr[l] = a[l] + (uint32_t)i.imm;
  } else {
    Addresses a;
    gather(w, i, a);
    sharedAddresses(a.at, addr);
  }
  sharedAccess(w, i, addr, w.mask, Size * i.vec, Access::Read);
  const uint8_t *shared = w.block->shared.data();
  loadFrom<Size>(w, i, [&](unsigned l) { return shared + addr[l]; });
}

/// `ld.param [name+offset]`: the same for all lanes.
template <unsigned Size> void loadParam(Warp &w, const Inst &i) {
  const unsigned lane = __builtin_ctz(w.mask);
  uint64_t at[warpSize];
  uint8_t *ptr[warpSize];
  at[lane] = i.imm;
  paramPointers(w, at, 1u << lane, Size * i.vec, false, ptr);
  loadFrom<Size>(w, i, [&](unsigned) { return ptr[lane]; });
}

template <unsigned Size> void storeOp(Warp &w, const Inst &i) {
  Addresses a;
  gather(w, i, a);
  uint8_t *ptr[warpSize];
  pointers(w, i, a, Size * i.vec, Access::Write, ptr);
  const uint32_t *regs = &w.kernel->operandTable[i.target];
  // Lane after lane: of several lanes that write one place the last wins.
  for (uint32_t m = w.mask; m; m &= m - 1) {
    unsigned l = __builtin_ctz(m);
    for (unsigned n = 0; n < i.vec; ++n) {
      uint64_t v = regs[2 * n + 1] == 64 ? w.r<uint64_t>(regs[2 * n])[l] : w.r<uint32_t>(regs[2 * n])[l];
      memcpy(ptr[l] + n * Size, &v, Size);
    }
  }
}

Space takeSpace(Mods &m) {
  static const std::pair<const char *, Space> spaces[] = {
      {"global", Space::Global},     {"shared", Space::Shared}, {"shared::cta", Space::Shared},
      {"local", Space::Local},       {"param", Space::Param},   {"param::entry", Space::Param},
      {"param::func", Space::Param}, {"const", Space::Const}};
  for (auto &s : spaces)
    if (m.take(s.first))
      return s.second;
  return Space::Generic;
}

Class classOf(Space s, bool load) {
  switch (s) {
  case Space::Shared:
    return load ? Class::LoadShared : Class::StoreShared;
  case Space::Global:
  case Space::Generic:
    return load ? Class::LoadGlobal : Class::StoreGlobal;
  default:
    return load ? Class::LoadOther : Class::StoreOther;
  }
}

template <unsigned Size> Handler handlerOf(bool load, const Inst &i) {
  return !load                                                ? storeOp<Size>
         : i.space == Space::Shared                           ? loadShared<Size>
         : i.space == Space::Param && i.flags & StaticAddress ? loadParam<Size>
                                                              : loadOp<Size>;
}

void prefetchOp(Warp &, const Inst &) {}

} // namespace

bool gpusim::decodeMemory(Decoder &d, const Stmt &s) {
  if (s.name == "prefetch" || s.name == "prefetchu" || s.name == "discard" || s.name == "applypriority") {
    d.emit(prefetchOp, Class::Control);
    return true;
  }
  if (s.name == "createpolicy") {
    d.count(s, s.ops.size());
    if (s.ops.empty())
      d.fail("createpolicy without a destination");
    uint32_t o = d.dst(s.ops[0], 64);
    (void)o; // cache policies change no result
    d.emit(prefetchOp, Class::Control);
    return true;
  }
  bool load = s.name == "ld" || s.name == "ldu";
  if (!load && s.name != "st")
    return false;
  Mods m(s);
  std::string t = m.type();
  Space space = takeSpace(m);
  std::string v = m.oneOf({"v2", "v4", "v8"});
  m.ignoreHints();
  bool policy = m.take("L2::cache_hint");
  m.done();
  unsigned vec = v.empty() ? 1 : v[1] - '0', size = sizeOfType(t);
  if (t == "pred" || size > 8 || (vec * size > 32))
    m.unsupported();
  if (vec * size > 16)
    m.unsupported();
  d.count(s, policy ? 3 : 2);
  const Operand &data = s.ops[load ? 0 : 1], &where = s.ops[load ? 1 : 0];
  if ((data.kind == Operand::Vec) != (vec > 1) || (vec > 1 && data.elems.size() != vec))
    d.fail("'" + s.name + "' needs " + std::to_string(vec) + " values");
  std::vector<uint32_t> regs;
  for (unsigned n = 0; n < vec; ++n) {
    unsigned bits = 0;
    regs.push_back(d.anyReg(vec > 1 ? data.elems[n] : data, size * 8, bits, load));
    regs.push_back(bits);
  }
  Decoder::Address a = d.address(where);
  if (a.isStatic && !where.name.empty()) {
    // `ld.param` of a function's own parameters is local memory here.
    bool match = space == a.space || space == Space::Generic || (space == Space::Param && a.space == Space::Local) ||
                 (space == Space::Const && a.space == Space::Global);
    if (!match)
      d.fail("'" + where.name + "' is not in the space of '" + s.name + "'");
    if (space == Space::Generic)
      a.offset |= a.space == Space::Shared  ? sharedWindow
                  : a.space == Space::Local ? localWindow
                  : a.space == Space::Param ? paramWindow
                                            : 0;
    else
      space = a.space;
  }
  if (!a.isStatic && a.regBits == 32 && space != Space::Shared && space != Space::Local)
    d.fail("32-bit address in a 64-bit space");
  if (space == Space::Shared || space == Space::Generic)
    d.sharedWidth(vec * size);
  uint32_t at = d.table(regs);
  Inst &i = d.emit(nullptr, classOf(space, load));
  i.a = a.reg, i.imm = a.offset, i.target = at;
  i.vec = vec, i.size = size, i.space = space;
  i.flags = (load && t[0] == 's' ? SignExtend : 0) | (a.isStatic ? StaticAddress : a.regBits == 32 ? Narrow32 : 0);
  i.fn = size == 1   ? handlerOf<1>(load, i)
         : size == 2 ? handlerOf<2>(load, i)
         : size == 4 ? handlerOf<4>(load, i)
                     : handlerOf<8>(load, i);
  return true;
}
