// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// atom and red (PTX ISA, "atom", "red"). Lanes act one after the other in
// lane order; between workers that run other blocks a lock keeps them apart.
#include "Decoder.h"
#include "Lanes.h"

#include <mutex>

using namespace gpusim;

namespace {

enum AtomOp { Add, Min, Max, And, Or, Xor, Exch, Cas, Inc, Dec };
enum AtomType { U32, S32, U64, S64, F32, F64, F16, BF16, F16x2, BF16x2, B16 };
enum AtomFlags { Reduce = 1, Address32 = 2, Static = 4 };

template <class T> T integer(AtomOp op, T old, T b, T c) {
  switch (op) {
  case Add:
    return old + b;
  case Min:
    return b < old ? b : old;
  case Max:
    return old < b ? b : old;
  case And:
    return old & b;
  case Or:
    return old | b;
  case Xor:
    return old ^ b;
  case Exch:
    return b;
  case Cas:
    return old == b ? c : old;
  case Inc:
    return old >= b ? 0 : old + 1;
  case Dec:
    return old == 0 || old > b ? b : old - 1;
  }
  return old;
}

/// Sum, minimum or maximum; a number wins against NaN.
template <class H> uint16_t halfAtom(AtomOp op, uint16_t x, uint16_t y) {
  float a = H::widen(x), b = H::widen(y);
  if (op == Add)
    return H::narrow((double)a + (double)b);
  if (a != a || b != b)
    return a != a ? y : x;
  const bool aIsLess = a == b ? std::signbit(a) : a < b; // -0 is below +0
  return aIsLess == (op == Min) ? x : y;
}

uint64_t combine(AtomOp op, AtomType t, uint64_t old, uint64_t b, uint64_t c) {
  switch (t) {
  case U32:
    return integer<uint32_t>(op, old, b, c);
  case S32:
    return (uint32_t)integer<int32_t>(op, old, b, c);
  case U64:
    return integer<uint64_t>(op, old, b, c);
  case S64:
    return integer<int64_t>(op, old, b, c);
  case B16:
    return integer<uint16_t>(op, old, b, c);
  case F32:
    if (op == Add)
      return bitsOf(floatOf(old) + floatOf(b));
    return old;
  case F64: {
    double x, y;
    memcpy(&x, &old, 8);
    memcpy(&y, &b, 8);
    x += y;
    memcpy(&old, &x, 8);
    return old;
  }
  case F16:
    return halfAtom<Half>(op, old, b);
  case BF16:
    return halfAtom<Bfloat>(op, old, b);
  case F16x2:
    return halfAtom<Half>(op, old, b) | (uint32_t)halfAtom<Half>(op, old >> 16, b >> 16) << 16;
  case BF16x2:
    return halfAtom<Bfloat>(op, old, b) | (uint32_t)halfAtom<Bfloat>(op, old >> 16, b >> 16) << 16;
  }
  return old;
}

std::mutex atomicLock;

/// imm packs the address offset; flags, vec and size hold op, type and bytes.
void atomic(Warp &w, const Inst &i) {
  const AtomOp op = AtomOp(i.target & 15);
  const AtomType t = AtomType(i.target >> 4 & 15);
  uint64_t at[warpSize];
  uint32_t near[warpSize];
  uint8_t *ptr[warpSize];
  uint32_t shared = 0;
  for (unsigned l = 0; l < warpSize; ++l) {
    at[l] = i.flags & Static      ? (uint64_t)i.imm
            : i.flags & Address32 ? (uint32_t)(w.r<uint32_t>(i.a)[l] + i.imm)
                                  : w.r<uint64_t>(i.a)[l] + i.imm;
    bool s = i.space == Space::Shared || (i.space == Space::Generic && (at[l] & windowMask) == sharedWindow);
    shared |= (uint32_t)s << l;
    uint64_t low = at[l] & ~windowMask;
    near[l] = low > 0xffffffffull ? 0xffffffffu : low;
  }
  sharedAccess(w, i, near, w.mask & shared, i.size, Access::Atomic);
  globalAccess(w, i, at, w.mask & ~shared, i.size, Access::Atomic, ptr);
  const bool wide = i.size == 8;
  auto operand = [&](uint32_t r, unsigned l) -> uint64_t { return wide ? w.r<uint64_t>(r)[l] : w.r<uint32_t>(r)[l]; };
  std::unique_lock<std::mutex> lock(atomicLock, std::defer_lock);
  if (w.block->launch->options.cores > 1)
    lock.lock();
  for (uint32_t m = w.mask; m; m &= m - 1) {
    unsigned l = __builtin_ctz(m);
    uint8_t *p = shared >> l & 1 ? &w.block->shared[near[l]] : ptr[l];
    uint64_t old = 0;
    memcpy(&old, p, i.size);
    uint64_t now = combine(op, t, old, operand(i.b, l), op == Cas ? operand(i.c, l) : 0);
    memcpy(p, &now, i.size);
    if (!(i.flags & Reduce)) {
      if (wide)
        w.r<uint64_t>(i.d)[l] = old;
      else
        w.r<uint32_t>(i.d)[l] = (uint32_t)old;
    }
  }
}

bool typeOf(const std::string &t, AtomOp op, AtomType &out) {
  bool bits = op == And || op == Or || op == Xor || op == Exch || op == Cas;
  if (t == "u32" || (t == "b32" && bits))
    return out = U32, true;
  if (t == "u64" || (t == "b64" && bits))
    return out = U64, true;
  if (t == "s32" && !bits && op != Inc && op != Dec)
    return out = S32, true;
  if (t == "s64" && !bits && op != Inc && op != Dec)
    return out = S64, true;
  if (t == "b16" && op == Cas)
    return out = B16, true;
  if (t == "f32" && op == Add)
    return out = F32, true;
  if (t == "f64" && op == Add)
    return out = F64, true;
  bool half = op == Add || op == Min || op == Max;
  if (t == "f16" && half)
    return out = F16, true;
  if (t == "bf16" && half)
    return out = BF16, true;
  if (t == "f16x2" && half)
    return out = F16x2, true;
  if (t == "bf16x2" && half)
    return out = BF16x2, true;
  return false;
}

} // namespace

bool gpusim::decodeAtomic(Decoder &d, const Stmt &s) {
  bool reduce = s.name == "red";
  if (!reduce && s.name != "atom")
    return false;
  Mods m(s);
  Space space = m.take("global")                            ? Space::Global
                : m.take("shared") || m.take("shared::cta") ? Space::Shared
                                                            : Space::Generic;
  static const char *const names[] = {"add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec"};
  int op = -1;
  for (int n = 0; n < 10; ++n)
    if (m.take(names[n])) {
      op = n;
      break;
    }
  m.ignoreHints();
  m.take("noftz");
  std::string t = m.type();
  m.done();
  AtomType type;
  if (op < 0 || !typeOf(t, AtomOp(op), type) || (reduce && (op == Cas || op == Exch)))
    m.unsupported();
  d.count(s, (op == Cas ? 4 : 3) - reduce);
  unsigned bits = sizeOfType(t) * 8, first = reduce ? 0 : 1;
  Decoder::Address a = d.address(s.ops[first]);
  if (a.isStatic && a.space != space && !(space == Space::Generic && a.space == Space::Global))
    d.fail("address is not in the space of '" + s.name + "'");
  if (!a.isStatic && a.regBits == 32 && space != Space::Shared)
    d.fail("32-bit address in a 64-bit space");
  uint32_t b = d.src(s.ops[first + 1], bits), c = op == Cas ? d.src(s.ops[first + 2], bits) : 0,
           o = reduce ? 0 : d.dst(s.ops[0], bits);
  if (space != Space::Global)
    d.sharedWidth(bits / 8);
  Inst &i = d.emit(atomic, Class::Atomic);
  i.a = a.reg, i.imm = a.offset, i.b = b, i.c = c, i.d = o;
  i.size = bits / 8, i.space = space;
  i.target = op | type << 4;
  i.flags = (reduce ? Reduce : 0) | (a.isStatic ? Static : 0) | (!a.isStatic && a.regBits == 32 ? Address32 : 0);
  bool add = op == Add;
  i.unit = add && type == F32                        ? Unit::Fp32
           : add && type == F64                      ? Unit::Fp64
           : add && (type == F16 || type == F16x2)   ? Unit::Fp16
           : add && (type == BF16 || type == BF16x2) ? Unit::Bf16
                                                     : Unit::None;
  i.flops = i.unit == Unit::None ? 0 : (type == F16x2 || type == BF16x2) ? 2 : 1;
  return true;
}
