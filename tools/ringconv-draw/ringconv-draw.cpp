// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ringconv-draw IN -o OUT: how a function is cut over its mesh, as a picture
// (OUT.svg) or a page with remarks, figures and a run's timeline (OUT.html).
// A tool, not a pass: it wants the report of the partition pass, which leaves
// no trace in the IR, and it changes nothing.
#include "ringconv/Draw/Draw.h"
#include "ringconv/Pipelines/Pipelines.h"
#include "ringconv/Target/Compiler.h"
#include "ringconv/Target/Version.h"
#include "ringconv/Tools/Driver.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace mlir;
using namespace ringconv;
namespace cl = llvm::cl;

static cl::OptionCategory category("ringconv-draw");
static cl::opt<std::string> input(cl::Positional, cl::desc("IN.mlir"), cl::Required, cl::cat(category));
static cl::opt<std::string> output("o", cl::desc("the file to write, .svg or .html"), cl::Required, cl::cat(category));
static cl::opt<std::string> entry("entry", cl::desc("default: main, else the only public function"), cl::cat(category));
static cl::opt<std::string> mesh("mesh", cl::desc("axis=extent,...: other extents"), cl::cat(category));
static cl::opt<std::string> trace("trace", cl::desc("what ringconv-run --trace=FILE wrote, for a page"),
                                  cl::cat(category));

static constexpr StringLiteral tool = "ringconv-draw";

/// Keeps remarks instead of printing them.
static void collectRemarks(MLIRContext &context, std::vector<draw::Remark> &remarks) {
  context.getDiagEngine().registerHandler([&remarks](Diagnostic &diag) -> LogicalResult {
    if (diag.getSeverity() != DiagnosticSeverity::Remark)
      return failure();
    draw::Remark remark;
    if (auto file = diag.getLocation()->findInstanceOf<FileLineColLoc>())
      remark.location =
          (file.getFilename().getValue() + ":" + Twine(file.getLine()) + ":" + Twine(file.getColumn())).str();
    remark.text = diag.str();
    remarks.push_back(std::move(remark));
    return success();
  });
}

/// The events of the file that --trace names; no events where it names none.
static FailureOr<std::vector<draw::Event>> readEvents() {
  if (trace.empty())
    return std::vector<draw::Event>();
  auto file = llvm::MemoryBuffer::getFile(trace);
  if (!file)
    return reportError(tool, trace + ": " + file.getError().message()), failure();
  std::string error;
  if (auto events = draw::readTrace((*file)->getBuffer(), error))
    return *events;
  return reportError(tool, trace + ": no trace: " + error), failure();
}

static int run() {
  bool page = StringRef(output).ends_with(".html");
  if (!page && !StringRef(output).ends_with(".svg"))
    return reportError(tool, "-o " + output + ": expected a name that ends in .svg or .html");
  if (!page && !trace.empty())
    return reportError(tool, "--trace goes with a page, got -o " + output);
  FailureOr<std::vector<draw::Event>> events = readEvents();
  if (failed(events))
    return 1;
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry);
  printDiagnostics(context);
  std::vector<draw::Remark> remarks;
  collectRemarks(context, remarks);
  OwningOpRef<ModuleOp> module = readProgram(tool, input, context);
  if (!module)
    return 1;
  CompileOptions options;
  options.entry = entry;
  options.mesh = mesh;
  PartitionReport report;
  if (failed(partitionModule(*module, options, report)))
    return 1;
  StringRef name = report.functions.begin()->first;
  const FuncReport &func = report.functions.begin()->second;
  if (int64_t ranks = halo::numRanks(func.extents); ranks > draw::maxRanks)
    return reportError(tool, "drawn are up to " + Twine(draw::maxRanks) + " ranks (--mesh=... chooses fewer), got " +
                                 Twine(ranks));
  auto error = llvm::writeToOutput(output, [&](llvm::raw_ostream &os) -> llvm::Error {
    if (page)
      draw::writePage(os, name, func, remarks, *events);
    else
      draw::writePicture(os, func);
    return llvm::Error::success();
  });
  return error ? reportError(tool, output + ": " + toString(std::move(error))) : 0;
}

int main(int argc, char **argv) {
  cl::HideUnrelatedOptions(category);
  cl::SetVersionPrinter(printVersion);
  cl::ParseCommandLineOptions(argc, argv, "draws how a function is cut over its mesh\n");
  return run();
}
