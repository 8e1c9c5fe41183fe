// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mlir-reduce with our dialect: the smallest part of a program that a test
// script still finds interesting.
#include "ringconv/Target/Version.h"
#include "ringconv/Tools/Driver.h"

#include "mlir/Tools/mlir-reduce/MlirReduceMain.h"
#include "llvm/Support/CommandLine.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  ringconv::registerEverything(registry);
  mlir::MLIRContext context(registry);
  llvm::cl::SetVersionPrinter(ringconv::printVersion);
  return failed(mlir::mlirReduceMain(argc, argv, context));
}
