// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Logic, shifts and bit fields (PTX ISA, "Logic and Shift Instructions" and
// the bit-field part of "Integer Arithmetic Instructions").
#include "Decoder.h"
#include "Lanes.h"

using namespace gpusim;

namespace {

struct And {
  template <class T> T operator()(T a, T b) { return a & b; }
};
struct Or {
  template <class T> T operator()(T a, T b) { return a | b; }
};
struct Xor {
  template <class T> T operator()(T a, T b) { return a ^ b; }
};
struct Not {
  template <class T> T operator()(T a) { return ~a; }
};
struct Cnot {
  template <class T> T operator()(T a) { return a == 0; }
};
/// Shift amounts above the width clamp (PTX ISA, "shl", "shr").
struct Shl {
  template <class T> T operator()(T a, uint32_t b) { return b >= sizeof(T) * 8 ? 0 : a << b; }
};
struct Shr {
  template <class T> T operator()(T a, uint32_t b) {
    constexpr uint32_t top = sizeof(T) * 8 - 1;
    if (std::is_signed_v<T>)
      return a >> (b > top ? top : b);
    return b > top ? 0 : a >> b;
  }
};
struct Popc {
  template <class T> uint32_t operator()(T a) { return __builtin_popcountll(a); }
};
struct Clz {
  template <class T> uint32_t operator()(T a) { return a ? __builtin_clzll(a) - (64 - sizeof(T) * 8) : sizeof(T) * 8; }
};
struct Brev {
  template <class T> T operator()(T a) {
    T r = 0;
    for (unsigned n = 0; n < sizeof(T) * 8; ++n)
      r |= (a >> n & 1) << (sizeof(T) * 8 - 1 - n);
    return r;
  }
};
/// Position of the highest bit that differs from the sign.
struct Bfind {
  template <class T> uint32_t operator()(T a) {
    using U = std::make_unsigned_t<T>;
    U u = std::is_signed_v<T> && a < 0 ? ~(U)a : (U)a;
    return u ? 63 - __builtin_clzll(u) : ~0u;
  }
};
struct BfindShift {
  template <class T> uint32_t operator()(T a) {
    uint32_t p = Bfind()(a);
    return p == ~0u ? p : (uint32_t)(sizeof(T) * 8 - 1 - p);
  }
};
struct Bfe {
  template <class T> T operator()(T a, uint32_t pos, uint32_t len) {
    using U = std::make_unsigned_t<T>;
    const uint32_t msb = sizeof(T) * 8 - 1;
    pos &= 0xff, len &= 0xff;
    U u = (U)a;
    U sign = 0;
    if (std::is_signed_v<T> && len) {
      uint32_t at = pos + len - 1 > msb ? msb : pos + len - 1;
      sign = u >> at & 1 ? ~(U)0 : 0;
    }
    if (len == 0)
      return 0;
    U field = pos > msb ? sign : u >> pos;
    uint32_t have = pos > msb ? 0 : msb + 1 - pos;
    uint32_t bits = len < have ? len : have;
    U mask = bits > msb ? ~(U)0 : ((U)1 << bits) - 1;
    return (field & mask) | (sign & ~mask);
  }
};
template <class T> void bfi(Warp &w, const Inst &i) {
  const auto *a = w.r<T>(i.a), *b = w.r<T>(i.b);
  const auto *p = w.r<uint32_t>(i.c), *n = w.r<uint32_t>(i.target);
  const uint32_t width = sizeof(T) * 8;
  eachLane<T>(w, i.d, [&](unsigned l) -> T {
    uint32_t pos = p[l] & 0xff, len = n[l] & 0xff;
    if (pos >= width || len == 0)
      return b[l];
    T mask = len >= width ? ~(T)0 : ((T)1 << len) - 1;
    mask <<= pos;
    return (b[l] & ~mask) | ((a[l] << pos) & mask);
  });
}
/// imm bit 0: left; bit 1: clamp instead of wrap.
void funnelShift(Warp &w, const Inst &i) {
  const auto *a = w.r<uint32_t>(i.a), *b = w.r<uint32_t>(i.b), *c = w.r<uint32_t>(i.c);
  eachLane<uint32_t>(w, i.d, [&](unsigned l) {
    uint32_t n = i.imm & 2 ? (c[l] > 32 ? 32 : c[l]) : c[l] & 31;
    uint64_t v = (uint64_t)b[l] << 32 | a[l];
    return i.imm & 1 ? (uint32_t)(v << n >> 32) : (uint32_t)(n == 32 ? v >> 32 : v >> n);
  });
}
struct Prmt {
  uint32_t operator()(uint32_t a, uint32_t b, uint32_t sel) {
    uint64_t v = (uint64_t)b << 32 | a;
    uint32_t r = 0;
    for (unsigned n = 0; n < 4; ++n) {
      uint32_t s = sel >> (4 * n) & 15;
      uint8_t byte = v >> (8 * (s & 7));
      if (s & 8)
        byte = byte & 0x80 ? 0xff : 0;
      r |= (uint32_t)byte << (8 * n);
    }
    return r;
  }
};
/// The special modes of prmt (PTX ISA, "prmt", second table).
template <int Mode> struct PrmtMode {
  uint32_t operator()(uint32_t a, uint32_t b, uint32_t c) {
    uint32_t s = c & 3, sel[4];
    for (uint32_t n = 0; n < 4; ++n) {
      if (Mode == 0) // f4e
        sel[n] = s + n;
      else if (Mode == 1) // b4e
        sel[n] = (s + 8 - n) & 7;
      else if (Mode == 2) // rc8
        sel[n] = s;
      else if (Mode == 3) // ecl
        sel[n] = n < s ? s : n;
      else if (Mode == 4) // ecr
        sel[n] = n < s ? n : s;
      else // rc16
        sel[n] = (s & 1) * 2 + (n & 1);
    }
    return Prmt()(a, b, sel[0] | sel[1] << 4 | sel[2] << 8 | sel[3] << 12);
  }
};
void lop3(Warp &w, const Inst &i) {
  const auto *a = w.r<uint32_t>(i.a), *b = w.r<uint32_t>(i.b), *c = w.r<uint32_t>(i.c);
  eachLane<uint32_t>(w, i.d, [&](unsigned l) {
    uint32_t r = 0;
    for (unsigned n = 0; n < 8; ++n)
      if (i.imm >> n & 1)
        r |= (n & 4 ? a[l] : ~a[l]) & (n & 2 ? b[l] : ~b[l]) & (n & 1 ? c[l] : ~c[l]);
    return r;
  });
}
struct Bmsk {
  uint32_t operator()(uint32_t a, uint32_t b) {
    a &= 31, b &= 31;
    return (uint32_t)(((1ull << b) - 1) << a);
  }
};
template <bool Signed> struct Szext {
  uint32_t operator()(uint32_t a, uint32_t n) {
    n &= 31;
    if (!n)
      return 0;
    uint32_t mask = (1u << n) - 1, v = a & mask;
    return Signed && (v >> (n - 1) & 1) ? v | ~mask : v;
  }
};

enum PredOp { PAnd, POr, PXor, PNot };
void predLogic(Warp &w, const Inst &i) {
  uint32_t a = w.preds[i.a], b = w.preds[i.b];
  setPred(w, i.d, i.imm == PAnd ? a & b : i.imm == POr ? a | b : i.imm == PXor ? a ^ b : ~a);
}

template <class F> Handler logic(unsigned bits) {
  return bits == 64   ? binary<uint64_t, uint64_t, uint64_t, F>
         : bits == 32 ? binary<uint32_t, uint32_t, uint32_t, F>
                      : binary<uint16_t, uint16_t, uint16_t, F>;
}
template <class F> Handler logic1(unsigned bits) {
  return bits == 64   ? unary<uint64_t, uint64_t, F>
         : bits == 32 ? unary<uint32_t, uint32_t, F>
                      : unary<uint16_t, uint16_t, F>;
}

bool decodeLogic(Decoder &d, const Stmt &s) {
  Mods m(s);
  std::string t = m.type();
  m.done();
  const std::string &n = s.name;
  bool one = n == "not" || n == "cnot";
  d.count(s, one ? 2 : 3);
  if (t == "pred") {
    if (n == "cnot")
      m.unsupported();
    uint32_t a = d.predSrc(s.ops[1]), b = one ? 0 : d.predSrc(s.ops[2]), o = d.predDst(s.ops[0]);
    Inst &i = d.emit(predLogic, Class::Move);
    i.a = a, i.b = b, i.d = o;
    i.imm = n == "and" ? PAnd : n == "or" ? POr : n == "xor" ? PXor : PNot;
    return true;
  }
  if (t[0] != 'b' || t == "b8" || t == "b128" || sizeOfType(t) * 8 < 16 || t.substr(0, 2) == "bf")
    m.unsupported();
  unsigned bits = sizeOfType(t) * 8;
  uint32_t a = d.src(s.ops[1], bits), b = one ? 0 : d.src(s.ops[2], bits), o = d.dst(s.ops[0], bits);
  Handler h = n == "and"   ? logic<And>(bits)
              : n == "or"  ? logic<Or>(bits)
              : n == "xor" ? logic<Xor>(bits)
              : n == "not" ? logic1<Not>(bits)
                           : logic1<Cnot>(bits);
  Inst &i = d.emit(h, Class::Int);
  i.a = a, i.b = b, i.d = o;
  return true;
}

Handler shiftHandler(bool left, const std::string &t) {
  if (left) {
    if (t == "b16")
      return binary<uint16_t, uint16_t, uint32_t, Shl>;
    if (t == "b32")
      return binary<uint32_t, uint32_t, uint32_t, Shl>;
    if (t == "b64")
      return binary<uint64_t, uint64_t, uint32_t, Shl>;
    return nullptr;
  }
  if (t == "b16" || t == "u16")
    return binary<uint16_t, uint16_t, uint32_t, Shr>;
  if (t == "b32" || t == "u32")
    return binary<uint32_t, uint32_t, uint32_t, Shr>;
  if (t == "b64" || t == "u64")
    return binary<uint64_t, uint64_t, uint32_t, Shr>;
  if (t == "s16")
    return binary<int16_t, int16_t, uint32_t, Shr>;
  if (t == "s32")
    return binary<int32_t, int32_t, uint32_t, Shr>;
  if (t == "s64")
    return binary<int64_t, int64_t, uint32_t, Shr>;
  return nullptr;
}

bool decodeShift(Decoder &d, const Stmt &s) {
  Mods m(s);
  std::string t = m.type();
  m.done();
  Handler h = shiftHandler(s.name == "shl", t);
  if (!h)
    m.unsupported();
  d.count(s, 3);
  unsigned bits = sizeOfType(t) * 8;
  uint32_t a = d.src(s.ops[1], bits), b = d.src(s.ops[2], 32), o = d.dst(s.ops[0], bits);
  Inst &i = d.emit(h, Class::Int);
  i.a = a, i.b = b, i.d = o;
  return true;
}

Handler countHandler(const Stmt &s, const std::string &t, bool shiftAmount) {
  bool w = t == "b64" || t == "u64" || t == "s64", sign = t[0] == 's';
  if (s.name == "popc")
    return w ? unary<uint32_t, uint64_t, Popc> : unary<uint32_t, uint32_t, Popc>;
  if (s.name == "clz")
    return w ? unary<uint32_t, uint64_t, Clz> : unary<uint32_t, uint32_t, Clz>;
  if (shiftAmount)
    return sign ? (w ? unary<uint32_t, int64_t, BfindShift> : unary<uint32_t, int32_t, BfindShift>)
                : (w ? unary<uint32_t, uint64_t, BfindShift> : unary<uint32_t, uint32_t, BfindShift>);
  return sign ? (w ? unary<uint32_t, int64_t, Bfind> : unary<uint32_t, int32_t, Bfind>)
              : (w ? unary<uint32_t, uint64_t, Bfind> : unary<uint32_t, uint32_t, Bfind>);
}

bool decodeCount(Decoder &d, const Stmt &s) {
  Mods m(s);
  std::string t = m.type();
  bool amount = s.name == "bfind" && m.take("shiftamt");
  m.done();
  unsigned bits = sizeOfType(t) * 8;
  if ((bits != 32 && bits != 64) || t[0] == 'f')
    m.unsupported();
  d.count(s, 2);
  uint32_t a = d.src(s.ops[1], bits), o = d.dst(s.ops[0], 32);
  Inst &i = d.emit(countHandler(s, t, amount), Class::Int);
  i.a = a, i.d = o;
  return true;
}

bool decodeField(Decoder &d, const Stmt &s) {
  Mods m(s);
  std::string t = m.type();
  m.done();
  unsigned bits = sizeOfType(t) * 8;
  if (bits != 32 && bits != 64)
    m.unsupported();
  if (s.name == "brev") {
    d.count(s, 2);
    uint32_t a = d.src(s.ops[1], bits), o = d.dst(s.ops[0], bits);
    Inst &i = d.emit(bits == 64 ? unary<uint64_t, uint64_t, Brev> : unary<uint32_t, uint32_t, Brev>, Class::Int);
    i.a = a, i.d = o;
    return true;
  }
  bool insert = s.name == "bfi";
  d.count(s, insert ? 5 : 4);
  uint32_t a = d.src(s.ops[1], bits), b = d.src(s.ops[2], insert ? bits : 32), c = d.src(s.ops[3], 32),
           e = insert ? d.src(s.ops[4], 32) : 0, o = d.dst(s.ops[0], bits);
  Handler h;
  if (insert)
    h = bits == 64 ? bfi<uint64_t> : bfi<uint32_t>;
  else if (t[0] == 's')
    h = bits == 64 ? ternary<int64_t, int64_t, uint32_t, uint32_t, Bfe>
                   : ternary<int32_t, int32_t, uint32_t, uint32_t, Bfe>;
  else
    h = bits == 64 ? ternary<uint64_t, uint64_t, uint32_t, uint32_t, Bfe>
                   : ternary<uint32_t, uint32_t, uint32_t, uint32_t, Bfe>;
  Inst &i = d.emit(h, Class::Int);
  i.a = a, i.b = b, i.c = c, i.d = o;
  i.target = e;
  return true;
}

Handler prmtHandler(const std::string &mode) {
  using U = uint32_t;
  if (mode == "f4e")
    return ternary<U, U, U, U, PrmtMode<0>>;
  if (mode == "b4e")
    return ternary<U, U, U, U, PrmtMode<1>>;
  if (mode == "rc8")
    return ternary<U, U, U, U, PrmtMode<2>>;
  if (mode == "ecl")
    return ternary<U, U, U, U, PrmtMode<3>>;
  if (mode == "ecr")
    return ternary<U, U, U, U, PrmtMode<4>>;
  if (mode == "rc16")
    return ternary<U, U, U, U, PrmtMode<5>>;
  return ternary<U, U, U, U, Prmt>;
}

/// shf, prmt, lop3, bmsk, szext: 32-bit operands only.
bool decodeWord(Decoder &d, const Stmt &s) {
  Mods m(s);
  std::string mode;
  int64_t imm = 0;
  const std::string &n = s.name;
  Handler h = nullptr;
  if (n == "shf") {
    std::string dir = m.oneOf({"l", "r"}), end = m.oneOf({"wrap", "clamp"});
    if (dir.empty() || end.empty())
      m.unsupported();
    imm = (dir == "l") | (end == "clamp") << 1;
    h = funnelShift;
  } else if (n == "prmt") {
    h = prmtHandler(m.oneOf({"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"}));
  } else if (n == "lop3") {
    h = lop3;
  } else if (n == "bmsk") {
    if (!m.take("clamp") && !m.take("wrap"))
      m.unsupported();
    h = binary<uint32_t, uint32_t, uint32_t, Bmsk>;
    if (Mods(s).has("clamp"))
      m.unsupported();
  } else {
    if (!m.take("wrap"))
      m.unsupported();
  }
  std::string t = m.type();
  m.done();
  if (sizeOfType(t) != 4 || t == "f32")
    m.unsupported();
  if (n == "szext")
    h = t == "s32" ? binary<uint32_t, uint32_t, uint32_t, Szext<true>>
                   : binary<uint32_t, uint32_t, uint32_t, Szext<false>>;
  bool two = n == "bmsk" || n == "szext";
  d.count(s, n == "lop3" ? 5 : two ? 3 : 4);
  uint32_t a = d.src(s.ops[1], 32), b = d.src(s.ops[2], 32), c = two ? 0 : d.src(s.ops[3], 32);
  if (n == "lop3")
    imm = d.immediate(s.ops[4]) & 0xff;
  uint32_t o = d.dst(s.ops[0], 32);
  Inst &i = d.emit(h, Class::Int);
  i.a = a, i.b = b, i.c = c, i.d = o;
  i.imm = imm;
  return true;
}

} // namespace

bool gpusim::decodeBits(Decoder &d, const Stmt &s) {
  const std::string &n = s.name;
  if (n == "and" || n == "or" || n == "xor" || n == "not" || n == "cnot")
    return decodeLogic(d, s);
  if (n == "shl" || n == "shr")
    return decodeShift(d, s);
  if (n == "popc" || n == "clz" || n == "bfind")
    return decodeCount(d, s);
  if (n == "bfe" || n == "bfi" || n == "brev")
    return decodeField(d, s);
  if (n == "shf" || n == "prmt" || n == "lop3" || n == "bmsk" || n == "szext")
    return decodeWord(d, s);
  return false;
}
