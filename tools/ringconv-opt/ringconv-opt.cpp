// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mlir-opt with our dialect, passes and pipelines, and all upstream ones.
#include "ringconv/Target/Version.h"
#include "ringconv/Tools/Driver.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/CommandLine.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  ringconv::registerEverything(registry);
  llvm::cl::SetVersionPrinter(ringconv::printVersion);
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "ringconv modular optimizer driver\n", registry));
}
