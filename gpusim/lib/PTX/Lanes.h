// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops over the 32 lanes of a warp, written so that compilers vectorise them.
#ifndef GPUSIM_PTX_LANES_H
#define GPUSIM_PTX_LANES_H

#include "Half.h"
#include "Runtime.h"

#include <type_traits>

namespace gpusim {

/// Container of a value in the register file.
template <typename T> using Cell = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

/// Narrow values keep zeros in the upper bits of their container.
template <typename T> inline T load(const Cell<T> *p, unsigned lane) {
  if constexpr (sizeof(T) == sizeof(Cell<T>)) {
    T v;
    __builtin_memcpy(&v, p + lane, sizeof v);
    return v;
  } else if constexpr (std::is_integral_v<T>) {
    return (T)p[lane];
  } else {
    return T{(uint16_t)p[lane]};
  }
}

template <typename T> inline Cell<T> pack(T v) {
  if constexpr (std::is_integral_v<T>) {
    return (std::make_unsigned_t<T>)v;
  } else if constexpr (sizeof(T) == sizeof(Cell<T>)) {
    Cell<T> c;
    __builtin_memcpy(&c, &v, sizeof c);
    return c;
  } else {
    return v.bits;
  }
}

/// d[lane] = f(lane) for the lanes that the instruction acts on. Operands may
/// be the destination itself: each lane reads only its own values.
template <typename D, typename F> inline void eachLane(Warp &w, uint32_t offset, F f) {
  auto *d = w.r<Cell<D>>(offset);
  if (w.mask == fullMask) {
#pragma GCC ivdep
    for (unsigned l = 0; l < warpSize; ++l)
      d[l] = pack<D>(f(l));
    return;
  }
  Cell<D> value[warpSize];
#pragma GCC ivdep
  for (unsigned l = 0; l < warpSize; ++l)
    value[l] = pack<D>(f(l));
  for (unsigned l = 0; l < warpSize; ++l)
    d[l] = w.mask >> l & 1 ? value[l] : d[l];
}

template <typename D, typename A, typename F> void unary(Warp &w, const Inst &i) {
  const auto *a = w.r<Cell<A>>(i.a);
  eachLane<D>(w, i.d, [&](unsigned l) { return (D)F()(load<A>(a, l)); });
}

template <typename D, typename A, typename B, typename F> void binary(Warp &w, const Inst &i) {
  const auto *a = w.r<Cell<A>>(i.a);
  const auto *b = w.r<Cell<B>>(i.b);
  eachLane<D>(w, i.d, [&](unsigned l) { return (D)F()(load<A>(a, l), load<B>(b, l)); });
}

template <typename D, typename A, typename B, typename C, typename F> void ternary(Warp &w, const Inst &i) {
  const auto *a = w.r<Cell<A>>(i.a);
  const auto *b = w.r<Cell<B>>(i.b);
  const auto *c = w.r<Cell<C>>(i.c);
  eachLane<D>(w, i.d, [&](unsigned l) { return (D)F()(load<A>(a, l), load<B>(b, l), load<C>(c, l)); });
}

/// Sets a predicate in the lanes the instruction acts on.
inline void setPred(Warp &w, uint32_t pred, uint32_t value) {
  w.preds[pred] = (w.preds[pred] & ~w.mask) | (value & w.mask);
}

} // namespace gpusim

#endif // GPUSIM_PTX_LANES_H
