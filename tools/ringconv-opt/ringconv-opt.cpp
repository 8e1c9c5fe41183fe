// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mlir-opt with our dialect, passes and pipelines, and all upstream ones.
#include "ringconv/Pipelines/Pipelines.h"
#include "ringconv/Target/Version.h"

#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/CommandLine.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  ringconv::registerDialects(registry);
  mlir::registerAllPasses();
  ringconv::registerPasses();
  ringconv::registerPipelines();
  llvm::cl::SetVersionPrinter(ringconv::printVersion);
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "ringconv modular optimizer driver\n", registry));
}
