// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Cuda.h"
#include "Kernels.h"
#include "ringconv/Pipelines/Pipelines.h"

#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace ringconv;

/// Names and numbers of the kernels, and the rest of what the passes tell.
static void readCuda(ModuleOp module, CudaInfo &info) {
  for (auto [name, shared] : llvm::zip(module->getAttrOfType<ArrayAttr>("ringconv.kernels").getAsRange<StringAttr>(),
                                       module->getAttrOfType<DenseI64ArrayAttr>("ringconv.shared").asArrayRef()))
    info.kernels.push_back({name.str(), shared});
  for (auto name : module->getAttrOfType<ArrayAttr>("ringconv.constants").getAsRange<FlatSymbolRefAttr>())
    info.constants.push_back(name.getValue().str());
  llvm::append_range(info.sums, module->getAttrOfType<DenseI64ArrayAttr>("ringconv.sums").asArrayRef());
  info.arenaBytes = module->getAttrOfType<IntegerAttr>("ringconv.arena").getInt();
  info.usesCudnn = module->hasAttr("ringconv.cudnn");
}

/// PTX of each architecture, and machine code where there is a ptxas.
static LogicalResult addImages(gpu::GPUModuleOp kernels, const CompileOptions &options, CudaInfo &info) {
  info.hasBoxes = kernels.lookupSymbol("ringconv_boxes") != nullptr;
  std::string ptxas = options.machineCode ? findPtxas() : "";
  if (options.machineCode && ptxas.empty())
    emitRemark(kernels.getLoc()) << "no ptxas: PTX only, which the driver compiles when the program starts";
  for (int64_t arch : options.gpuArchs) {
    FailureOr<std::string> ptx = emitPTX(kernels, arch);
    if (failed(ptx))
      return failure();
    std::string why;
    std::optional<std::string> code = ptxas.empty() ? std::nullopt : assemble(ptxas, *ptx, arch, why);
    if (!ptxas.empty() && !code)
      return kernels.emitError() << why;
    info.images.push_back({arch, true, std::move(*ptx)});
    if (code)
      info.images.push_back({arch, false, std::move(*code)});
  }
  return success();
}

LogicalResult ringconv::lowerForCuda(ModuleOp local, const CompileOptions &options, ProgramInfo &info) {
  for (int64_t arch : options.gpuArchs)
    if (!isKnownArch(arch))
      return emitError(local.getLoc()) << "unknown GPU architecture sm_" << arch;
  CudaOptions cuda;
  cuda.arch = *llvm::min_element(options.gpuArchs);
  cuda.fastKernels = options.vectorize;
  cuda.cudnn = options.localConv == "cudnn";
  cuda.cudnnWorkspace = options.cudnnWorkspace;
  PassManager pm(local.getContext());
  pm.enableVerifier(!options.quick);
  buildBufferizePipeline(pm, /*frees=*/false);
  buildCudaLoweringPipeline(pm, cuda);
  if (failed(pm.run(local)))
    return failure();
  info.cuda.emplace();
  readCuda(local, *info.cuda);
  for (auto kernels : llvm::make_early_inc_range(local.getOps<gpu::GPUModuleOp>())) {
    if (failed(addImages(kernels, options, *info.cuda)))
      return failure();
    kernels.erase();
  }
  return success();
}
