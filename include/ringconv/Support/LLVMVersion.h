// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What differs between versions of LLVM and MLIR, and nothing else: the one
// place to edit when moving to another (docs/upgrading-llvm.md).
#ifndef RINGCONV_SUPPORT_LLVMVERSION_H
#define RINGCONV_SUPPORT_LLVMVERSION_H

#include "llvm/Config/llvm-config.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"

#include <memory>
#include <optional>
#include <string>

#if LLVM_VERSION_MAJOR != 22
#error "ringconv is written for LLVM 22; see docs/upgrading-llvm.md"
#endif

namespace ringconv::version {

// Triples were strings up to LLVM 20.

inline const llvm::Target *lookupTarget(const llvm::Triple &triple, std::string &error) {
  return llvm::TargetRegistry::lookupTarget(triple, error);
}

inline std::unique_ptr<llvm::MCSubtargetInfo> createSubtargetInfo(const llvm::Target &target,
                                                                  const llvm::Triple &triple) {
  return std::unique_ptr<llvm::MCSubtargetInfo>(target.createMCSubtargetInfo(triple, "", ""));
}

/// Position-independent code at O2.
inline std::unique_ptr<llvm::TargetMachine> createTargetMachine(const llvm::Target &target, const llvm::Triple &triple,
                                                                llvm::StringRef cpu, llvm::StringRef features,
                                                                const llvm::TargetOptions &options) {
  return std::unique_ptr<llvm::TargetMachine>(target.createTargetMachine(
      triple, cpu, features, options, llvm::Reloc::PIC_, std::nullopt, llvm::CodeGenOptLevel::Default));
}

inline void setTarget(llvm::Module &module, const llvm::TargetMachine &machine) {
  module.setTargetTriple(machine.getTargetTriple());
  module.setDataLayout(machine.createDataLayout());
}

} // namespace ringconv::version

#endif
