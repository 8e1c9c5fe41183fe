// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ringconv-kernel: the GPU kernels of a function, as PTX.
//
//   ringconv-kernel IN.mlir --ptx=OUT.ptx [--tile=blockM,blockN,warpM,warpN,stages] [--arch=80]
//
// IN.mlir holds one function on memrefs of static sizes. Standard output is one
// line of JSON: workspaces in bytes, and launches. An argument of a launch is the
// number of one of the function's arguments, of a workspace, or an integer.
#include "ringconv/Conversion/Passes.h"
#include "ringconv/Dialect/RingConv/IR/RingConv.h"
#include "ringconv/Pipelines/Pipelines.h"

#include "Target/Kernels.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace ringconv;

static llvm::cl::opt<std::string> inputName(llvm::cl::Positional, llvm::cl::Required);
static llvm::cl::opt<std::string> ptxName("ptx", llvm::cl::Required);
static llvm::cl::opt<int64_t> arch("arch", llvm::cl::init(80));
static llvm::cl::opt<bool> fast("fast", llvm::cl::init(true));
static llvm::cl::list<int64_t> tile("tile", llvm::cl::CommaSeparated);

static int fail(const llvm::Twine &text) {
  llvm::errs() << "ringconv-kernel: " << text << "\n";
  return 1;
}

/// The kernels of local operations.
static LogicalResult convert(ModuleOp module) {
  ConvertRingConvToGPUPassOptions options;
  options.arch = arch;
  options.fast = fast;
  options.tile.assign(tile.begin(), tile.end());
  PassManager pm(module.getContext());
  pm.addPass(createConvertRingConvToGPUPass(options));
  pm.addPass(createCSEPass());
  pm.addPass(createCanonicalizerPass());
  return pm.run(module);
}

/// The PTX of the kernels of `module`.
static FailureOr<std::string> lowerToPTX(ModuleOp module) {
  PassManager pm(module.getContext());
  buildKernelPipeline(pm);
  if (failed(pm.run(module)))
    return failure();
  return emitPTX(*module.getOps<gpu::GPUModuleOp>().begin(), arch);
}

/// What is passed: through casts and address arithmetic to where it comes from.
static llvm::json::Object describe(Value operand, ArrayRef<memref::AllocOp> workspaces) {
  if (std::optional<int64_t> known = getConstantIntValue(operand))
    return llvm::json::Object{{"integer", *known}};
  while (Operation *op = operand.getDefiningOp()) {
    if (auto alloc = dyn_cast<memref::AllocOp>(op))
      return llvm::json::Object{{"workspace", int64_t(llvm::find(workspaces, alloc) - workspaces.begin())}};
    operand = op->getOperand(0);
  }
  return llvm::json::Object{{"argument", int64_t(cast<BlockArgument>(operand).getArgNumber())}};
}

static llvm::json::Object describe(gpu::LaunchFuncOp launch, ArrayRef<memref::AllocOp> workspaces) {
  auto number = [](Value v) { return v ? getConstantIntValue(v).value_or(-1) : 0; };
  llvm::json::Array arguments;
  for (Value operand : launch.getKernelOperands())
    arguments.push_back(describe(operand, workspaces));
  return llvm::json::Object{{"kernel", launch.getKernelName().str()},
                            {"grid", llvm::json::Array{number(launch.getGridSizeX()), number(launch.getGridSizeY()),
                                                       number(launch.getGridSizeZ())}},
                            {"threads", number(launch.getBlockSizeX())},
                            {"shared", number(launch.getDynamicSharedMemorySize())},
                            {"arguments", std::move(arguments)}};
}

static llvm::json::Object describe(ModuleOp program) {
  SmallVector<memref::AllocOp> workspaces;
  llvm::json::Array sizes, launches;
  program.walk([&](memref::AllocOp alloc) {
    workspaces.push_back(alloc);
    sizes.push_back(alloc.getType().getNumElements() * alloc.getType().getElementTypeBitWidth() / 8);
  });
  program.walk([&](gpu::LaunchFuncOp launch) { launches.push_back(describe(launch, workspaces)); });
  return llvm::json::Object{{"workspaces", std::move(sizes)}, {"launches", std::move(launches)}};
}

int main(int argc, char **argv) {
  llvm::InitLLVM initialized(argc, argv);
  llvm::cl::ParseCommandLineOptions(argc, argv, "the GPU kernels of a function\n");
  DialectRegistry registry;
  registerAllDialects(registry);
  registerAllExtensions(registry);
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registry.insert<RingConvDialect>();
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  OwningOpRef<ModuleOp> program = parseSourceFile<ModuleOp>(inputName, &context);
  if (!program || failed(convert(*program)))
    return 1;
  llvm::outs() << llvm::json::Value(describe(*program)) << "\n";
  FailureOr<std::string> ptx = lowerToPTX(*program);
  if (failed(ptx))
    return 1;
  std::error_code error;
  llvm::raw_fd_ostream(ptxName, error) << *ptx;
  return error ? fail("cannot write: " + error.message()) : 0;
}
