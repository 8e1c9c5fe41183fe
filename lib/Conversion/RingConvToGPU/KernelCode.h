// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Short words for the code of a kernel that works on tiles: arguments, 32-bit
// arithmetic that folds, shared memory.
//
// Numbers are i32 and become an `index` once per address (see `signedIndex` and
// `unsignedIndex`), since LLVM then multiplies and adds 32-bit registers.
// Constants are added after that conversion: they go into the address of the
// instruction.
#ifndef RINGCONV_LIB_CONVERSION_RINGCONVTOGPU_KERNELCODE_H
#define RINGCONV_LIB_CONVERSION_RINGCONVTOGPU_KERNELCODE_H

#include "Kernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace ringconv {

class KernelCode {
public:
  using Value = mlir::Value;
  using Predicate = mlir::arith::CmpIPredicate;

  /// Begins the kernel `name`; its launch will stand in front of `op`.
  KernelCode(KernelModule &kernels, mlir::Operation *op, llvm::StringRef name)
      : kernel(kernels, op, name), b(kernel.body), loc(kernel.loc), kernels(kernels) {}

  // ---- Arguments ----

  /// The address of a memref's first element, as a memref of one dimension that is
  /// as long as 32-bit indices reach.
  Value pointer(Value memref);
  /// An i32: a constant, or an argument.
  Value number(mlir::OpFoldResult n);

  // ---- Threads and memory ----
  Value threadId();
  Value blockId(mlir::gpu::Dimension d);
  void barrier() { mlir::gpu::BarrierOp::create(b, loc); }
  /// `count` elements of the block's dynamic shared memory, from its begin.
  Value shared(mlir::Type element, int64_t count);

  // ---- i32 arithmetic ----
  Value constant(int64_t v) { return mlir::arith::ConstantIntOp::create(b, loc, b.getI32Type(), v); }
  Value yes() { return mlir::arith::ConstantIntOp::create(b, loc, b.getI1Type(), 1); }
  Value index(int64_t v) { return mlir::arith::ConstantIndexOp::create(b, loc, v); }
  Value like(Value x, int64_t v) { return mlir::arith::ConstantIntOp::create(b, loc, x.getType(), v); }
  Value add(Value x, Value y) { return b.createOrFold<mlir::arith::AddIOp>(loc, x, y); }
  Value add(Value x, int64_t y) { return add(x, like(x, y)); }
  Value sub(Value x, Value y) { return b.createOrFold<mlir::arith::SubIOp>(loc, x, y); }
  Value mul(Value x, Value y) { return b.createOrFold<mlir::arith::MulIOp>(loc, x, y); }
  Value mul(Value x, int64_t y) { return mul(x, like(x, y)); }
  /// Unsigned quotient and remainder.
  Value div(Value x, Value y) { return b.createOrFold<mlir::arith::DivUIOp>(loc, x, y); }
  Value div(Value x, int64_t y) { return div(x, like(x, y)); }
  Value rem(Value x, Value y) { return b.createOrFold<mlir::arith::RemUIOp>(loc, x, y); }
  Value rem(Value x, int64_t y) { return rem(x, like(x, y)); }
  Value bitAnd(Value x, Value y) { return b.createOrFold<mlir::arith::AndIOp>(loc, x, y); }
  Value bitAnd(Value x, int64_t y) { return bitAnd(x, like(x, y)); }
  Value bitOr(Value x, Value y) { return b.createOrFold<mlir::arith::OrIOp>(loc, x, y); }
  Value bitXor(Value x, Value y) { return b.createOrFold<mlir::arith::XOrIOp>(loc, x, y); }
  Value shiftLeft(Value x, Value y) { return b.createOrFold<mlir::arith::ShLIOp>(loc, x, y); }
  Value shiftLeft(Value x, int64_t y) { return shiftLeft(x, like(x, y)); }
  Value shiftRight(Value x, int64_t y) { return b.createOrFold<mlir::arith::ShRUIOp>(loc, x, like(x, y)); }
  Value compare(Predicate p, Value x, Value y) { return b.createOrFold<mlir::arith::CmpIOp>(loc, p, x, y); }
  Value equal(Value x, int64_t y) { return compare(Predicate::eq, x, like(x, y)); }
  Value notZero(Value x) { return compare(Predicate::ne, x, like(x, 0)); }
  /// 0 <= x < y, for a signed x and a y that is not negative.
  Value within(Value x, Value y) { return compare(Predicate::ult, x, y); }
  Value within(Value x, int64_t y) { return within(x, like(x, y)); }
  Value select(Value c, Value x, Value y) { return b.createOrFold<mlir::arith::SelectOp>(loc, c, x, y); }

  // ---- Addresses ----
  Value signedIndex(Value x) { return b.createOrFold<mlir::arith::IndexCastOp>(loc, b.getIndexType(), x); }
  Value unsignedIndex(Value x) { return b.createOrFold<mlir::arith::IndexCastUIOp>(loc, b.getIndexType(), x); }
  /// An address that is not negative plus a constant, for the immediate of the
  /// instruction.
  Value offset(Value address, int64_t v);
  /// The same where the address may be negative because it is not used.
  Value signedOffset(Value address, int64_t v);

  /// The body where the condition holds.
  void when(Value condition, llvm::function_ref<void()> body);

  /// A counted loop that carries `state`; the body gives the next state.
  llvm::SmallVector<Value> loop(Value begin, Value end, mlir::ValueRange state,
                                llvm::function_ref<llvm::SmallVector<Value>(Value, mlir::ValueRange)> body);

  KernelBuilder kernel;
  mlir::OpBuilder &b;
  mlir::Location loc;

private:
  KernelModule &kernels;
};

} // namespace ringconv

#endif
