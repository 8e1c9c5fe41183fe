// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef IMAGE_IMAGE_H
#define IMAGE_IMAGE_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "ImageDialect.h.inc"
#define GET_OP_CLASSES
#include "ImageOps.h.inc"

namespace image {

/// The dialect, and how ringconv cuts its operations over a mesh.
void registerImage(mlir::DialectRegistry &registry);
/// Only the latter.
void registerRingConvModels(mlir::DialectRegistry &registry);

} // namespace image

#endif
