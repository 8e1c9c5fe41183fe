// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attributes: text, checks, and the questions that everybody asks about
// meshes and shardings.
#include "ringconv/Dialect/RingConv/IR/RingConv.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace ringconv;

#define GET_ATTRDEF_CLASSES
#include "ringconv/Dialect/RingConv/IR/RingConvAttrs.cpp.inc"

void RingConvDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "ringconv/Dialect/RingConv/IR/RingConvAttrs.cpp.inc"
      >();
}

// ===--------------------------------------------------------------------=== //
// Mesh
// ===--------------------------------------------------------------------=== //

/// `[1, 2, ...]`
static ParseResult parseIntegers(AsmParser &parser, SmallVectorImpl<int64_t> &values) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                        [&] { return parser.parseInteger(values.emplace_back()); });
}

static void printIntegers(AsmPrinter &printer, ArrayRef<int64_t> values) {
  printer << '[';
  llvm::interleaveComma(values, printer);
  printer << ']';
}

static ParseResult parseAxis(AsmParser &parser, SmallVectorImpl<StringAttr> &axes) {
  std::string name;
  if (parser.parseString(&name))
    return failure();
  axes.push_back(StringAttr::get(parser.getContext(), name));
  return success();
}

Attribute MeshAttr::parse(AsmParser &parser, Type) {
  SmallVector<StringAttr> axes;
  SmallVector<int64_t> extents, ids;
  auto loc = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&]() -> ParseResult {
        return failure(parseAxis(parser, axes) || parser.parseEqual() || parser.parseInteger(extents.emplace_back()));
      }))
    return {};
  if (succeeded(parser.parseOptionalComma()) &&
      (parser.parseKeyword("device_ids") || parser.parseEqual() || parseIntegers(parser, ids)))
    return {};
  if (parser.parseGreater())
    return {};
  return parser.getChecked<MeshAttr>(loc, parser.getContext(), axes, extents, ids);
}

void MeshAttr::print(AsmPrinter &printer) const {
  printer << "<[";
  llvm::interleaveComma(llvm::zip(getAxes(), getExtents()), printer, [&](auto axis) {
    printer << std::get<0>(axis) << " = " << std::get<1>(axis);
  });
  printer << ']';
  if (!getDeviceIds().empty()) {
    printer << ", device_ids = ";
    printIntegers(printer, getDeviceIds());
  }
  printer << '>';
}

LogicalResult MeshAttr::verify(function_ref<InFlightDiagnostic()> emitError, ArrayRef<StringAttr> axes,
                               ArrayRef<int64_t> extents, ArrayRef<int64_t> ids) {
  constexpr int64_t maxRanks = int64_t(1) << 20;
  if (axes.size() != extents.size())
    return emitError() << "mesh_c1: " << axes.size() << " axes, " << extents.size() << " extents";
  llvm::StringSet<> seen;
  int64_t size = 1;
  for (auto [axis, extent] : llvm::zip(axes, extents)) {
    if (extent < 1)
      return emitError() << "mesh_c1: extent of axis " << axis << " must be at least 1, got " << extent;
    if (axis.empty() || !seen.insert(axis.getValue()).second)
      return emitError() << "mesh_c2: axis names must differ and not be empty, got " << axis
                         << (axis.empty() ? "" : " twice");
    if (__builtin_mul_overflow(size, extent, &size) || size > maxRanks)
      return emitError() << "mesh_c4: a mesh has at most " << maxRanks << " ranks";
  }
  if (ids.empty())
    return success();
  if (int64_t(ids.size()) != size)
    return emitError() << "mesh_c3: expected " << size << " device_ids, got " << ids.size();
  SmallVector<bool> used(size);
  for (int64_t id : ids) {
    if (id < 0 || id >= size || used[id])
      return emitError() << "mesh_c3: device_ids must be a permutation of 0 .. " << size - 1 << ", got " << id
                         << (id >= 0 && id < size ? " twice" : "");
    used[id] = true;
  }
  return success();
}

int64_t MeshAttr::size() const {
  int64_t n = 1;
  for (int64_t e : getExtents())
    n *= e;
  return n;
}

int64_t MeshAttr::axisIndex(StringRef name) const {
  auto it = llvm::find_if(getAxes(), [&](StringAttr a) { return a.getValue() == name; });
  return it == getAxes().end() ? -1 : it - getAxes().begin();
}

int64_t MeshAttr::parts(ArrayRef<StringAttr> names) const {
  int64_t n = 1;
  for (StringAttr name : names)
    n *= getExtents()[axisIndex(name)];
  return n;
}

// ===--------------------------------------------------------------------=== //
// Sharding
// ===--------------------------------------------------------------------=== //

Attribute DimShardingAttr::parse(AsmParser &parser, Type) {
  SmallVector<StringAttr> axes;
  SmallVector<int64_t> cuts;
  auto loc = parser.getCurrentLocation();
  bool sawCuts = false;
  auto entry = [&]() -> ParseResult {
    if (sawCuts)
      return parser.emitError(parser.getCurrentLocation(), "expected '}' after the cuts");
    if (failed(parser.parseOptionalKeyword("cuts")))
      return parseAxis(parser, axes);
    sawCuts = true;
    return failure(parser.parseEqual() || parseIntegers(parser, cuts));
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Braces, entry))
    return {};
  if (sawCuts && (axes.empty() || cuts.empty()))
    return parser.emitError(loc, "cuts need an axis, and at least the bounds 0 and the size"), Attribute();
  return DimShardingAttr::get(parser.getContext(), axes, cuts);
}

void DimShardingAttr::print(AsmPrinter &printer) const {
  printer << '{';
  llvm::interleaveComma(getAxes(), printer);
  if (!getCuts().empty()) {
    printer << ", cuts = ";
    printIntegers(printer, getCuts());
  }
  printer << '}';
}

/// `@grid, [{...}, ...]`
static FailureOr<ShardingAttr> parseShardingBody(AsmParser &parser) {
  FlatSymbolRefAttr mesh;
  SmallVector<DimShardingAttr> dims;
  auto dim = [&]() -> ParseResult {
    auto attr = llvm::dyn_cast_or_null<DimShardingAttr>(DimShardingAttr::parse(parser, {}));
    dims.push_back(attr);
    return success(bool(attr));
  };
  if (parser.parseAttribute(mesh) || parser.parseComma() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, dim))
    return failure();
  return ShardingAttr::get(parser.getContext(), mesh, dims);
}

static void printShardingBody(AsmPrinter &printer, ShardingAttr sharding) {
  printer << sharding.getMesh() << ", [";
  llvm::interleaveComma(sharding.getDims(), printer, [&](DimShardingAttr dim) { dim.print(printer); });
  printer << ']';
}

Attribute ShardingAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  auto sharding = parseShardingBody(parser);
  if (failed(sharding) || parser.parseGreater())
    return {};
  return *sharding;
}

void ShardingAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printShardingBody(printer, *this);
  printer << '>';
}

bool ShardingAttr::isReplicated() const {
  return llvm::none_of(getDims(), [](DimShardingAttr d) { return d.isCut(); });
}

ShardingAttr ShardingAttr::replicated(FlatSymbolRefAttr mesh, int64_t rank) {
  MLIRContext *ctx = mesh.getContext();
  return get(ctx, mesh, SmallVector<DimShardingAttr>(rank, DimShardingAttr::get(ctx, {}, {})));
}

Attribute ShardOfAttr::parse(AsmParser &parser, Type) {
  RankedTensorType type;
  if (parser.parseLess() || parser.parseType(type) || parser.parseComma())
    return {};
  auto sharding = parseShardingBody(parser);
  if (failed(sharding) || parser.parseGreater())
    return {};
  return ShardOfAttr::get(parser.getContext(), type, *sharding);
}

void ShardOfAttr::print(AsmPrinter &printer) const {
  printer << '<' << getType() << ", ";
  printShardingBody(printer, getSharding());
  printer << '>';
}

std::optional<std::string> ringconv::checkSharding(ShardingAttr sharding, ArrayRef<int64_t> shape, MeshAttr mesh) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (sharding.rank() != int64_t(shape.size())) {
    os << "sharding_c2: expected " << shape.size() << " entries, one per dimension, got " << sharding.rank();
    return text;
  }
  llvm::StringSet<> used;
  for (auto [d, dim] : llvm::enumerate(sharding.getDims())) {
    for (StringAttr axis : dim.getAxes()) {
      if (mesh.axisIndex(axis.getValue()) < 0) {
        os << "sharding_c3: dim " << d << ": the mesh has no axis " << axis;
        return text;
      }
      if (!used.insert(axis.getValue()).second) {
        os << "sharding_c4: dim " << d << ": axis " << axis << " is used twice";
        return text;
      }
    }
    if (dim.getCuts().empty() || ShapedType::isDynamic(shape[d]))
      continue;
    if (auto why = halo::checkCuts({dim.getCuts().begin(), dim.getCuts().end()}, shape[d], mesh.parts(dim.getAxes()))) {
      os << "sharding_c5: dim " << d << ": " << *why;
      return text;
    }
  }
  return std::nullopt;
}

halo::Cuts ringconv::cutsOf(DimShardingAttr dim, int64_t size, MeshAttr mesh) {
  if (!dim.isCut())
    return halo::Cuts::whole(size);
  if (!dim.getCuts().empty())
    return {{dim.getCuts().begin(), dim.getCuts().end()}};
  return halo::Cuts::balanced(size, mesh.parts(dim.getAxes()));
}

DimShardingAttr ringconv::makeDimSharding(MLIRContext *ctx, ArrayRef<StringAttr> axes, const halo::Cuts &cuts) {
  if (axes.empty())
    return DimShardingAttr::get(ctx, {}, {});
  if (cuts == halo::Cuts::balanced(cuts.size(), cuts.parts()))
    return DimShardingAttr::get(ctx, axes, {});
  return DimShardingAttr::get(ctx, axes, cuts.bounds);
}

ShardingAttr ringconv::canonical(ShardingAttr sharding, ArrayRef<int64_t> shape, MeshAttr mesh) {
  SmallVector<DimShardingAttr> dims;
  for (auto [dim, size] : llvm::zip(sharding.getDims(), shape))
    dims.push_back(makeDimSharding(sharding.getContext(), dim.getAxes(), cutsOf(dim, size, mesh)));
  return ShardingAttr::get(sharding.getContext(), sharding.getMesh(), dims);
}

RankedTensorType ringconv::shardType(RankedTensorType type, ShardingAttr sharding, MeshAttr mesh) {
  SmallVector<int64_t> shape(type.getShape());
  for (auto [d, dim] : llvm::enumerate(sharding.getDims())) {
    halo::Cuts cuts = cutsOf(dim, shape[d], mesh);
    shape[d] = cuts.even() ? cuts.part(0).size() : ShapedType::kDynamic;
  }
  return RankedTensorType::get(shape, type.getElementType());
}

// ===--------------------------------------------------------------------=== //
// Tables and exchanges
// ===--------------------------------------------------------------------=== //

TableAttr ringconv::makeTable(MLIRContext *ctx, const halo::Table &table) {
  SmallVector<int64_t> runs;
  for (const halo::Run &run : table.runs)
    runs.append({run.begin, run.base, run.slope});
  return TableAttr::get(ctx, runs);
}

/// `3`, or `0: 5, 2: 7 + 4`
static ParseResult parseRuns(AsmParser &parser, SmallVectorImpl<int64_t> &runs) {
  int64_t first;
  if (parser.parseInteger(first))
    return failure();
  if (failed(parser.parseOptionalColon())) {
    runs.append({0, first, 0});
    return success();
  }
  int64_t begin = first;
  do {
    int64_t base, slope = 0;
    if (runs.size() && (parser.parseInteger(begin) || parser.parseColon()))
      return failure();
    if (parser.parseInteger(base))
      return failure();
    if (succeeded(parser.parseOptionalPlus()) && parser.parseInteger(slope))
      return failure();
    runs.append({begin, base, slope});
  } while (succeeded(parser.parseOptionalComma()));
  return success();
}

Attribute TableAttr::parse(AsmParser &parser, Type) {
  SmallVector<int64_t> runs;
  auto loc = parser.getCurrentLocation();
  if (parser.parseLess() || parseRuns(parser, runs) || parser.parseGreater())
    return {};
  return parser.getChecked<TableAttr>(loc, parser.getContext(), runs);
}

void TableAttr::print(AsmPrinter &printer) const {
  printer << '<';
  ArrayRef<int64_t> runs = getRuns();
  if (auto value = constant()) {
    printer << *value << '>';
    return;
  }
  for (size_t i = 0; i < runs.size(); i += 3) {
    printer << (i ? ", " : "") << runs[i] << ": " << runs[i + 1];
    if (runs[i + 2])
      printer << " + " << runs[i + 2];
  }
  printer << '>';
}

LogicalResult TableAttr::verify(function_ref<InFlightDiagnostic()> emitError, ArrayRef<int64_t> runs) {
  if (runs.empty() || runs.size() % 3 || runs[0] != 0)
    return emitError() << "a table is triples of begin, base and slope, the first from part 0 on";
  for (size_t i = 3; i < runs.size(); i += 3)
    if (runs[i] <= runs[i - 3])
      return emitError() << "runs of a table must ascend, got " << runs[i] << " after " << runs[i - 3];
  return success();
}

int64_t TableAttr::at(int64_t part) const {
  ArrayRef<int64_t> runs = getRuns();
  size_t i = 0;
  while (i + 3 < runs.size() && runs[i + 3] <= part)
    i += 3;
  return runs[i + 1] + runs[i + 2] * (part - runs[i]);
}

std::optional<int64_t> TableAttr::constant() const {
  if (getRuns().size() == 3 && getRuns()[2] == 0)
    return getRuns()[1];
  return std::nullopt;
}

static constexpr StringLiteral sideWords[] = {"low", "own", "high"};
static constexpr StringLiteral layoutWords[] = {"copy", "reverse"};
static constexpr StringLiteral pieceWords[] = {"from", "at", "extended", "size", "to", "source", "count"};
static constexpr StringLiteral fillWords[] = {"at", "extended", "source", "source_extended", "size"};

static ParseResult parseWord(AsmParser &parser, ArrayRef<StringLiteral> words, int64_t &value) {
  StringRef word;
  auto loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&word))
    return failure();
  for (auto [i, w] : llvm::enumerate(words))
    if (w == word)
      return value = i, success();
  return parser.emitError(loc, "expected one of ") << llvm::join(words, ", ");
}

/// Tables, each behind its word.
static ParseResult parseTables(AsmParser &parser, ArrayRef<StringLiteral> words, SmallVectorImpl<TableAttr> &tables) {
  for (StringLiteral word : words) {
    if (parser.parseKeyword(word))
      return failure();
    auto table = llvm::dyn_cast_or_null<TableAttr>(TableAttr::parse(parser, {}));
    if (!table)
      return failure();
    tables.push_back(table);
  }
  return success();
}

static void printTables(AsmPrinter &printer, ArrayRef<StringLiteral> words, ArrayRef<TableAttr> tables) {
  for (auto [word, table] : llvm::zip(words, tables)) {
    printer << ' ' << word << ' ';
    table.print(printer);
  }
}

/// `step 3`; left out: 1.
static ParseResult parseStep(AsmParser &parser, StringRef word, int64_t &step) {
  if (failed(parser.parseOptionalKeyword(word)))
    return success();
  return parser.parseInteger(step);
}

static void printStep(AsmPrinter &printer, StringRef word, int64_t step) {
  if (step != 1)
    printer << ' ' << word << ' ' << step;
}

Attribute PieceAttr::parse(AsmParser &parser, Type) {
  int64_t side = 0, layout = 0, step = 1;
  SmallVector<TableAttr> t;
  if (parser.parseLess() || parseWord(parser, sideWords, side) || parseWord(parser, layoutWords, layout) ||
      parseStep(parser, "step", step) || parseTables(parser, pieceWords, t) || parser.parseGreater())
    return {};
  return PieceAttr::get(parser.getContext(), side, layout == 1, step, t[0], t[1], t[2], t[3], t[4], t[5], t[6]);
}

void PieceAttr::print(AsmPrinter &printer) const {
  printer << '<' << sideWords[getSide()] << ' ' << layoutWords[getReverse()];
  printStep(printer, "step", getStep());
  printTables(printer, pieceWords, {getRecvPeer(), getRecvAt(), getRecvExtended(), getRecvSize(), getSendPeer(),
                                    getSendAt(), getSendSize()});
  printer << '>';
}

Attribute FillAttr::parse(AsmParser &parser, Type) {
  int64_t side = 0, from = 0, step = 1, fromStep = 1;
  SmallVector<TableAttr> t;
  if (parser.parseLess() || parseWord(parser, sideWords, side) || parser.parseKeyword("from") ||
      parseWord(parser, sideWords, from) || parseStep(parser, "step", step) ||
      parseStep(parser, "source_step", fromStep))
    return {};
  bool ordered = succeeded(parser.parseOptionalKeyword("ordered"));
  if (parseTables(parser, fillWords, t) || parser.parseGreater())
    return {};
  return FillAttr::get(parser.getContext(), side, from, step, fromStep, ordered, t[0], t[1], t[2], t[3], t[4]);
}

void FillAttr::print(AsmPrinter &printer) const {
  printer << '<' << sideWords[getSide()] << " from " << sideWords[getFrom()];
  printStep(printer, "step", getStep());
  printStep(printer, "source_step", getFromStep());
  if (getOrdered())
    printer << " ordered";
  printTables(printer, fillWords, {getAt(), getExtended(), getFromAt(), getFromExtended(), getSize()});
  printer << '>';
}

Attribute HaloDimAttr::parse(AsmParser &parser, Type) {
  int64_t dim, low, high;
  SmallVector<StringAttr> axes;
  SmallVector<PieceAttr> pieces;
  SmallVector<FillAttr> fills;
  SmallVector<int64_t> edges;
  auto parseEdges = [&]() -> ParseResult {
    if (failed(parser.parseOptionalKeyword("edges")))
      return success();
    auto loc = parser.getCurrentLocation();
    if (parser.parseEqual() || parseIntegers(parser, edges) || parser.parseComma())
      return failure();
    return edges.size() == 3 ? success() : parser.emitError(loc, "expected [low, high, outputs]");
  };
  auto piece = [&]() -> ParseResult {
    auto attr = llvm::dyn_cast_or_null<PieceAttr>(PieceAttr::parse(parser, {}));
    pieces.push_back(attr);
    return success(bool(attr));
  };
  auto parseFills = [&]() -> ParseResult {
    if (failed(parser.parseOptionalComma()))
      return success();
    auto fill = [&]() -> ParseResult {
      auto attr = llvm::dyn_cast_or_null<FillAttr>(FillAttr::parse(parser, {}));
      fills.push_back(attr);
      return success(bool(attr));
    };
    return failure(parser.parseKeyword("fills") || parser.parseEqual() ||
                   parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, fill));
  };
  if (parser.parseLess() || parser.parseInteger(dim) || parser.parseComma() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] { return parseAxis(parser, axes); }) ||
      parser.parseComma() || parser.parseKeyword("low") || parser.parseEqual() || parser.parseInteger(low) ||
      parser.parseComma() || parser.parseKeyword("high") || parser.parseEqual() || parser.parseInteger(high) ||
      parser.parseComma() || parseEdges() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, piece) || parseFills() || parser.parseGreater())
    return {};
  return HaloDimAttr::get(parser.getContext(), dim, axes, low, high, edges, pieces, fills);
}

void HaloDimAttr::print(AsmPrinter &printer) const {
  printer << '<' << getDim() << ", [";
  llvm::interleaveComma(getAxes(), printer);
  printer << "], low = " << getLow() << ", high = " << getHigh() << ", ";
  if (!getEdges().empty()) {
    printer << "edges = ";
    printIntegers(printer, getEdges());
    printer << ", ";
  }
  printer << '[';
  llvm::interleaveComma(getPieces(), printer, [&](PieceAttr piece) { piece.print(printer); });
  printer << ']';
  if (!getFills().empty()) {
    printer << ", fills = [";
    llvm::interleaveComma(getFills(), printer, [&](FillAttr fill) { fill.print(printer); });
    printer << ']';
  }
  printer << '>';
}
