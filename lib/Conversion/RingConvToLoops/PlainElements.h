// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One element of the result of a local convolution or pool, of any form, by
// plain loops: what host loops compute one after the other and GPU threads side
// by side. For each element the window is walked in the order input feature,
// then taps row-major, so that every kernel that uses this gives the same bits.
#ifndef RINGCONV_LIB_CONVERSION_RINGCONVTOLOOPS_PLAINELEMENTS_H
#define RINGCONV_LIB_CONVERSION_RINGCONVTOLOOPS_PLAINELEMENTS_H

#include "LoopBuilder.h"
#include "ringconv/Dialect/RingConv/IR/RingConv.h"

namespace ringconv {

/// The extended input: reads an element by its coordinates, extended in halo
/// dimensions.
class ExtendedInput {
public:
  ExtendedInput(Loops &l, mlir::Value shard, mlir::ValueRange halos, llvm::ArrayRef<int64_t> haloDims);
  mlir::Value read(llvm::ArrayRef<mlir::Value> index) {
    return read(llvm::SmallVector<mlir::Value>(index), haloDims.size());
  }

private:
  /// Coordinates of the first `count` halo dimensions are still extended; those
  /// of the later ones are the shard's.
  mlir::Value read(llvm::SmallVector<mlir::Value> index, size_t count);

  Loops &l;
  mlir::Value shard;
  mlir::ValueRange halos;
  llvm::ArrayRef<int64_t> haloDims;
  llvm::SmallVector<mlir::Value> low, own;
};

/// The window numbers of a local operation as values.
struct WindowValues {
  llvm::SmallVector<mlir::Value> offset, begin, end;

  template <typename OpTy> WindowValues(Loops &l, OpTy op) {
    auto next = op.getScalars().begin();
    auto fill = [&](llvm::ArrayRef<int64_t> list, llvm::SmallVectorImpl<mlir::Value> &values) {
      for (int64_t v : list)
        values.push_back(mlir::ShapedType::isDynamic(v) ? *next++ : l.constant(v));
    };
    fill(op.getOffset(), offset);
    fill(op.getValidBegin(), begin);
    fill(op.getValidEnd(), end);
  }
};

/// `op` must dominate every place where elements are made and stay until then.
class PlainConv {
public:
  /// count: also counts each multiply-add, for instrumented code.
  PlainConv(Loops &l, LocalConvOp op, bool count = false);
  /// Computes and stores the element at the coordinates `y` of the result.
  void element(llvm::ArrayRef<mlir::Value> y);

private:
  mlir::Value term(llvm::ArrayRef<mlir::Value> x, llvm::ArrayRef<mlir::Value> f, mlir::Value sum);

  Loops &l;
  LocalConvOp op;
  bool count;
  WindowValues window;
  ExtendedInput input;
  llvm::SmallVector<mlir::Value> taps;
  mlir::Value features, batches;
};

/// The same for a pool.
class PlainPool {
public:
  PlainPool(Loops &l, LocalPoolOp op);
  void element(llvm::ArrayRef<mlir::Value> y);

private:
  bool isMax() { return kind == PoolKind::Max || kind == PoolKind::ArgMax; }
  llvm::SmallVector<mlir::Value> start(mlir::Type acc);
  /// The state after the tap `t` at the coordinates `x`.
  llvm::SmallVector<mlir::Value> take(llvm::ArrayRef<mlir::Value> x, llvm::ArrayRef<mlir::Value> t,
                                      mlir::ValueRange state);
  mlir::Value result(mlir::ValueRange state, mlir::Type element);

  Loops &l;
  LocalPoolOp op;
  PoolKind kind;
  WindowValues window;
  ExtendedInput input;
  std::optional<ExtendedInput> selector;
  llvm::SmallVector<mlir::Value> taps;
  int64_t windowSize = 1;
};

} // namespace ringconv

#endif
