// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which element a tap reads, and the arithmetic in f64 and i64.
#include "Reference.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <algorithm>

using namespace mlir;
using namespace ringconv;
using arith::CmpIPredicate;

namespace {
/// Short names for arithmetic on indices.
struct Indices {
  OpBuilder &b;
  Location loc;

  Value constant(int64_t v) { return arith::ConstantIndexOp::create(b, loc, v); }
  Value add(Value x, int64_t v) { return v == 0 ? x : arith::AddIOp::create(b, loc, x, constant(v)).getResult(); }
  Value mul(Value x, int64_t v) { return v == 1 ? x : arith::MulIOp::create(b, loc, x, constant(v)).getResult(); }
  Value add(Value x, Value y) { return arith::AddIOp::create(b, loc, x, y); }
  Value sub(int64_t v, Value x) { return arith::SubIOp::create(b, loc, constant(v), x); }
  Value rem(Value x, int64_t v) { return arith::RemSIOp::create(b, loc, x, constant(v)); }
  Value div(Value x, int64_t v) { return arith::DivSIOp::create(b, loc, x, constant(v)); }
  Value is(CmpIPredicate p, Value x, int64_t v) { return arith::CmpIOp::create(b, loc, p, x, constant(v)); }
  Value both(Value x, Value y) { return arith::AndIOp::create(b, loc, x, y); }
  Value select(Value c, Value x, Value y) { return arith::SelectOp::create(b, loc, c, x, y); }
};
} // namespace

/// Position p holds element p / baseDilation if that divides and is one of the
/// elements; other positions are holes or padding. What negative padding crops
/// needs no test: windows lie within the padded positions.
static reference::Tap zeroBorder(Indices i, const halo::Window &w, int64_t size, Value position) {
  Value reads = i.is(CmpIPredicate::sge, position, 0), element = position;
  if (w.baseDilation != 1) {
    reads = i.both(reads, i.is(CmpIPredicate::eq, i.rem(position, w.baseDilation), 0));
    element = i.div(position, w.baseDilation);
  }
  return {element, i.both(reads, i.is(CmpIPredicate::slt, element, size))};
}

/// `q` counts from the first of the `n` elements that cropping leaves.
static Value mapBorder(Indices i, halo::Border border, Value q, int64_t n) {
  switch (border) {
  case halo::Border::Circular: // the remainder is in (-n, n)
    return i.rem(i.add(i.rem(q, n), n), n);
  case halo::Border::Reflect: { // without repeating the end; padding is below n
    Value low = i.select(i.is(CmpIPredicate::slt, q, 0), i.sub(0, q), q);
    return i.select(i.is(CmpIPredicate::sge, q, n), i.sub(2 * n - 2, q), low);
  }
  case halo::Border::Replicate: {
    Value low = i.select(i.is(CmpIPredicate::slt, q, 0), i.constant(0), q);
    return i.select(i.is(CmpIPredicate::sge, q, n), i.constant(n - 1), low);
  }
  case halo::Border::Zero:
    break;
  }
  return q;
}

reference::Tap reference::makeTap(OpBuilder &b, Location loc, const halo::Window &w, int64_t size, Value out,
                                  Value tap) {
  Indices i{b, loc};
  Value position = i.add(i.add(i.mul(out, w.stride), i.mul(tap, w.dilation)), -w.padLow);
  if (w.border == halo::Border::Zero)
    return zeroBorder(i, w, size, position);
  int64_t first = std::max<int64_t>(0, -w.padLow), end = size - std::max<int64_t>(0, -w.padHigh);
  return {i.add(mapBorder(i, w.border, i.add(position, -first), end - first), first), Value()};
}

Value reference::allOf(OpBuilder &b, Location loc, ArrayRef<Tap> taps) {
  Value all;
  for (const Tap &tap : taps)
    if (tap.reads)
      all = all ? arith::AndIOp::create(b, loc, all, tap.reads).getResult() : tap.reads;
  return all;
}

Type reference::sumType(Type type) {
  return isa<FloatType>(type) ? Type(Float64Type::get(type.getContext())) : IntegerType::get(type.getContext(), 64);
}

/// In two steps from half types: the step to f32 is what every target has.
Value reference::widen(OpBuilder &b, Location loc, Value value) {
  Type type = value.getType();
  if (type.isInteger())
    return arith::ExtSIOp::create(b, loc, sumType(type), value);
  if (type.getIntOrFloatBitWidth() < 32)
    value = arith::ExtFOp::create(b, loc, b.getF32Type(), value);
  return type.isF64() ? value : arith::ExtFOp::create(b, loc, sumType(type), value).getResult();
}

/// f64 to f32, rounded to odd: cut off towards zero, and the last bit set where
/// that lost something. Rounding the result to a type with at least two bits
/// less is then the same as rounding `value` to it. (A conversion from f64 to a
/// half type in one step is a call into the compiler's run-time library, which
/// our executables do not link.)
///
///   f = nearest f32 of v        f == v, or NaN: done
///   |f| > |v|: one step towards zero, which is the bit pattern less one, also
///   from infinity to the largest finite number; then the last bit is set.
static Value roundToOdd(OpBuilder &b, Location loc, Value value) {
  Type i32 = b.getI32Type(), f64 = value.getType();
  auto integer = [&](int64_t v) { return arith::ConstantIntOp::create(b, loc, i32, v).getResult(); };
  auto magnitude = [&](Value v) { // without its sign, by bits: arith has no absf
    Value bits = arith::BitcastOp::create(b, loc, b.getI64Type(), v);
    Value mask = arith::ConstantIntOp::create(b, loc, b.getI64Type(), std::numeric_limits<int64_t>::max());
    return arith::AndIOp::create(b, loc, bits, mask).getResult();
  };
  Value nearest = arith::TruncFOp::create(b, loc, b.getF32Type(), value);
  Value back = arith::ExtFOp::create(b, loc, f64, nearest);
  Value bits = arith::BitcastOp::create(b, loc, i32, nearest);
  // Magnitudes of floats compare as their bits do.
  Value away = arith::CmpIOp::create(b, loc, CmpIPredicate::ugt, magnitude(back), magnitude(value));
  Value less = arith::SubIOp::create(b, loc, bits, integer(1));
  Value cut = arith::SelectOp::create(b, loc, away, less, bits);
  Value odd = arith::OrIOp::create(b, loc, cut, integer(1));
  Value inexact = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::ONE, back, value);
  return arith::BitcastOp::create(b, loc, b.getF32Type(), arith::SelectOp::create(b, loc, inexact, odd, bits));
}

Value reference::roundTo(OpBuilder &b, Location loc, Value value, Type type) {
  if (value.getType() == type)
    return value;
  if (type.isInteger())
    return arith::TruncIOp::create(b, loc, type, value);
  if (type.getIntOrFloatBitWidth() < 32)
    value = roundToOdd(b, loc, value);
  return arith::TruncFOp::create(b, loc, type, value);
}

Value reference::filled(OpBuilder &b, Location loc, ArrayRef<int64_t> shape, TypedAttr value) {
  Value scalar = arith::ConstantOp::create(b, loc, value);
  Value empty = tensor::EmptyOp::create(b, loc, shape, value.getType());
  return linalg::FillOp::create(b, loc, scalar, empty).getResult(0);
}
