// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the forms with lanes along the columns share (ConvColumns.cpp and
// PoolColumns.cpp).
//
// A LINE is the columns that a block of outputs reads for one tap row, one after
// the other, whether they lie in a slab or in the shard. It stays in the first
// cache. Columns of a line and outputs are split so that each tap of a vector of
// outputs reads neighbours:
//
//   stride s, no holes:      column p of the line is phase p % s, place p / s
//   stride 1, base dilation: output o is of class o % base, place o / base; a
//                            class has the taps that meet no hole
//
// Vectors that touch padding take each tap under a mask.
#ifndef RINGCONV_LIB_CONVERSION_RINGCONVTOLOOPS_COLUMNLINES_H
#define RINGCONV_LIB_CONVERSION_RINGCONVTOLOOPS_COLUMNLINES_H

#include "WindowAccess.h"

namespace ringconv {

class ColumnLines : protected WindowAccess {
protected:
  /// Reads `place + shift` of phase `phase` of a line.
  struct TapColumn {
    int64_t tap, phase, shift;
  };
  /// Outputs `place * number of classes + remainder`.
  struct OutputClass {
    int64_t remainder;
    llvm::SmallVector<TapColumn> taps;
  };

  ColumnLines(LocalWindow window, const VectorShape &shape, const LoopOptions &options);

  /// Why the form does not fit, or null.
  static const char *check(LocalWindow window, const VectorShape &shape);

  /// Makes the buffers: `planes` numbers per output. free() after the loops.
  void allocate(int64_t planes);
  void free();
  /// The body for each block of outputs of each row, with the row's outputs.
  void forBlocks(Values outputs, llvm::function_ref<void(llvm::ArrayRef<mlir::Value>)> body);
  /// The same number in all outputs of the block.
  void start(int64_t plane, mlir::Value number);
  /// The lines of all tap rows that read an element.
  void fillLines(mlir::Value inputFeature);
  /// The body for each vector of outputs of each class: `place`, and per tap of
  /// the class a mask, or none where all elements are valid.
  void
  forTiles(llvm::function_ref<void(const OutputClass &, mlir::Value place, llvm::ArrayRef<mlir::Value> masks)> body);
  /// The body for each line, with its tap row.
  Values
  overLines(mlir::ValueRange state,
            llvm::function_ref<Values(mlir::Value line, llvm::ArrayRef<mlir::Value> taps, mlir::ValueRange)> body);
  mlir::Value loadColumns(mlir::Value line, const TapColumn &tap, mlir::Value place);
  mlir::Value loadPlane(int64_t plane, const OutputClass &outputs, mlir::Value place);
  void storePlane(mlir::Value v, int64_t plane, const OutputClass &outputs, mlir::Value place);
  /// Writes the block to the result, at `at` but for the column; `finish` makes
  /// an output of its planes (vectors, or numbers).
  void storeBlock(Values at, llvm::ArrayRef<int64_t> planes, llvm::function_ref<mlir::Value(mlir::ValueRange)> finish);
  /// Taps of the block's outputs that read an element of a valid row; per line.
  mlir::Value countTaps();

  const LoopOptions &options;
  llvm::SmallVector<OutputClass> classes;

private:
  int64_t rank() const { return shape.taps.size(); }
  int64_t numClasses() const { return classes.size(); }
  mlir::Value planeOf(int64_t plane, int64_t remainder) { return l.constant(plane * numClasses() + remainder); }
  void enterBlock(mlir::Value k);
  void copyColumns(mlir::Value line, const Source &source, mlir::Value begin, mlir::Value end, mlir::Value base);
  void copyElements(mlir::Value line, const Source &source, mlir::Value begin, mlir::Value end, mlir::Value base);
  mlir::Value copyVectors(mlir::Value line, const Source &source, mlir::Value begin, mlir::Value end, mlir::Value base);
  void fillLine(mlir::Value line, llvm::ArrayRef<mlir::Value> coords, mlir::Value inputFeature);
  mlir::Value loadSource(const Source &source, mlir::Value column);
  mlir::Value maskOf(const TapColumn &tap, mlir::Value place);
  void storeVectors(Values at, llvm::ArrayRef<int64_t> planes, mlir::Value places,
                    llvm::function_ref<mlir::Value(mlir::ValueRange)> finish);

  /// Phases of a line; columns from the first to the last that a place reads.
  int64_t phases, reach;
  /// With holes: the offset modulo the base dilation, and the first column of a
  /// line from the last element at or before the offset.
  int64_t phase, firstShift = 0;
  /// lines[line][phase][place], tapRows[line][row dimension],
  /// sums[plane * classes + remainder][place].
  mlir::Value lines, tapRows, sums;
  // Of the output row.
  llvm::SmallVector<TapBounds> rows;
  mlir::Value numLines;
  // Of the block: element of the first column of its lines, its first place,
  // places, vectors of them, outputs.
  mlir::Value lineBegin, firstPlace, places, vectors, blockOutputs;
};

} // namespace ringconv

#endif
