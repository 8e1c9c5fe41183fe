// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From a user's module to native code. Errors are diagnostics of the module's
// context; the functions then fail.
#ifndef RINGCONV_TARGET_COMPILER_H
#define RINGCONV_TARGET_COMPILER_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "ringconv/Dialect/RingConv/Transforms/Report.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

struct ringconv_program;

namespace llvm {
namespace orc {
class LLJIT;
} // namespace orc
class LLVMContext;
class Module;
class TargetMachine;
} // namespace llvm

namespace ringconv {

/// What decides about code is also part of a cache's key, in Cache.cpp.
struct CompileOptions {
  std::string entry;                ///< empty: `main`, else the only public function
  std::string mesh;                 ///< axis=extent,...; empty: as written
  std::string target = "host";      ///< host or cuda
  std::string cpu = "x86-64-v3";    ///< LLVM's name, or `native`
  std::vector<int64_t> gpuArchs = {80}; ///< 80 for sm_80; target cuda
  bool machineCode = true;              ///< beside the PTX, where there is a ptxas; target cuda
  std::string localConv = "codegen";    ///< codegen, or cudnn where it can; target cuda
  int64_t cudnnWorkspace = int64_t(64) << 20; ///< bytes that one of its convolutions may use
  bool reference = true;            ///< also the uncut program, for --check
  bool vectorize = true;            ///< false: plain loops, plain kernels
  bool mergeHalos = true, overlap = true;
  bool alwaysOverlap = false;       ///< however small the pieces are
  bool countMultiplyAdds = false;
  /// Slower code in half the time: plainest code generation, and the IR is not
  /// verified between passes. For tests of many small programs.
  bool quick = false;
  std::string cacheDir; ///< of compileObject: folder of compiled programs, made if need be; empty: none
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
  std::string ptx; ///< of the oldest architecture; target cuda
  FuncReport report;
  std::vector<std::string> signature; ///< a line of text per operand, for headers
  std::vector<std::string> cuts;      ///< the sharding of each operand, as text
};

/// Why this build cannot compile for `target`, as the rest of a sentence about
/// it; empty if it can.
std::string whyNotTarget(llvm::StringRef target);

/// The entry function by the rules of CompileOptions::entry.
mlir::FailureOr<std::string> findEntry(mlir::ModuleOp module, llvm::StringRef wanted);

/// The partitioned module (tensors), with everything but the entry removed.
mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>> partitionModule(mlir::ModuleOp module, const CompileOptions &options,
                                                                   PartitionReport &report);

/// Everything. The module is left as it is.
mlir::FailureOr<CompiledProgram> compileProgram(mlir::ModuleOp module, const CompileOptions &options);

/// Object code into memory; empty with a diagnostic text on failure.
mlir::FailureOr<std::string> emitObject(CompiledProgram &program);

/// Native code in this process, unloaded at the end of its life.
struct LoadedProgram {
  LoadedProgram();
  LoadedProgram(LoadedProgram &&);
  LoadedProgram &operator=(LoadedProgram &&);
  ~LoadedProgram();

  const ringconv_program *descriptor = nullptr;
  std::unique_ptr<llvm::orc::LLJIT> jit;
};
llvm::Expected<LoadedProgram> loadInProcess(CompiledProgram program);

/// Adds `int main(int, char **)` over the runtime's driver.
void addMain(CompiledProgram &program);
/// Adds the functions NAME_shard, NAME_create, ... of the emitted library.
void addLibraryFunctions(CompiledProgram &program);
/// The C header of that library; it stands alone.
std::string emitHeader(const CompiledProgram &program);

/// Links object code with the runtime by the system's C compiler into an
/// executable or (shared) a library. The file appears only when complete. The
/// text of what failed, or nothing.
std::optional<std::string> linkProgram(llvm::StringRef object, llvm::StringRef runtime, llvm::StringRef output,
                                       bool shared);

} // namespace ringconv

#endif
