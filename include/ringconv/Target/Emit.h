// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiled programs as files.
#ifndef RINGCONV_TARGET_EMIT_H
#define RINGCONV_TARGET_EMIT_H

#include "ringconv/Target/ObjectCode.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/raw_ostream.h"

namespace ringconv {

enum class Emit { MLIR, LLVM, Object, Library, Executable, PTX };

/// The form of the object code that such a file holds; nothing for the others,
/// which are text.
std::optional<Form> formOf(Emit kind);

/// Writes LLVM IR or PTX to `path` (`-`: standard output). The text of what
/// failed, or nothing.
std::optional<std::string> writeText(const CompiledProgram &program, Emit kind, llvm::StringRef path);

/// Writes object code of the form that `kind` wants, linked unless that is
/// Emit::Object; a library's header, PATH with the extension .h, beside it. The
/// text of what failed, or nothing.
std::optional<std::string> writeCode(const ObjectCode &code, Emit kind, llvm::StringRef path);

/// Writes a file that appears only when it is complete. The text of what
/// failed, or nothing.
std::optional<std::string> writeFile(llvm::StringRef path, llvm::function_ref<void(llvm::raw_ostream &)> write);

} // namespace ringconv

#endif
