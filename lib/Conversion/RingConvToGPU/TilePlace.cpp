// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "TilePlace.h"

using namespace mlir;
using namespace ringconv;

/// Host numbers, folded where they are static.
static OpFoldResult product(OpBuilder &b, Location loc, OpFoldResult x, OpFoldResult y) {
  auto c = getConstantIntValue(x), d = getConstantIntValue(y);
  if (c && d)
    return b.getIndexAttr(*c * *d);
  return b.createOrFold<arith::MulIOp>(loc, getValueOrCreateConstantIndexOp(b, loc, x),
                                       getValueOrCreateConstantIndexOp(b, loc, y));
}

static OpFoldResult ceilDiv(OpBuilder &b, Location loc, OpFoldResult x, int64_t y) {
  if (auto c = getConstantIntValue(x))
    return b.getIndexAttr(llvm::divideCeil(*c, y));
  return b.createOrFold<arith::CeilDivUIOp>(loc, cast<Value>(x), arith::ConstantIndexOp::create(b, loc, y));
}

void ringconv::launchTiles(KernelCode &k, const ConvShape &shape, const Tile &tile, int64_t sharedBytes) {
  OpBuilder &b = k.kernel.host;
  OpFoldResult pixels = shape.batch;
  for (const ConvDim &dim : shape.dims)
    pixels = product(b, k.loc, pixels, dim.outputs);
  k.kernel.launch({ceilDiv(b, k.loc, pixels, tile.blockM), ceilDiv(b, k.loc, shape.outputs, tile.blockN), shape.groups},
                  tile.threads(), sharedBytes);
}
