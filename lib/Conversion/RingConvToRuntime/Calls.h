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

/// Who takes part in a reduce-scatter, and what each of them keeps.
class ScatterGroup {
public:
  ScatterGroup(ReduceScatterOp op, MeshAttr mesh);

  int64_t members = 1;
  /// Whether the result adds a cut to dimension d.
  bool isCut(int64_t d);
  /// Of such a dimension, what each member keeps, in the order of positions.
  std::vector<halo::Interval> parts(int64_t d);

private:
  int64_t partOf(int64_t member, DimShardingAttr dim);

  ReduceScatterOp op;
  MeshAttr mesh;
  llvm::SmallVector<int64_t> axes;
};

/// How groups travel and sums are made is the host runtime's way here; a target
/// with another way overrides what is virtual.
class RuntimeCalls {
public:
  RuntimeCalls(mlir::ModuleOp module, mlir::func::FuncOp func);
  virtual ~RuntimeCalls() = default;

  /// Replaces one operation of ours by calls; false if it is none.
  bool lower(mlir::Operation *op);

  /// Exchange number of each report entry, -1 where it has none.
  llvm::ArrayRef<int64_t> exchanges() const { return exchangeOf; }
  int64_t numExchanges() const { return nextExchange; }

protected:
  /// In front of the group; the place of its post, behind all pieces; the place
  /// of each wait.
  virtual void beginGroup(GroupOp op, int64_t exchange);
  virtual void postGroup(GroupOp op, int64_t exchange);
  virtual void waitGroup(WaitOp op, int64_t exchange);
  virtual void lowerAllReduce(AllReduceOp op);
  virtual void lowerStartReduce(StartReduceOp op);
  virtual void lowerReduceScatter(ReduceScatterOp op);
  virtual void lowerMark(MarkOp op);

  void lowerGroup(GroupOp op);
  void lowerSend(SendOp op);
  void lowerRecv(RecvOp op);
  void lowerCoord(CoordOp op);
  void lowerKept(KeptOp op);

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
  llvm::SmallVector<int64_t> exchangeOf;
  int64_t nextExchange = 0;
  int64_t nextKept = 0;
};

/// The rank's context becomes the first argument. Attributes of arguments stay.
void addContext(mlir::func::FuncOp func);
/// Attributes that tell of whole tensors, and name the mesh, which goes too.
void dropShardAttributes(mlir::func::FuncOp func);
/// Replaces all operations of ours by calls. Groups first: they take their waits
/// with them.
void lowerToCalls(mlir::func::FuncOp func, RuntimeCalls &calls);
/// Control flow to blocks.
mlir::LogicalResult lowerToBlocks(mlir::func::FuncOp func);

/// An error code as the result of a function without results: 0 at each return.
void returnZero(mlir::func::FuncOp func);

/// After that: each call that gives an error code ends the function with
/// that code unless it is 0; plain returns give 0. The function gets the code as
/// its result.
void checkCalls(mlir::func::FuncOp func);

/// True for runtime calls whose i32 result is an error code.
bool givesErrorCode(mlir::func::CallOp call);

} // namespace ringconv

#endif
