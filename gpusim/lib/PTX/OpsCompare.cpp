// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// setp, set, selp, slct (PTX ISA, "Comparison and Selection Instructions").
#include "Decoder.h"
#include "Lanes.h"

using namespace gpusim;

namespace {

enum Cmp { Eq, Ne, Lt, Le, Gt, Ge, Equ, Neu, Ltu, Leu, Gtu, Geu, Num, Nan };

template <Cmp C, class T> inline bool holds(T a, T b) {
  if (C == Eq)
    return a == b;
  if (C == Lt)
    return a < b;
  if (C == Le)
    return a <= b;
  if (C == Gt)
    return a > b;
  if (C == Ge)
    return a >= b;
  if (C == Ne)
    return a < b || a > b; // false for NaN; integers: a != b
  bool unordered = a != a || b != b;
  if (C == Num)
    return !unordered;
  if (C == Nan)
    return unordered;
  if (C == Equ)
    return unordered || a == b;
  if (C == Neu)
    return a != b;
  if (C == Ltu)
    return !(a >= b);
  if (C == Leu)
    return !(a > b);
  if (C == Gtu)
    return !(a <= b);
  return !(a < b);
}

/// Values as they compare: halves as floats.
template <class T> struct Wide {
  static T get(const Cell<T> *p, unsigned l) { return load<T>(p, l); }
};
template <> struct Wide<Half> {
  static float get(const uint32_t *p, unsigned l) { return halfToFloat(p[l]); }
};
template <> struct Wide<Bfloat> {
  static float get(const uint32_t *p, unsigned l) { return bfloatToFloat(p[l]); }
};

template <class T, Cmp C> uint32_t compare(const Warp &w, const Inst &i) {
  const auto *a = w.r<Cell<T>>(i.a), *b = w.r<Cell<T>>(i.b);
  uint32_t bits = 0;
  for (unsigned l = 0; l < warpSize; ++l)
    bits |= (uint32_t)holds<C>(Wide<T>::get(a, l), Wide<T>::get(b, l)) << l;
  return bits;
}
using Compare = uint32_t (*)(const Warp &, const Inst &);

/// Combination with a further predicate; imm: 0 none, 1 and, 2 or, 3 xor, bit
/// 2 negates it. `target` is the second destination, 0 if there is none.
template <class T, Cmp C> void setp(Warp &w, const Inst &i) {
  uint32_t r = compare<T, C>(w, i), q = ~r;
  if (i.imm) {
    uint32_t c = w.preds[i.c] ^ (i.imm & 4 ? ~0u : 0);
    unsigned op = i.imm & 3;
    r = op == 1 ? r & c : op == 2 ? r | c : r ^ c;
    q = op == 1 ? q & c : op == 2 ? q | c : q ^ c;
  }
  setPred(w, i.d, r);
  if (i.target)
    setPred(w, i.target, q);
}

/// vec: 0 all ones, 1 one as f32, 2 as f16, 3 as bf16.
template <class T, Cmp C> void setReg(Warp &w, const Inst &i) {
  uint32_t r = compare<T, C>(w, i);
  static const uint32_t truths[] = {~0u, 0x3f800000u, 0x3c00, 0x3f80};
  uint32_t truth = truths[i.vec];
  if (i.imm) {
    uint32_t c = w.preds[i.c] ^ (i.imm & 4 ? ~0u : 0);
    unsigned op = i.imm & 3;
    r = op == 1 ? r & c : op == 2 ? r | c : r ^ c;
  }
  eachLane<uint32_t>(w, i.d, [&](unsigned l) { return r >> l & 1 ? truth : 0u; });
}

/// Both halves of packed operands; i.imm says in which form the truth goes.
template <class H, Cmp C> void setPacked(Warp &w, const Inst &i) {
  const auto *a = w.r<uint32_t>(i.a), *b = w.r<uint32_t>(i.b);
  uint32_t truth = i.imm == 0 ? 0xffff : i.imm == 1 ? 0x3c00 : 0x3f80;
  eachLane<uint32_t>(w, i.d, [&](unsigned l) {
    uint32_t lo = holds<C>(H::widen(a[l]), H::widen(b[l])) ? truth : 0;
    uint32_t hi = holds<C>(H::widen(a[l] >> 16), H::widen(b[l] >> 16)) ? truth : 0;
    return lo | hi << 16;
  });
}
template <class H, Cmp C> void setpPacked(Warp &w, const Inst &i) {
  const auto *a = w.r<uint32_t>(i.a), *b = w.r<uint32_t>(i.b);
  uint32_t p = 0, q = 0;
  for (unsigned l = 0; l < warpSize; ++l) {
    p |= (uint32_t)holds<C>(H::widen(a[l]), H::widen(b[l])) << l;
    q |= (uint32_t)holds<C>(H::widen(a[l] >> 16), H::widen(b[l] >> 16)) << l;
  }
  setPred(w, i.d, p);
  setPred(w, i.target, q);
}

enum Kind { KSetp, KSet, KSetPacked, KSetpPacked };

template <class T, Cmp C> Handler scalar(Kind k) { return k == KSetp ? setp<T, C> : setReg<T, C>; }
template <Cmp C> Handler forType(const std::string &t, Kind k) {
  if (k == KSetPacked)
    return t == "f16x2" ? setPacked<Half, C> : setPacked<Bfloat, C>;
  if (k == KSetpPacked)
    return t == "f16x2" ? setpPacked<Half, C> : setpPacked<Bfloat, C>;
  if (t == "f32")
    return scalar<float, C>(k);
  if (t == "f64")
    return scalar<double, C>(k);
  if (t == "f16")
    return scalar<Half, C>(k);
  if (t == "bf16")
    return scalar<Bfloat, C>(k);
  if (C > Ge)
    return nullptr; // unordered comparisons have no meaning for integers
  if (t == "u16" || t == "b16")
    return scalar<uint16_t, C>(k);
  if (t == "s16")
    return scalar<int16_t, C>(k);
  if (t == "u32" || t == "b32")
    return scalar<uint32_t, C>(k);
  if (t == "s32")
    return scalar<int32_t, C>(k);
  if (t == "u64" || t == "b64")
    return scalar<uint64_t, C>(k);
  if (t == "s64")
    return scalar<int64_t, C>(k);
  return nullptr;
}

Handler comparison(const std::string &c, const std::string &t, Kind k) {
  bool isUnsigned = t[0] == 'u' || (t[0] == 'b' && t[1] != 'f');
  if (c == "eq")
    return forType<Eq>(t, k);
  if (c == "ne")
    return forType<Ne>(t, k);
  if (c == "lt" || (c == "lo" && isUnsigned))
    return forType<Lt>(t, k);
  if (c == "le" || (c == "ls" && isUnsigned))
    return forType<Le>(t, k);
  if (c == "gt" || (c == "hi" && isUnsigned))
    return forType<Gt>(t, k);
  if (c == "ge" || (c == "hs" && isUnsigned))
    return forType<Ge>(t, k);
  if (c == "equ")
    return forType<Equ>(t, k);
  if (c == "neu")
    return forType<Neu>(t, k);
  if (c == "ltu")
    return forType<Ltu>(t, k);
  if (c == "leu")
    return forType<Leu>(t, k);
  if (c == "gtu")
    return forType<Gtu>(t, k);
  if (c == "geu")
    return forType<Geu>(t, k);
  if (c == "num")
    return forType<Num>(t, k);
  if (c == "nan")
    return forType<Nan>(t, k);
  return nullptr;
}

std::string takeComparison(Mods &m) {
  return m.oneOf({"equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan", "eq", "ne", "lt", "le", "gt", "ge", "lo",
                  "ls", "hi", "hs"});
}

bool decodeSet(Decoder &d, const Stmt &s) {
  Mods m(s);
  bool isSetp = s.name == "setp";
  std::string t = m.type(), out = isSetp ? "pred" : m.type();
  std::string cmp = takeComparison(m), bop = m.oneOf({"and", "or", "xor"});
  m.take("ftz"); // flushing subnormals is only visible in comparisons with them
  m.done();
  bool packed = t == "f16x2" || t == "bf16x2";
  Kind kind = isSetp ? (packed ? KSetpPacked : KSetp) : (packed ? KSetPacked : KSet);
  Handler h = comparison(cmp, t, kind);
  if (!h || (packed && !bop.empty()))
    m.unsupported();
  d.count(s, bop.empty() ? 3 : 4);
  unsigned bits = sizeOfType(t) * 8;
  uint32_t a = d.src(s.ops[1], bits), b = d.src(s.ops[2], bits), c = 0, second = 0;
  int64_t imm = 0;
  if (!bop.empty()) {
    c = d.predSrc(s.ops[3], true);
    imm = (bop == "and" ? 1 : bop == "or" ? 2 : 3) | (s.ops[3].negated ? 4 : 0);
  }
  uint32_t o;
  uint8_t truth = 0;
  if (isSetp) {
    Operand first = s.ops[0];
    if (!first.pair.empty())
      second = d.predByName(first.pair, true);
    else if (packed)
      d.fail("setp on packed operands needs two destinations");
    first.pair.clear();
    o = d.predDst(first);
  } else if (packed) {
    imm = out == t ? (t == "f16x2" ? 1 : 2) : 0;
    if (out != t && out != "u32" && out != "s32" && out != "b32")
      m.unsupported();
    o = d.dst(s.ops[0], 32);
  } else {
    truth = out == "f32" ? 1 : out == "f16" ? 2 : out == "bf16" ? 3 : 0;
    if (sizeOfType(out) * 8 != (truth >= 2 ? 16u : 32u))
      m.unsupported();
    o = d.dst(s.ops[0], truth >= 2 ? 16 : 32);
  }
  Inst &i = d.emit(h, Class::Move);
  i.a = a, i.b = b, i.c = c, i.d = o;
  i.imm = imm, i.target = second, i.vec = truth;
  return true;
}

template <class C> void selp(Warp &w, const Inst &i) {
  const auto *a = w.r<C>(i.a), *b = w.r<C>(i.b);
  uint32_t p = w.preds[i.c];
  eachLane<C>(w, i.d, [&](unsigned l) { return p >> l & 1 ? a[l] : b[l]; });
}

template <class C, class S> void slct(Warp &w, const Inst &i) {
  const auto *a = w.r<C>(i.a), *b = w.r<C>(i.b);
  const auto *c = w.r<uint32_t>(i.c);
  eachLane<C>(w, i.d, [&](unsigned l) { return load<S>(c, l) >= 0 ? a[l] : b[l]; });
}

} // namespace

bool gpusim::decodeCompare(Decoder &d, const Stmt &s) {
  if (s.name == "setp" || s.name == "set")
    return decodeSet(d, s);
  if (s.name == "selp") {
    Mods m(s);
    std::string t = m.type();
    m.done();
    unsigned bits = sizeOfType(t) * 8;
    if (bits < 16 || bits > 64 || t == "pred")
      m.unsupported();
    d.count(s, 4);
    uint32_t a = d.src(s.ops[1], bits), b = d.src(s.ops[2], bits), c = d.predSrc(s.ops[3]), o = d.dst(s.ops[0], bits);
    Inst &i = d.emit(bits == 64 ? selp<uint64_t> : selp<uint32_t>, Class::Move);
    i.a = a, i.b = b, i.c = c, i.d = o;
    return true;
  }
  if (s.name == "slct") {
    Mods m(s);
    std::string ct = m.type(), t = m.type();
    m.take("ftz");
    m.done();
    unsigned bits = sizeOfType(t) * 8;
    if ((ct != "s32" && ct != "f32") || bits < 16 || bits > 64)
      m.unsupported();
    d.count(s, 4);
    uint32_t a = d.src(s.ops[1], bits), b = d.src(s.ops[2], bits), c = d.src(s.ops[3], 32), o = d.dst(s.ops[0], bits);
    bool f = ct == "f32", wide = bits == 64;
    Inst &i = d.emit(wide ? (f ? slct<uint64_t, float> : slct<uint64_t, int32_t>)
                          : (f ? slct<uint32_t, float> : slct<uint32_t, int32_t>),
                     Class::Move);
    i.a = a, i.b = b, i.c = c, i.d = o;
    return true;
  }
  return false;
}
