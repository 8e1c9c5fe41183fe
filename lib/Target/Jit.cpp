// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Native code in this process. The same target machine as for files makes the
// object, so that both run the same code; runtime calls are found in the
// running tool, which links the runtime.
#include "ringconv/Runtime/CudaCalls.h"
#include "ringconv/Target/Compiler.h"

#include "llvm/ExecutionEngine/Orc/AbsoluteSymbols.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Target/TargetMachine.h"

using namespace ringconv;

mlir::FailureOr<const void *> ringconv::loadInProcess(CompiledProgram program) {
  auto fail = [](llvm::Error error) {
    llvm::errs() << "error: cannot load the compiled program: " << toString(std::move(error)) << '\n';
    return mlir::failure();
  };
  std::string symbol = program.entry + "_program";
  mlir::FailureOr<std::string> object = emitObject(program);
  if (mlir::failed(object))
    return mlir::failure();
  auto jit = llvm::orc::LLJITBuilder().create();
  if (!jit)
    return fail(jit.takeError());
  auto process = llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
      (*jit)->getDataLayout().getGlobalPrefix());
  if (!process)
    return fail(process.takeError());
  (*jit)->getMainJITDylib().addGenerator(std::move(*process));
  // The driver's and NCCL's functions are hidden stubs of the runtime, which the
  // process does not offer by name.
  int64_t count = 0;
  const ringconv_cuda_symbol *symbols = ringconv_cuda_symbols(&count);
  llvm::orc::SymbolMap stubs;
  for (int64_t i = 0; i < count; ++i)
    stubs[(*jit)->mangleAndIntern(symbols[i].name)] = {llvm::orc::ExecutorAddr::fromPtr(symbols[i].address),
                                                       llvm::JITSymbolFlags::Exported};
  if (auto error = (*jit)->getMainJITDylib().define(llvm::orc::absoluteSymbols(std::move(stubs))))
    return fail(std::move(error));
  if (auto error = (*jit)->addObjectFile(llvm::MemoryBuffer::getMemBufferCopy(*object, "ringconv")))
    return fail(std::move(error));
  auto address = (*jit)->lookup(symbol);
  if (!address)
    return fail(address.takeError());
  // The code stays for the life of the process.
  (void)jit->release();
  return address->toPtr<const void *>();
}
