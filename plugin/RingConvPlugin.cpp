// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The dialect, passes and pipelines inside an unmodified mlir-opt:
//   mlir-opt --load-dialect-plugin=RingConvPlugin.so --load-pass-plugin=RingConvPlugin.so
//     --pass-pipeline='builtin.module(ringconv-partition-pipeline)' in.mlir
#include "ringconv/Pipelines/Pipelines.h"

#include "mlir/Tools/Plugins/DialectPlugin.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "llvm/Support/Compiler.h"

static void registerEverything() {
  ringconv::registerPasses();
  ringconv::registerPipelines();
}

extern "C" LLVM_ATTRIBUTE_WEAK mlir::DialectPluginLibraryInfo mlirGetDialectPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "RingConv", RINGCONV_VERSION,
          [](mlir::DialectRegistry *registry) { ringconv::registerDialects(*registry); }};
}

extern "C" LLVM_ATTRIBUTE_WEAK mlir::PassPluginLibraryInfo mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "RingConvPasses", RINGCONV_VERSION, registerEverything};
}
