// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One function on its way to upstream's mpi dialect. That dialect passes dense
// memrefs of one dimension: its lowering counts only the first. Pieces are
// packed into such buffers and unpacked after their wait.
#ifndef RINGCONV_LIB_CONVERSION_RINGCONVTOMPI_MPI_H
#define RINGCONV_LIB_CONVERSION_RINGCONVTOMPI_MPI_H

#include "ringconv/Dialect/RingConv/IR/RingConv.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"

namespace ringconv {

class MPICalls {
public:
  /// Adds to the beginning of `func` what asks for the communicator and the
  /// rank, and checks the number of processes.
  MPICalls(mlir::func::FuncOp func, MeshAttr mesh);

  /// The group and the waits of its token.
  mlir::LogicalResult lowerGroup(GroupOp op);
  void lowerCoord(CoordOp op);
  void lowerAllReduce(AllReduceOp op);
  void lowerStartReduce(StartReduceOp op);
  void lowerReduceScatter(ReduceScatterOp op);

private:
  /// A piece in flight: its request, and the buffer that it travels in.
  struct Piece {
    mlir::Value request, buffer;
  };
  using Pieces = llvm::SmallVector<Piece>;

  mlir::Value index(int64_t value);
  mlir::Value toI32(mlir::Value index);
  /// A buffer of one dimension with the product of `sizes` elements.
  mlir::Value allocate(llvm::ArrayRef<mlir::Value> sizes, mlir::Type element);
  llvm::SmallVector<mlir::Value> sizesOf(mlir::Value memref);
  /// The buffer as a row-major box of `sizes`, along `reverse` from the last
  /// element.
  mlir::Value view(mlir::Value buffer, llvm::ArrayRef<mlir::Value> sizes, llvm::ArrayRef<int64_t> reverse = {});
  void copy(mlir::Value from, mlir::Value to);
  /// Rank of a position in the mesh, as i32.
  mlir::Value rankOf(mlir::Value position);
  mlir::Value coordOf(llvm::ArrayRef<mlir::Attribute> axes);

  // Groups: posted where the group stands, completed where the wait does.
  mlir::LogicalResult post(mlir::Block &from, mlir::IRMapping &map, Pieces &pieces);
  mlir::LogicalResult postIf(mlir::Operation *op, mlir::IRMapping &map, Pieces &pieces);
  mlir::LogicalResult postFor(mlir::Operation *op, mlir::IRMapping &map);
  void postSend(SendOp op, mlir::IRMapping &map, Pieces &pieces);
  void postRecv(RecvOp op, mlir::IRMapping &map, Pieces &pieces);
  /// For a rank that takes no part: an empty message to itself.
  Piece postNothing(mlir::Operation *piece);
  void complete(mlir::Block &from, mlir::IRMapping &map, llvm::ArrayRef<Piece> pieces);
  void unpack(mlir::Block &from, mlir::IRMapping &map, llvm::ArrayRef<Piece> &pieces);

  // Sums.
  mlir::Value communicatorOf(llvm::ArrayRef<mlir::Attribute> axes);
  /// The sum of a dense box over the ranks of `axes`, in a new buffer.
  mlir::Value sum(mlir::Value memref, llvm::ArrayRef<mlir::Attribute> axes);
  void sumInPlace(mlir::Value memref, llvm::ArrayRef<mlir::Attribute> axes);

  MeshAttr mesh;
  mlir::OpBuilder b;
  mlir::Location loc;
  mlir::Value world, rank, position; ///< rank: i32, position: index
  int64_t nextTag = 0;
  mlir::Value tag, emptyTag; ///< of the group at hand
};

} // namespace ringconv

#endif
