// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Integer arithmetic (PTX ISA, "Integer Arithmetic Instructions").
#include "Decoder.h"
#include "Lanes.h"

#include <algorithm>

using namespace gpusim;

namespace {

struct Add {
  template <class T> T operator()(T a, T b) { return a + b; }
};
struct Sub {
  template <class T> T operator()(T a, T b) { return a - b; }
};
struct Mul {
  template <class T> T operator()(T a, T b) { return a * b; }
};
struct Min {
  template <class T> T operator()(T a, T b) { return a < b ? a : b; }
};
struct Max {
  template <class T> T operator()(T a, T b) { return a < b ? b : a; }
};
struct Neg {
  template <class T> T operator()(T a) { return 0 - a; }
};
struct Abs {
  template <class T> T operator()(T a) { return a < 0 ? 0 - a : a; }
};
/// Division by zero is unspecified; all ones is what devices give.
struct Div {
  template <class T> T operator()(T a, T b) {
    if (b == 0)
      return (T)-1;
    if (std::is_signed_v<T> && b == (T)-1)
      return 0 - a;
    return a / b;
  }
};
struct Rem {
  template <class T> T operator()(T a, T b) {
    if (b == 0)
      return (T)-1;
    if (std::is_signed_v<T> && b == (T)-1)
      return 0;
    return a % b;
  }
};
struct AddSat {
  int32_t operator()(int32_t a, int32_t b) {
    int64_t s = (int64_t)a + b;
    return s > INT32_MAX ? INT32_MAX : s < INT32_MIN ? INT32_MIN : s;
  }
};
struct SubSat {
  int32_t operator()(int32_t a, int32_t b) {
    int64_t s = (int64_t)a - b;
    return s > INT32_MAX ? INT32_MAX : s < INT32_MIN ? INT32_MIN : s;
  }
};

template <class T> struct Twice;
template <> struct Twice<uint16_t> {
  using type = uint32_t;
};
template <> struct Twice<int16_t> {
  using type = int32_t;
};
template <> struct Twice<uint32_t> {
  using type = uint64_t;
};
template <> struct Twice<int32_t> {
  using type = int64_t;
};
template <> struct Twice<uint64_t> {
  using type = unsigned __int128;
};
template <> struct Twice<int64_t> {
  using type = __int128;
};

struct MulHi {
  template <class T> T operator()(T a, T b) {
    using W = typename Twice<T>::type;
    return (T)(((W)a * (W)b) >> (8 * sizeof(T)));
  }
};
struct MulWide {
  template <class T> auto operator()(T a, T b) {
    using W = typename Twice<T>::type;
    return (W)a * (W)b;
  }
};
struct MadLo {
  template <class T> T operator()(T a, T b, T c) { return a * b + c; }
};
struct MadHi {
  template <class T> T operator()(T a, T b, T c) { return MulHi()(a, b) + c; }
};
struct MadWide {
  template <class T> auto operator()(T a, T b, typename Twice<T>::type c) { return MulWide()(a, b) + c; }
};
struct Sad {
  template <class T> T operator()(T a, T b, T c) { return c + (a < b ? b - a : a - b); }
};
/// The low 24 bits of both, sign- or zero-extended.
struct Mul24 {
  template <class T> int64_t full(T a, T b) {
    if (std::is_signed_v<T>)
      return (int64_t)((int32_t)((uint32_t)a << 8) >> 8) * ((int32_t)((uint32_t)b << 8) >> 8);
    return (int64_t)((uint64_t)((uint32_t)a & 0xffffff) * ((uint32_t)b & 0xffffff));
  }
  template <class T> T operator()(T a, T b) { return (T)full(a, b); }
};
struct Mul24Hi {
  template <class T> T operator()(T a, T b) { return (T)((uint64_t)Mul24().full(a, b) >> 16); }
};

template <class F> struct Pair16 {
  template <class T> static uint32_t apply(uint32_t a, uint32_t b) {
    uint16_t lo = F()((T)a, (T)b);
    uint16_t hi = F()((T)(a >> 16), (T)(b >> 16));
    return lo | (uint32_t)hi << 16;
  }
};
template <class F, class T> struct PairOf {
  uint32_t operator()(uint32_t a, uint32_t b) { return Pair16<F>::template apply<T>(a, b); }
};

template <template <class> class H> Handler forType(const std::string &t) {
  if (t == "u16" || t == "b16")
    return H<uint16_t>::fn;
  if (t == "s16")
    return H<int16_t>::fn;
  if (t == "u32" || t == "b32")
    return H<uint32_t>::fn;
  if (t == "s32")
    return H<int32_t>::fn;
  if (t == "u64" || t == "b64")
    return H<uint64_t>::fn;
  if (t == "s64")
    return H<int64_t>::fn;
  return nullptr;
}
template <template <class> class H> Handler forSigned(const std::string &t) {
  return t == "s16" ? H<int16_t>::fn : t == "s32" ? H<int32_t>::fn : t == "s64" ? H<int64_t>::fn : nullptr;
}
template <class F> struct Bin {
  template <class T> struct On {
    static void fn(Warp &w, const Inst &i) { binary<T, T, T, F>(w, i); }
  };
};
template <class F> struct Un {
  template <class T> struct On {
    static void fn(Warp &w, const Inst &i) { unary<T, T, F>(w, i); }
  };
};
template <class F> struct Ter {
  template <class T> struct On {
    static void fn(Warp &w, const Inst &i) { ternary<T, T, T, T, F>(w, i); }
  };
};

template <class F> Handler wideBinary(const std::string &t) {
  if (t == "u16")
    return binary<uint32_t, uint16_t, uint16_t, F>;
  if (t == "s16")
    return binary<int32_t, int16_t, int16_t, F>;
  if (t == "u32")
    return binary<uint64_t, uint32_t, uint32_t, F>;
  if (t == "s32")
    return binary<int64_t, int32_t, int32_t, F>;
  return nullptr;
}
Handler wideMad(const std::string &t) {
  if (t == "u16")
    return ternary<uint32_t, uint16_t, uint16_t, uint32_t, MadWide>;
  if (t == "s16")
    return ternary<int32_t, int16_t, int16_t, int32_t, MadWide>;
  if (t == "u32")
    return ternary<uint64_t, uint32_t, uint32_t, uint64_t, MadWide>;
  if (t == "s32")
    return ternary<int64_t, int32_t, int32_t, int64_t, MadWide>;
  return nullptr;
}

bool isIntType(const std::string &t) {
  return t.size() >= 2 && (t[0] == 'u' || t[0] == 's' || t[0] == 'b') && std::isdigit((unsigned char)t[1]);
}

template <class F> bool packed(Decoder &d, const Stmt &s) {
  Mods m(s);
  std::string t = m.oneOf({"u16x2", "s16x2"});
  m.done();
  d.count(s, 3);
  uint32_t a = d.src(s.ops[1], 32), b = d.src(s.ops[2], 32), o = d.dst(s.ops[0], 32);
  Inst &i = d.emit(t[0] == 'u' ? binary<uint32_t, uint32_t, uint32_t, PairOf<F, uint16_t>>
                               : binary<uint32_t, uint32_t, uint32_t, PairOf<F, int16_t>>,
                   Class::Int);
  i.a = a, i.b = b, i.d = o;
  return true;
}

template <class F> bool plainBinary(Decoder &d, const Stmt &s, Handler saturated = nullptr) {
  Mods m(s);
  std::string t = m.type();
  bool sat = m.take("sat");
  m.done();
  Handler h = sat && t == "s32" ? saturated : sat ? nullptr : forType<Bin<F>::template On>(t);
  if (!h)
    m.unsupported();
  d.count(s, 3);
  unsigned bits = sizeOfType(t) * 8;
  uint32_t a = d.src(s.ops[1], bits), b = d.src(s.ops[2], bits), o = d.dst(s.ops[0], bits);
  Inst &i = d.emit(h, Class::Int);
  i.a = a, i.b = b, i.d = o;
  return true;
}

template <class F> bool plainUnary(Decoder &d, const Stmt &s) {
  Mods m(s);
  std::string t = m.type();
  m.done();
  Handler h = forSigned<Un<F>::template On>(t);
  if (!h)
    m.unsupported();
  d.count(s, 2);
  unsigned bits = sizeOfType(t) * 8;
  uint32_t a = d.src(s.ops[1], bits), o = d.dst(s.ops[0], bits);
  Inst &i = d.emit(h, Class::Int);
  i.a = a, i.d = o;
  return true;
}

bool multiply(Decoder &d, const Stmt &s, bool mad) {
  Mods m(s);
  std::string part = m.oneOf({"lo", "hi", "wide"});
  std::string t = m.type();
  m.done();
  Handler h = nullptr;
  if (part == "wide")
    h = mad ? wideMad(t) : wideBinary<MulWide>(t);
  else if (part == "hi")
    h = mad ? forType<Ter<MadHi>::On>(t) : forType<Bin<MulHi>::On>(t);
  else if (part == "lo")
    h = mad ? forType<Ter<MadLo>::On>(t) : forType<Bin<Mul>::On>(t);
  if (!h)
    m.unsupported();
  d.count(s, mad ? 4 : 3);
  unsigned bits = sizeOfType(t) * 8, out = part == "wide" ? 2 * bits : bits;
  uint32_t a = d.src(s.ops[1], bits), b = d.src(s.ops[2], bits), c = 0;
  if (mad)
    c = d.src(s.ops[3], out);
  uint32_t o = d.dst(s.ops[0], out);
  Inst &i = d.emit(h, Class::Int);
  i.a = a, i.b = b, i.c = c, i.d = o;
  return true;
}

bool multiply24(Decoder &d, const Stmt &s) {
  Mods m(s);
  std::string part = m.oneOf({"lo", "hi"}), t = m.type();
  m.done();
  if (part.empty() || (t != "u32" && t != "s32"))
    m.unsupported();
  d.count(s, 3);
  uint32_t a = d.src(s.ops[1], 32), b = d.src(s.ops[2], 32), o = d.dst(s.ops[0], 32);
  bool u = t == "u32";
  Handler h = part == "lo" ? (u ? Bin<Mul24>::On<uint32_t>::fn : Bin<Mul24>::On<int32_t>::fn)
                           : (u ? Bin<Mul24Hi>::On<uint32_t>::fn : Bin<Mul24Hi>::On<int32_t>::fn);
  Inst &i = d.emit(h, Class::Int);
  i.a = a, i.b = b, i.d = o;
  return true;
}

/// Four-way (or two-way) byte products added to c (PTX ISA, "dp4a", "dp2a").
/// imm: bit 0 a signed, bit 1 b signed, bit 2 dp2a, bit 3 its high half.
void dotProduct(Warp &w, const Inst &i) {
  const auto *a = w.r<uint32_t>(i.a), *b = w.r<uint32_t>(i.b), *c = w.r<uint32_t>(i.c);
  bool as = i.imm & 1, bs = i.imm & 2, two = i.imm & 4, high = i.imm & 8;
  eachLane<uint32_t>(w, i.d, [&](unsigned l) {
    int64_t sum = c[l];
    for (unsigned n = 0; n < (two ? 2u : 4u); ++n) {
      int64_t x, y;
      uint8_t yb = b[l] >> (8 * (two && high ? n + 2 : n));
      y = bs ? (int8_t)yb : yb;
      if (two) {
        uint16_t xb = a[l] >> (16 * n);
        x = as ? (int16_t)xb : xb;
      } else {
        uint8_t xb = a[l] >> (8 * n);
        x = as ? (int8_t)xb : xb;
      }
      sum += x * y;
    }
    return (uint32_t)sum;
  });
}

bool decodeDot(Decoder &d, const Stmt &s) {
  bool two = s.name == "dp2a";
  if (s.mods.size() != (two ? 3u : 2u))
    Mods(s).unsupported();
  Mods m(s);
  std::string half = two ? m.oneOf({"lo", "hi"}) : "";
  std::string bt = m.type(), at = m.type();
  m.done();
  if ((at != "u32" && at != "s32") || (bt != "u32" && bt != "s32"))
    m.unsupported();
  d.count(s, 4);
  uint32_t a = d.src(s.ops[1], 32), b = d.src(s.ops[2], 32), c = d.src(s.ops[3], 32), o = d.dst(s.ops[0], 32);
  Inst &i = d.emit(dotProduct, Class::Int);
  i.a = a, i.b = b, i.c = c, i.d = o;
  i.imm = (at == "s32") | (bt == "s32") << 1 | two << 2 | (half == "hi") << 3;
  return true;
}

} // namespace

bool gpusim::decodeInteger(Decoder &d, const Stmt &s) {
  const std::string &n = s.name;
  if (n == "dp4a" || n == "dp2a")
    return decodeDot(d, s);
  if (n == "mul24")
    return multiply24(d, s);
  static const std::set<std::string> mine = {"add", "sub", "mul", "mad", "div", "rem",
                                             "abs", "neg", "min", "max", "sad"};
  if (!mine.count(n) || s.mods.empty())
    return false;
  const std::string &t = s.mods.back();
  if (!isIntType(t) || Mods(s).has("cc"))
    return false;
  const std::string &last = s.mods.empty() ? n : s.mods.back();
  if (last == "u16x2" || last == "s16x2")
    return n == "add" ? packed<Add>(d, s) : n == "min" ? packed<Min>(d, s) : n == "max" ? packed<Max>(d, s) : false;
  if (n == "add")
    return plainBinary<Add>(d, s, binary<int32_t, int32_t, int32_t, AddSat>);
  if (n == "sub")
    return plainBinary<Sub>(d, s, binary<int32_t, int32_t, int32_t, SubSat>);
  if (n == "mul")
    return multiply(d, s, false);
  if (n == "mad")
    return multiply(d, s, true);
  if (n == "div")
    return plainBinary<Div>(d, s);
  if (n == "rem")
    return plainBinary<Rem>(d, s);
  if (n == "min")
    return plainBinary<Min>(d, s);
  if (n == "max")
    return plainBinary<Max>(d, s);
  if (n == "abs")
    return plainUnary<Abs>(d, s);
  if (n == "neg")
    return plainUnary<Neg>(d, s);
  Mods m(s);
  std::string type = m.type();
  m.done();
  Handler h = forType<Ter<Sad>::On>(type);
  if (!h)
    m.unsupported();
  d.count(s, 4);
  unsigned bits = sizeOfType(type) * 8;
  uint32_t a = d.src(s.ops[1], bits), b = d.src(s.ops[2], bits), c = d.src(s.ops[3], bits), o = d.dst(s.ops[0], bits);
  Inst &i = d.emit(h, Class::Int);
  i.a = a, i.b = b, i.c = c, i.d = o;
  return true;
}

//===-- Extended precision with the carry bit ----------------------------===//

namespace {

/// imm: bit 0 subtract, bit 1 carry in, bit 2 carry out, bit 3 multiply, bit 4
/// its high part, bit 5 signed.
template <class T, class S> void carryOp(Warp &w, const Inst &i) {
  using W = unsigned __int128;
  const bool sub = i.imm & 1, in = i.imm & 2, out = i.imm & 4, mul = i.imm & 8, high = i.imm & 16,
             isSigned = i.imm & 32;
  const unsigned bits = sizeof(T) * 8;
  const auto *a = w.r<T>(i.a), *b = w.r<T>(i.b), *c = w.r<T>(i.c);
  auto *d = w.r<T>(i.d);
  uint32_t carry = 0;
  for (uint32_t m = w.mask; m; m &= m - 1) {
    unsigned l = __builtin_ctz(m);
    T x = a[l], y = b[l];
    if (mul) {
      W p = isSigned ? (W)((__int128)(S)x * (S)y) : (W)x * y;
      x = high ? (T)(p >> bits) : (T)p;
      y = c[l];
    }
    // A borrow is the complement of a carry into x + ~y + 1; the register
    // holds the borrow itself after a subtraction.
    W k = in ? w.carry >> l & 1 : 0;
    W sum = sub ? (W)x - y - k : (W)x + y + k;
    d[l] = (T)sum;
    carry |= (uint32_t)(sum >> bits & 1) << l;
  }
  if (out)
    w.carry = (w.carry & ~w.mask) | carry;
}

} // namespace

bool gpusim::decodeCarry(Decoder &d, const Stmt &s) {
  const std::string &n = s.name;
  bool in = n == "addc" || n == "subc" || n == "madc";
  std::string base = in ? n.substr(0, 3) : n;
  Mods m(s);
  bool out = m.take("cc");
  if ((!in && !out) || (base != "add" && base != "sub" && base != "mad"))
    return false;
  bool mul = base == "mad";
  std::string part = mul ? m.oneOf({"lo", "hi"}) : "lo";
  std::string t = m.type();
  m.done();
  if (part.empty() || !isIntType(t) || sizeOfType(t) < 4)
    m.unsupported();
  unsigned bits = sizeOfType(t) * 8;
  d.count(s, mul ? 4 : 3);
  uint32_t a = d.src(s.ops[1], bits), b = d.src(s.ops[2], bits), c = 0;
  if (mul)
    c = d.src(s.ops[3], bits);
  uint32_t o = d.dst(s.ops[0], bits);
  Inst &i = d.emit(bits == 64 ? carryOp<uint64_t, int64_t> : carryOp<uint32_t, int32_t>, Class::Int);
  i.a = a, i.b = b, i.c = c, i.d = o;
  i.imm = (base == "sub") | in << 1 | out << 2 | mul << 3 | (part == "hi") << 4 | (t[0] == 's') << 5;
  return true;
}
