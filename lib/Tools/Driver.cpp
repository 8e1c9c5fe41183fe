// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ringconv/Tools/Driver.h"
#include "ringconv/Target/Compiler.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/Signals.h"
#include <cstdlib>
#include <unistd.h>

using namespace mlir;

bool ringconv::isSpeaker() {
  for (const char *name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"})
    if (const char *rank = std::getenv(name))
      return StringRef(rank) == "0";
  const char *rank = std::getenv("RANK");
  return !rank || !std::getenv("TORCHELASTIC_RUN_ID") || StringRef(rank) == "0";
}

int ringconv::reportError(StringRef tool, const Twine &text) {
  if (isSpeaker())
    llvm::errs() << tool << ": error: " << text << '\n';
  return 1;
}

/// What a handler may call: no allocation, no lock.
static void say(StringRef text) { (void)!::write(STDERR_FILENO, text.data(), text.size()); }

static const char *toolName;

static void sayEnd(StringRef why) {
  if (!ringconv::isSpeaker())
    return;
  say(toolName);
  say(": error: ");
  say(why);
  say("\n");
}

void ringconv::reportAbruptEnds(const char *tool) {
  toolName = tool;
  auto noMemory = [](void *, const char *, bool) {
    llvm::sys::RunInterruptHandlers(); // removes temporary files
    sayEnd("out of memory");
    _exit(1);
  };
  llvm::install_bad_alloc_error_handler(noMemory);
  llvm::install_out_of_memory_new_handler();
  llvm::sys::SetInterruptFunction([] {
    sayEnd("interrupted");
    _exit(130);
  });
}

bool ringconv::RemarkFilter::only(StringRef tool, StringRef expression) {
  auto regex = std::make_shared<llvm::Regex>(expression);
  std::string why;
  if (!regex->isValid(why))
    return reportError(tool, "--remarks-filter=" + expression + ": " + why), false;
  matches = [regex](StringRef text) { return regex->match(text); };
  return true;
}

static StringRef kindOf(DiagnosticSeverity severity) {
  switch (severity) {
  case DiagnosticSeverity::Note:
    return "";
  case DiagnosticSeverity::Warning:
    return "warning";
  case DiagnosticSeverity::Error:
    return "error";
  case DiagnosticSeverity::Remark:
    return "remark";
  }
  llvm_unreachable("a severity");
}

void ringconv::printDiagnostics(MLIRContext &context, const RemarkFilter &remarks) {
  context.printOpOnDiagnostic(false);
  context.getDiagEngine().registerHandler([remarks](Diagnostic &diag) {
    StringRef kind = kindOf(diag.getSeverity());
    bool wanted = diag.getSeverity() != DiagnosticSeverity::Remark || remarks.wants(diag.str());
    if (!isSpeaker() || kind.empty() || !wanted)
      return success();
    if (auto file = diag.getLocation()->findInstanceOf<FileLineColLoc>())
      llvm::errs() << file.getFilename().getValue() << ':' << file.getLine() << ':' << file.getColumn() << ": ";
    llvm::errs() << kind << ": " << diag << '\n';
    return success();
  });
}

bool ringconv::readGpuArchs(StringRef tool, ArrayRef<std::string> words, std::vector<int64_t> &archs) {
  if (!words.empty())
    archs.clear();
  for (StringRef word : words) {
    StringRef number = word;
    int64_t arch;
    if (!number.consume_front("sm_") || number.getAsInteger(10, arch))
      return reportError(tool, "--gpu-arch: '" + word + "', expected sm_80, sm_90, sm_100, ..."), false;
    archs.push_back(arch);
  }
  return true;
}

bool ringconv::readLocalConv(StringRef tool, StringRef how, StringRef workspace, CompileOptions &options) {
  if (!how.empty() && how != "codegen" && how != "cudnn")
    return reportError(tool, "--local-conv: '" + how + "', expected codegen or cudnn"), false;
  if (how == "cudnn" && options.target != "cuda")
    return reportError(tool, "--local-conv=cudnn needs --target=cuda"), false;
  if (!workspace.empty() && how != "cudnn")
    return reportError(tool, "--cudnn-workspace needs --local-conv=cudnn"), false;
  if (!workspace.empty() && (workspace.getAsInteger(10, options.cudnnWorkspace) || options.cudnnWorkspace < 0))
    return reportError(tool, "--cudnn-workspace: '" + workspace + "', expected a number of bytes"), false;
  if (!how.empty())
    options.localConv = how.str();
  return true;
}

OwningOpRef<ModuleOp> ringconv::readProgram(StringRef tool, StringRef file, MLIRContext &context) {
  if (!llvm::sys::fs::exists(file)) {
    reportError(tool, file + ": no such file");
    return {};
  }
  return parseSourceFile<ModuleOp>(file, &context);
}
