// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls of the CUDA driver and of our CUDA runtime (ringconv/Runtime/CudaCalls.h)
// in host code.
#ifndef RINGCONV_LIB_CONVERSION_RINGCONVTOCUDA_DRIVERCALLS_H
#define RINGCONV_LIB_CONVERSION_RINGCONVTOCUDA_DRIVERCALLS_H

#include "../RingConvToRuntime/Calls.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/StringMap.h"

namespace ringconv {

/// The streams of a rank.
enum class Stream { Compute = 0, Communication = 1 };

class DriverCalls : public RuntimeCalls {
public:
  using RuntimeCalls::RuntimeCalls;

protected:
  void lowerMark(MarkOp op) override;

  mlir::Value i32(int64_t v);
  mlir::Value stream(Stream which);
  /// A call whose i32 result is a status of the driver or of NCCL, which is
  /// checked: the error names the rank, the call and the operation's location.
  void status(llvm::StringRef name, llvm::ArrayRef<mlir::Value> args);
  /// "file:line:column" of the current location, as a text for errors.
  mlir::Value place();
  /// Address of a constant text.
  mlir::Value text(llvm::StringRef text);

private:
  llvm::StringMap<mlir::LLVM::GlobalOp> texts;
  int64_t nextText = 0;
};

} // namespace ringconv

#endif
