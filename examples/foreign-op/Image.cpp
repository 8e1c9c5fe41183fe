// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Image.h"

#include "mlir/IR/Builders.h"

#include "ImageDialect.cpp.inc"
#define GET_OP_CLASSES
#include "ImageOps.cpp.inc"

void image::ImageDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "ImageOps.cpp.inc"
      >();
}

mlir::LogicalResult image::RangeOp::verify() {
  if (getSize() % 2 == 0)
    return emitOpError() << "expected an odd size, got " << getSize();
  return mlir::success();
}

void image::registerImage(mlir::DialectRegistry &registry) {
  registry.insert<ImageDialect>();
  registerRingConvModels(registry);
}
