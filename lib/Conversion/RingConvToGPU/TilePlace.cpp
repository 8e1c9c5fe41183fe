// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "TilePlace.h"
#include "HostNumbers.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace ringconv;

void ringconv::boundRegisters(KernelCode &k, const Tile &tile) {
  k.kernel.func->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(), k.b.getI32IntegerAttr(tile.resident));
}

void ringconv::launchTiles(KernelCode &k, const ConvShape &shape, const Tile &tile, int64_t sharedBytes,
                           int64_t slices) {
  HostNumbers h{k.kernel.host, k.loc};
  OpFoldResult pixels = shape.batch;
  for (const ConvDim &dim : shape.dims)
    pixels = h.mul(pixels, dim.outputs);
  boundRegisters(k, tile);
  k.kernel.launch({h.ceilDiv(pixels, tile.blockM), h.ceilDiv(shape.outputs, tile.blockN),
                   slices == 1 ? shape.groups : h.constant(slices)},
                  tile.threads(), sharedBytes);
}
