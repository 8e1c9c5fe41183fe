// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// f16 and bf16 arithmetic, single and packed (PTX ISA, "Half Precision
// Floating Point Instructions"). Values are widened to double, in which sums
// and products are exact enough that the one rounding at the end is right.
#include "Decoder.h"
#include "Lanes.h"

using namespace gpusim;

namespace {

enum HalfOp { Add, Sub, Mul, FmaOp, Min, Max, Neg, Abs, Ex2, Tanh };
enum HalfFlags { Relu = 1, Sat = 2, NaN = 4, Ftz = 8 };

/// a*b+c with the rounding error of the sum folded into the last bit, so that
/// a later rounding to 11 bits cannot go wrong.
double fmaToOdd(double a, double b, double c) {
  double p = a * b; // exact: at most 22 significant bits
  double s = p + c;
  double t = s - p;
  double error = (p - (s - t)) + (c - t);
  if (error == 0 || s != s || std::isinf(s))
    return s;
  uint64_t bits;
  __builtin_memcpy(&bits, &s, 8);
  if (!(bits & 1))
    bits += (error > 0) == (s > 0) ? 1 : -1;
  __builtin_memcpy(&s, &bits, 8);
  return s;
}

template <class H, HalfOp Op> inline uint16_t apply(uint16_t x, uint16_t y, uint16_t z, unsigned flags) {
  if (Op == Neg)
    return x ^ 0x8000;
  if (Op == Abs)
    return x & 0x7fff;
  auto widen = [&](uint16_t h) {
    float v = H::widen(h);
    return flags & Ftz && std::fabs(v) < 0x1p-14f && H::widen(0x3c00) == 1.f ? v * 0.f : v;
  };
  double a = widen(x), b = widen(y), c = widen(z), r = 0;
  if (Op == Add)
    r = a + b;
  if (Op == Sub)
    r = a - b;
  if (Op == Mul)
    r = a * b;
  if (Op == FmaOp)
    r = fmaToOdd(a, b, c);
  if (Op == Ex2)
    r = std::exp2(a);
  if (Op == Tanh)
    r = std::tanh(a);
  if (Op == Min || Op == Max) {
    bool an = a != a, bn = b != b;
    if ((an && bn) || (flags & NaN && (an || bn)))
      return 0x7fff;
    if (an || bn)
      return an ? y : x;
    bool takeA = a == b ? std::signbit(a) == (Op == Min) : (Op == Min ? a < b : a > b);
    return takeA ? x : y;
  }
  uint16_t h = H::narrow(r);
  if (flags & Ftz && H::widen(0x3c00) == 1.f && (h & 0x7c00) == 0)
    h &= 0x8000;
  if (flags & Relu && (r < 0 || h == 0x8000))
    h = 0;
  if (flags & Sat)
    h = !(r > 0) ? 0 : r > 1 ? H::narrow(1.0f) : h;
  return h;
}

template <class H, HalfOp Op, bool Packed> void halfOp(Warp &w, const Inst &i) {
  const auto *a = w.r<uint32_t>(i.a), *b = w.r<uint32_t>(i.b), *c = w.r<uint32_t>(i.c);
  const unsigned flags = i.imm;
  eachLane<uint32_t>(w, i.d, [&](unsigned l) {
    uint32_t r = apply<H, Op>(a[l], b[l], c[l], flags);
    if (Packed)
      r |= (uint32_t)apply<H, Op>(a[l] >> 16, b[l] >> 16, c[l] >> 16, flags) << 16;
    return r;
  });
}

template <HalfOp Op> Handler pick(bool bf, bool packed) {
  return bf ? (packed ? halfOp<Bfloat, Op, true> : halfOp<Bfloat, Op, false>)
            : (packed ? halfOp<Half, Op, true> : halfOp<Half, Op, false>);
}

Handler handlerFor(const std::string &n, bool bf, bool packed) {
  if (n == "add")
    return pick<Add>(bf, packed);
  if (n == "sub")
    return pick<Sub>(bf, packed);
  if (n == "mul")
    return pick<Mul>(bf, packed);
  if (n == "fma")
    return pick<FmaOp>(bf, packed);
  if (n == "min")
    return pick<Min>(bf, packed);
  if (n == "max")
    return pick<Max>(bf, packed);
  if (n == "neg")
    return pick<Neg>(bf, packed);
  if (n == "abs")
    return pick<Abs>(bf, packed);
  if (n == "ex2")
    return pick<Ex2>(bf, packed);
  if (n == "tanh")
    return pick<Tanh>(bf, packed);
  return nullptr;
}

} // namespace

bool gpusim::decodeHalf(Decoder &d, const Stmt &s) {
  if (s.mods.empty())
    return false;
  const std::string &t = s.mods.back();
  bool packed = t == "f16x2" || t == "bf16x2";
  bool bf = t == "bf16" || t == "bf16x2";
  if (t != "f16" && t != "bf16" && !packed)
    return false;
  Handler h = handlerFor(s.name, bf, packed);
  if (!h)
    return false;
  Mods m(s);
  m.take(t.c_str());
  unsigned flags = 0;
  m.take("rn");
  const std::string &n = s.name;
  if (n == "fma" && m.take("relu"))
    flags |= Relu;
  if ((n == "add" || n == "sub" || n == "mul" || n == "fma") && m.take("sat"))
    flags |= Sat;
  if ((n == "min" || n == "max") && m.take("NaN"))
    flags |= NaN;
  bool special = n == "ex2" || n == "tanh";
  if (special && !m.take("approx"))
    m.unsupported();
  if (m.take("ftz"))
    flags |= Ftz;
  m.done();
  unsigned operands = n == "fma" ? 3 : special || n == "neg" || n == "abs" ? 1 : 2;
  d.count(s, operands + 1);
  unsigned bits = packed ? 32 : 16;
  uint32_t a = d.src(s.ops[1], bits), b = a, c = a;
  if (operands > 1)
    b = d.src(s.ops[2], bits);
  if (operands > 2)
    c = d.src(s.ops[3], bits);
  uint32_t o = d.dst(s.ops[0], bits);
  Inst &i = d.emit(h, special ? Class::Special : Class::Half);
  i.a = a, i.b = b, i.c = c, i.d = o;
  i.imm = flags;
  bool arithmetic = n == "add" || n == "sub" || n == "mul" || n == "fma" || special;
  i.flops = arithmetic ? (n == "fma" ? 2 : 1) * (packed ? 2 : 1) : 0;
  i.unit = arithmetic ? (bf ? Unit::Bf16 : Unit::Fp16) : Unit::None;
  return true;
}
