// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the command-line tools share: reading a program and printing
// diagnostics, one line each.
#ifndef RINGCONV_TOOLS_DRIVER_H
#define RINGCONV_TOOLS_DRIVER_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/Twine.h"

#include <functional>
#include <vector>

namespace ringconv {

struct CompileOptions;

/// False in all processes but the first under a launcher: one speaks for all.
bool isSpeaker();

/// Prints `TOOL: error: text`; 1, the exit code.
int reportError(llvm::StringRef tool, const llvm::Twine &text);

/// One line where memory runs out, or where Ctrl-C or SIGTERM ends the tool; its
/// temporary files go. `tool` lives as long as the process.
void reportAbruptEnds(const char *tool);

/// Which remarks a tool prints: those whose text matches, none by default.
class RemarkFilter {
public:
  /// All of them.
  void all() { matches = [](llvm::StringRef) { return true; }; }
  /// Those that match a regular expression; false after an error line.
  bool only(llvm::StringRef tool, llvm::StringRef expression);
  bool wants(llvm::StringRef text) const { return matches && matches(text); }

private:
  std::function<bool(llvm::StringRef)> matches;
};

/// Errors, warnings and the remarks that are wanted on one line each; notes never.
void printDiagnostics(mlir::MLIRContext &context, const RemarkFilter &remarks = RemarkFilter());

/// The registry of tools that take any MLIR: all of upstream's dialects and
/// passes, and ours.
void registerEverything(mlir::DialectRegistry &registry);

/// The numbers of `sm_80`, ...; an empty list leaves `archs` as it is. False after
/// an error line.
bool readGpuArchs(llvm::StringRef tool, llvm::ArrayRef<std::string> words, std::vector<int64_t> &archs);
/// --local-conv and --cudnn-workspace (empty: not given) into options whose target
/// is set. False after an error line.
bool readLocalConv(llvm::StringRef tool, llvm::StringRef how, llvm::StringRef workspace, CompileOptions &options);

/// Parses a file; null after an error line.
mlir::OwningOpRef<mlir::ModuleOp> readProgram(llvm::StringRef tool, llvm::StringRef file, mlir::MLIRContext &context);

} // namespace ringconv

#endif
