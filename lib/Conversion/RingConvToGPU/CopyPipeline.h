// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The main loop of the matrix-product kernels: a ring of slots in shared memory
// that asynchronous copies fill ahead of the arithmetic.
//
//   fill slots 0 .. n-2
//   for each step:  wait until this step's slot is full; barrier
//                   fill the slot that the previous step read, n-1 steps ahead
//                   compute from this step's slot
//
// One barrier a step serves both: it publishes the copies of all threads, and it
// says that all warps have read the slot that is filled next. Copies beyond the
// last step write zeros that nobody reads, so that the loop has no branch.
#ifndef RINGCONV_LIB_CONVERSION_RINGCONVTOGPU_COPYPIPELINE_H
#define RINGCONV_LIB_CONVERSION_RINGCONVTOGPU_COPYPIPELINE_H

#include "KernelCode.h"

namespace ringconv {

/// The steps of a kernel's sum, as loop-carried numbers.
class SumWalk {
public:
  virtual ~SumWalk() = default;
  virtual mlir::Value steps() = 0;
  virtual llvm::SmallVector<mlir::Value> begin() = 0;
  virtual llvm::SmallVector<mlir::Value> next(mlir::ValueRange state) = 0;
};

class CopyPipeline {
public:
  CopyPipeline(KernelCode &k, mlir::Type element, int64_t slotElements, int64_t slots);

  mlir::Value memory() const { return shared; }
  int64_t bytes() const;

  /// Copies `elements` elements from `source`[`from`] to shared memory, or zeros
  /// where `reads` does not hold. 16 bytes at once pass by the L1 cache.
  void copy(mlir::Value source, mlir::Value from, mlir::Value to, int64_t elements, mlir::Value reads);

  /// Runs over the steps of `walk`. `fill` copies the operands of a step, if it is
  /// `live` (i1), to the slot that begins at the given i32; `compute` adds the
  /// products of the slot at the given i32 to the sums.
  llvm::SmallVector<mlir::Value>
  run(SumWalk &walk, mlir::ValueRange sums,
      llvm::function_ref<void(mlir::ValueRange state, mlir::Value live, mlir::Value slot)> fill,
      llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value slot, mlir::ValueRange sums)> compute);

private:
  void commit();
  void waitForOldest();
  mlir::Value nextSlot(mlir::Value slot);

  KernelCode &k;
  int64_t slotElements, slots;
  mlir::Value shared, token;
  llvm::SmallVector<mlir::Value> copies;
};

} // namespace ringconv

#endif
