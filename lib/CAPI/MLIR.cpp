// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "CAPI.h"

#include "ringconv-c/MLIR.h"
#include "ringconv/Dialect/RingConv/IR/RingConv.h"
#include "ringconv/Pipelines/Pipelines.h"

#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Registration.h"

using namespace ringconv::capi;

MLIR_DEFINE_CAPI_DIALECT_REGISTRATION(RingConv, ringconv, ringconv::RingConvDialect)

void ringconvRegisterDialects(MlirDialectRegistry registry) { ringconv::registerDialects(*unwrap(registry)); }

void ringconvRegisterPasses(void) {
  ringconv::registerPasses();
  ringconv::registerPipelines();
}

MlirContext ringconvContextGetMlir(RingConvContext *context) { return wrap(&context->mlir); }

MlirModule ringconvModuleGetMlir(RingConvModule *module) { return wrap(module->op.get()); }

int32_t ringconvModuleFromMlir(RingConvContext *context, MlirModule module, RingConvModule **result) {
  *result = nullptr;
  return call(context, [&]() -> int32_t {
    mlir::OwningOpRef<mlir::ModuleOp> op(unwrap(module));
    if (op->getContext() != &context->mlir)
      return context->refuse("a module of another context");
    return give(context, std::move(op), result);
  });
}
