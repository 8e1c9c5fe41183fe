// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The sum of a convolution in steps of several features and one tap: blocks of
// features outermost, then taps row-major. Neighbouring steps read nearly the same
// pixels.
#ifndef RINGCONV_LIB_CONVERSION_RINGCONVTOGPU_TAPWALK_H
#define RINGCONV_LIB_CONVERSION_RINGCONVTOGPU_TAPWALK_H

#include "ConvShape.h"
#include "CopyPipeline.h"

namespace ringconv {

struct SumStep {
  /// True (i1) if there is such a step.
  mlir::Value live;
  llvm::SmallVector<mlir::Value> taps;
  /// First input feature of the block.
  mlir::Value feature;
};

class TapWalk : public SumWalk {
public:
  TapWalk(KernelCode &k, const ConvShape &shape, int64_t block) : k(k), shape(shape), block(block) {}

  SumStep at(mlir::ValueRange state, mlir::Value live) const {
    return {live, llvm::SmallVector<mlir::Value>(state.drop_back()), state.back()};
  }

  mlir::Value steps() override { return k.constant(llvm::divideCeil(shape.features, block) * shape.taps()); }
  llvm::SmallVector<mlir::Value> begin() override {
    return llvm::SmallVector<mlir::Value>(shape.dims.size() + 1, k.constant(0));
  }
  llvm::SmallVector<mlir::Value> next(mlir::ValueRange state) override {
    llvm::SmallVector<mlir::Value> result(state);
    mlir::Value carry = k.yes();
    for (size_t d = shape.dims.size(); d-- > 0;) {
      mlir::Value tap = k.select(carry, k.add(state[d], 1), state[d]);
      carry = k.equal(tap, shape.dims[d].taps);
      result[d] = k.select(carry, k.constant(0), tap);
    }
    result.back() = k.select(carry, k.add(state.back(), block), state.back());
    return result;
  }

private:
  KernelCode &k;
  const ConvShape &shape;
  int64_t block;
};

} // namespace ringconv

#endif
