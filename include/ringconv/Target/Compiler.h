// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From a user's module to native code. Errors are diagnostics of the module's
// context; the functions then fail.
#ifndef RINGCONV_TARGET_COMPILER_H
#define RINGCONV_TARGET_COMPILER_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "ringconv/Dialect/RingConv/Transforms/Report.h"

#include <memory>
#include <string>

namespace llvm {
class LLVMContext;
class Module;
class TargetMachine;
} // namespace llvm

namespace ringconv {

struct CompileOptions {
  std::string entry;                ///< empty: `main`, else the only public function
  std::string mesh;                 ///< axis=extent,...; empty: as written
  std::string cpu = "x86-64-v3";    ///< LLVM's name, or `native`
  bool reference = true;            ///< also the uncut program, for --check
  bool vectorize = true, mergeHalos = true, overlap = true;
  bool countMultiplyAdds = false;
  bool remarks = false;             ///< print what was chosen
};

/// LLVM IR with the program's descriptor, a constant `ringconv_program` named
/// ENTRY_program.
struct CompiledProgram {
  CompiledProgram();
  CompiledProgram(CompiledProgram &&);
  CompiledProgram &operator=(CompiledProgram &&);
  ~CompiledProgram();

  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::Module> module;
  std::unique_ptr<llvm::TargetMachine> machine;
  std::string entry;
  FuncReport report;
};

/// The entry function by the rules of CompileOptions::entry.
mlir::FailureOr<std::string> findEntry(mlir::ModuleOp module, llvm::StringRef wanted);

/// The partitioned module (tensors), with everything but the entry removed.
mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>> partitionModule(mlir::ModuleOp module, const CompileOptions &options,
                                                                   PartitionReport &report);

/// Everything. The module is left as it is.
mlir::FailureOr<CompiledProgram> compileHost(mlir::ModuleOp module, const CompileOptions &options);

/// Object code into memory; empty with a diagnostic text on failure.
mlir::FailureOr<std::string> emitObject(CompiledProgram &program);

/// JIT: native code in this process; `program` keeps the IR alive no longer.
/// Gives the address of the descriptor (a `const ringconv_program *`), which
/// stays valid until the end of the process.
mlir::FailureOr<const void *> loadInProcess(CompiledProgram program);

/// The C header of the entry's library.
std::string emitHeader(llvm::StringRef entry, mlir::ModuleOp module);

} // namespace ringconv

#endif
