// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Image.h"

#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "ringconv/Pipelines/Pipelines.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  ringconv::registerDialects(registry);
  image::registerImage(registry);
  ringconv::registerPasses();
  ringconv::registerPipelines();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "ringconv with a dialect of images\n", registry));
}
