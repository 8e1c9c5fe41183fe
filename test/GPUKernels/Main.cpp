// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ringconv-kernel: the GPU kernel of each local convolution of a file, as PTX.
//
//   ringconv-kernel IN.mlir --ptx=OUT.ptx [--tile=blockM,blockN,warpM,warpN,stages] [--chip=sm_80]
//
// IN.mlir holds one function on memrefs of static sizes with one
// ringconv.local_conv. Standard output is one line of JSON: how to launch it.
// Arguments are numbers of the function's arguments, in the kernel's order.
#include "RingConvToGPU/ConvKernel.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/Pipelines/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVM/NVVM/Target.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace ringconv;

static llvm::cl::opt<std::string> inputName(llvm::cl::Positional, llvm::cl::Required);
static llvm::cl::opt<std::string> ptxName("ptx", llvm::cl::Required);
static llvm::cl::opt<std::string> mlirName("mlir");
static llvm::cl::opt<std::string> chip("chip", llvm::cl::init("sm_80"));
static llvm::cl::opt<std::string> features("features", llvm::cl::init("+ptx80"));
static llvm::cl::list<int64_t> tileFlag("tile", llvm::cl::CommaSeparated);

static int fail(const llvm::Twine &text) {
  llvm::errs() << "ringconv-kernel: " << text << "\n";
  return 1;
}

/// The PTX of the kernels of `module`.
static FailureOr<std::string> lowerToPTX(ModuleOp module) {
  gpu::GPUToNVVMPipelineOptions options;
  options.cubinChip = chip;
  options.cubinFeatures = features;
  options.cubinFormat = "isa";
  options.optLevel = 3;
  options.kernelUseBarePtrCallConv = true;
  PassManager pm(module.getContext());
  gpu::buildLowerToNVVMPassPipeline(pm, options);
  if (failed(pm.run(module)))
    return failure();
  auto binaries = module.getOps<gpu::BinaryOp>();
  auto object = cast<gpu::ObjectAttr>((*binaries.begin()).getObjects()[0]);
  return object.getObject().getValue().rtrim('\0').str();
}

static llvm::json::Object describe(const ConvKernel &kernel) {
  llvm::json::Array arguments;
  for (Value operand : kernel.operands)
    arguments.push_back(int64_t(cast<BlockArgument>(operand).getArgNumber()));
  return llvm::json::Object{{"tile", llvm::json::Array{kernel.tileM, kernel.tileN}},
                            {"threads", kernel.threads},
                            {"shared", kernel.sharedBytes},
                            {"arguments", std::move(arguments)}};
}

int main(int argc, char **argv) {
  llvm::InitLLVM initialized(argc, argv);
  llvm::cl::ParseCommandLineOptions(argc, argv, "the GPU kernel of a local convolution\n");
  DialectRegistry registry;
  registerAllDialects(registry);
  registerAllExtensions(registry);
  registerAllGPUToLLVMIRTranslations(registry);
  registerAllToLLVMIRTranslations(registry);
  registry.insert<RingConvDialect>();
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  OwningOpRef<ModuleOp> program = parseSourceFile<ModuleOp>(inputName, &context);
  if (!program)
    return 1;
  LocalConvOp op;
  program->walk([&](LocalConvOp conv) { op = conv; });
  if (!op)
    return fail("no local convolution in " + inputName);
  OpBuilder b(op);
  std::string reason;
  std::optional<ConvShape> shape = describeConv(b, op, reason);
  bool tensorCores = shape && shape->element.getIntOrFloatBitWidth() == 16;
  if (shape)
    reason = tensorCores ? whyNotImplicitGemmF16(*shape) : whyNotImplicitGemmFMA(*shape);
  if (!reason.empty())
    return fail("no kernel: " + reason);
  if (tileFlag.size() != 5)
    return fail("--tile takes 5 numbers");
  Tile tile{tileFlag[0], tileFlag[1], tileFlag[2], tileFlag[3], tileFlag[4]};
  OwningOpRef<ModuleOp> device = ModuleOp::create(op.getLoc());
  b.setInsertionPointToEnd(device->getBody());
  auto module = gpu::GPUModuleOp::create(b, op.getLoc(), "kernels");
  ConvKernel kernel = tensorCores ? buildImplicitGemmF16(module, op.getLoc(), "conv", *shape, tile)
                                  : buildImplicitGemmFMA(module, op.getLoc(), "conv", *shape, tile);
  llvm::json::Object launch = describe(kernel);
  std::error_code error;
  if (!mlirName.empty())
    llvm::raw_fd_ostream(mlirName, error) << *device;
  FailureOr<std::string> ptx = lowerToPTX(*device);
  if (failed(ptx))
    return 1;
  llvm::raw_fd_ostream(ptxName, error) << *ptx;
  if (error)
    return fail("cannot write: " + error.message());
  llvm::outs() << llvm::json::Value(std::move(launch)) << "\n";
  return 0;
}
