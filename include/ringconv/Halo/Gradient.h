// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The windows of gradients (halo rules, 2, 3, 10 and 14): gradients of window
// operations are window operations over the gradient of the result.
#ifndef RINGCONV_HALO_GRADIENT_H
#define RINGCONV_HALO_GRADIENT_H

#include "ringconv/Halo/Halo.h"

namespace ringconv::halo {

/// Over the outputs of `w` on a zero-bordered dimension of `size` elements: one
/// output per element, taps counted from the last.
Window inputGradient(const Window &w, int64_t size);

/// Over the elements that `w` reads, with one tap per output of `w`: its output
/// t is tap t of `w`. With borders that are mapped there may be more outputs
/// than taps, of which the first count: cropping would move the border.
Window filterGradient(const Window &w, int64_t size);

/// The convolution with its operands swapped: over the taps of `w`, with one tap
/// per element; its outputs are those of `w` in reverse order. Zero border.
Window swapOperands(const Window &w, int64_t size);

/// True if a border mode makes windows read elements again.
bool mapsBorder(const Window &w);
/// True if the input gradient is a window over the outputs with the same
/// border: circular, stride 1 and as many outputs as elements.
bool wrapsAround(const Window &w, int64_t size);
/// `w` on a dimension that was extended by its padding.
Window onExtended(const Window &w);

/// How many taps of each output read an element.
std::vector<int64_t> readingTaps(const Window &w, int64_t size);

} // namespace ringconv::halo

#endif
