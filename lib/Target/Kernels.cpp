// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM's own code generator for PTX: no CUDA toolkit is needed.
#include "Kernels.h"
#include "TemporaryFile.h"

#include "mlir/ExecutionEngine/OptUtils.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;
using namespace ringconv;

namespace {
/// The version of PTX that an architecture needs, as LLVM's feature: 8.0 is that of
/// CUDA 12.0 (the oldest driver, RCRT_CUDA_OLDEST), 8.6 of 12.7, 8.7 of 12.8.
struct Arch {
  int64_t number;
  const char *features;
};
} // namespace

static constexpr Arch archs[] = {{80, "+ptx80"}, {86, "+ptx80"},  {89, "+ptx80"},
                                 {90, "+ptx80"}, {100, "+ptx86"}, {120, "+ptx87"}};

static const Arch *findArch(int64_t number) {
  const Arch *found = llvm::find_if(archs, [&](const Arch &a) { return a.number == number; });
  return found == std::end(archs) ? nullptr : found;
}

bool ringconv::isKnownArch(int64_t arch) { return findArch(arch); }

static std::unique_ptr<llvm::TargetMachine> makeMachine(gpu::GPUModuleOp kernels, const Arch &arch) {
  LLVMInitializeNVPTXTargetInfo();
  LLVMInitializeNVPTXTarget();
  LLVMInitializeNVPTXTargetMC();
  LLVMInitializeNVPTXAsmPrinter();
  llvm::Triple triple("nvptx64-nvidia-cuda");
  std::string error;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target) {
    kernels.emitError() << "LLVM has no code generator for GPUs: " << error;
    return nullptr;
  }
  llvm::TargetOptions options;
  // What is to be fused is written as fma.
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(triple, "sm_" + std::to_string(arch.number), arch.features, options, std::nullopt,
                                  std::nullopt, llvm::CodeGenOptLevel::Aggressive));
}

/// A function without a body would be an error only when a GPU loads the code.
static LogicalResult checkComplete(gpu::GPUModuleOp kernels, const llvm::Module &module) {
  for (const llvm::Function &function : module)
    if (function.isDeclaration() && !function.isIntrinsic() && !function.use_empty())
      return kernels.emitError() << "kernels call " << function.getName().str() << ", which nothing provides";
  return success();
}

FailureOr<std::string> ringconv::emitPTX(gpu::GPUModuleOp kernels, int64_t number) {
  registerGPUDialectTranslation(*kernels.getContext());
  registerBuiltinDialectTranslation(*kernels.getContext());
  registerLLVMDialectTranslation(*kernels.getContext());
  registerNVVMDialectTranslation(*kernels.getContext());
  const Arch *arch = findArch(number);
  if (!arch)
    return kernels.emitError() << "unknown architecture sm_" << number, failure();
  std::unique_ptr<llvm::TargetMachine> machine = makeMachine(kernels, *arch);
  if (!machine)
    return failure();
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module = translateModuleToLLVMIR(kernels, context, "kernels");
  if (!module)
    return kernels.emitError() << "kernels cannot be translated to LLVM IR", failure();
  module->setTargetTriple(machine->getTargetTriple());
  module->setDataLayout(machine->createDataLayout());
  if (auto error = makeOptimizingTransformer(/*optLevel=*/3, /*sizeLevel=*/0, machine.get())(module.get()))
    return kernels.emitError() << "kernels cannot be optimised: " << toString(std::move(error)), failure();
  if (failed(checkComplete(kernels, *module)))
    return failure();
  SmallVector<char> buffer;
  llvm::raw_svector_ostream os(buffer);
  llvm::legacy::PassManager pm;
  if (machine->addPassesToEmitFile(pm, os, nullptr, llvm::CodeGenFileType::AssemblyFile))
    return kernels.emitError() << "LLVM cannot write PTX", failure();
  pm.run(*module);
  return std::string(buffer.begin(), buffer.end());
}

std::string ringconv::findPtxas() {
  if (const char *given = getenv("RINGCONV_PTXAS"))
    return given;
  if (auto found = llvm::sys::findProgramByName("ptxas"))
    return *found;
  if (auto found = llvm::sys::findProgramByName("ptxas", {"/usr/local/cuda/bin"}))
    return *found;
  return "";
}

std::optional<std::string> ringconv::assemble(StringRef ptxas, StringRef ptx, int64_t arch, std::string &why) {
  SmallString<128> in, out;
  int fd;
  if (auto error = createPrivateTemporary("ptx", fd, in))
    return why = "temporary file in " + in.str().str() + ": " + error.message(), std::nullopt;
  TemporaryFile removeIn(in);
  llvm::raw_fd_ostream(fd, true) << ptx;
  if (auto error = createPrivateTemporary("cubin", fd, out))
    return why = "temporary file in " + out.str().str() + ": " + error.message(), std::nullopt;
  llvm::sys::Process::SafelyCloseFileDescriptor(fd);
  TemporaryFile removeOut(out);
  std::string flag = "-arch=sm_" + std::to_string(arch);
  if (llvm::sys::ExecuteAndWait(ptxas, {ptxas, flag, "-o", out, in}, std::nullopt, {}, 0, 0, &why) != 0)
    return why = (ptxas + " failed" + (why.empty() ? "" : ": " + why)).str(), std::nullopt;
  auto code = llvm::MemoryBuffer::getFile(out);
  if (!code)
    return why = (out + ": " + code.getError().message()).str(), std::nullopt;
  return (*code)->getBuffer().str();
}
