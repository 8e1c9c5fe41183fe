// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ringconv-run IN [flags]: compiles in memory and runs. Flags that choose what
// is compiled are read here; all others are the run flags, which the runtime
// parses as in emitted executables.
#include "ringconv/Pipelines/Pipelines.h"
#include "ringconv/Runtime/Session.h"
#include "ringconv/Target/AutoCut.h"
#include "ringconv/Target/ObjectCode.h"
#include "ringconv/Target/Version.h"
#include "ringconv/Tools/Driver.h"

#include <optional>
#include <vector>

using namespace mlir;

namespace {
struct Arguments {
  std::string input;
  SmallVector<std::string> gpuArchs;
  StringRef localConv, cudnnWorkspace;
  ringconv::CompileOptions options;
  std::vector<char *> run;
  const char *remarksFilter = nullptr;
  ringconv::RemarkFilter remarks;
  std::optional<std::string> autoCut; ///< the system's name, empty: the default
  bool badMesh = false; ///< an empty one was given
};

constexpr const char *compileHelp =
    "usage: ringconv-run IN.mlir [flags]\n"
    "  --target=host|cuda       what to compile for\n"
    "  --gpu-arch=sm_80,...     GPUs to compile for (default: sm_80)\n"
    "  --local-conv=codegen|cudnn\n"
    "                           who computes local convolutions of --target=cuda; cudnn: where it can\n"
    "  --cudnn-workspace=BYTES  that a convolution of cuDNN may use (default: 64 MiB)\n"
    "  --entry=NAME             the function to run (default: main, else the only public one)\n"
    "  --mesh=AXIS=N,...        other extents for the axes of the mesh\n"
    "  --target-cpu=NAME        processor to compile for (default: native)\n"
    "  --no-vectorize           plain loops and kernels only\n"
    "  --no-overlap             no computation while halos travel\n"
    "  --always-overlap         overlap however small the pieces are\n"
    "  --no-merge-halos         one exchange per tensor\n"
    "  --count-multiply-adds    count them at run time\n"
    "  --auto-cut[=SYSTEM]      cut the largest input as is predicted to cost least (default: for cores)\n"
    "  --cache-dir=DIR          keep compiled programs there, and take them from there\n"
    "  --remarks                print what the compiler chose\n"
    "  --remarks-filter=REGEX   print the remarks that match\n"
    "and the run flags:\n";

/// The value of `--name=value` or `--name value`; null if `argv[i]` is another
/// flag. `i` moves to the last word that belongs to it.
const char *valueOf(StringRef name, int argc, char **argv, int &i) {
  StringRef word = argv[i];
  if (!word.consume_front("--") || !word.consume_front(name))
    return nullptr;
  if (word.consume_front("="))
    return word.data();
  if (!word.empty() || i + 1 >= argc)
    return nullptr;
  return argv[++i];
}

bool takeFlag(int argc, char **argv, int &i, Arguments &args) {
  StringRef word = argv[i];
  auto &o = args.options;
  if (const char *v = valueOf("target", argc, argv, i))
    return o.target = v, true;
  if (const char *v = valueOf("gpu-arch", argc, argv, i)) {
    SmallVector<StringRef> words;
    StringRef(v).split(words, ',');
    for (StringRef word : words)
      args.gpuArchs.push_back(word.str());
    return true;
  }
  if (const char *v = valueOf("local-conv", argc, argv, i))
    return args.localConv = v, true;
  if (const char *v = valueOf("cudnn-workspace", argc, argv, i))
    return args.cudnnWorkspace = v, true;
  if (const char *v = valueOf("entry", argc, argv, i))
    return o.entry = v, true;
  if (const char *v = valueOf("mesh", argc, argv, i))
    return o.mesh = v, args.badMesh |= o.mesh.empty(), true;
  if (const char *v = valueOf("target-cpu", argc, argv, i))
    return o.cpu = v, true;
  if (word == "--no-vectorize")
    return o.vectorize = false, true;
  if (word == "--no-overlap")
    return o.overlap = false, true;
  if (word == "--always-overlap")
    return o.alwaysOverlap = true, true;
  if (word == "--no-merge-halos")
    return o.mergeHalos = false, true;
  if (word == "--count-multiply-adds")
    return o.countMultiplyAdds = true, true;
  if (word == "--remarks")
    return args.remarks.all(), true;
  if (word == "--auto-cut")
    return args.autoCut = "", true;
  if (word.consume_front("--auto-cut="))
    return args.autoCut = word.str(), true;
  if (const char *v = valueOf("cache-dir", argc, argv, i))
    return o.cacheDir = v, true;
  if (const char *v = valueOf("remarks-filter", argc, argv, i))
    return args.remarksFilter = v, true;
  return false;
}

FailureOr<ringconv::LoadedProgram> compile(const Arguments &args) {
  DialectRegistry registry;
  ringconv::registerDialects(registry);
  MLIRContext context(registry);
  ringconv::printDiagnostics(context, args.remarks);
  OwningOpRef<ModuleOp> module = ringconv::readProgram("ringconv-run", args.input, context);
  if (!module)
    return failure();
  if (args.autoCut && failed(ringconv::chooseCut(*module, args.options, *args.autoCut)))
    return failure();
  FailureOr<ringconv::ObjectCode> code = ringconv::compileObject(*module, args.options, ringconv::Form::InProcess);
  if (failed(code))
    return failure();
  llvm::Expected<ringconv::LoadedProgram> loaded = ringconv::loadInProcess(*code);
  if (!loaded) {
    ringconv::reportError("ringconv-run", "cannot load the compiled program: " + toString(loaded.takeError()));
    return failure();
  }
  return std::move(*loaded);
}
} // namespace

int main(int argc, char **argv) {
  ringconv::reportAbruptEnds("ringconv-run");
  Arguments args;
  args.options.cpu = "native";
  args.options.reference = false;
  args.options.machineCode = false; // the driver compiles PTX itself
  args.run.push_back(argv[0]);
  for (int i = 1; i < argc; ++i) {
    StringRef word = argv[i];
    if (word == "--version")
      return ringconv::printVersion(llvm::outs()), 0;
    if (word == "--help") {
      llvm::outs() << compileHelp;
      llvm::outs().flush();
      return ringconv_main(argc, argv, nullptr);
    }
    if (word == "--check")
      args.options.reference = true;
    if (takeFlag(argc, argv, i, args))
      continue;
    if (args.input.empty() && !word.starts_with("-")) {
      args.input = word.str();
      continue;
    }
    args.run.push_back(argv[i]);
  }
  if (args.input.empty())
    return ringconv::reportError("ringconv-run", "expected an MLIR file; see --help");
  if (args.badMesh)
    return ringconv::reportError("ringconv-run", "--mesh: expected axis=extent,..., got ''");
  if (args.remarksFilter && !args.remarks.only("ringconv-run", args.remarksFilter))
    return 1;
  StringRef target = args.options.target;
  if (std::string why = ringconv::whyNotTarget(target); !why.empty())
    return ringconv::reportError("ringconv-run", "--target=" + target + " " + why);
  if (!ringconv::readGpuArchs("ringconv-run", args.gpuArchs, args.options.gpuArchs) ||
      !ringconv::readLocalConv("ringconv-run", args.localConv, args.cudnnWorkspace, args.options))
    return 1;
  if (int code = ringconv_main(int(args.run.size()), args.run.data(), nullptr))
    return code;
  FailureOr<ringconv::LoadedProgram> program = compile(args);
  if (failed(program))
    return 1;
  args.run.push_back(nullptr);
  return ringconv_main(int(args.run.size()) - 1, args.run.data(), program->descriptor);
}
