// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Editor support for .mlir files with our dialect: diagnostics while typing,
// definitions, uses, hovers. Editors start it and speak the Language Server
// Protocol on its standard input and output.
#include "ringconv/Target/Version.h"
#include "ringconv/Tools/Driver.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include "llvm/Support/CommandLine.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  ringconv::registerEverything(registry);
  llvm::cl::SetVersionPrinter(ringconv::printVersion);
  return failed(mlir::MlirLspServerMain(argc, argv, registry));
}
