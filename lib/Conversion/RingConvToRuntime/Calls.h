// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls of the host runtime (ringconv/Runtime/Calls.h) in a function whose
// first argument is the rank's context.
#ifndef RINGCONV_LIB_CONVERSION_RINGCONVTORUNTIME_CALLS_H
#define RINGCONV_LIB_CONVERSION_RINGCONVTORUNTIME_CALLS_H

#include "ringconv/Dialect/RingConv/IR/RingConv.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace ringconv {

class RuntimeCalls {
public:
  RuntimeCalls(mlir::ModuleOp module, mlir::func::FuncOp func);

  /// Replaces one operation of ours by calls; false if it is none.
  bool lower(mlir::Operation *op);

  /// Exchange number of each report entry, -1 where it has none.
  llvm::ArrayRef<int64_t> exchanges() const { return exchangeOf; }
  int64_t numExchanges() const { return nextExchange; }

private:
  void lowerGroup(GroupOp op);
  void lowerSend(SendOp op);
  void lowerRecv(RecvOp op);
  void lowerCoord(CoordOp op);
  void lowerLookup(LookupOp op);
  void lowerAllReduce(AllReduceOp op);
  void lowerReduceScatter(ReduceScatterOp op);

  mlir::Value searchRuns(mlir::Value part, llvm::ArrayRef<int64_t> runs);

  mlir::Value i64(int64_t v);
  mlir::Value toI64(mlir::Value index);
  mlir::Value call(llvm::StringRef name, llvm::ArrayRef<mlir::Value> args, mlir::Type result);
  /// Stores sizes and strides of a memref; `data` becomes the address of its
  /// first element, of its last along `reverse` dimensions.
  mlir::Value describe(mlir::Value memref, llvm::ArrayRef<int64_t> reverse, mlir::Value scratch, mlir::Value &data);
  mlir::Value makeScratch(int64_t elements);
  mlir::Value pointerTo(mlir::Value scratch);
  int64_t axesMask(mlir::ArrayAttr axes, MeshAttr mesh);
  MeshAttr mesh(mlir::Operation *op, mlir::FlatSymbolRefAttr name) { return lookupMesh(op, name).getMesh(); }

  mlir::ModuleOp module;
  mlir::func::FuncOp func;
  mlir::OpBuilder b;
  mlir::Location loc;
  mlir::Type pointer;
  mlir::Value context;
  llvm::DenseMap<mlir::Value, int64_t> exchangeOfToken;
  llvm::SmallVector<int64_t> exchangeOf;
  int64_t nextExchange = 0;
  int64_t nextTable = 0;
};

/// After scf-to-cf: each call that gives an error code ends the function with
/// that code unless it is 0; plain returns give 0.
void checkCalls(mlir::func::FuncOp func);

/// True for runtime calls whose i32 result is an error code.
bool givesErrorCode(mlir::func::CallOp call);

} // namespace ringconv

#endif
