// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ringconv/Target/Emit.h"
#include "TemporaryFile.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/Path.h"
#include "llvm/Target/TargetMachine.h"

#include <dlfcn.h>

using namespace ringconv;

std::optional<std::string> ringconv::writeFile(llvm::StringRef path,
                                               llvm::function_ref<void(llvm::raw_ostream &)> write) {
  auto error = llvm::writeToOutput(path, [&](llvm::raw_ostream &os) -> llvm::Error {
    write(os);
    return llvm::Error::success();
  });
  if (error)
    return (path + ": " + toString(std::move(error))).str();
  return std::nullopt;
}

/// The static runtime library: beside the file that this code is linked into,
/// or in the lib folder beside that file's; empty if it is nowhere.
static std::string findRuntime() {
  Dl_info self;
  llvm::SmallVector<std::string, 2> files{llvm::sys::fs::getMainExecutable(nullptr, nullptr)};
  if (dladdr(reinterpret_cast<void *>(&writeProgram), &self) && self.dli_fname)
    files.push_back(self.dli_fname);
  for (llvm::StringRef file : files)
    for (llvm::StringRef folder : {"../lib", "."}) {
      llvm::SmallString<256> path(llvm::sys::path::parent_path(file));
      llvm::sys::path::append(path, folder, "libringconv_rt.a");
      llvm::sys::path::remove_dots(path, true);
      if (llvm::sys::fs::exists(path))
        return std::string(path);
    }
  return "";
}

static std::optional<std::string> writeLinked(CompiledProgram &program, bool library, llvm::StringRef path) {
  std::string runtime = findRuntime();
  if (runtime.empty())
    return llvm::StringRef("no libringconv_rt.a in the lib folder of this installation, which ").str() +
           (library ? "libraries" : "executables") + " need";
  library ? addLibraryFunctions(program) : addMain(program);
  std::string header = library ? emitHeader(program) : "";
  mlir::FailureOr<std::string> code = emitObject(program);
  if (mlir::failed(code))
    return "no object code for this target";
  llvm::SmallString<128> object;
  int fd;
  if (auto error = createPrivateTemporary("o", fd, object))
    return "temporary file: " + error.message();
  TemporaryFile remover(object);
  llvm::raw_fd_ostream(fd, true) << *code;
  if (auto why = linkProgram(object, runtime, path, library))
    return why;
  if (!library)
    return std::nullopt;
  llvm::SmallString<128> headerPath(path);
  llvm::sys::path::replace_extension(headerPath, "h");
  return writeFile(headerPath, [&](llvm::raw_ostream &os) { os << header; });
}

std::optional<std::string> ringconv::writeProgram(CompiledProgram &program, Emit kind, llvm::StringRef path) {
  switch (kind) {
  case Emit::LLVM:
    return writeFile(path, [&](llvm::raw_ostream &os) { program.module->print(os, nullptr); });
  case Emit::PTX:
    return writeFile(path, [&](llvm::raw_ostream &os) { os << program.ptx; });
  case Emit::Object: {
    addLibraryFunctions(program);
    mlir::FailureOr<std::string> code = emitObject(program);
    if (mlir::failed(code))
      return "no object code for this target";
    return writeFile(path, [&](llvm::raw_ostream &os) { os << *code; });
  }
  case Emit::Library:
  case Emit::Executable:
    return writeLinked(program, kind == Emit::Library, path);
  case Emit::MLIR:
    break;
  }
  return "a compiled program is no MLIR any more";
}
