// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Machine.h"
#include "ringconv/Support/LLVMVersion.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"

using namespace mlir;

std::string ringconv::checkedFeatures(const llvm::TargetMachine &machine) {
  std::string list;
  if (!machine.getTargetTriple().isX86())
    return list;
  const llvm::MCSubtargetInfo &info = *machine.getMCSubtargetInfo();
  for (StringRef feature : {"avx2", "fma", "f16c", "avx512f"})
    if (info.checkFeatures(("+" + feature).str()))
      list += (list.empty() ? "" : ",") + feature.str();
  return list;
}

FailureOr<std::unique_ptr<llvm::TargetMachine>> ringconv::makeMachine(Location loc, StringRef cpu) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  llvm::Triple triple(llvm::sys::getDefaultTargetTriple());
  std::string error, features;
  const llvm::Target *target = version::lookupTarget(triple, error);
  if (!target)
    return emitError(loc) << "no code generator for " << triple.str() << ": " << error, failure();
  std::string name = cpu.str();
  if (cpu == "native" || (cpu == "x86-64-v3" && !triple.isX86())) {
    name = cpu == "native" ? llvm::sys::getHostCPUName().str() : "generic";
    for (auto &feature : llvm::sys::getHostCPUFeatures())
      if (cpu == "native")
        features += (features.empty() ? "" : ",") + std::string(feature.second ? "+" : "-") + feature.first().str();
  }
  std::unique_ptr<llvm::MCSubtargetInfo> check = version::createSubtargetInfo(*target, triple);
  if (!check || !check->isCPUStringValid(name))
    return emitError(loc) << "unknown target cpu '" << cpu << "'", failure();
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  std::unique_ptr<llvm::TargetMachine> machine = version::createTargetMachine(*target, triple, name, features, options);
  if (!machine)
    return emitError(loc) << "no code generator for " << triple.str() << ", cpu " << name, failure();
  return machine;
}
