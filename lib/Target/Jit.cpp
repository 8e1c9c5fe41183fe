// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Native code in this process. The same target machine as for files makes the
// object, so that both run the same code. Runtime calls are found in the file
// that this code is linked into, executable or shared library: it holds the
// runtime too.
#include "ringconv/Runtime/CudaCalls.h"
#include "ringconv/Target/ObjectCode.h"

#include "llvm/ExecutionEngine/Orc/AbsoluteSymbols.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/MemoryBuffer.h"

#include <dlfcn.h>

using namespace ringconv;

LoadedProgram::LoadedProgram() = default;
LoadedProgram::LoadedProgram(LoadedProgram &&) = default;
LoadedProgram &LoadedProgram::operator=(LoadedProgram &&) = default;
LoadedProgram::~LoadedProgram() = default;

/// Where symbols are looked for: a library that was loaded for its caller only
/// is not seen from the process as a whole.
static llvm::Error addSymbols(llvm::orc::LLJIT &jit) {
  using Generator = llvm::orc::DynamicLibrarySearchGenerator;
  char prefix = jit.getDataLayout().getGlobalPrefix();
  auto process = Generator::GetForCurrentProcess(prefix);
  if (!process)
    return process.takeError();
  jit.getMainJITDylib().addGenerator(std::move(*process));
  Dl_info self;
  void *handle = nullptr;
  if (dladdr(reinterpret_cast<void *>(&addSymbols), &self) && self.dli_fname)
    handle = dlopen(self.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (!handle) // an executable
    return llvm::Error::success();
  dlclose(handle);
  auto file = Generator::Load(self.dli_fname, prefix);
  if (!file)
    return file.takeError();
  jit.getMainJITDylib().addGenerator(std::move(*file));
  return llvm::Error::success();
}

/// The driver's and NCCL's functions are hidden stubs of the runtime, which no
/// file offers by name.
static llvm::Error addStubs(llvm::orc::LLJIT &jit) {
  int64_t count = 0;
  const ringconv_cuda_symbol *symbols = ringconv_cuda_symbols(&count);
  llvm::orc::SymbolMap stubs;
  for (int64_t i = 0; i < count; ++i)
    stubs[jit.mangleAndIntern(symbols[i].name)] = {llvm::orc::ExecutorAddr::fromPtr(symbols[i].address),
                                                   llvm::JITSymbolFlags::Exported};
  return jit.getMainJITDylib().define(llvm::orc::absoluteSymbols(std::move(stubs)));
}

llvm::Expected<LoadedProgram> ringconv::loadInProcess(const ObjectCode &code) {
  auto jit = llvm::orc::LLJITBuilder().create();
  if (!jit)
    return jit.takeError();
  if (auto error = addSymbols(**jit))
    return error;
  if (auto error = addStubs(**jit))
    return error;
  if (auto error = (*jit)->addObjectFile(llvm::MemoryBuffer::getMemBufferCopy(code.bytes, "ringconv")))
    return error;
  auto address = (*jit)->lookup(code.entry + "_program");
  if (!address)
    return address.takeError();
  LoadedProgram loaded;
  loaded.jit = std::move(*jit);
  loaded.descriptor = address->toPtr<const ringconv_program *>();
  return loaded;
}

llvm::Expected<LoadedProgram> ringconv::loadInProcess(CompiledProgram program) {
  mlir::FailureOr<ObjectCode> code = generateCode(program, Form::InProcess);
  if (mlir::failed(code))
    return llvm::createStringError("no object code for this target");
  return loadInProcess(*code);
}
