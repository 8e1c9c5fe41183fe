// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What stands behind the handles of ringconv-c.
#ifndef RINGCONV_LIB_CAPI_CAPI_H
#define RINGCONV_LIB_CAPI_CAPI_H

#include "ringconv-c/RingConv.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <deque>
#include <memory>
#include <new>
#include <string>
#include <vector>

struct RingConvContext {
  RingConvContext();

  /// Records an error without a place; RINGCONV_REFUSED.
  int32_t refuse(const llvm::Twine &text);

  mlir::MLIRContext mlir;
  std::deque<std::string> texts; ///< stay in place while diagnostics point at them
  std::vector<RingConvDiagnostic> diagnostics;
  RingConvDiagnosticHandler handler = nullptr;
  void *handlerData = nullptr;

private:
  void record(mlir::Diagnostic &diagnostic, int32_t severity);
  void add(int32_t severity, llvm::StringRef text, mlir::Location loc);
};

struct RingConvModule {
  RingConvModule(RingConvContext *context, mlir::OwningOpRef<mlir::ModuleOp> op)
      : context(context), op(std::move(op)) {}

  RingConvContext *context;
  mlir::OwningOpRef<mlir::ModuleOp> op;
};

namespace ringconv::capi {

/// Runs the body of an entry point: its diagnostics begin empty, and C++
/// exceptions (memory that ran out) end here.
template <typename Body> int32_t call(RingConvContext *context, Body body) {
  try {
    context->diagnostics.clear();
    context->texts.clear();
    return body();
  } catch (const std::bad_alloc &) {
    return RINGCONV_NO_MEMORY;
  } catch (...) {
    return RINGCONV_REFUSED;
  }
}

/// A new handle for `module`.
int32_t give(RingConvContext *context, mlir::OwningOpRef<mlir::ModuleOp> module, RingConvModule **result);

} // namespace ringconv::capi

#endif
