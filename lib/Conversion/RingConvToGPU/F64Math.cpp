// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Argument reductions are those of fdlibm (W. J. Cody and W. Waite, "Software
// Manual for the Elementary Functions", 1980); polynomials are Taylor series on
// the reduced intervals, long enough for 53 bits. That of
// erfc is a Chebyshev interpolation made with 60 digits.
#include "F64Math.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace ringconv;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();
static constexpr double kLn2High = 6.93147180369123816490e-01, kLn2Low = 1.90821492927058770002e-10;
static constexpr double kLn2 = 6.93147180559945286227e-01, kLn2Rest = 2.31904681384629955842e-17;
static constexpr double kPi = 3.14159265358979311600e+00;

Value F64Math::constant(double v) { return arith::ConstantOp::create(b, loc, b.getF64FloatAttr(v)); }
Value F64Math::integer(int64_t v) { return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(v)); }
Value F64Math::add(Value x, Value y) { return arith::AddFOp::create(b, loc, x, y); }
Value F64Math::sub(Value x, Value y) { return arith::SubFOp::create(b, loc, x, y); }
Value F64Math::mul(Value x, Value y) { return arith::MulFOp::create(b, loc, x, y); }
Value F64Math::div(Value x, Value y) { return arith::DivFOp::create(b, loc, x, y); }
Value F64Math::fma(Value x, Value y, Value z) { return math::FmaOp::create(b, loc, x, y, z); }
Value F64Math::neg(Value x) { return arith::NegFOp::create(b, loc, x); }
Value F64Math::abs(Value x) { return math::AbsFOp::create(b, loc, x); }
Value F64Math::sqrt(Value x) { return math::SqrtOp::create(b, loc, x); }
Value F64Math::round(Value x) { return math::RoundEvenOp::create(b, loc, x); }
Value F64Math::copySign(Value x, Value sign) { return math::CopySignOp::create(b, loc, x, sign); }
Value F64Math::select(Value condition, Value yes, Value no) {
  return arith::SelectOp::create(b, loc, condition, yes, no);
}
Value F64Math::compare(arith::CmpFPredicate p, Value x, Value y) { return arith::CmpFOp::create(b, loc, p, x, y); }
Value F64Math::bitsOf(Value x) { return arith::BitcastOp::create(b, loc, b.getI64Type(), x); }
Value F64Math::fromBits(Value bits) { return arith::BitcastOp::create(b, loc, b.getF64Type(), bits); }
Value F64Math::toInteger(Value x) { return arith::FPToSIOp::create(b, loc, b.getI64Type(), x); }
Value F64Math::toReal(Value i) { return arith::SIToFPOp::create(b, loc, b.getF64Type(), i); }

Value F64Math::polynomial(Value x, ArrayRef<double> coefficients) {
  Value value = constant(coefficients.front());
  for (double c : coefficients.drop_front())
    value = fma(value, x, constant(c));
  return value;
}

// ===--------------------------------------------------------------------=== //
// exp
// ===--------------------------------------------------------------------=== //

/// x 2^exponent in two steps, so that neither factor overflows.
Value F64Math::scale(Value x, Value exponent) {
  Value half = arith::ShRSIOp::create(b, loc, exponent, integer(1));
  Value rest = arith::SubIOp::create(b, loc, exponent, half);
  auto power = [&](Value k) {
    Value biased = arith::AddIOp::create(b, loc, k, integer(1023));
    return fromBits(arith::ShLIOp::create(b, loc, biased, integer(52)));
  };
  return mul(mul(x, power(half)), power(rest));
}

/// 2^k e^r for |r| <= ln 2 / 2; what lies outside of the limits is infinite or 0.
Value F64Math::expOfReduced(Value r, Value k, Value x, double highest, double lowest) {
  static constexpr double taylor[] = {
      1. / 6227020800, 1. / 479001600, 1. / 39916800, 1. / 3628800, 1. / 362880, 1. / 40320, 1. / 5040,
      1. / 720,        1. / 120,       1. / 24,       1. / 6,       1. / 2,      1.,         1.};
  Value value = scale(polynomial(r, taylor), toInteger(k));
  value = select(greater(x, highest), constant(kInfinity), value);
  value = select(less(x, lowest), constant(0), value);
  return select(isNaN(x), x, value);
}

Value F64Math::exp(Value x) {
  Value k = round(mul(x, 1.44269504088896338700)), minus = neg(k);
  Value r = fma(minus, kLn2Rest, fma(minus, kLn2, x));
  return expOfReduced(r, k, x, 709.782712893384, -745.133219101941);
}

Value F64Math::exp2(Value x) {
  Value k = round(x);
  return expOfReduced(mul(sub(x, k), kLn2), k, x, 1023.99999999999989, -1075);
}

Value F64Math::expm1(Value x) {
  static constexpr double taylor[] = {1. / 20922789888000,
                                      1. / 1307674368000,
                                      1. / 87178291200,
                                      1. / 6227020800,
                                      1. / 479001600,
                                      1. / 39916800,
                                      1. / 3628800,
                                      1. / 362880,
                                      1. / 40320,
                                      1. / 5040,
                                      1. / 720,
                                      1. / 120,
                                      1. / 24,
                                      1. / 6,
                                      1. / 2};
  Value small = fma(mul(x, x), polynomial(x, taylor), x);
  return select(less(abs(x), 0.5), small, add(exp(x), -1));
}

// ===--------------------------------------------------------------------=== //
// log
// ===--------------------------------------------------------------------=== //

void F64Math::split(Value x, Value &k, Value &f) {
  Value tiny = less(x, 2.2250738585072014e-308);
  Value bits = bitsOf(select(tiny, mul(x, 18014398509481984.), x));
  // Of the bits of sqrt(1/2), so that f lies in [sqrt(1/2) - 1, sqrt(2) - 1).
  Value exponent =
      arith::ShRSIOp::create(b, loc, arith::SubIOp::create(b, loc, bits, integer(0x3FE6A09E667F3BCD)), integer(52));
  Value mantissa = arith::SubIOp::create(b, loc, bits, arith::ShLIOp::create(b, loc, exponent, integer(52)));
  f = add(fromBits(mantissa), -1);
  k = toReal(exponent);
  k = select(tiny, add(k, -54), k);
}

/// log(1 + f) + kHigh + kLow = f - (f^2/2 - s (f^2/2 + R)) with s = f / (2 + f).
Value F64Math::logOf1p(Value f, Value kHigh, Value kLow) {
  static constexpr double series[] = {2. / 25, 2. / 23, 2. / 21, 2. / 19, 2. / 17, 2. / 15,
                                      2. / 13, 2. / 11, 2. / 9,  2. / 7,  2. / 5,  2. / 3};
  Value s = div(f, add(f, 2)), z = mul(s, s), r = mul(z, polynomial(z, series)), half = mul(mul(f, f), 0.5);
  Value low = fma(s, add(half, r), kLow);
  return sub(kHigh, sub(sub(half, low), f));
}

Value F64Math::logSpecial(Value x, Value value) {
  value = select(equal(x, kInfinity), x, value);
  value = select(equal(x, 0), constant(-kInfinity), value);
  Value bad = compare(arith::CmpFPredicate::ULT, x, constant(0));
  return select(bad, constant(std::nan("")), value);
}

Value F64Math::log(Value x) {
  Value k, f;
  split(x, k, f);
  return logSpecial(x, logOf1p(f, mul(k, kLn2High), mul(k, kLn2Low)));
}

Value F64Math::log2(Value x) {
  Value k, f;
  split(x, k, f);
  return logSpecial(x, fma(logOf1p(f, constant(0), constant(0)), 1.44269504088896338700, k));
}

Value F64Math::log1p(Value x) {
  Value u = add(x, 1), distance = add(u, -1);
  Value value = div(mul(log(u), x), distance);
  value = select(equal(distance, 0), x, value);
  return select(equal(x, kInfinity), x, value);
}

// ===--------------------------------------------------------------------=== //
// Trigonometric functions
// ===--------------------------------------------------------------------=== //

/// sin(x + quarter pi / 2): x = k pi/2 + r, and k tells which of sin r, cos r and
/// which sign.
Value F64Math::sinOrCos(Value x, int64_t quarter) {
  static constexpr double sines[] = {1. / 355687428096000, -1. / 1307674368000, 1. / 6227020800, -1. / 39916800,
                                     1. / 362880,          -1. / 5040,          1. / 120,        -1. / 6};
  static constexpr double cosines[] = {-1. / 6402373705728000,
                                       1. / 20922789888000,
                                       -1. / 87178291200,
                                       1. / 479001600,
                                       -1. / 3628800,
                                       1. / 40320,
                                       -1. / 720,
                                       1. / 24,
                                       -1. / 2,
                                       1.};
  Value inRange = less(abs(x), 35184372088832.);
  Value k = round(mul(select(inRange, x, constant(0)), 0.63661977236758138243)), minus = neg(k);
  Value r = fma(minus, 1.57079632679489655800e+00, x);
  r = fma(minus, 6.12323399573676603587e-17, r);
  r = fma(minus, -1.49738490485916981e-33, r);
  Value z = mul(r, r), sine = fma(mul(z, r), polynomial(z, sines), r), cosine = polynomial(z, cosines);
  Value q = arith::AddIOp::create(b, loc, toInteger(k), integer(quarter));
  auto bit = [&](int64_t mask) {
    Value masked = arith::AndIOp::create(b, loc, q, integer(mask));
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, masked, integer(0)).getResult();
  };
  Value value = select(bit(1), cosine, sine);
  value = select(bit(2), neg(value), value);
  return select(inRange, value, constant(std::nan("")));
}

Value F64Math::atan(Value x) {
  static constexpr double series[] = {1. / 31, -1. / 29, 1. / 27, -1. / 25, 1. / 23, -1. / 21, 1. / 19, -1. / 17,
                                      1. / 15, -1. / 13, 1. / 11, -1. / 9,  1. / 7,  -1. / 5,  1. / 3};
  static constexpr double rootOf3 = 1.73205080756887719318;
  Value a = abs(x), isLarge = greater(a, 1), z = select(isLarge, div(constant(1), a), a);
  // Beyond tan(pi / 12) turned by pi / 6.
  Value turned = greater(z, 0.26794919243112269580);
  z = select(turned, div(fma(z, rootOf3, constant(-1)), add(z, rootOf3)), z);
  Value square = mul(z, z), value = fma(mul(neg(square), z), polynomial(square, series), z);
  value = select(turned, add(value, kPi / 6), value);
  value = select(isLarge, sub(constant(kPi / 2), value), value);
  return copySign(value, x);
}

Value F64Math::atan2(Value y, Value x) {
  Value ax = abs(x), ay = abs(y);
  Value ratio = div(ay, ax);
  // 0/0 and inf/inf have no quotient, but a direction.
  ratio = select(equal(ay, 0), constant(0), ratio);
  Value bothInfinite = arith::AndIOp::create(b, loc, equal(ax, kInfinity), equal(ay, kInfinity));
  ratio = select(bothInfinite, constant(1), ratio);
  Value angle = atan(ratio);
  Value isNegative = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, bitsOf(x), integer(0));
  angle = copySign(select(isNegative, sub(constant(kPi), angle), angle), y);
  return select(isNaN(x), x, select(isNaN(y), y, angle));
}

Value F64Math::asin(Value x) { return atan2(x, sqrt(mul(sub(constant(1), x), add(x, 1)))); }

Value F64Math::acos(Value x) { return mul(atan2(sqrt(sub(constant(1), x)), sqrt(add(x, 1))), 2); }

// ===--------------------------------------------------------------------=== //
// Hyperbolic functions
// ===--------------------------------------------------------------------=== //

Value F64Math::sinh(Value x) {
  Value a = abs(x), t = expm1(a), e = exp(mul(a, 0.5));
  Value value = mul(add(t, div(t, add(t, 1))), 0.5);
  value = select(greater(a, 700), mul(mul(e, 0.5), e), value);
  return copySign(value, x);
}

Value F64Math::cosh(Value x) {
  Value a = abs(x), t = exp(a), e = exp(mul(a, 0.5));
  Value value = fma(t, 0.5, div(constant(0.5), t));
  return select(greater(a, 700), mul(mul(e, 0.5), e), value);
}

Value F64Math::tanh(Value x) {
  Value t = expm1(mul(abs(x), -2));
  return copySign(div(neg(t), add(t, 2)), x);
}

Value F64Math::asinh(Value x) {
  Value a = abs(x), square = mul(a, a);
  Value value = log1p(add(a, div(square, add(sqrt(add(square, 1)), 1))));
  value = select(greater(a, 1e150), add(log(a), kLn2), value);
  return copySign(value, x);
}

Value F64Math::acosh(Value x) {
  Value t = add(x, -1);
  Value value = log1p(add(t, sqrt(fma(t, t, mul(t, 2)))));
  return select(greater(x, 1e150), add(log(x), kLn2), value);
}

Value F64Math::atanh(Value x) {
  Value a = abs(x);
  return copySign(mul(log1p(div(mul(a, 2), sub(constant(1), a))), 0.5), x);
}

// ===--------------------------------------------------------------------=== //
// erf, cbrt, pow
// ===--------------------------------------------------------------------=== //

/// exp(-a^2) Q(y), y = (a - 3) / (a + 3), for 1 <= a <= 27; the square's rounding
/// error is put back.
Value F64Math::erfcOfLarge(Value a) {
  static constexpr double q[] = {
      -5.974618419724028691e-10,   2.9535085235424603737e-9,   -1.6821922607260852708e-9,  -1.0772765447721689324e-8,
      2.5936194475637200187e-9,    4.7707922098217272746e-8,   2.7450181215438413643e-8,   -2.3475774031434022253e-7,
      -2.9360183855390334706e-7,   1.2524548772573208913e-6,   2.119951842012201635e-6,    -7.9781100639101644936e-6,
      -0.000012860492185836098699, 0.000064056551158650570032, 0.000045255298342956003119, -0.00059706194811915631919,
      0.00070774643891778175577,   0.004269136332819653407,    -0.02439249931867148421,    0.071665837197978598305,
      -0.15011593650077721498,     0.24560380171233087703,     -0.32623356004303722831,    0.17900115118138995042};
  Value y = div(add(a, -3), add(a, 3)), square = mul(a, a), error = fma(a, a, neg(square));
  Value e = exp(neg(square));
  return mul(fma(neg(error), e, e), polynomial(y, q));
}

Value F64Math::erf(Value x) {
  // 2 / sqrt(pi) (-1)^n / (n! (2n + 1))
  static constexpr double p[] = {
      -2.3784598852774294255e-19,  4.7633480405150681197e-18, -9.0639708428086724792e-17, 1.6342614095367151894e-15,
      -2.7835162072109213549e-14,  4.4632242632864773449e-13, -6.7113668551641103779e-12, 9.4227590646504109706e-11,
      -1.2290555301717927353e-9,   1.480719281587921724e-8,   -1.6365844691234924317e-7,  1.6462114365889247402e-6,
      -0.000014925650358406250977, 0.00012055332981789664251, -0.00085483270234508528325, 0.0052239776254421878421,
      -0.026866170645131251759,    0.11283791670955125739,    -0.37612638903183752463,    1.1283791670955125739};
  Value a = abs(x), small = mul(x, polynomial(mul(x, x), p));
  Value large = copySign(sub(constant(1), erfcOfLarge(a)), x);
  large = select(greater(a, 6), copySign(constant(1), x), large);
  return select(greater(a, 1), large, small);
}

Value F64Math::erfc(Value x) {
  Value a = abs(x), tail = select(greater(a, 27), constant(0), erfcOfLarge(a));
  Value large = select(less(x, 0), sub(constant(2), tail), tail);
  return select(greater(a, 1), large, sub(constant(1), erf(x)));
}

/// A first guess by exp and log, then one step of Newton.
Value F64Math::cbrt(Value x) {
  Value a = abs(x), y = exp(div(log(a), constant(3)));
  Value square = mul(y, y), step = div(fma(neg(square), y, a), mul(square, 3));
  Value value = add(y, step);
  Value special = arith::OrIOp::create(b, loc, equal(a, 0), equal(a, kInfinity));
  return copySign(select(special, a, value), x);
}

/// |x|^y = e^(y log |x|), with the sign of an odd power.
Value F64Math::pow(Value x, Value y) {
  Value value = exp(mul(y, log(abs(x))));
  Value half = mul(y, 0.5);
  Value isInteger = compare(arith::CmpFPredicate::OEQ, round(y), y);
  Value isEven = compare(arith::CmpFPredicate::OEQ, round(half), half);
  Value isOdd = arith::AndIOp::create(
      b, loc, isInteger, arith::XOrIOp::create(b, loc, isEven, arith::ConstantIntOp::create(b, loc, 1, 1)));
  Value signedValue = select(isOdd, copySign(value, x), value);
  Value noPower = arith::AndIOp::create(
      b, loc, less(x, 0), arith::XOrIOp::create(b, loc, isInteger, arith::ConstantIntOp::create(b, loc, 1, 1)));
  signedValue = select(noPower, constant(std::nan("")), signedValue);
  signedValue = select(equal(y, 1), x, signedValue);
  Value one = arith::OrIOp::create(b, loc, equal(y, 0), equal(x, 1));
  return select(one, constant(1), signedValue);
}
