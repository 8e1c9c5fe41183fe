// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Touch.h"

#include <algorithm>
#include <new>

using namespace gpusim;

TouchMap::TouchMap(uint64_t size)
    : words(size / 64 + 2), bits((uint64_t *)calloc(words, sizeof(uint64_t))),
      notes((Note *)calloc(words, sizeof(Note))) {
  if (!bits || !notes)
    throw std::bad_alloc();
}

Ranges TouchMap::ranges(const Allocation &a, uint64_t &sectors) const {
  Ranges result;
  const size_t used = (a.size + 63) / 64;
  for (size_t n = 0; n < used; ++n) {
    const uint64_t v = bits[n];
    if (!v)
      continue;
    sectors += ((uint32_t)v != 0) + ((v >> 32) != 0);
    for (unsigned at = 0; at < 64 && v >> at;) {
      const unsigned first = at + __builtin_ctzll(v >> at);
      const uint64_t rest = ~(v >> first);
      const unsigned length = std::min<unsigned>(rest ? __builtin_ctzll(rest) : 64, 64 - first);
      const uint64_t lo = a.base + n * 64 + first;
      if (!result.empty() && result.back().second == lo)
        result.back().second = lo + length;
      else
        result.push_back({lo, lo + length});
      at = first + length;
    }
  }
  return result;
}

TouchMap::Found TouchMap::find(uint64_t offset, Toucher &out) const {
  const uint64_t word = offset / 64;
  const unsigned at = offset % 64;
  if (word >= words || !bits[word])
    return Nobody;
  const Note &n = notes[word];
  const bool exact = at >= n.first && at < n.first + n.size;
  const unsigned behind = exact ? (n.phase + at - n.first) / n.unit : 0;
  out = {n.inst, n.block, n.thread + behind * n.step, n.step};
  return exact ? Exact : SameWord;
}
