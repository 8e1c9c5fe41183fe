// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls of NCCL and of the CUDA driver in host code, by their names. Work on the
// communication stream is ordered with the compute stream by two events for each
// exchange:
//
//   compute        ... pack ---+                      +--- unpack, borders
//                              | ready       arrived  |
//   communication              +--- sends, receives --+
#ifndef RINGCONV_LIB_CONVERSION_RINGCONVTONCCL_NCCLCALLS_H
#define RINGCONV_LIB_CONVERSION_RINGCONVTONCCL_NCCLCALLS_H

#include "../RingConvToCUDA/DriverCalls.h"

namespace ringconv {

class NCCLCalls : public DriverCalls {
public:
  /// `sums` are bit masks of the mesh axes along which sums of the module go,
  /// each once.
  NCCLCalls(mlir::ModuleOp module, mlir::func::FuncOp func, llvm::SmallVectorImpl<int64_t> &sums)
      : DriverCalls(module, func), sums(sums) {}

  /// Whether a size could not be computed; then there is a diagnostic.
  bool hasFailed() const { return failed; }

protected:
  void beginGroup(GroupOp op, int64_t exchange) override;
  void postGroup(GroupOp op, int64_t exchange) override;
  void waitGroup(WaitOp op, int64_t exchange) override;
  void lowerAllReduce(AllReduceOp op) override;
  void lowerStartReduce(StartReduceOp op) override;
  void lowerReduceScatter(ReduceScatterOp op) override;

private:
  /// Sums in flight: dense copies of tensors, or the tensors themselves.
  struct Sums {
    int64_t exchange;
    mlir::Value count; ///< of all their elements
    llvm::SmallVector<mlir::Value> tensors, dense;
  };
  Sums startSums(mlir::ValueRange tensors, mlir::ArrayAttr axes, MeshAttr mesh);
  void finishSums(const Sums &sums);
  mlir::Value makeDense(mlir::Value memref);

  int64_t stagingBytes(GroupOp op);
  void emitMessages(int64_t exchange, mlir::Value count);
  void onCommunicationStream(int64_t exchange, llvm::function_ref<void(mlir::Value stream)> body);
  void waitForArrival(int64_t exchange);
  mlir::Value communicator(mlir::ArrayAttr axes, MeshAttr mesh);
  mlir::Value event(int64_t exchange, int64_t which);
  void ifAny(mlir::Value count, llvm::function_ref<void()> body);
  mlir::Value packForScatter(ReduceScatterOp op, ScatterGroup &group, llvm::ArrayRef<mlir::OpFoldResult> block);

  llvm::DenseMap<int64_t, mlir::Value> staging; ///< of each exchange
  llvm::SmallVectorImpl<int64_t> &sums;
  bool failed = false;
};

} // namespace ringconv

#endif
