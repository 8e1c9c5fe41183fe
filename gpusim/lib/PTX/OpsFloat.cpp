// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// f32 and f64 arithmetic (PTX ISA, "Floating Point Instructions"). The common
// forms round to nearest and keep subnormals; every other rounding, .ftz and
// .sat take a slower general path.
#include "Decoder.h"
#include "Lanes.h"

#include <cfenv>
#include <limits>
#include <utility>

using namespace gpusim;

namespace {

/// NaN results are canonical on the device: 0x7fffffff for f32.
inline float canon(float v) { return v == v ? v : floatOf(0x7fffffff); }
inline double canon(double v) { return v; }

struct Add {
  template <class T> T operator()(T a, T b) { return canon(a + b); }
};
struct Sub {
  template <class T> T operator()(T a, T b) { return canon(a - b); }
};
struct Mul {
  template <class T> T operator()(T a, T b) { return canon(a * b); }
};
struct Fma {
  template <class T> T operator()(T a, T b, T c) { return canon(__builtin_fma(a, b, c)); }
  float operator()(float a, float b, float c) { return canon(__builtin_fmaf(a, b, c)); }
};
struct Div {
  template <class T> T operator()(T a, T b) { return canon(a / b); }
};
struct Neg {
  float operator()(float a) { return floatOf(bitsOf(a) ^ 0x80000000u); }
  double operator()(double a) { return -a; }
};
struct Abs {
  float operator()(float a) { return floatOf(bitsOf(a) & 0x7fffffffu); }
  double operator()(double a) { return std::fabs(a); }
};
struct Copysign { // d has the sign of a and the magnitude of b
  template <class T> T operator()(T a, T b) { return std::copysign(b, a); }
};
/// One NaN loses against a number; -0 is below +0.
template <bool Largest> struct Extreme {
  template <class T> T operator()(T a, T b) {
    if (a != a)
      return canon(b);
    if (b != b)
      return a;
    const bool aIsLess = a == b ? std::signbit(a) : a < b;
    return aIsLess != Largest ? a : b;
  }
};
using Min = Extreme<false>;
using Max = Extreme<true>;
template <class F> struct OrNaN {
  template <class T> T operator()(T a, T b) {
    if (a != a || b != b)
      return canon(std::numeric_limits<T>::quiet_NaN());
    return F()(a, b);
  }
};
struct Rcp {
  template <class T> T operator()(T a) { return canon((T)1 / a); }
};
struct Sqrt {
  template <class T> T operator()(T a) { return canon(std::sqrt(a)); }
};
/// Approximations are computed exactly and rounded, which lies within the
/// bounds that the ISA gives for the device's own.
struct Rsqrt {
  float operator()(float a) { return canon((float)(1.0 / std::sqrt((double)a))); }
  double operator()(double a) { return 1.0 / std::sqrt(a); }
};
struct Sin {
  float operator()(float a) { return canon((float)std::sin((double)a)); }
};
struct Cos {
  float operator()(float a) { return canon((float)std::cos((double)a)); }
};
struct Ex2 {
  float operator()(float a) { return canon((float)std::exp2((double)a)); }
};
struct Lg2 {
  float operator()(float a) { return canon((float)std::log2((double)a)); }
};
struct Tanh {
  float operator()(float a) { return canon((float)std::tanh((double)a)); }
};

//===-- General path ------------------------------------------------------===//

enum Flags { Ftz = 1, Sat = 2, RoundShift = 2 /* bits 2-3: rn rz rm rp */ };

inline float flush(float v) { return std::fabs(v) < 0x1p-126f ? floatOf(bitsOf(v) & 0x80000000u) : v; }
inline double flush(double v) { return v; }

template <class T> T saturate(T v) {
  return !(v > 0) ? (T)0 : v > 1 ? (T)1 : v; // NaN becomes 0
}

template <class F, class T, size_t... I>
__attribute__((noinline)) T callVolatile(const volatile T *v, std::index_sequence<I...>) {
  return F()((T)v[I]...);
}

/// The operation under one rounding mode. `volatile` and the call keep the
/// compiler from moving the arithmetic out of the changed environment.
template <class F, class T, class... A> __attribute__((noinline)) T rounded(unsigned flags, A... args) {
  static const int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
  const unsigned mode = flags >> RoundShift & 3;
  volatile T in[] = {(flags & Ftz ? flush(args) : args)...};
  if (mode)
    std::fesetround(modes[mode]);
  volatile T r = callVolatile<F, T>(in, std::index_sequence_for<A...>());
  if (mode)
    std::fesetround(FE_TONEAREST);
  T v = r;
  if (flags & Ftz)
    v = flush(v);
  return flags & Sat ? saturate(v) : v;
}

template <class T, class F> void general1(Warp &w, const Inst &i) {
  const auto *a = w.r<Cell<T>>(i.a);
  eachLane<T>(w, i.d, [&](unsigned l) { return rounded<F, T>(i.imm, load<T>(a, l)); });
}
template <class T, class F> void general2(Warp &w, const Inst &i) {
  const auto *a = w.r<Cell<T>>(i.a), *b = w.r<Cell<T>>(i.b);
  eachLane<T>(w, i.d, [&](unsigned l) { return rounded<F, T>(i.imm, load<T>(a, l), load<T>(b, l)); });
}
template <class T, class F> void general3(Warp &w, const Inst &i) {
  const auto *a = w.r<Cell<T>>(i.a), *b = w.r<Cell<T>>(i.b), *c = w.r<Cell<T>>(i.c);
  eachLane<T>(w, i.d, [&](unsigned l) { return rounded<F, T>(i.imm, load<T>(a, l), load<T>(b, l), load<T>(c, l)); });
}

struct Form {
  Handler fast32, general32, fast64, general64;
  unsigned operands;
  Class cls;
  unsigned flops;
  bool canRound, canSat, approxOnly;
};

/// Forms for f64 that no text can ask for are null: only rounding needs the
/// general path there.
template <class F> Form one(Class c, unsigned flops, bool rnd = false) {
  return {unary<float, float, F>,
          general1<float, F>,
          unary<double, double, F>,
          rnd ? general1<double, F> : nullptr,
          1,
          c,
          flops,
          rnd,
          false,
          false};
}
template <class F> Form approx1(bool ftz = true) {
  return {unary<float, float, F>,
          ftz ? general1<float, F> : nullptr,
          nullptr,
          nullptr,
          1,
          Class::Special,
          1,
          false,
          false,
          true};
}
template <class F> Form two(Class c, unsigned flops, bool rnd = false, bool sat = false) {
  return {binary<float, float, float, F>,
          general2<float, F>,
          binary<double, double, double, F>,
          rnd ? general2<double, F> : nullptr,
          2,
          c,
          flops,
          rnd,
          sat,
          false};
}
template <class F> Form single2(Class c) {
  return {binary<float, float, float, F>, general2<float, F>, nullptr, nullptr, 2, c, 0, false, false, false};
}

const std::map<std::string, Form> &forms() {
  static const Form fma = {ternary<float, float, float, float, Fma>,
                           general3<float, Fma>,
                           ternary<double, double, double, double, Fma>,
                           general3<double, Fma>,
                           3,
                           Class::Fp32,
                           2,
                           true,
                           true,
                           false};
  static const Form copysign = {
      binary<float, float, float, Copysign>,    nullptr, // it has no .ftz
      binary<double, double, double, Copysign>, nullptr, 2, Class::Fp32, 0, false, false, false};
  static const std::map<std::string, Form> table = {
      {"add", two<Add>(Class::Fp32, 1, true, true)},
      {"sub", two<Sub>(Class::Fp32, 1, true, true)},
      {"mul", two<Mul>(Class::Fp32, 1, true, true)},
      {"fma", fma},
      {"mad", fma},
      {"div", two<Div>(Class::Special, 1, true)},
      {"min", two<Min>(Class::Fp32, 0)},
      {"max", two<Max>(Class::Fp32, 0)},
      {"min.NaN", single2<OrNaN<Min>>(Class::Fp32)},
      {"max.NaN", single2<OrNaN<Max>>(Class::Fp32)},
      {"copysign", copysign},
      {"neg", one<Neg>(Class::Fp32, 0)},
      {"abs", one<Abs>(Class::Fp32, 0)},
      {"rcp", one<Rcp>(Class::Special, 1, true)},
      {"sqrt", one<Sqrt>(Class::Special, 1, true)},
      {"rsqrt", one<Rsqrt>(Class::Special, 1)},
      {"sin", approx1<Sin>()},
      {"cos", approx1<Cos>()},
      {"ex2", approx1<Ex2>()},
      {"lg2", approx1<Lg2>()},
      {"tanh", approx1<Tanh>(false)},
  };
  return table;
}

enum TestKind { Finite, Infinite, Number, NotANumber, Normal, Subnormal };
template <class T> void testp(Warp &w, const Inst &i) {
  const auto *a = w.r<Cell<T>>(i.a);
  uint32_t bits = 0;
  for (unsigned l = 0; l < warpSize; ++l) {
    T v = load<T>(a, l);
    int c = std::fpclassify(v);
    bool r = i.imm == Finite       ? std::isfinite(v)
             : i.imm == Infinite   ? c == FP_INFINITE
             : i.imm == Number     ? c != FP_NAN
             : i.imm == NotANumber ? c == FP_NAN
             : i.imm == Normal     ? c == FP_NORMAL
                                   : c == FP_SUBNORMAL;
    bits |= (uint32_t)r << l;
  }
  setPred(w, i.d, bits);
}

bool decodeTest(Decoder &d, const Stmt &s) {
  Mods m(s);
  static const std::map<std::string, int> kinds = {{"finite", Finite}, {"infinite", Infinite},
                                                   {"number", Number}, {"notanumber", NotANumber},
                                                   {"normal", Normal}, {"subnormal", Subnormal}};
  int kind = -1;
  for (const auto &k : kinds)
    if (m.take(k.first.c_str()))
      kind = k.second;
  std::string t = m.type();
  m.done();
  if (kind < 0 || (t != "f32" && t != "f64"))
    m.unsupported();
  d.count(s, 2);
  uint32_t a = d.src(s.ops[1], t == "f32" ? 32 : 64), o = d.predDst(s.ops[0]);
  Inst &i = d.emit(t == "f32" ? testp<float> : testp<double>, Class::Move);
  i.a = a, i.d = o, i.imm = kind;
  return true;
}

} // namespace

bool gpusim::decodeFloat(Decoder &d, const Stmt &s) {
  if (s.name == "testp")
    return decodeTest(d, s);
  if (s.mods.empty())
    return false;
  const std::string &t = s.mods.back();
  if (t != "f32" && t != "f64")
    return false;
  Mods m(s);
  std::string key = s.name;
  if ((key == "min" || key == "max") && m.take("NaN"))
    key += ".NaN";
  auto it = forms().find(key);
  if (it == forms().end())
    return false;
  const Form &f = it->second;
  m.take(t.c_str());
  unsigned flags = 0;
  bool single = t == "f32";
  std::string rnd = m.oneOf({"rn", "rz", "rm", "rp"});
  if (!rnd.empty() && !f.canRound)
    m.unsupported();
  flags |= (rnd == "rz" ? 1 : rnd == "rm" ? 2 : rnd == "rp" ? 3 : 0) << RoundShift;
  bool approximate = m.take("approx");
  if (s.name == "div")
    approximate |= m.take("full");
  if (approximate && f.cls != Class::Special)
    m.unsupported();
  if (f.approxOnly && !approximate)
    m.unsupported();
  if (m.take("ftz") && single)
    flags |= Ftz;
  if (m.take("sat")) {
    if (!f.canSat || !single)
      m.unsupported();
    flags |= Sat;
  }
  m.done();
  Handler h = single ? (flags ? f.general32 : f.fast32) : (flags ? f.general64 : f.fast64);
  if (!h)
    m.unsupported();
  d.count(s, f.operands + 1);
  unsigned bits = single ? 32 : 64;
  uint32_t a = d.src(s.ops[1], bits), b = 0, c = 0;
  if (f.operands > 1)
    b = d.src(s.ops[2], bits);
  if (f.operands > 2)
    c = d.src(s.ops[3], bits);
  uint32_t o = d.dst(s.ops[0], bits);
  Inst &i = d.emit(h, f.cls == Class::Fp32 && !single ? Class::Fp64 : f.cls);
  i.a = a, i.b = b, i.c = c, i.d = o;
  i.imm = flags;
  i.flops = f.flops;
  i.unit = f.flops ? (single ? Unit::Fp32 : Unit::Fp64) : Unit::None;
  return true;
}
