// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ringconv-compile IN -o OUT: to the partitioned program, LLVM IR, an object, a
// library with its header, or an executable.
#include "ringconv/Pipelines/Pipelines.h"
#include "ringconv/Target/Emit.h"
#include "ringconv/Target/Report.h"
#include "ringconv/Target/Version.h"
#include "ringconv/Tools/Driver.h"

#include "llvm/Support/CommandLine.h"

using namespace mlir;
using namespace ringconv;
namespace cl = llvm::cl;

static cl::OptionCategory category("ringconv-compile");
static cl::opt<std::string> input(cl::Positional, cl::desc("IN.mlir"), cl::Required, cl::cat(category));
static cl::opt<std::string> output("o", cl::desc("the file to write"), cl::Required, cl::cat(category));
static cl::opt<std::string> target("target", cl::desc("what to compile for: host or cuda"), cl::init("host"),
                                   cl::cat(category));
static cl::opt<Emit> emit("emit", cl::desc("what to write"), cl::init(Emit::Executable), cl::cat(category),
                          cl::values(clEnumValN(Emit::MLIR, "mlir", "the partitioned program"),
                                     clEnumValN(Emit::LLVM, "llvm", "LLVM IR"),
                                     clEnumValN(Emit::PTX, "ptx", "the kernels of --target=cuda"),
                                     clEnumValN(Emit::Object, "obj", "an object file"),
                                     clEnumValN(Emit::Library, "lib", "a shared library, its header beside it"),
                                     clEnumValN(Emit::Executable, "exe", "an executable (default)")));
static cl::opt<std::string> entry("entry", cl::desc("default: main, else the only public function"),
                                  cl::cat(category));
static cl::opt<std::string> mesh("mesh", cl::desc("axis=extent,...: other extents"), cl::cat(category));
static cl::opt<std::string> cpu("target-cpu", cl::desc("LLVM's name, or native (default: x86-64-v3)"),
                                cl::init("x86-64-v3"), cl::cat(category));
static cl::list<std::string> gpuArch("gpu-arch", cl::desc("sm_80,...: GPUs to compile for (default: sm_80)"),
                                     cl::CommaSeparated, cl::cat(category));
static cl::opt<std::string> report("report", cl::desc("JSON file: what was chosen per operation and rank"),
                                   cl::cat(category));
static cl::opt<bool> remarks("remarks", cl::desc("print what was chosen"), cl::cat(category));
static cl::opt<std::string> remarksFilter("remarks-filter", cl::desc("print the remarks that match"),
                                          cl::value_desc("regex"), cl::cat(category));
static cl::opt<bool> noVectorize("no-vectorize", cl::desc("plain loops and kernels only"), cl::cat(category));
static cl::opt<bool> noOverlap("no-overlap", cl::desc("no computation while halos travel"), cl::cat(category));
static cl::opt<bool> noMerge("no-merge-halos", cl::desc("one exchange per tensor"), cl::cat(category));

static constexpr StringLiteral tool = "ringconv-compile";

/// Says what failed, if anything; the exit code.
static int tell(const std::optional<std::string> &why) { return why ? reportError(tool, *why) : 0; }

static int compile() {
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry);
  RemarkFilter filter;
  if (remarks)
    filter.all();
  if (!remarksFilter.empty() && !filter.only(tool, remarksFilter))
    return 1;
  printDiagnostics(context, filter);
  OwningOpRef<ModuleOp> module = readProgram(tool, input, context);
  if (!module)
    return 1;
  CompileOptions options;
  if (!readGpuArchs(tool, gpuArch, options.gpuArchs))
    return 1;
  options.target = target;
  options.entry = entry;
  options.mesh = mesh;
  options.cpu = cpu;
  options.vectorize = !noVectorize;
  options.overlap = !noOverlap;
  options.mergeHalos = !noMerge;
  options.reference = emit == Emit::Executable;
  if (emit == Emit::MLIR) {
    PartitionReport chosen;
    auto partitioned = partitionModule(*module, options, chosen);
    if (failed(partitioned))
      return 1;
    return tell(writeFile(output, [&](llvm::raw_ostream &os) { (*partitioned)->print(os); }));
  }
  auto program = compileProgram(*module, options);
  if (failed(program))
    return 1;
  if (!report.empty())
    if (int code = tell(writeFile(report, [&](llvm::raw_ostream &os) { writeReport(os, *program); })))
      return code;
  return tell(writeProgram(*program, emit, output));
}

int main(int argc, char **argv) {
  reportAbruptEnds(tool.data());
  cl::HideUnrelatedOptions(category);
  cl::SetVersionPrinter(printVersion);
  cl::ParseCommandLineOptions(argc, argv, "compiles a program over whole tensors to native code of its ranks\n");
  if (target != "host" && target != "cuda")
    return reportError(tool, "--target=" + target + " is not available, expected host or cuda");
  if (emit == Emit::PTX && target != "cuda")
    return reportError(tool, "--emit=ptx needs --target=cuda");
  if (mesh.getNumOccurrences() && mesh.empty())
    return reportError(tool, "--mesh: expected axis=extent,..., got ''");
  return compile();
}
