// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lookup.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace ringconv;

static Value constant(OpBuilder &b, Location loc, int64_t value) {
  return arith::ConstantIndexOp::create(b, loc, value);
}

static Value selectRun(OpBuilder &b, Location loc, Value part, ArrayRef<int64_t> runs) {
  Value value;
  for (size_t i = 0; i < runs.size(); i += 3) {
    Value here = constant(b, loc, runs[i + 1]);
    if (runs[i + 2]) {
      Value steps = arith::SubIOp::create(b, loc, part, constant(b, loc, runs[i]));
      here = arith::AddIOp::create(b, loc, here, arith::MulIOp::create(b, loc, steps, constant(b, loc, runs[i + 2])));
    }
    if (!value) {
      value = here;
      continue;
    }
    Value reached = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, part, constant(b, loc, runs[i]));
    value = arith::SelectOp::create(b, loc, reached, here, value);
  }
  return value;
}

/// A private constant under a name of its own.
static memref::GlobalOp makeGlobal(OpBuilder &b, Location loc, ArrayRef<int64_t> values) {
  auto module = b.getInsertionBlock()->getParentOp()->getParentOfType<ModuleOp>();
  std::string name;
  for (int64_t n = 0; name.empty() || module.lookupSymbol(name); ++n)
    name = ("ringconv_table_" + Twine(n)).str();
  auto type = MemRefType::get({int64_t(values.size())}, b.getI64Type());
  auto tensor = RankedTensorType::get(type.getShape(), b.getI64Type());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(module.getBody());
  return memref::GlobalOp::create(b, loc, name, b.getStringAttr("private"), type,
                                  DenseElementsAttr::get(tensor, values), true, IntegerAttr());
}

/// Every part's value up to the begin of the last run, which goes on beyond;
/// a search among the runs would take time.
static Value loadRun(OpBuilder &b, Location loc, Value part, TableAttr table) {
  ArrayRef<int64_t> runs = table.getRuns();
  int64_t last = runs[runs.size() - 3];
  SmallVector<int64_t> values;
  for (int64_t c = 0; c <= last; ++c)
    values.push_back(table.at(c));
  memref::GlobalOp global = makeGlobal(b, loc, values);
  Value all = memref::GetGlobalOp::create(b, loc, global.getType(), global.getSymName());
  Value c = arith::MinSIOp::create(b, loc, part, constant(b, loc, last));
  Value value = memref::LoadOp::create(b, loc, all, c);
  value = arith::IndexCastOp::create(b, loc, b.getIndexType(), value);
  if (int64_t slope = runs.back()) {
    Value beyond = arith::SubIOp::create(b, loc, part, c);
    value = arith::AddIOp::create(b, loc, value, arith::MulIOp::create(b, loc, beyond, constant(b, loc, slope)));
  }
  return value;
}

Value ringconv::lowerLookup(OpBuilder &b, Location loc, Value part, TableAttr table) {
  constexpr size_t maxSelects = 8;
  ArrayRef<int64_t> runs = table.getRuns();
  return runs.size() / 3 <= maxSelects ? selectRun(b, loc, part, runs) : loadRun(b, loc, part, table);
}
