// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// my-partitioner FILE: prints the program of one rank.
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Transforms/Passes.h"
#include "ringconv/Pipelines/Pipelines.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  ringconv::registerDialects(registry);
  mlir::MLIRContext context(registry);
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(argc > 1 ? argv[1] : "-", &context);
  if (!module)
    return 1;

  mlir::PassManager pm(&context);
  ringconv::PartitionOptions options;
  options.overlap = false;
  ringconv::buildPartitionPipeline(pm, options);
  pm.addPass(mlir::createCSEPass());
  if (failed(pm.run(*module)))
    return 1;
  module->print(llvm::outs());
}
