// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ringconv/Target/Compiler.h"
#include "Cuda.h"
#include "Machine.h"
#include "ProgramDescriptor.h"
#include "ringconv/Config.h"
#include "ringconv/Dialect/RingConv/Transforms/Partition.h"
#include "ringconv/Dialect/RingConv/Transforms/Passes.h"
#include "ringconv/Pipelines/Pipelines.h"
#include "ringconv/Support/LLVMVersion.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Support/SHA1.h"

using namespace mlir;
using namespace ringconv;

CompiledProgram::CompiledProgram() = default;
CompiledProgram::CompiledProgram(CompiledProgram &&) = default;
CompiledProgram &CompiledProgram::operator=(CompiledProgram &&) = default;
CompiledProgram::~CompiledProgram() = default;

std::string ringconv::whyNotTarget(StringRef target) {
  if (target == "host" || (target == "cuda" && RINGCONV_ENABLE_CUDA))
    return "";
  if (target == "cuda")
    return "is not part of this build (RINGCONV_ENABLE_CUDA=OFF), expected host";
  return RINGCONV_ENABLE_CUDA ? "is not available, expected host or cuda" : "is not available, expected host";
}

FailureOr<std::string> ringconv::findEntry(ModuleOp module, StringRef wanted) {
  SmallVector<StringRef> names;
  for (func::FuncOp func : module.getOps<func::FuncOp>())
    if (func.isPublic() && !func.isExternal())
      names.push_back(func.getSymName());
  if (!wanted.empty()) {
    if (llvm::is_contained(names, wanted))
      return wanted.str();
  } else if (llvm::is_contained(names, "main")) {
    return std::string("main");
  } else if (names.size() == 1) {
    return names[0].str();
  }
  auto diag = emitError(module.getLoc());
  if (!wanted.empty())
    diag << "no public function @" << wanted;
  else
    diag << "no function @main and not exactly one public function";
  diag << "; the public functions are: " << (names.empty() ? "none" : "");
  llvm::interleaveComma(names, diag, [&](StringRef name) { diag << '@' << name; });
  return failure();
}

/// A copy of the entry and the functions that it calls, of which only the entry
/// is public: what stands beside them need not fit the mesh.
static OwningOpRef<ModuleOp> copyFor(ModuleOp module, StringRef entry) {
  OwningOpRef<ModuleOp> copy = module.clone();
  llvm::SetVector<Operation *> reached;
  reached.insert(copy->lookupSymbol(entry));
  for (unsigned i = 0; i < reached.size(); ++i)
    reached[i]->walk([&](func::CallOp call) {
      if (Operation *callee = copy->lookupSymbol(call.getCallee()))
        reached.insert(callee);
    });
  for (func::FuncOp func : llvm::make_early_inc_range(copy->getOps<func::FuncOp>())) {
    func.setVisibility(func.getSymName() == entry ? SymbolTable::Visibility::Public
                                                  : SymbolTable::Visibility::Private);
    if (!reached.contains(func))
      func.erase();
  }
  return copy;
}

FailureOr<OwningOpRef<ModuleOp>> ringconv::partitionModule(ModuleOp module, const CompileOptions &options,
                                                           PartitionReport &report) {
  FailureOr<std::string> entry = findEntry(module, options.entry);
  if (failed(entry))
    return failure();
  OwningOpRef<ModuleOp> copy = copyFor(module, *entry);
  PassManager pm(module.getContext());
  pm.enableVerifier(!options.quick);
  PartitionOptions partition;
  partition.mesh = options.mesh;
  partition.mergeHalos = options.mergeHalos;
  partition.overlap = options.overlap;
  partition.alwaysOverlap = options.alwaysOverlap;
  partition.featuresLast = options.target == "cuda" && options.localConv == "codegen" && options.vectorize;
  partition.report = &report;
  buildPartitionPipeline(pm, partition);
  if (failed(pm.run(*copy)))
    return failure();
  return copy;
}

// ===--------------------------------------------------------------------=== //
// Lowering
// ===--------------------------------------------------------------------=== //

/// Only the entry is seen from outside: upstream's `dealloc_helper` would meet
/// its like in the reference and in other libraries.
static FailureOr<std::unique_ptr<llvm::Module>> translate(ModuleOp module, StringRef entry,
                                                          llvm::LLVMContext &context) {
  std::unique_ptr<llvm::Module> llvmModule = translateModuleToLLVMIR(module, context, "ringconv");
  if (!llvmModule)
    return emitError(module.getLoc()) << "cannot be translated to LLVM IR", failure();
  for (llvm::Function &function : *llvmModule)
    if (!function.isDeclaration() && function.getName() != entry)
      function.setLinkage(llvm::GlobalValue::InternalLinkage);
  return llvmModule;
}

static constexpr StringLiteral referenceName = "ringconv_uncut";

/// The uncut program as @ringconv_uncut.
static FailureOr<std::unique_ptr<llvm::Module>> compileReference(ModuleOp module, StringRef entry,
                                                                 llvm::LLVMContext &context) {
  OwningOpRef<ModuleOp> copy = copyFor(module, entry);
  cast<func::FuncOp>(copy->lookupSymbol(entry)).setSymName(referenceName);
  PassManager pm(module.getContext());
  buildReferencePipeline(pm);
  if (failed(pm.run(*copy)))
    return failure();
  return translate(*copy, referenceName, context);
}

/// Of what ranks must agree on before they exchange anything.
static uint64_t hashOf(ModuleOp partitioned, StringRef target) {
  std::string text;
  llvm::raw_string_ostream os(text);
  partitioned.print(os);
  os << target;
  auto digest = llvm::SHA1::hash(llvm::arrayRefFromStringRef(text));
  uint64_t hash = 0;
  for (int i = 0; i < 8; ++i)
    hash = hash << 8 | digest[i];
  return hash;
}

static void readExchanges(ModuleOp module, ProgramInfo &info) {
  auto all = module->getAttrOfType<DictionaryAttr>("ringconv.exchanges");
  auto numbers = all ? dyn_cast_or_null<DenseI64ArrayAttr>(all.get(info.entry)) : DenseI64ArrayAttr();
  if (!numbers)
    return;
  info.numExchanges = numbers[0];
  info.exchangeOf.assign(numbers.asArrayRef().begin() + 1, numbers.asArrayRef().end());
}

static LogicalResult lowerForHost(ModuleOp local, const CompileOptions &options, ProgramInfo &info) {
  HostOptions host;
  host.vectorize = options.vectorize;
  host.count = options.countMultiplyAdds;
  host.vectorWidth = StringRef(info.cpuFeatures).contains("avx512f") ? 16 : 8;
  PassManager pm(local.getContext());
  pm.enableVerifier(!options.quick);
  buildBufferizePipeline(pm);
  buildHostLoweringPipeline(pm, host);
  return pm.run(local);
}

/// To the LLVM dialect, as the target wants it.
static LogicalResult lower(ModuleOp local, const CompileOptions &options, ProgramInfo &info) {
#if RINGCONV_ENABLE_CUDA
  if (options.target == "cuda")
    return lowerForCuda(local, options, info);
#endif
  return lowerForHost(local, options, info);
}

static void describeOperands(const ProgramInfo &info, CompiledProgram &program) {
  for (auto [list, word] : {std::pair(&info.inputs, "in"), std::pair(&info.outputs, "out")})
    for (auto [i, o] : llvm::enumerate(*list)) {
      std::string line;
      llvm::raw_string_ostream os(line);
      os << word << ' ' << i << (o.name.empty() ? "" : " (" + o.name + ")") << (o.parameter ? ", parameter" : "")
         << ": " << o.whole << ", cut as " << o.sharding;
      program.signature.push_back(line);
      llvm::raw_string_ostream(program.cuts.emplace_back()) << o.sharding;
    }
}

FailureOr<CompiledProgram> ringconv::compileProgram(ModuleOp module, const CompileOptions &options) {
  MLIRContext *ctx = module.getContext();
  if (std::string why = whyNotTarget(options.target); !why.empty())
    return emitError(module.getLoc()) << "target " << options.target << " " << why, failure();
  registerBuiltinDialectTranslation(*ctx);
  registerLLVMDialectTranslation(*ctx);
  auto machine = makeMachine(module.getLoc(), options.cpu);
  if (failed(machine))
    return failure();
  PartitionReport report;
  FailureOr<OwningOpRef<ModuleOp>> partitioned = partitionModule(module, options, report);
  if (failed(partitioned))
    return failure();
  ModuleOp local = **partitioned;
  auto func = *local.getOps<func::FuncOp>().begin();
  auto info = ProgramInfo::read(func, findMesh(local)->getMesh());
  if (failed(info))
    return failure();
  info->report = report.functions[info->entry];
  info->target = options.target;
  info->cpuFeatures = checkedFeatures(**machine);
  info->hash = hashOf(local, info->target);
  if (failed(lower(local, options, *info)))
    return failure();
  readExchanges(local, *info);

  CompiledProgram program;
  program.context = std::make_unique<llvm::LLVMContext>();
  auto llvmModule = translate(local, info->entry, *program.context);
  if (failed(llvmModule))
    return failure();
  if (options.reference) {
    auto reference = compileReference(module, info->entry, *program.context);
    if (failed(reference))
      return failure();
    if (llvm::Linker::linkModules(**llvmModule, std::move(*reference)))
      return emitError(module.getLoc()) << "the reference program cannot be linked", failure();
  }
  if (options.quick)
    (*machine)->setOptLevel(llvm::CodeGenOptLevel::None);
  version::setTarget(**llvmModule, **machine);
  emitProgram(**llvmModule, *info, options.reference ? StringRef(referenceName) : StringRef());
  program.module = std::move(*llvmModule);
  program.machine = std::move(*machine);
  program.entry = info->entry;
  program.report = info->report;
  if (info->cuda && !info->cuda->images.empty())
    program.ptx = info->cuda->images.front().bytes;
  describeOperands(*info, program);
  return program;
}
