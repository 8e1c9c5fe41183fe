// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Short words for the index arithmetic, loops and conversions of kernels.
#ifndef RINGCONV_LIB_CONVERSION_RINGCONVTOLOOPS_LOOPBUILDER_H
#define RINGCONV_LIB_CONVERSION_RINGCONVTOLOOPS_LOOPBUILDER_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace ringconv {

struct Loops {
  mlir::OpBuilder &b;
  mlir::Location loc;

  using Value = mlir::Value;

  Value constant(int64_t v) { return mlir::arith::ConstantIndexOp::create(b, loc, v); }
  Value add(Value x, Value y) { return mlir::arith::AddIOp::create(b, loc, x, y, mlir::arith::IntegerOverflowFlags::nsw); }
  Value add(Value x, int64_t y) { return y ? add(x, constant(y)) : x; }
  Value sub(Value x, Value y) { return mlir::arith::SubIOp::create(b, loc, x, y, mlir::arith::IntegerOverflowFlags::nsw); }
  Value mul(Value x, Value y) { return mlir::arith::MulIOp::create(b, loc, x, y, mlir::arith::IntegerOverflowFlags::nsw); }
  Value mul(Value x, int64_t y) { return y == 1 ? x : mul(x, constant(y)); }
  Value floorDiv(Value x, int64_t y) { return mlir::arith::FloorDivSIOp::create(b, loc, x, constant(y)); }
  Value compare(mlir::arith::CmpIPredicate p, Value x, Value y) { return mlir::arith::CmpIOp::create(b, loc, p, x, y); }
  Value less(Value x, Value y) { return compare(mlir::arith::CmpIPredicate::slt, x, y); }
  Value lessEqual(Value x, Value y) { return compare(mlir::arith::CmpIPredicate::sle, x, y); }
  Value equal(Value x, Value y) { return compare(mlir::arith::CmpIPredicate::eq, x, y); }
  Value both(Value x, Value y) { return mlir::arith::AndIOp::create(b, loc, x, y); }
  /// Extent of a memref, folded where it is static.
  Value size(Value memref, int64_t d) {
    auto type = mlir::cast<mlir::MemRefType>(memref.getType());
    if (!type.isDynamicDim(d))
      return constant(type.getDimSize(d));
    return mlir::memref::DimOp::create(b, loc, memref, d);
  }

  /// A loop that carries `state`; the body gives the next state.
  llvm::SmallVector<Value> forLoop(Value begin, Value end, mlir::ValueRange state,
                                   llvm::function_ref<llvm::SmallVector<Value>(Value, mlir::ValueRange)> body,
                                   int64_t step = 1) {
    auto loop = mlir::scf::ForOp::create(b, loc, begin, end, constant(step), state);
    mlir::OpBuilder::InsertionGuard guard(b);
    if (state.empty())
      b.setInsertionPoint(loop.getBody()->getTerminator());
    else
      b.setInsertionPointToEnd(loop.getBody());
    llvm::SmallVector<Value> next = body(loop.getInductionVar(), loop.getRegionIterArgs());
    if (!state.empty())
      mlir::scf::YieldOp::create(b, loc, next);
    return llvm::SmallVector<Value>(loop.getResults());
  }

  /// The state of `then` under the condition, else the state as it is.
  llvm::SmallVector<Value> ifElse(Value condition, mlir::ValueRange state,
                                  llvm::function_ref<llvm::SmallVector<Value>()> then) {
    auto branch = mlir::scf::IfOp::create(b, loc, mlir::TypeRange(state), condition, true);
    mlir::OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(branch.thenBlock());
    mlir::scf::YieldOp::create(b, loc, then());
    b.setInsertionPointToEnd(branch.elseBlock());
    mlir::scf::YieldOp::create(b, loc, state);
    return llvm::SmallVector<Value>(branch.getResults());
  }

  /// One of two values, of which only the chosen is computed.
  Value select(mlir::Type type, Value condition, llvm::function_ref<Value()> yes, llvm::function_ref<Value()> no) {
    auto branch = mlir::scf::IfOp::create(b, loc, mlir::TypeRange(type), condition, true);
    mlir::OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(branch.thenBlock());
    mlir::scf::YieldOp::create(b, loc, yes());
    b.setInsertionPointToEnd(branch.elseBlock());
    mlir::scf::YieldOp::create(b, loc, no());
    return branch.getResult(0);
  }

  Value zero(mlir::Type type) { return mlir::arith::ConstantOp::create(b, loc, b.getZeroAttr(type)); }
  /// The neutral value of max: -inf, or the smallest integer.
  Value lowest(mlir::Type type) {
    if (auto floats = mlir::dyn_cast<mlir::FloatType>(type))
      return mlir::arith::ConstantOp::create(
          b, loc, b.getFloatAttr(type, llvm::APFloat::getInf(floats.getFloatSemantics(), /*Negative=*/true)));
    return mlir::arith::ConstantOp::create(
        b, loc, b.getIntegerAttr(type, llvm::APInt::getSignedMinValue(type.getIntOrFloatBitWidth())));
  }
  Value sum(Value x, Value y) {
    if (mlir::isa<mlir::FloatType>(x.getType()))
      return mlir::arith::AddFOp::create(b, loc, x, y);
    return mlir::arith::AddIOp::create(b, loc, x, y);
  }
  /// x * y + z; floats fused, so that plain and vectorised kernels agree.
  Value multiplyAdd(Value x, Value y, Value z) {
    if (mlir::isa<mlir::FloatType>(x.getType()))
      return mlir::math::FmaOp::create(b, loc, x, y, z);
    return mlir::arith::AddIOp::create(b, loc, mlir::arith::MulIOp::create(b, loc, x, y), z);
  }
  /// To a wider or narrower type of the same kind.
  Value convert(Value v, mlir::Type type) {
    mlir::Type from = v.getType();
    if (from == type)
      return v;
    bool wider = type.getIntOrFloatBitWidth() > from.getIntOrFloatBitWidth();
    if (mlir::isa<mlir::FloatType>(type))
      return wider ? mlir::arith::ExtFOp::create(b, loc, type, v).getResult()
                   : mlir::arith::TruncFOp::create(b, loc, type, v).getResult();
    return wider ? mlir::arith::ExtSIOp::create(b, loc, type, v).getResult()
                 : mlir::arith::TruncIOp::create(b, loc, type, v).getResult();
  }
};

} // namespace ringconv

#endif
