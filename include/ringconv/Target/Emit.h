// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiled programs as files.
#ifndef RINGCONV_TARGET_EMIT_H
#define RINGCONV_TARGET_EMIT_H

#include "ringconv/Target/Compiler.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/raw_ostream.h"

namespace ringconv {

enum class Emit { MLIR, LLVM, Object, Library, Executable, PTX };

/// Writes `program` to `path` (`-`: standard output) as anything but MLIR, which
/// is partitionModule's result; a library's
/// header, PATH with the extension .h, beside it. The program gets a main
/// function or the functions of a library: it is of no further use. The text of
/// what failed, or nothing.
std::optional<std::string> writeProgram(CompiledProgram &program, Emit kind, llvm::StringRef path);

/// Writes a file that appears only when it is complete. The text of what
/// failed, or nothing.
std::optional<std::string> writeFile(llvm::StringRef path, llvm::function_ref<void(llvm::raw_ostream &)> write);

} // namespace ringconv

#endif
