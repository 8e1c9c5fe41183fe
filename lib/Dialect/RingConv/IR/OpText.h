// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The custom directives of the operations' assembly formats, in the shapes that
// TableGen expects. Included once, before the generated definitions.
#ifndef RINGCONV_LIB_DIALECT_OPTEXT_H
#define RINGCONV_LIB_DIALECT_OPTEXT_H

#include "WindowText.h"

namespace ringconv {

using mlir::DenseBoolArrayAttr;
using mlir::DenseI64ArrayAttr;
using mlir::OpAsmParser;
using mlir::OpAsmPrinter;
using mlir::Operation;
using mlir::ParseResult;

static ParseResult parseConvDims(OpAsmParser &p, DenseI64ArrayAttr &input, DenseI64ArrayAttr &filter,
                                 DenseI64ArrayAttr &output) {
  return mlir::failure(parseDims(p, input, "b", "f") || p.parseKeyword("x") || parseDims(p, filter, "o", "i") ||
                       p.parseArrow() || parseDims(p, output, "b", "f"));
}

static void printConvDims(OpAsmPrinter &p, Operation *, DenseI64ArrayAttr input, DenseI64ArrayAttr filter,
                          DenseI64ArrayAttr output) {
  printDims(p, input, "b", "f");
  p << " x ";
  printDims(p, filter, "o", "i");
  p << " -> ";
  printDims(p, output, "b", "f");
}

static ParseResult parsePoolDims(OpAsmParser &p, DenseI64ArrayAttr &input, DenseI64ArrayAttr &output) {
  return mlir::failure(parseDims(p, input, "b", "f") || p.parseArrow() || parseDims(p, output, "b", "f"));
}

static void printPoolDims(OpAsmPrinter &p, Operation *, DenseI64ArrayAttr input, DenseI64ArrayAttr output) {
  printDims(p, input, "b", "f");
  p << " -> ";
  printDims(p, output, "b", "f");
}

static int64_t countSpatial(DenseI64ArrayAttr dims) {
  return llvm::count_if(dims.asArrayRef(), [](int64_t n) { return n >= 0; });
}

static ParseResult parsePoolWindow(OpAsmParser &p, DenseI64ArrayAttr &size, DenseI64ArrayAttr &stride,
                                   DenseI64ArrayAttr &padLow, DenseI64ArrayAttr &padHigh, DenseI64ArrayAttr &lhsDilate,
                                   DenseI64ArrayAttr &rhsDilate, DenseBoolArrayAttr &reverse,
                                   DenseI64ArrayAttr &border, DenseI64ArrayAttr input, bool pool = true) {
  WindowWords w;
  if (parseWindow(p, w, countSpatial(input), pool))
    return mlir::failure();
  auto *ctx = p.getContext();
  size = DenseI64ArrayAttr::get(ctx, w.size);
  stride = DenseI64ArrayAttr::get(ctx, w.stride);
  padLow = DenseI64ArrayAttr::get(ctx, w.padLow);
  padHigh = DenseI64ArrayAttr::get(ctx, w.padHigh);
  lhsDilate = DenseI64ArrayAttr::get(ctx, w.lhsDilate);
  rhsDilate = DenseI64ArrayAttr::get(ctx, w.rhsDilate);
  reverse = DenseBoolArrayAttr::get(ctx, w.reverse);
  border = DenseI64ArrayAttr::get(ctx, w.border);
  return mlir::success();
}

static ParseResult parseConvWindow(OpAsmParser &p, DenseI64ArrayAttr &stride, DenseI64ArrayAttr &padLow,
                                   DenseI64ArrayAttr &padHigh, DenseI64ArrayAttr &lhsDilate,
                                   DenseI64ArrayAttr &rhsDilate, DenseBoolArrayAttr &reverse,
                                   DenseI64ArrayAttr &border, DenseI64ArrayAttr input) {
  DenseI64ArrayAttr size;
  return parsePoolWindow(p, size, stride, padLow, padHigh, lhsDilate, rhsDilate, reverse, border, input, false);
}

static WindowWords makeWords(llvm::ArrayRef<int64_t> size, llvm::ArrayRef<int64_t> stride,
                             llvm::ArrayRef<int64_t> padLow, llvm::ArrayRef<int64_t> padHigh,
                             llvm::ArrayRef<int64_t> lhsDilate, llvm::ArrayRef<int64_t> rhsDilate,
                             llvm::ArrayRef<bool> reverse, llvm::ArrayRef<int64_t> border) {
  WindowWords w;
  w.size.assign(size.begin(), size.end());
  w.stride.assign(stride.begin(), stride.end());
  w.padLow.assign(padLow.begin(), padLow.end());
  w.padHigh.assign(padHigh.begin(), padHigh.end());
  w.lhsDilate.assign(lhsDilate.begin(), lhsDilate.end());
  w.rhsDilate.assign(rhsDilate.begin(), rhsDilate.end());
  w.reverse.assign(reverse.begin(), reverse.end());
  w.border.assign(border.begin(), border.end());
  return w;
}

static void printPoolWindow(OpAsmPrinter &p, Operation *, DenseI64ArrayAttr size, DenseI64ArrayAttr stride,
                            DenseI64ArrayAttr padLow, DenseI64ArrayAttr padHigh, DenseI64ArrayAttr lhsDilate,
                            DenseI64ArrayAttr rhsDilate, DenseBoolArrayAttr reverse, DenseI64ArrayAttr border,
                            DenseI64ArrayAttr) {
  printWindow(p, makeWords(size, stride, padLow, padHigh, lhsDilate, rhsDilate, reverse, border), true);
}

static void printConvWindow(OpAsmPrinter &p, Operation *, DenseI64ArrayAttr stride, DenseI64ArrayAttr padLow,
                            DenseI64ArrayAttr padHigh, DenseI64ArrayAttr lhsDilate, DenseI64ArrayAttr rhsDilate,
                            DenseBoolArrayAttr reverse, DenseI64ArrayAttr border, DenseI64ArrayAttr) {
  printWindow(p, makeWords({}, stride, padLow, padHigh, lhsDilate, rhsDilate, reverse, border), false);
}

static ParseResult parsePoolKind(OpAsmParser &p, mlir::IntegerAttr &kind) {
  llvm::StringRef word;
  auto loc = p.getCurrentLocation();
  if (p.parseKeyword(&word))
    return mlir::failure();
  auto value = symbolizePoolKind(word);
  if (!value)
    return p.emitError(loc, "expected max, sum, avg or argmax, got ") << word;
  kind = p.getBuilder().getI64IntegerAttr(int64_t(*value));
  return mlir::success();
}

static void printPoolKind(OpAsmPrinter &p, Operation *, mlir::IntegerAttr kind) {
  auto value = symbolizePoolKind(kind.getInt());
  p << (value ? stringifyPoolKind(*value) : "max");
}

static ParseResult parseBorderKind(OpAsmParser &p, mlir::IntegerAttr &border) {
  llvm::StringRef word;
  auto loc = p.getCurrentLocation();
  if (p.parseKeyword(&word))
    return mlir::failure();
  auto value = symbolizeBorder(word);
  if (!value)
    return p.emitError(loc, "expected zero, circular, reflect or replicate, got ") << word;
  border = p.getBuilder().getI64IntegerAttr(int64_t(*value));
  return mlir::success();
}

static void printBorderKind(OpAsmPrinter &p, Operation *, mlir::IntegerAttr border) {
  auto value = symbolizeBorder(border.getInt());
  p << (value ? stringifyBorder(*value) : "zero");
}

/// `at [offset] valid [begin] to [end]`: numbers, or values where they differ
/// by rank.
static ParseResult parseMixed(OpAsmParser &p, DenseI64ArrayAttr &offset, DenseI64ArrayAttr &begin,
                              DenseI64ArrayAttr &end,
                              llvm::SmallVectorImpl<OpAsmParser::UnresolvedOperand> &scalars) {
  auto list = [&](llvm::StringRef word, DenseI64ArrayAttr &attr) -> ParseResult {
    llvm::SmallVector<int64_t> values;
    auto one = [&]() -> ParseResult {
      OpAsmParser::UnresolvedOperand operand;
      auto dynamic = p.parseOptionalOperand(operand);
      if (!dynamic.has_value())
        return p.parseInteger(values.emplace_back());
      values.push_back(mlir::ShapedType::kDynamic);
      scalars.push_back(operand);
      return *dynamic;
    };
    if (p.parseKeyword(word) || p.parseCommaSeparatedList(OpAsmParser::Delimiter::Square, one))
      return mlir::failure();
    attr = DenseI64ArrayAttr::get(p.getContext(), values);
    return mlir::success();
  };
  return mlir::failure(list("at", offset) || list("valid", begin) || list("to", end));
}

static void printMixed(OpAsmPrinter &p, Operation *, DenseI64ArrayAttr offset, DenseI64ArrayAttr begin,
                       DenseI64ArrayAttr end, mlir::OperandRange scalars) {
  auto next = scalars.begin();
  auto list = [&](llvm::StringRef word, llvm::ArrayRef<int64_t> values) {
    p << word << " [";
    llvm::interleaveComma(values, p, [&](int64_t v) {
      if (v == mlir::ShapedType::kDynamic && next != scalars.end())
        p << *next++;
      else
        p << v;
    });
    p << ']';
  };
  list("at", offset);
  list(" valid", begin);
  list(" to", end);
}

} // namespace ringconv

#endif
