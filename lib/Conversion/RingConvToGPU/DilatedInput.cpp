// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A convolution whose input is dilated (the gradient of the input of a strided
// convolution), as dense convolutions, one per RESIDUE of the outputs.
//
// In one dimension output o reads by tap t the position  o * stride + t * dilation
// + offset, if that is a multiple of the input's dilation `base`. Let
//
//   period = base / gcd(base, stride)       o = a + period * u,  0 <= a < period
//   step   = base / gcd(base, dilation)     t = t0 + step * j
//   c      = a * stride + offset            (c + t0 * dilation) % base == 0, t0 least
//
// Then output u of residue a reads by tap j the element
//
//   u * (period * stride / base)  +  j * (step * dilation / base)  +  (c + t0 * dilation) / base
//
// and all divisions are exact. A residue without such a t0 has no taps: its sums
// are empty. An output's sum takes the same taps in the same order wherever the
// tensor is cut.
#include "ConvKernels.h"
#include "HostNumbers.h"

#include <numeric>

using namespace mlir;
using namespace ringconv;

/// The least t >= 0 with (c + t * dilation) % base == 0, where dilation and base
/// have no common factor: (-c) times the inverse of the dilation.
static OpFoldResult firstTap(HostNumbers &h, OpFoldResult c, int64_t dilation, int64_t base) {
  int64_t inverse = 0;
  while (inverse * dilation % base != 1 % base)
    ++inverse;
  return h.modulo(h.mul(h.sub(h.constant(0), c), inverse), base);
}

/// Residue `a` of dimension `d`; false where its taps depend on the rank in a way
/// that has no closed form.
static bool takeResidue(HostNumbers &h, ConvShape &shape, size_t d, int64_t a) {
  ConvDim &dim = shape.dims[d];
  int64_t period = dim.base / std::gcd(dim.base, dim.stride), common = std::gcd(dim.base, dim.dilation);
  int64_t step = dim.base / common;
  OpFoldResult c = h.add(dim.offset, a * dim.stride), first = h.constant(0);
  std::optional<int64_t> known = getConstantIntValue(c);
  if (!known && common != 1)
    return false;
  if (!known || *known % common == 0)
    first = firstTap(h, h.floorDiv(c, common), dim.dilation / common, step);
  else
    dim.taps = 0;
  // Taps t0 + step * j < taps; how many there are may depend on the rank.
  OpFoldResult count = h.ceilDiv(h.sub(h.constant(dim.taps), first), step);
  if (std::optional<int64_t> taps = getConstantIntValue(count)) {
    dim.taps = std::max<int64_t>(*taps, 0);
  } else {
    dim.taps = (dim.taps + step - 1) / step;
    dim.tapCount = count;
  }
  dim.offset = h.floorDiv(h.add(c, h.mul(first, dim.dilation)), dim.base);
  dim.outputs = h.ceilDiv(h.add(dim.outputs, -a), period);
  dim.stride = period * dim.stride / dim.base;
  dim.dilation = step * dim.dilation / dim.base;
  dim.base = 1;
  dim.firstOutput = a;
  dim.outputStep = period;
  ConvBuffer &filter = shape.filter, &output = shape.output;
  filter.offset = h.add(filter.offset, h.mul(first, filter.spatial[d]));
  filter.spatial[d] = h.mul(filter.spatial[d], step);
  output.offset = h.add(output.offset, h.mul(output.spatial[d], a));
  output.spatial[d] = h.mul(output.spatial[d], period);
  shape.densePixels = shape.densePositions = false;
  return true;
}

std::vector<ConvShape> ringconv::splitDilatedInput(OpBuilder &b, Location loc, const ConvShape &whole) {
  HostNumbers h{b, loc};
  std::vector<ConvShape> shapes{whole};
  for (size_t d = 0; d < whole.dims.size(); ++d) {
    const ConvDim &dim = whole.dims[d];
    if (dim.base == 1)
      continue;
    std::vector<ConvShape> residues;
    for (int64_t a = 0; a < dim.base / std::gcd(dim.base, dim.stride); ++a)
      for (ConvShape shape : shapes) {
        if (!takeResidue(h, shape, d, a))
          return {};
        if (!isConstantIntValue(shape.dims[d].outputs, 0))
          residues.push_back(shape);
      }
    shapes = residues;
  }
  return shapes;
}
