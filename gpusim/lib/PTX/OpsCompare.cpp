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

/// The second half of `set`: the truth of predicate a (and b for the upper
/// half of a packed destination) as the value imm.
void setReg(Warp &w, const Inst &i) {
  const uint32_t p = w.preds[i.a], q = w.preds[i.b], truth = i.imm;
  if (i.flags)
    eachLane<uint32_t>(w, i.d, [&](unsigned l) { return (p >> l & 1 ? truth : 0) | (q >> l & 1 ? truth << 16 : 0); });
  else
    eachLane<uint32_t>(w, i.d, [&](unsigned l) { return p >> l & 1 ? truth : 0; });
}

/// `.ftz`: what is compared has no subnormals.
void flushFloat(Warp &w, const Inst &i) {
  const auto *a = w.r<uint32_t>(i.a);
  eachLane<uint32_t>(w, i.d, [&](unsigned l) { return a[l] & 0x7f800000 ? a[l] : a[l] & 0x80000000; });
}
void flushHalves(Warp &w, const Inst &i) {
  const auto *a = w.r<uint32_t>(i.a);
  eachLane<uint32_t>(w, i.d, [&](unsigned l) {
    const uint32_t low = a[l] & 0x7c00 ? 0xffff : 0x8000, high = a[l] & 0x7c000000 ? 0xffff0000 : 0x80000000;
    return a[l] & (low | high);
  });
}

/// Both halves of packed operands.
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

template <Cmp C> Handler forType(const std::string &t) {
  if (t == "f16x2")
    return setpPacked<Half, C>;
  if (t == "bf16x2")
    return setpPacked<Bfloat, C>;
  if (t == "f32")
    return setp<float, C>;
  if (t == "f64")
    return setp<double, C>;
  if (t == "f16")
    return setp<Half, C>;
  if (t == "bf16")
    return setp<Bfloat, C>;
  if (C > Ge)
    return nullptr; // unordered comparisons have no meaning for integers
  if (t == "u16" || t == "b16")
    return setp<uint16_t, C>;
  if (t == "s16")
    return setp<int16_t, C>;
  if (t == "u32" || t == "b32")
    return setp<uint32_t, C>;
  if (t == "s32")
    return setp<int32_t, C>;
  if (t == "u64" || t == "b64")
    return setp<uint64_t, C>;
  if (t == "s64")
    return setp<int64_t, C>;
  return nullptr;
}

Handler comparison(const std::string &c, const std::string &t) {
  bool isUnsigned = t[0] == 'u' || (t[0] == 'b' && t[1] != 'f');
  if (c == "eq")
    return forType<Eq>(t);
  if (c == "ne")
    return forType<Ne>(t);
  if (c == "lt" || (c == "lo" && isUnsigned))
    return forType<Lt>(t);
  if (c == "le" || (c == "ls" && isUnsigned))
    return forType<Le>(t);
  if (c == "gt" || (c == "hi" && isUnsigned))
    return forType<Gt>(t);
  if (c == "ge" || (c == "hs" && isUnsigned))
    return forType<Ge>(t);
  if (c == "equ")
    return forType<Equ>(t);
  if (c == "neu")
    return forType<Neu>(t);
  if (c == "ltu")
    return forType<Ltu>(t);
  if (c == "leu")
    return forType<Leu>(t);
  if (c == "gtu")
    return forType<Gtu>(t);
  if (c == "geu")
    return forType<Geu>(t);
  if (c == "num")
    return forType<Num>(t);
  if (c == "nan")
    return forType<Nan>(t);
  return nullptr;
}

std::string takeComparison(Mods &m) {
  return m.oneOf({"equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan", "eq", "ne", "lt", "le", "gt", "ge", "lo",
                  "ls", "hi", "hs"});
}

/// A source of a comparison; with `.ftz` a flushed copy of it.
uint32_t comparand(Decoder &d, const Operand &o, const std::string &t, bool ftz) {
  const uint32_t from = d.src(o, sizeOfType(t) * 8);
  if (!ftz)
    return from;
  const uint32_t to = d.scratch(false);
  Inst &i = d.emit(t == "f32" ? flushFloat : flushHalves, Class::None);
  i.a = from, i.d = to;
  return to;
}

/// The value that `set` gives for true.
int64_t truthOf(const std::string &out) {
  return out == "f32"                       ? 0x3f800000
         : out == "f16" || out == "f16x2"   ? 0x3c00
         : out == "bf16" || out == "bf16x2" ? 0x3f80
                                            : -1;
}

/// `set` compares into predicates of its own first.
bool decodeSet(Decoder &d, const Stmt &s) {
  Mods m(s);
  const bool isSetp = s.name == "setp";
  std::string t = m.type(), out = isSetp ? "pred" : m.type();
  std::string cmp = takeComparison(m), bop = m.oneOf({"and", "or", "xor"});
  const bool packed = t == "f16x2" || t == "bf16x2", ftz = m.take("ftz");
  m.done();
  Handler h = comparison(cmp, t);
  if (!h || (packed && !bop.empty()) || (ftz && t != "f32" && t != "f16" && t != "f16x2"))
    m.unsupported();
  const unsigned outBits = sizeOfType(out) * 8;
  const bool integral = out == "u32" || out == "s32" || out == "b32";
  if (!isSetp && (packed ? out != t && !integral : truthOf(out) < 0 ? !integral : outBits != (out == "f32" ? 32 : 16)))
    m.unsupported();
  d.count(s, bop.empty() ? 3 : 4);
  const uint32_t a = comparand(d, s.ops[1], t, ftz), b = comparand(d, s.ops[2], t, ftz);
  uint32_t c = 0, first, second = 0;
  int64_t imm = 0;
  if (!bop.empty()) {
    c = d.predSrc(s.ops[3], true);
    imm = (bop == "and" ? 1 : bop == "or" ? 2 : 3) | (s.ops[3].negated ? 4 : 0);
  }
  if (isSetp) {
    Operand target = s.ops[0];
    if (!target.pair.empty())
      second = d.predByName(target.pair, true);
    else if (packed)
      d.fail("setp on packed operands needs two destinations");
    target.pair.clear();
    first = d.predDst(target);
  } else {
    first = d.predByName("_", true);
    second = packed ? d.predByName("_", true) : 0;
  }
  Inst &i = d.emit(h, Class::Move);
  i.a = a, i.b = b, i.c = c, i.d = first;
  i.imm = imm, i.target = second;
  if (isSetp)
    return true;
  const uint32_t o = d.dst(s.ops[0], packed ? 32 : outBits);
  Inst &value = d.emit(setReg, Class::None);
  value.a = first, value.b = second, value.d = o, value.flags = packed;
  value.imm = packed ? truthOf(out) & 0xffff : truthOf(out);
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
