// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RINGCONV_LIB_TARGET_PROGRAMDESCRIPTOR_H
#define RINGCONV_LIB_TARGET_PROGRAMDESCRIPTOR_H

#include "ringconv/Dialect/RingConv/IR/RingConv.h"
#include "ringconv/Dialect/RingConv/Transforms/Report.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/IR/Module.h"

#include <optional>

namespace ringconv {

/// One argument or result of the entry, as the user wrote it.
struct OperandInfo {
  std::string name;
  mlir::RankedTensorType whole, local;
  ShardingAttr sharding;
  bool parameter = false;
};

/// What ringconv_cuda_program says.
struct CudaInfo {
  struct Image {
    int64_t arch;
    bool isText;
    std::string bytes;
  };
  struct Kernel {
    std::string name;
    int64_t sharedBytes;
  };
  std::vector<Image> images;
  std::vector<Kernel> kernels;
  std::vector<std::string> constants; ///< names of globals of the module
  std::vector<int64_t> sums;          ///< axes of each communicator for sums
  int64_t arenaBytes = 0;
  bool hasBoxes = false;
  bool usesCudnn = false;
};

/// What ringconv_program says, read off the partitioned function.
struct ProgramInfo {
  std::string entry, target, cpuFeatures;
  uint64_t hash = 0;
  MeshAttr mesh;
  std::vector<OperandInfo> inputs, outputs;
  FuncReport report;
  std::vector<int64_t> exchangeOf; ///< by report entry, -1: none
  int64_t numExchanges = 0;
  std::optional<CudaInfo> cuda; ///< none: for the host

  static mlir::FailureOr<ProgramInfo> read(mlir::func::FuncOp partitioned, MeshAttr mesh);
};

/// Adds to the module: the entry ENTRY_rank over @ENTRY, ENTRY_reference over
/// @reference (empty: none), the descriptor ENTRY_program, and the functions
/// of the emitted library.
void emitProgram(llvm::Module &module, const ProgramInfo &info, llvm::StringRef reference);

} // namespace ringconv

#endif
