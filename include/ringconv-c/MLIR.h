/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Our handles as those of MLIR's C API, which libRingConv-C.so exports as well
 * (IR, passes, interfaces, `func`, registration of everything). mlir* functions
 * change with LLVM; the rules of our ABI do not cover them.
 */
#ifndef RINGCONV_C_MLIR_H
#define RINGCONV_C_MLIR_H

#include "ringconv-c/RingConv.h"

#include "mlir-c/IR.h"

#ifdef __cplusplus
extern "C" {
#endif

/* mlirGetDialectHandle__ringconv__ */
MLIR_DECLARE_CAPI_DIALECT_REGISTRATION(RingConv, ringconv);

/* Our dialect, those that the pipelines use, and the interface models of both. */
void ringconvRegisterDialects(MlirDialectRegistry registry);
/* Our passes and pipelines, under their flags; once is enough. */
void ringconvRegisterPasses(void);

/* Borrowed: the context and the module stay ours. */
MlirContext ringconvContextGetMlir(RingConvContext *context);
MlirModule ringconvModuleGetMlir(RingConvModule *module);

/* Takes a module of ringconvContextGetMlir's context over. */
int32_t ringconvModuleFromMlir(RingConvContext *context, MlirModule module, RingConvModule **result);

#ifdef __cplusplus
}
#endif
#endif
