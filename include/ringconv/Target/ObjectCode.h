// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiled programs as bytes: what is loaded, linked, and kept in a cache.
#ifndef RINGCONV_TARGET_OBJECTCODE_H
#define RINGCONV_TARGET_OBJECTCODE_H

#include "ringconv/Target/Compiler.h"

namespace ringconv {

/// What object code holds besides the program: nothing, `int main` over the
/// runtime's driver, or the functions of the emitted library.
enum class Form { InProcess, Executable, Library };

struct ObjectCode {
  std::string entry;
  std::string bytes;             ///< of an object file
  std::string header;            ///< in C; Form::Library
  std::string report;            ///< as writeReport writes it
  std::vector<std::string> cuts; ///< the sharding of each operand, as text
};

/// compileProgram, then code generation; the program is of no further use.
mlir::FailureOr<ObjectCode> generateCode(CompiledProgram &program, Form form);

/// Both for a module, or what CompileOptions::cacheDir holds of an earlier time;
/// its diagnostics are then given again.
mlir::FailureOr<ObjectCode> compileObject(mlir::ModuleOp module, const CompileOptions &options, Form form);

llvm::Expected<LoadedProgram> loadInProcess(const ObjectCode &code);

} // namespace ringconv

#endif
