// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The words that conv and pool share: dimension numbers `[b, f, 0, 1]` and
// `window {stride = [2, 2], ...}`.
#include "WindowText.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace ringconv;

int64_t ringconv::dimOf(ArrayRef<int64_t> dims, int64_t number) {
  auto it = llvm::find(dims, number);
  return it == dims.end() ? -1 : it - dims.begin();
}

SmallVector<int64_t> ringconv::spatialDims(ArrayRef<int64_t> dims) {
  SmallVector<int64_t> positions;
  for (int64_t n = 0, d; (d = dimOf(dims, n)) >= 0; ++n)
    positions.push_back(d);
  return positions;
}

ParseResult ringconv::parseDims(OpAsmParser &parser, DenseI64ArrayAttr &dims, StringRef first, StringRef second) {
  SmallVector<int64_t> numbers;
  auto one = [&]() -> ParseResult {
    int64_t n;
    OptionalParseResult integer = parser.parseOptionalInteger(n);
    if (integer.has_value()) {
      if (failed(*integer))
        return failure();
      if (n < 0)
        return parser.emitError(parser.getCurrentLocation(), "spatial numbers start at 0");
      numbers.push_back(n);
      return success();
    }
    StringRef word;
    auto loc = parser.getCurrentLocation();
    if (parser.parseKeyword(&word))
      return failure();
    if (word != first && word != second)
      return parser.emitError(loc, "expected ") << first << ", " << second << " or a spatial number, got " << word;
    numbers.push_back(word == first ? kBatch : kFeature);
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, one))
    return failure();
  dims = DenseI64ArrayAttr::get(parser.getContext(), numbers);
  return success();
}

void ringconv::printDims(OpAsmPrinter &printer, ArrayRef<int64_t> dims, StringRef first, StringRef second) {
  printer << '[';
  llvm::interleaveComma(dims, printer, [&](int64_t n) {
    if (n >= 0)
      printer << n;
    else
      printer << (n == kBatch ? first : second);
  });
  printer << ']';
}

// ===--------------------------------------------------------------------=== //
// window {...}
// ===--------------------------------------------------------------------=== //

static ParseResult parseList(OpAsmParser &parser, function_ref<ParseResult()> one) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, one);
}

static ParseResult parseIntegers(OpAsmParser &parser, SmallVectorImpl<int64_t> &values) {
  values.clear();
  return parseList(parser, [&] { return parser.parseInteger(values.emplace_back()); });
}

static ParseResult parsePads(OpAsmParser &parser, WindowWords &w) {
  w.padLow.clear();
  w.padHigh.clear();
  return parseList(parser, [&]() -> ParseResult {
    SmallVector<int64_t> pair;
    auto loc = parser.getCurrentLocation();
    if (parseIntegers(parser, pair))
      return failure();
    if (pair.size() != 2)
      return parser.emitError(loc, "expected [low, high], got ") << pair.size() << " values";
    w.padLow.push_back(pair[0]);
    w.padHigh.push_back(pair[1]);
    return success();
  });
}

static ParseResult parseReverse(OpAsmParser &parser, WindowWords &w) {
  w.reverse.clear();
  return parseList(parser, [&]() -> ParseResult {
    if (succeeded(parser.parseOptionalKeyword("true"))) {
      w.reverse.push_back(true);
      return success();
    }
    w.reverse.push_back(false);
    return parser.parseKeyword("false");
  });
}

static ParseResult parseBorders(OpAsmParser &parser, WindowWords &w) {
  w.border.clear();
  return parseList(parser, [&]() -> ParseResult {
    std::string word;
    auto loc = parser.getCurrentLocation();
    if (parser.parseString(&word))
      return failure();
    auto border = symbolizeBorder(word);
    if (!border)
      return parser.emitError(loc, "expected \"zero\", \"circular\", \"reflect\" or \"replicate\", got \"") << word
                                                                                                           << '"';
    w.border.push_back(int64_t(*border));
    return success();
  });
}

static ParseResult parseWord(OpAsmParser &parser, StringRef word, SMLoc loc, WindowWords &w, bool pool) {
  if (word == "stride")
    return parseIntegers(parser, w.stride);
  if (word == "pad")
    return parsePads(parser, w);
  if (word == "lhs_dilate")
    return parseIntegers(parser, w.lhsDilate);
  if (word == "rhs_dilate")
    return parseIntegers(parser, w.rhsDilate);
  if (word == "reverse")
    return parseReverse(parser, w);
  if (word == "border")
    return parseBorders(parser, w);
  if (word == "size" && pool)
    return parseIntegers(parser, w.size);
  return parser.emitError(loc, "unknown window word '")
         << word << "', expected " << (pool ? "size, " : "")
         << "stride, pad, lhs_dilate, rhs_dilate, reverse or border";
}

ParseResult ringconv::parseWindow(OpAsmParser &parser, WindowWords &w, int64_t spatial, bool pool) {
  w.size.assign(spatial, 1);
  w.stride.assign(spatial, 1);
  w.padLow.assign(spatial, 0);
  w.padHigh.assign(spatial, 0);
  w.lhsDilate.assign(spatial, 1);
  w.rhsDilate.assign(spatial, 1);
  w.reverse.assign(spatial, false);
  w.border.assign(spatial, 0);
  if (failed(parser.parseOptionalKeyword("window")))
    return success();
  SmallVector<StringRef> seen;
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Braces, [&]() -> ParseResult {
    StringRef word;
    auto loc = parser.getCurrentLocation();
    if (parser.parseKeyword(&word))
      return failure();
    if (llvm::is_contained(seen, word))
      return parser.emitError(loc, "window word '") << word << "' stands twice";
    seen.push_back(word);
    return failure(parser.parseEqual() || parseWord(parser, word, loc, w, pool));
  });
}

void ringconv::printWindow(OpAsmPrinter &printer, const WindowWords &w, bool pool) {
  bool first = true;
  auto word = [&](StringRef name) -> OpAsmPrinter & {
    printer << (first ? "" : ", ") << name << " = ";
    first = false;
    return printer;
  };
  auto integers = [&](StringRef name, ArrayRef<int64_t> values, int64_t neutral) {
    if (llvm::all_of(values, [&](int64_t v) { return v == neutral; }))
      return;
    word(name) << '[';
    llvm::interleaveComma(values, printer);
    printer << ']';
  };
  printer << "window {";
  if (pool)
    integers("size", w.size, 0);
  integers("stride", w.stride, 1);
  if (llvm::any_of(w.padLow, [](int64_t p) { return p; }) || llvm::any_of(w.padHigh, [](int64_t p) { return p; })) {
    word("pad") << '[';
    llvm::interleaveComma(llvm::zip(w.padLow, w.padHigh), printer,
                          [&](auto p) { printer << '[' << std::get<0>(p) << ", " << std::get<1>(p) << ']'; });
    printer << ']';
  }
  integers("lhs_dilate", w.lhsDilate, 1);
  integers("rhs_dilate", w.rhsDilate, 1);
  if (llvm::any_of(w.reverse, [](bool r) { return r; })) {
    word("reverse") << '[';
    llvm::interleaveComma(w.reverse, printer, [&](bool r) { printer << (r ? "true" : "false"); });
    printer << ']';
  }
  if (llvm::any_of(w.border, [](int64_t b) { return b; })) {
    word("border") << '[';
    llvm::interleaveComma(w.border, printer,
                          [&](int64_t b) { printer << '"' << stringifyBorder(Border(b)) << '"'; });
    printer << ']';
  }
  printer << '}';
}
