// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Long sums (gradients of filters: one term per pixel) in SLICES that different
// blocks compute, and a kernel that adds the slices' results in their order.
//
// The number of slices follows from the number of terms alone, so that it does
// not depend on how output features or inputs' features are cut.
#ifndef RINGCONV_LIB_CONVERSION_RINGCONVTOGPU_SPLITSUM_H
#define RINGCONV_LIB_CONVERSION_RINGCONVTOGPU_SPLITSUM_H

#include "CopyPipeline.h"
#include "InputReader.h"
#include "OutputWriter.h"

namespace ringconv {

/// How a sum over input features and taps, in this order, is split: `perSlice`
/// steps of `depth` terms for each of `slices` slices.
struct SplitPlan {
  int64_t depth, perSlice, slices;
  SplitPlan(const ConvShape &shape, int64_t depth);
};

/// Results of slices, in the type of sums.
class SplitSum {
public:
  /// Makes the workspace in front of `op`.
  SplitSum(LocalConvOp op, const ConvShape &shape, const SplitPlan &plan);

  /// The convolution whose result is the first slice; elements from one slice to
  /// the next.
  const ConvShape &sliceShape() const { return slice; }
  mlir::OpFoldResult sliceStride() const { return stride; }

  /// The kernel that adds the slices, then the bias, to the result of `op`. The
  /// workspace ends behind it.
  void finish(KernelModule &kernels);

private:
  LocalConvOp op;
  ConvShape slice;
  mlir::OpFoldResult stride;
  mlir::Value workspace;
};

/// The terms of one slice: each thread follows `rows` terms, `depth` terms further
/// every step. Term i is input feature i / taps and tap i % taps.
class TermWalk : public SumWalk {
public:
  /// `first`: of the rows, within a step. `slice`: of this block.
  TermWalk(KernelCode &k, const ConvShape &shape, const SplitPlan &plan, mlir::Value slice,
           llvm::ArrayRef<mlir::Value> rows)
      : k(k), shape(shape), plan(plan), slice(slice), rows(rows.begin(), rows.end()) {}

  struct Term {
    mlir::Value exists, number, feature;
    llvm::SmallVector<mlir::Value> taps;
  };
  Term at(mlir::ValueRange state, size_t row) const;

  mlir::Value steps() override;
  llvm::SmallVector<mlir::Value> begin() override;
  llvm::SmallVector<mlir::Value> next(mlir::ValueRange state) override;

private:
  KernelCode &k;
  const ConvShape &shape;
  SplitPlan plan;
  mlir::Value slice;
  llvm::SmallVector<mlir::Value> rows;
};

} // namespace ringconv

#endif
