// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An epilogue on several neighbouring elements of the result: where its operands
// lie, by what their indices have in common with the result's.
#ifndef RINGCONV_LIB_CONVERSION_RINGCONVTOGPU_EPILOGUEREADER_H
#define RINGCONV_LIB_CONVERSION_RINGCONVTOGPU_EPILOGUEREADER_H

#include "Epilogue.h"
#include "InputReader.h"

namespace ringconv {

/// Elements of the result: pixel, output feature (of all groups) and offset in the
/// result's buffer of the first; the others are the next features, or pixels.
struct OutputPlace {
  mlir::Value pixel, feature, offset;
  bool alongFeatures;
};

class EpilogueReader {
public:
  /// Makes the kernel's arguments for the operands of `shape.epilogue`, if there is
  /// one.
  EpilogueReader(KernelCode &k, const ConvShape &shape, InputReader &input);

  /// The operation on a vector of elements, all of which exist.
  mlir::Value apply(mlir::Value values, const OutputPlace &place);

private:
  /// An operand: the result, a number, or memory, with a stride for each dimension
  /// number that it is indexed by. With the result's strides it is read at the
  /// result's offset.
  struct Operand {
    bool isResult = false, hasStridesOfResult = false;
    mlir::Value scalar, memory;
    llvm::SmallVector<std::pair<int64_t, mlir::OpFoldResult>> strides;
    int64_t alignment = 1; ///< bytes
  };

  Operand describe(int64_t n);
  bool isVector(const Operand &operand, bool alongFeatures, int64_t count);
  mlir::Value offsetOf(const Operand &operand, const OutputPlace &place);
  llvm::SmallVector<mlir::Value> read(const Operand &operand, const OutputPlace &place, int64_t count);

  KernelCode &k;
  const ConvShape &shape;
  InputReader &input;
  llvm::SmallVector<Operand> operands;
};

} // namespace ringconv

#endif
