// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// 16-bit floating-point formats, with one rounding from double or float.
#ifndef GPUSIM_PTX_HALF_H
#define GPUSIM_PTX_HALF_H

#include <cmath>
#include <cstdint>
#ifdef __F16C__
#include <immintrin.h>
#endif

namespace gpusim {

inline uint32_t bitsOf(float f) {
  uint32_t b;
  __builtin_memcpy(&b, &f, 4);
  return b;
}
inline float floatOf(uint32_t b) {
  float f;
  __builtin_memcpy(&f, &b, 4);
  return f;
}

inline float halfToFloat(uint16_t h) {
#ifdef __F16C__
  return _cvtsh_ss(h);
#else
  uint32_t sign = (uint32_t)(h & 0x8000) << 16, e = h >> 10 & 31, m = h & 1023;
  if (e == 31)
    return floatOf(sign | 0x7f800000 | m << 13);
  if (e)
    return floatOf(sign | (e + 112) << 23 | m << 13);
  float v = m * 0x1p-24f;
  return floatOf(bitsOf(v) | sign);
#endif
}

/// Round to nearest even; NaN becomes 0x7fff as on the device.
inline uint16_t floatToHalf(float f) {
  if (f != f)
    return 0x7fff;
#ifdef __F16C__
  return _cvtss_sh(f, _MM_FROUND_TO_NEAREST_INT);
#else
  uint32_t b = bitsOf(f), sign = b >> 16 & 0x8000;
  float a = std::fabs(f);
  if (a >= 65520.f)
    return sign | 0x7c00;
  if (a < 0x1p-14f) // subnormal: the sum rounds at the right place
    return sign | (uint16_t)(bitsOf(a + 0.5f) - bitsOf(0.5f));
  uint32_t x = bitsOf(a);
  x += 0xfff + (x >> 13 & 1);
  return sign | (uint16_t)((x >> 13) - (112 << 10));
#endif
}

inline float bfloatToFloat(uint16_t b) { return floatOf((uint32_t)b << 16); }

inline uint16_t floatToBfloat(float f) {
  if (f != f)
    return 0x7fff;
  uint32_t b = bitsOf(f);
  return (b + 0x7fff + (b >> 16 & 1)) >> 16;
}

/// Rounds to float so that a second rounding to at most 22 bits is right: an
/// inexact result keeps an odd last bit ("round to odd").
inline float roundToOdd(double d) {
  float f = (float)d;
  if (d != d || (double)f == d)
    return f;
  uint32_t b = bitsOf(f);
  if (std::fabs((double)f) > std::fabs(d))
    --b; // towards zero; also from infinity to the largest finite value
  return floatOf(b | 1);
}

struct Half {
  uint16_t bits;
  static float widen(uint16_t b) { return halfToFloat(b); }
  static uint16_t narrow(double d) { return floatToHalf(roundToOdd(d)); }
  static uint16_t narrow(float f) { return floatToHalf(f); }
};
struct Bfloat {
  uint16_t bits;
  static float widen(uint16_t b) { return bfloatToFloat(b); }
  static uint16_t narrow(double d) { return floatToBfloat(roundToOdd(d)); }
  static uint16_t narrow(float f) { return floatToBfloat(f); }
};

} // namespace gpusim

#endif // GPUSIM_PTX_HALF_H
