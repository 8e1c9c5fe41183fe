// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ringconv/Pipelines/Pipelines.h"
#include "ringconv/Tools/Driver.h"

#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"

void ringconv::registerEverything(mlir::DialectRegistry &registry) {
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  registerDialects(registry);
  mlir::registerAllPasses();
  registerPasses();
  registerPipelines();
}
