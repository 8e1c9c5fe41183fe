// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ringconv/Target/Emit.h"
#include "TemporaryFile.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/Path.h"

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
  if (dladdr(reinterpret_cast<void *>(&writeCode), &self) && self.dli_fname)
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

static std::optional<std::string> writeLinked(const ObjectCode &code, bool library, llvm::StringRef path) {
  std::string runtime = findRuntime();
  if (runtime.empty())
    return llvm::StringRef("no libringconv_rt.a in the lib folder of this installation, which ").str() +
           (library ? "libraries" : "executables") + " need";
  llvm::SmallString<128> object;
  int fd;
  if (auto error = createPrivateTemporary("o", fd, object))
    return "temporary file in " + object.str().str() + ": " + error.message();
  TemporaryFile remover(object);
  llvm::raw_fd_ostream(fd, true) << code.bytes;
  if (auto why = linkProgram(object, runtime, path, library))
    return why;
  if (!library)
    return std::nullopt;
  llvm::SmallString<128> headerPath(path);
  llvm::sys::path::replace_extension(headerPath, "h");
  return writeFile(headerPath, [&](llvm::raw_ostream &os) { os << code.header; });
}

std::optional<Form> ringconv::formOf(Emit kind) {
  switch (kind) {
  case Emit::Object:
  case Emit::Library:
    return Form::Library;
  case Emit::Executable:
    return Form::Executable;
  case Emit::MLIR:
  case Emit::LLVM:
  case Emit::PTX:
    return std::nullopt;
  }
  llvm_unreachable("a kind of file");
}

std::optional<std::string> ringconv::writeText(const CompiledProgram &program, Emit kind, llvm::StringRef path) {
  return writeFile(path, [&](llvm::raw_ostream &os) {
    kind == Emit::PTX ? void(os << program.ptx) : program.module->print(os, nullptr);
  });
}

std::optional<std::string> ringconv::writeCode(const ObjectCode &code, Emit kind, llvm::StringRef path) {
  if (kind == Emit::Object)
    return writeFile(path, [&](llvm::raw_ostream &os) { os << code.bytes; });
  return writeLinked(code, kind == Emit::Library, path);
}
