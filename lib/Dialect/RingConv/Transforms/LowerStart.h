// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the lowerings of exchanges share: index arithmetic on mixed values, and
// the numbers of ranks.
#ifndef RINGCONV_LIB_TRANSFORMS_LOWERSTART_H
#define RINGCONV_LIB_TRANSFORMS_LOWERSTART_H

#include "ringconv/Dialect/RingConv/IR/RingConv.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace ringconv {

struct Indices {
  mlir::OpBuilder &b;
  mlir::Location loc;
  mlir::FlatSymbolRefAttr meshName;
  MeshAttr mesh;

  mlir::Value value(mlir::OpFoldResult v) { return mlir::getValueOrCreateConstantIndexOp(b, loc, v); }
  mlir::Value constant(int64_t c) { return mlir::arith::ConstantIndexOp::create(b, loc, c); }
  mlir::Value add(mlir::Value x, mlir::Value y) { return mlir::arith::AddIOp::create(b, loc, x, y); }
  mlir::Value sub(mlir::Value x, mlir::Value y) { return mlir::arith::SubIOp::create(b, loc, x, y); }
  mlir::Value mul(mlir::Value x, mlir::Value y) { return mlir::arith::MulIOp::create(b, loc, x, y); }
  mlir::Value compare(mlir::arith::CmpIPredicate predicate, mlir::Value x, mlir::Value y) {
    return mlir::arith::CmpIOp::create(b, loc, predicate, x, y);
  }
  /// x and y, where null is true.
  mlir::Value both(mlir::Value x, mlir::Value y) {
    return !x ? y : !y ? x : mlir::arith::AndIOp::create(b, loc, x, y).getResult();
  }
  mlir::Value coord(llvm::ArrayRef<mlir::StringAttr> axes) {
    return CoordOp::create(b, loc, meshName,
                           b.getArrayAttr(llvm::SmallVector<mlir::Attribute>(axes.begin(), axes.end())));
  }
  mlir::Value self() { return coord(mesh.getAxes()); }
  mlir::OpFoldResult lookup(mlir::Value part, TableAttr table) {
    if (auto c = table.constant())
      return b.getIndexAttr(*c);
    return LookupOp::create(b, loc, part, table).getResult();
  }

  /// `body` under the condition, if there is one.
  void when(mlir::Value condition, llvm::function_ref<void()> body);
  /// `body` for 0 .. count - 1, the first and only time with 0.
  void repeat(mlir::OpFoldResult count, llvm::function_ref<void(mlir::Value)> body);
};

/// Positions of axes in the mesh.
std::vector<int64_t> axisNumbers(MeshAttr mesh, llvm::ArrayRef<mlir::StringAttr> axes);

/// The messages of an exchange go into the group at `ix`, what clears its slabs
/// before it, its copies behind `wait`.
void lowerExchange(Indices &ix, mlir::Value shard, llvm::ArrayRef<HaloDimAttr> dims, llvm::ArrayRef<mlir::Value> slabs,
                   mlir::Operation *wait);
/// The messages of a redistribution.
void lowerBoxes(Indices &ix, RedistributeOp op);

} // namespace ringconv

#endif
