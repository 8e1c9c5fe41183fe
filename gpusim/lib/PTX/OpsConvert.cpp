// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cvt (PTX ISA, "cvt", "cvt.pack"). Any pair of types goes through an exact
// number (long double holds every 64-bit integer and every double) and one
// rounding of our own; the pairs that kernels use most have direct forms.
#include "Decoder.h"
#include "Lanes.h"

#include <cfloat>

using namespace gpusim;

namespace {

static_assert(LDBL_MANT_DIG >= 64, "long double must hold 64-bit integers");

enum Round { RN, RZ, RM, RP, RNA, RNI, RZI, RMI, RPI };
enum Flags { Ftz = 1, Sat = 2, Relu = 4, SatFinite = 8 };

struct Format {
  const char *name;
  unsigned bits;
  bool isFloat, isSigned;
  int mantissa, minUlp, maxExp; ///< floats: bits, smallest 2^n, above: infinity
};
const Format formats[] = {{"u8", 8, false, false, 0, 0, 0},        {"s8", 8, false, true, 0, 0, 0},
                          {"u16", 16, false, false, 0, 0, 0},      {"s16", 16, false, true, 0, 0, 0},
                          {"u32", 32, false, false, 0, 0, 0},      {"s32", 32, false, true, 0, 0, 0},
                          {"u64", 64, false, false, 0, 0, 0},      {"s64", 64, false, true, 0, 0, 0},
                          {"f16", 16, true, true, 11, -24, 16},    {"bf16", 16, true, true, 8, -133, 128},
                          {"f32", 32, true, true, 24, -149, 128},  {"tf32", 32, true, true, 11, -136, 128},
                          {"f64", 64, true, true, 53, -1074, 1024}};

const Format *formatOf(const std::string &name) {
  for (const Format &f : formats)
    if (name == f.name)
      return &f;
  return nullptr;
}

long double roundInteger(long double v, Round r) {
  switch (r) {
  case RZ:
  case RZI:
    return truncl(v);
  case RM:
  case RMI:
    return floorl(v);
  case RP:
  case RPI:
    return ceill(v);
  case RNA:
    return roundl(v);
  default:
    return rintl(v);
  }
}

long double roundTo(const Format &f, long double v, Round r) {
  if (v == 0 || v != v || std::isinf(v))
    return v;
  int e;
  frexpl(v, &e);
  int ulp = std::max(e - f.mantissa, f.minUlp);
  long double result = ldexpl(roundInteger(ldexpl(v, -ulp), r), ulp);
  long double limit = ldexpl(1, f.maxExp);
  if (std::fabs(result) >= limit) {
    bool toFinite = r == RZ || (r == RM && v > 0) || (r == RP && v < 0);
    long double largest = limit - ldexpl(1, f.maxExp - f.mantissa);
    result = copysignl(toFinite ? largest : INFINITY, v);
  }
  return result == 0 ? copysignl(0, v) : result;
}

struct Number {
  long double value;
  bool nan = false;
};

Number decode(const Format &f, uint64_t bits) {
  if (!f.isFloat) {
    if (f.bits < 64)
      bits &= (1ull << f.bits) - 1;
    if (f.isSigned)
      return {(long double)((int64_t)(bits << (64 - f.bits)) >> (64 - f.bits))};
    return {(long double)bits};
  }
  long double v;
  if (f.bits == 64) {
    double d;
    __builtin_memcpy(&d, &bits, 8);
    v = d;
  } else if (f.bits == 32) {
    v = floatOf(bits);
  } else {
    v = f.mantissa == 11 ? halfToFloat(bits) : bfloatToFloat(bits);
  }
  return {v, v != v};
}

uint64_t encodeFloat(const Format &f, Number n, Round r, unsigned flags) {
  if (n.nan)
    return flags & Sat ? 0 : f.bits == 64 ? 0x7fffffffffffffffull : f.bits == 32 ? 0x7fffffff : 0x7fff;
  long double v = roundTo(f, n.value, r);
  if (flags & Relu && (v < 0 || std::signbit(v)))
    v = 0;
  if (flags & Sat)
    v = v > 1 ? 1 : v > 0 ? v : 0;
  if (flags & SatFinite && std::isinf(v))
    v = copysignl(ldexpl(1, f.maxExp) - ldexpl(1, f.maxExp - f.mantissa), v);
  if (f.bits == 64) {
    double d = v;
    uint64_t b;
    __builtin_memcpy(&b, &d, 8);
    return b;
  }
  if (f.bits == 32)
    return bitsOf((float)v);
  return f.mantissa == 11 ? Half::narrow((double)v) : Bfloat::narrow((double)v);
}

uint64_t encodeInt(const Format &f, const Format &from, Number n, Round r, unsigned regBits) {
  const uint64_t keep = regBits == 64 ? ~0ull : (1ull << regBits) - 1;
  if (n.nan) // PTX ISA, "cvt": NaN to integer
    return from.bits < 64 && f.bits < 64 ? 0 : 1ull << (f.bits - 1);
  long double v = roundInteger(n.value, r);
  long double top = ldexpl(1, f.bits - f.isSigned) - 1;
  long double low = f.isSigned ? -top - 1 : 0;
  v = v > top ? top : v < low ? low : v;
  uint64_t bits = v < 0 ? (uint64_t)(int64_t)v : (uint64_t)v;
  return bits & keep;
}

struct Plan {
  const Format *to, *from;
  Round round;
  unsigned flags, toReg, fromReg;
};

uint64_t convertOne(const Plan &p, uint64_t x) {
  Number n = decode(*p.from, x);
  if (p.flags & Ftz && p.from->bits == 32 && p.from->isFloat && fabsl(n.value) < 0x1p-126L)
    n.value = copysignl(0, n.value);
  uint64_t r;
  if (!p.to->isFloat) {
    r = encodeInt(*p.to, *p.from, n, p.round, p.toReg);
  } else {
    if (p.round >= RNI && !n.nan && !std::isinf(n.value)) {
      long double v = roundInteger(n.value, p.round);
      n.value = v == 0 ? copysignl(0, n.value) : v;
    }
    r = encodeFloat(*p.to, n, p.round >= RNI ? RN : p.round, p.flags);
    if (p.flags & Ftz && p.to->bits == 32 && (r & 0x7f800000) == 0)
      r &= 0x80000000;
  }
  return r;
}

/// Packed into Inst::imm: formats, rounding, flags, register widths.
Plan unpackPlan(const Inst &i) {
  Plan p;
  p.to = &formats[i.imm & 15];
  p.from = &formats[i.imm >> 4 & 15];
  p.round = Round(i.imm >> 8 & 15);
  p.flags = i.imm >> 12 & 15;
  p.toReg = i.imm >> 16 & 0xff;
  p.fromReg = i.imm >> 24 & 0xff;
  return p;
}
int64_t packPlan(const Plan &p) {
  return (p.to - formats) | (p.from - formats) << 4 | (int64_t)p.round << 8 | (int64_t)p.flags << 12 |
         (int64_t)p.toReg << 16 | (int64_t)p.fromReg << 24;
}

template <class D, class S> void general(Warp &w, const Inst &i) {
  const Plan p = unpackPlan(i);
  const auto *a = w.r<S>(i.a);
  S in[warpSize];
  memcpy(in, a, sizeof in);
  eachLane<D>(w, i.d, [&](unsigned l) { return w.mask >> l & 1 ? (D)convertOne(p, in[l]) : (D)0; });
}

/// Integer to integer without saturation: extension, then truncation.
template <class D, class S> void integers(Warp &w, const Inst &i) {
  const Plan p = unpackPlan(i);
  const auto *a = w.r<S>(i.a);
  const unsigned shift = 64 - std::min(p.from->bits, p.to->bits);
  const bool sign = p.from->bits < p.to->bits ? p.from->isSigned : p.to->isSigned;
  const D keep = p.toReg >= sizeof(D) * 8 ? ~(D)0 : ((D)1 << p.toReg) - 1;
  if (sign)
    eachLane<D>(w, i.d, [&](unsigned l) { return (D)((int64_t)((uint64_t)a[l] << shift) >> shift) & keep; });
  else
    eachLane<D>(w, i.d, [&](unsigned l) { return (D)((uint64_t)a[l] << shift >> shift) & keep; });
}

template <class D, class S> struct Cast {
  D operator()(S a) { return (D)a; }
};
struct Widen16 {
  float operator()(Half h) { return halfToFloat(h.bits); }
  float operator()(Bfloat h) { return bfloatToFloat(h.bits); }
};
struct NarrowHalf {
  Half operator()(float f) { return Half{floatToHalf(f)}; }
};
struct NarrowBfloat {
  Bfloat operator()(float f) { return Bfloat{floatToBfloat(f)}; }
};

/// The first source becomes the upper half (PTX ISA, "cvt" to f16x2).
template <class H, bool R> void packHalves(Warp &w, const Inst &i) {
  const auto *a = w.r<uint32_t>(i.a), *b = w.r<uint32_t>(i.b);
  auto one = [](uint32_t bits) -> uint32_t {
    float f = floatOf(bits);
    uint16_t h = H::narrow(f);
    return R && (h & 0x8000) && h != 0x7fff ? 0 : h;
  };
  eachLane<uint32_t>(w, i.d, [&](unsigned l) { return one(b[l]) | one(a[l]) << 16; });
}
template <class H> void packHalvesRz(Warp &w, const Inst &i) {
  const auto *a = w.r<uint32_t>(i.a), *b = w.r<uint32_t>(i.b);
  const Format &f = *formatOf(std::is_same_v<H, Half> ? "f16" : "bf16");
  auto one = [&](uint32_t bits) { return (uint32_t)encodeFloat(f, decode(*formatOf("f32"), bits), RZ, i.imm); };
  eachLane<uint32_t>(w, i.d, [&](unsigned l) { return one(b[l]) | one(a[l]) << 16; });
}

bool decodePacked(Decoder &d, const Stmt &s, const std::string &to, Mods &m) {
  std::string r = m.oneOf({"rn", "rz"});
  bool relu = m.take("relu");
  m.done();
  d.count(s, 3);
  if (r.empty())
    m.unsupported();
  uint32_t a = d.src(s.ops[1], 32), b = d.src(s.ops[2], 32), o = d.dst(s.ops[0], 32);
  bool half = to == "f16x2";
  Handler h = r == "rz" ? (half ? packHalvesRz<Half> : packHalvesRz<Bfloat>)
              : relu    ? (half ? packHalves<Half, true> : packHalves<Bfloat, true>)
                        : (half ? packHalves<Half, false> : packHalves<Bfloat, false>);
  Inst &i = d.emit(h, Class::Convert);
  i.a = a, i.b = b, i.d = o, i.imm = relu ? Relu : 0;
  return true;
}

Handler quick(const Plan &p) {
  std::string to = p.to->name, from = p.from->name;
  if (p.flags || p.fromReg != p.from->bits || p.toReg != p.to->bits)
    return nullptr;
  if (p.round == RN) {
    if (to == "f32" && from == "f16")
      return unary<float, Half, Widen16>;
    if (to == "f32" && from == "bf16")
      return unary<float, Bfloat, Widen16>;
    if (to == "f16" && from == "f32")
      return unary<Half, float, NarrowHalf>;
    if (to == "bf16" && from == "f32")
      return unary<Bfloat, float, NarrowBfloat>;
    if (to == "f32" && from == "s32")
      return unary<float, int32_t, Cast<float, int32_t>>;
    if (to == "f32" && from == "u32")
      return unary<float, uint32_t, Cast<float, uint32_t>>;
    if (to == "f64" && from == "s32")
      return unary<double, int32_t, Cast<double, int32_t>>;
  }
  return nullptr;
}

bool takeRounding(Mods &m, Round &r) {
  static const std::pair<const char *, Round> names[] = {{"rn", RN},   {"rz", RZ},   {"rm", RM},
                                                         {"rp", RP},   {"rna", RNA}, {"rni", RNI},
                                                         {"rzi", RZI}, {"rmi", RMI}, {"rpi", RPI}};
  for (auto &n : names)
    if (m.take(n.first)) {
      r = n.second;
      return true;
    }
  return false;
}

} // namespace

bool gpusim::decodeConvert(Decoder &d, const Stmt &s) {
  if (s.name != "cvt")
    return false;
  Mods m(s);
  std::string from = m.type(), to = m.type();
  if ((to == "f16x2" || to == "bf16x2") && from == "f32")
    return decodePacked(d, s, to, m);
  Plan p{formatOf(to), formatOf(from), RN, 0, 0, 0};
  if (!p.to || !p.from || from == "tf32")
    m.unsupported();
  bool given = takeRounding(m, p.round);
  if (m.take("ftz"))
    p.flags |= Ftz;
  if (m.take("relu"))
    p.flags |= Relu;
  if (m.take("satfinite"))
    p.flags |= SatFinite;
  bool sat = m.take("sat");
  m.done();
  bool toInt = !p.to->isFloat, fromInt = !p.from->isFloat;
  if (sat && !toInt)
    p.flags |= Sat;
  // PTX ISA, "cvt": integer roundings for float to integer and within one
  // float type; the others for narrowing and for integer to float.
  bool integral = p.round >= RNI;
  bool narrows = p.to->isFloat && (fromInt || p.to->mantissa < p.from->mantissa);
  if (toInt && fromInt && given)
    m.unsupported();
  if (toInt && !fromInt && !integral)
    m.unsupported();
  if (!toInt && integral && (fromInt || p.to != p.from))
    m.unsupported();
  if (narrows && (!given || integral))
    m.unsupported();
  if (to == "tf32" && p.round != RNA && p.round != RN && p.round != RZ)
    m.unsupported();
  d.count(s, 2);
  uint32_t a = d.anyReg(s.ops[1], p.from->bits, p.fromReg, false);
  uint32_t o = d.anyReg(s.ops[0], p.to->bits, p.toReg, true);
  bool wideTo = p.toReg == 64, wideFrom = p.fromReg == 64;
  Handler h = nullptr;
  if (toInt && fromInt && !sat)
    h = wideTo ? (wideFrom ? integers<uint64_t, uint64_t> : integers<uint64_t, uint32_t>)
               : (wideFrom ? integers<uint32_t, uint64_t> : integers<uint32_t, uint32_t>);
  else
    h = quick(p);
  if (!h)
    h = wideTo ? (wideFrom ? general<uint64_t, uint64_t> : general<uint64_t, uint32_t>)
               : (wideFrom ? general<uint32_t, uint64_t> : general<uint32_t, uint32_t>);
  Inst &i = d.emit(h, Class::Convert);
  i.a = a, i.d = o, i.imm = packPlan(p);
  return true;
}
