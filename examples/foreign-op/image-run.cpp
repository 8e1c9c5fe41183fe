// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// image-run FILE [run flags]: compiles in memory and runs all ranks.
#include "Image.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "ringconv/Pipelines/Pipelines.h"
#include "ringconv/Runtime/Session.h"
#include "ringconv/Target/Compiler.h"

int main(int argc, char **argv) {
  if (argc < 2)
    return llvm::errs() << "usage: image-run FILE [run flags]\n", 1;
  mlir::DialectRegistry registry;
  ringconv::registerDialects(registry);
  image::registerImage(registry);
  mlir::MLIRContext context(registry);
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(argv[1], &context);
  if (!module)
    return 1;
  ringconv::CompileOptions options;
  options.cpu = "native";
  options.reference = false;
  auto compiled = ringconv::compileProgram(*module, options);
  if (failed(compiled))
    return 1;
  auto loaded = ringconv::loadInProcess(std::move(*compiled));
  if (!loaded)
    return llvm::errs() << toString(loaded.takeError()) << '\n', 1;
  argv[1] = argv[0];
  return ringconv_main(argc - 1, argv + 1, loaded->descriptor);
}
