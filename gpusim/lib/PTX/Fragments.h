// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of tensor cores on the registers of one warp, for mma and wgmma.
#ifndef GPUSIM_PTX_FRAGMENTS_H
#define GPUSIM_PTX_FRAGMENTS_H

#include "Lanes.h"

namespace gpusim {

// row(): 16 bytes of inputs, 4 * E elements, as floats.
struct F16In {
  static constexpr unsigned E = 2;
  static void row(const uint32_t *in, float *out) {
#ifdef __F16C__
    _mm256_storeu_ps(out, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)in)));
#else
    for (unsigned n = 0; n < 8; ++n)
      out[n] = halfToFloat(in[n / 2] >> (16 * (n % 2)));
#endif
  }
};
struct Bf16In {
  static constexpr unsigned E = 2;
  static void row(const uint32_t *in, float *out) {
    for (unsigned n = 0; n < 4; ++n) {
      out[2 * n] = floatOf(in[n] << 16);
      out[2 * n + 1] = floatOf(in[n] & 0xffff0000u);
    }
  }
};
/// The unit reads the upper 19 bits only.
struct Tf32In {
  static constexpr unsigned E = 1;
  static void row(const uint32_t *in, float *out) {
    for (unsigned n = 0; n < 4; ++n)
      out[n] = floatOf(in[n] & 0xffffe000u);
  }
};

/// The sums of one row half: lane l holds columns 2*(l%4) and 2*(l%4)+1, one
/// per register. So four lanes of both registers, one behind the other, are a
/// row whose columns stand in this order.
constexpr unsigned columnOrder[8] = {0, 2, 4, 6, 1, 3, 5, 7};

/// out[k][n] = in[columnOrder[n]][k]
template <unsigned K> void transpose(const float (*in)[K], float (*out)[8]) {
#ifdef __AVX2__
  // Two 4x4 blocks at a time, one in each half of a register.
  for (unsigned k = 0; k < K; k += 4) {
    auto columns = [&](unsigned n) { return _mm256_loadu2_m128(&in[columnOrder[n + 4]][k], &in[columnOrder[n]][k]); };
    const __m256 r0 = columns(0), r1 = columns(1), r2 = columns(2), r3 = columns(3);
    const __m256 lo01 = _mm256_unpacklo_ps(r0, r1), hi01 = _mm256_unpackhi_ps(r0, r1),
                 lo23 = _mm256_unpacklo_ps(r2, r3), hi23 = _mm256_unpackhi_ps(r2, r3);
    _mm256_store_ps(out[k], _mm256_shuffle_ps(lo01, lo23, 0x44));
    _mm256_store_ps(out[k + 1], _mm256_shuffle_ps(lo01, lo23, 0xee));
    _mm256_store_ps(out[k + 2], _mm256_shuffle_ps(hi01, hi23, 0x44));
    _mm256_store_ps(out[k + 3], _mm256_shuffle_ps(hi01, hi23, 0xee));
  }
#else
  for (unsigned k = 0; k < K; ++k)
    for (unsigned n = 0; n < 8; ++n)
      out[k][n] = in[columnOrder[n]][k];
#endif
}

/// Eight rows of d = a*b + c, the sums as two registers each.
template <unsigned K>
void multiply8(const float *c0, const float *c1, const float (*a)[K], const float (*b)[8], float *d0, float *d1) {
#ifdef __AVX2__
  // All sums stay in registers over all k.
  auto row = [&](unsigned r) { return _mm256_loadu2_m128(c1 + 4 * r, c0 + 4 * r); };
  __m256 s0 = row(0), s1 = row(1), s2 = row(2), s3 = row(3), s4 = row(4), s5 = row(5), s6 = row(6), s7 = row(7);
  for (unsigned k = 0; k < K; ++k) {
    const __m256 v = _mm256_load_ps(b[k]);
    s0 = _mm256_fmadd_ps(v, _mm256_broadcast_ss(&a[0][k]), s0);
    s1 = _mm256_fmadd_ps(v, _mm256_broadcast_ss(&a[1][k]), s1);
    s2 = _mm256_fmadd_ps(v, _mm256_broadcast_ss(&a[2][k]), s2);
    s3 = _mm256_fmadd_ps(v, _mm256_broadcast_ss(&a[3][k]), s3);
    s4 = _mm256_fmadd_ps(v, _mm256_broadcast_ss(&a[4][k]), s4);
    s5 = _mm256_fmadd_ps(v, _mm256_broadcast_ss(&a[5][k]), s5);
    s6 = _mm256_fmadd_ps(v, _mm256_broadcast_ss(&a[6][k]), s6);
    s7 = _mm256_fmadd_ps(v, _mm256_broadcast_ss(&a[7][k]), s7);
  }
  const __m256 sums[8] = {s0, s1, s2, s3, s4, s5, s6, s7};
  for (unsigned r = 0; r < 8; ++r)
    _mm256_storeu2_m128(d1 + 4 * r, d0 + 4 * r, sums[r]);
#else
  for (unsigned r = 0; r < 8; ++r) {
    float sums[8];
    memcpy(sums, c0 + 4 * r, 16), memcpy(sums + 4, c1 + 4 * r, 16);
    for (unsigned k = 0; k < K; ++k)
      for (unsigned n = 0; n < 8; ++n)
        sums[n] = __builtin_fmaf(b[k][n], a[r][k], sums[n]);
    memcpy(d0 + 4 * r, sums, 16), memcpy(d1 + 4 * r, sums + 4, 16);
  }
#endif
}

/// f16 sums as two f32 registers, and back.
inline void widenSums(const uint32_t *in, float *c0, float *c1) {
  for (unsigned l = 0; l < warpSize; ++l)
    c0[l] = halfToFloat(in[l] & 0xffff), c1[l] = halfToFloat(in[l] >> 16);
}
inline void narrowSums(const float *d0, const float *d1, uint32_t *out) {
  for (unsigned l = 0; l < warpSize; ++l)
    out[l] = floatToHalf(d0[l]) | (uint32_t)floatToHalf(d1[l]) << 16;
}

} // namespace gpusim

#endif // GPUSIM_PTX_FRAGMENTS_H
