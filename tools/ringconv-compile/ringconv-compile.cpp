// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ringconv-compile IN -o OUT: to the partitioned program, LLVM IR, an object, a
// library with its header, or an executable.
#include "ringconv/Cost/Cost.h"
#include "ringconv/Pipelines/Pipelines.h"
#include "ringconv/Target/AutoCut.h"
#include "ringconv/Target/Emit.h"
#include "ringconv/Target/Report.h"
#include "ringconv/Target/Version.h"
#include "ringconv/Tools/Driver.h"

#include "mlir/IR/Diagnostics.h"
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
static cl::opt<std::string> localConv("local-conv",
                                      cl::desc("who computes local convolutions of --target=cuda: codegen (default), "
                                               "or cudnn where it can"),
                                      cl::cat(category));
static cl::opt<std::string> cudnnWorkspace("cudnn-workspace",
                                           cl::desc("bytes that a convolution of cuDNN may use (default: 64 MiB)"),
                                           cl::cat(category));
static cl::opt<std::string> report("report",
                                   cl::desc("FILE.json: what was chosen per operation and rank, and what it "
                                            "is predicted to cost; FILE.html: the costs as a page"),
                                   cl::cat(category));
static cl::opt<std::string> autoCut("auto-cut",
                                    cl::desc("cut the largest input as is predicted to cost least (default: "
                                             "for cores)"),
                                    cl::value_desc("system"), cl::ValueOptional, cl::cat(category));
static cl::opt<std::string> cacheDir("cache-dir", cl::desc("keep compiled programs there, and take them from there"),
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

static CompileOptions readOptions() {
  CompileOptions options;
  options.target = target;
  options.entry = entry;
  options.mesh = mesh;
  options.cpu = cpu;
  options.vectorize = !noVectorize;
  options.overlap = !noOverlap;
  options.mergeHalos = !noMerge;
  options.reference = emit == Emit::Executable;
  options.cacheDir = cacheDir;
  return options;
}

/// The file of --report, if there is one. The partition is made for it once more,
/// so that code may come from a cache.
static int writeReportFile(ModuleOp module, const CompileOptions &options) {
  if (report.empty())
    return 0;
  PartitionReport chosen;
  chosen.wantsSteps = true;
  {
    ScopedDiagnosticHandler quiet(module.getContext(), [](Diagnostic &) { return success(); });
    if (failed(partitionModule(module, options, chosen)))
      return 1;
  }
  const auto &[name, func] = *chosen.functions.begin();
  return tell(writeFile(report, [&](llvm::raw_ostream &os) {
    StringRef(report).ends_with(".html") ? cost::writePage(os, name, func) : writeReport(os, name, func, /*costs=*/true);
  }));
}

/// LLVM IR or PTX.
static int compileToText(ModuleOp module, const CompileOptions &options) {
  FailureOr<CompiledProgram> program = compileProgram(module, options);
  if (failed(program))
    return 1;
  return tell(writeText(*program, emit, output));
}

static int compileToCode(ModuleOp module, const CompileOptions &options, Form form) {
  FailureOr<ObjectCode> code = compileObject(module, options, form);
  if (failed(code))
    return 1;
  return tell(writeCode(*code, emit, output));
}

static int compileToMLIR(ModuleOp module, const CompileOptions &options) {
  PartitionReport chosen;
  auto partitioned = partitionModule(module, options, chosen);
  if (failed(partitioned))
    return 1;
  return tell(writeFile(output, [&](llvm::raw_ostream &os) { (*partitioned)->print(os); }));
}

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
  CompileOptions options = readOptions();
  if (!readGpuArchs(tool, gpuArch, options.gpuArchs) || !readLocalConv(tool, localConv, cudnnWorkspace, options))
    return 1;
  if (autoCut.getNumOccurrences() && failed(chooseCut(*module, options, autoCut)))
    return 1;
  std::optional<Form> form = formOf(emit);
  int code = form                 ? compileToCode(*module, options, *form)
             : emit == Emit::MLIR ? compileToMLIR(*module, options)
                                  : compileToText(*module, options);
  return code ? code : writeReportFile(*module, options);
}

int main(int argc, char **argv) {
  reportAbruptEnds(tool.data());
  cl::HideUnrelatedOptions(category);
  cl::SetVersionPrinter(printVersion);
  cl::ParseCommandLineOptions(argc, argv, "compiles a program over whole tensors to native code of its ranks\n");
  if (std::string why = whyNotTarget(target); !why.empty())
    return reportError(tool, "--target=" + target + " " + why);
  if (emit == Emit::PTX && target != "cuda")
    return reportError(tool, "--emit=ptx needs --target=cuda");
  if (mesh.getNumOccurrences() && mesh.empty())
    return reportError(tool, "--mesh: expected axis=extent,..., got ''");
  return compile();
}
