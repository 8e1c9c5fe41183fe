// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RINGCONV_LIB_TARGET_MACHINE_H
#define RINGCONV_LIB_TARGET_MACHINE_H

#include "mlir/IR/Location.h"
#include "mlir/Support/LLVM.h"
#include "llvm/Target/TargetMachine.h"

#include <memory>
#include <string>

namespace ringconv {

/// The code generator for LLVM's name of a processor, or `native`.
mlir::FailureOr<std::unique_ptr<llvm::TargetMachine>> makeMachine(mlir::Location loc, llvm::StringRef cpu);

/// Features that the code may use and a run checks at its start.
std::string checkedFeatures(const llvm::TargetMachine &machine);

} // namespace ringconv

#endif
