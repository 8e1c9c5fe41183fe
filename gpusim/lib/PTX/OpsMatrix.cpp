// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ldmatrix, stmatrix, movmatrix, mma.sync (PTX ISA, "Warp Level Matrix
// Instructions").
//
// Every A and B fragment register has one shape: lane l holds row l/4 and E
// neighbouring elements from column E*(l%4), E being the elements in 32 bits.
// So the 32 lanes of a register are an 8 x 4E row-major tile. A consists of
// tiles (row half, column block), B (stored by columns n) of column blocks;
// C and D hold columns 2*(l%4) and 2*(l%4)+1 in two registers per row half.
#include "Decoder.h"
#include "Fragments.h"

using namespace gpusim;

namespace {

//===-- Moving 8x8 tiles --------------------------------------------------===//

enum MatrixFlags { Trans = 1, Shared32 = 2, Static = 4 };

void rowAddresses(Warp &w, const Inst &i, uint32_t *addr) {
  for (unsigned l = 0; l < warpSize; ++l) {
    uint64_t a = i.flags & Static     ? 0
                 : i.flags & Shared32 ? w.r<uint32_t>(i.a)[l]
                                      : w.r<uint64_t>(i.a)[l] & ~windowMask;
    a += i.imm;
    addr[l] = a > 0xffffffffull ? 0xffffffffu : (uint32_t)a;
  }
}

/// Checks the rows of all tiles, then calls f(register, row, place) with the
/// bytes of a register and the place of one of its rows in shared memory.
template <typename F> void eachRow(Warp &w, const Inst &i, Access kind, F f) {
  uint32_t addr[warpSize];
  rowAddresses(w, i, addr);
  const uint32_t lanes = i.vec == 4 ? fullMask : (1u << (8 * i.vec)) - 1;
  sharedAccess(w, i, addr, lanes, 16, kind);
  const uint32_t *regs = &w.kernel->operandTable[i.target];
  for (unsigned n = 0; n < i.vec; ++n)
    for (unsigned row = 0; row < 8; ++row)
      f(w.r<uint8_t>(regs[n]), row, &w.block->shared[addr[8 * n + row]]);
}

void loadMatrix(Warp &w, const Inst &i) {
  if (!wholeWarp(w, i))
    return;
  const bool trans = i.flags & Trans;
  eachRow(w, i, Access::Read, [trans](uint8_t *tile, unsigned row, const uint8_t *from) {
    if (!trans)
      memcpy(tile + 16 * row, from, 16);
    for (unsigned col = 0; col < 8 && trans; ++col)
      memcpy(tile + 16 * col + 2 * row, from + 2 * col, 2);
  });
}

void storeMatrix(Warp &w, const Inst &i) {
  if (!wholeWarp(w, i))
    return;
  const bool trans = i.flags & Trans;
  eachRow(w, i, Access::Write, [trans](const uint8_t *tile, unsigned row, uint8_t *to) {
    if (!trans)
      memcpy(to, tile + 16 * row, 16);
    for (unsigned col = 0; col < 8 && trans; ++col)
      memcpy(to + 2 * col, tile + 16 * col + 2 * row, 2);
  });
}

void moveMatrix(Warp &w, const Inst &i) {
  if (!wholeWarp(w, i))
    return;
  uint16_t in[64], out[64];
  memcpy(in, w.r<uint32_t>(i.a), sizeof in);
  for (unsigned r = 0; r < 8; ++r)
    for (unsigned c = 0; c < 8; ++c)
      out[8 * c + r] = in[8 * r + c];
  memcpy(w.r<uint32_t>(i.d), out, sizeof out);
}

bool decodeTile(Decoder &d, const Stmt &s) {
  Mods m(s);
  bool load = s.name == "ldmatrix";
  bool ok = m.take("sync") & m.take("aligned") & m.take("m8n8");
  std::string num = m.oneOf({"x1", "x2", "x4"});
  bool trans = m.take("trans");
  ok &= m.take("shared") || m.take("shared::cta");
  std::string t = m.type();
  m.done();
  if (!ok || num.empty() || t != "b16")
    m.unsupported();
  d.count(s, 2);
  const Operand &data = s.ops[load ? 0 : 1];
  unsigned n = num[1] - '0';
  std::vector<uint32_t> regs;
  if (data.kind == Operand::Vec && data.elems.size() == n)
    for (const Operand &e : data.elems)
      regs.push_back(load ? d.dst(e, 32) : d.src(e, 32));
  else if (n == 1 && data.kind == Operand::Ident)
    regs.push_back(load ? d.dst(data, 32) : d.src(data, 32));
  else
    d.fail("'" + s.name + "' needs " + std::to_string(n) + " registers");
  Decoder::Address a = d.address(s.ops[load ? 1 : 0]);
  if (a.isStatic && a.space != Space::Shared)
    d.fail("'" + s.name + "' outside shared memory");
  uint32_t at = d.table(regs);
  Inst &i = d.emit(load ? loadMatrix : storeMatrix, Class::Matrix);
  i.a = a.reg, i.imm = a.offset, i.target = at, i.vec = n;
  i.flags = (trans ? Trans : 0) | (a.isStatic ? Static : 0) | (!a.isStatic && a.regBits == 32 ? Shared32 : 0);
  return true;
}

bool decodeMoveMatrix(Decoder &d, const Stmt &s) {
  Mods m(s);
  bool ok = m.take("sync") & m.take("aligned") & m.take("m8n8") & m.take("trans");
  std::string t = m.type();
  m.done();
  if (!ok || t != "b16")
    m.unsupported();
  d.count(s, 2);
  uint32_t a = d.src(s.ops[1], 32), o = d.dst(s.ops[0], 32);
  Inst &i = d.emit(moveMatrix, Class::Matrix);
  i.a = a, i.d = o;
  return true;
}

//===-- mma ---------------------------------------------------------------===//

/// D = A*B + C, 16 x 8 x K, in f32: products are exact or fused, added in the
/// order of k. A device adds in another, unspecified order. Operand table: 4
/// (or 2 for f16 sums) registers of D, then A, B and C. flags: some register of D is
/// another one of C, so that sums must all be read before one is written.
template <class In, unsigned K, bool HalfSums> void mmaFloat(Warp &w, const Inst &i) {
  if (!wholeWarp(w, i))
    return;
  constexpr unsigned cRegs = HalfSums ? 2 : 4;
  constexpr unsigned block = 4 * In::E, blocks = K / block;
  const uint32_t *dRegs = &w.kernel->operandTable[i.target], *aRegs = dRegs + cRegs, *bRegs = aRegs + 2 * blocks,
                 *sumRegs = bRegs + blocks;
  alignas(64) float a[16][K], byColumn[8][K], b[K][8];
  for (unsigned n = 0; n < blocks; ++n) {
    for (unsigned r = 0; r < 16; ++r)
      In::row(w.r<uint32_t>(aRegs[2 * n + r / 8]) + 4 * (r % 8), &a[r][n * block]);
    for (unsigned c = 0; c < 8; ++c)
      In::row(w.r<uint32_t>(bRegs[n]) + 4 * c, &byColumn[c][n * block]);
  }
  transpose<K>(byColumn, b);
  alignas(64) float c[4][warpSize], d[4][warpSize];
  for (unsigned half = 0; half < 2; ++half) {
    const unsigned n = 2 * half;
    if (HalfSums) {
      widenSums(w.r<uint32_t>(sumRegs[half]), c[n], c[n + 1]);
      multiply8<K>(c[n], c[n + 1], a + 8 * half, b, d[n], d[n + 1]);
      continue;
    }
    float *d0 = i.flags ? d[n] : w.r<float>(dRegs[n]), *d1 = i.flags ? d[n + 1] : w.r<float>(dRegs[n + 1]);
    multiply8<K>(w.r<float>(sumRegs[n]), w.r<float>(sumRegs[n + 1]), a + 8 * half, b, d0, d1);
  }
  for (unsigned half = 0; half < 2 && HalfSums; ++half)
    narrowSums(d[2 * half], d[2 * half + 1], w.r<uint32_t>(dRegs[half]));
  for (unsigned n = 0; n < 4 && !HalfSums && i.flags; ++n)
    memcpy(w.r<float>(dRegs[n]), d[n], sizeof d[n]);
}

/// 8-bit integers, 16 x 8 x K with K 16 or 32. imm: bit 0 A signed, bit 1 B
/// signed, bit 2 saturate.
void mmaInt8(Warp &w, const Inst &i) {
  if (!wholeWarp(w, i))
    return;
  const unsigned blocks = i.vec;
  const uint32_t *d = &w.kernel->operandTable[i.target], *a = d + 4, *b = a + 2 * blocks, *c = b + blocks;
  auto value = [&](uint32_t reg, unsigned row, unsigned col, bool sign) {
    uint8_t v = w.r<uint32_t>(reg)[4 * row + col / 4] >> (8 * (col % 4));
    return sign ? (int)(int8_t)v : (int)v;
  };
  int32_t out[4][warpSize];
  for (unsigned l = 0; l < warpSize; ++l)
    for (unsigned n = 0; n < 4; ++n) {
      unsigned half = n / 2, row = l / 4, col = 2 * (l % 4) + n % 2;
      int64_t sum = w.r<int32_t>(c[n])[l];
      for (unsigned k = 0; k < 16 * blocks; ++k)
        sum += value(a[2 * (k / 16) + half], row, k % 16, i.imm & 1) * value(b[k / 16], col, k % 16, i.imm & 2);
      if (i.imm & 4)
        sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
      out[n][l] = (int32_t)sum;
    }
  for (unsigned n = 0; n < 4; ++n)
    memcpy(w.r<int32_t>(d[n]), out[n], sizeof out[n]);
}

/// f64, 8 x 8 x 4: one element per register.
void mmaDouble(Warp &w, const Inst &i) {
  if (!wholeWarp(w, i))
    return;
  const uint32_t *regs = &w.kernel->operandTable[i.target];
  const auto *a = w.r<double>(regs[2]), *b = w.r<double>(regs[3]);
  double out[2][warpSize];
  for (unsigned l = 0; l < warpSize; ++l)
    for (unsigned n = 0; n < 2; ++n) {
      unsigned row = l / 4, col = 2 * (l % 4) + n;
      double sum = w.r<double>(regs[4 + n])[l];
      for (unsigned k = 0; k < 4; ++k)
        sum = std::fma(a[4 * row + k], b[4 * col + k], sum);
      out[n][l] = sum;
    }
  for (unsigned n = 0; n < 2; ++n)
    memcpy(w.r<double>(regs[n]), out[n], sizeof out[n]);
}

struct Shape {
  const char *shape, *a, *b, *sum; ///< sum: type of C and D
  unsigned aRegs, bRegs, cRegs, cBits;
  Handler fn;
  Unit unit;
  unsigned flops;
};
const Shape shapes[] = {
    {"m16n8k16", "f16", "f16", "f32", 4, 2, 4, 32, mmaFloat<F16In, 16, false>, Unit::TensorF16, 4096},
    {"m16n8k16", "f16", "f16", "f16", 4, 2, 2, 32, mmaFloat<F16In, 16, true>, Unit::TensorF16, 4096},
    {"m16n8k8", "f16", "f16", "f32", 2, 1, 4, 32, mmaFloat<F16In, 8, false>, Unit::TensorF16, 2048},
    {"m16n8k8", "f16", "f16", "f16", 2, 1, 2, 32, mmaFloat<F16In, 8, true>, Unit::TensorF16, 2048},
    {"m16n8k16", "bf16", "bf16", "f32", 4, 2, 4, 32, mmaFloat<Bf16In, 16, false>, Unit::TensorBf16, 4096},
    {"m16n8k8", "bf16", "bf16", "f32", 2, 1, 4, 32, mmaFloat<Bf16In, 8, false>, Unit::TensorBf16, 2048},
    {"m16n8k8", "tf32", "tf32", "f32", 4, 2, 4, 32, mmaFloat<Tf32In, 8, false>, Unit::TensorTf32, 2048},
    {"m16n8k4", "tf32", "tf32", "f32", 2, 1, 4, 32, mmaFloat<Tf32In, 4, false>, Unit::TensorTf32, 1024},
    {"m16n8k32", "s8", "s8", "s32", 4, 2, 4, 32, mmaInt8, Unit::TensorInt, 8192},
    {"m16n8k16", "s8", "s8", "s32", 2, 1, 4, 32, mmaInt8, Unit::TensorInt, 4096},
    {"m8n8k4", "f64", "f64", "f64", 1, 1, 2, 64, mmaDouble, Unit::TensorF64, 512},
};

bool sameInput(const char *want, const std::string &have) {
  return have == want || (std::string(want) == "s8" && have == "u8");
}

void addRegs(Decoder &d, const Operand &o, unsigned n, unsigned bits, bool dst, std::vector<uint32_t> &regs) {
  if (o.kind != Operand::Vec && n == 1) {
    regs.push_back(dst ? d.dst(o, bits) : d.src(o, bits));
    return;
  }
  if (o.kind != Operand::Vec || o.elems.size() != n)
    d.fail("mma fragment of " + std::to_string(o.elems.size()) + " registers instead of " + std::to_string(n));
  for (const Operand &e : o.elems)
    regs.push_back(dst ? d.dst(e, bits) : d.src(e, bits));
}

/// Whether a register of D stands at another place among those of C.
bool crossed(const uint32_t *d, const uint32_t *c, unsigned n) {
  for (unsigned k = 0; k < n * n; ++k)
    if (k / n != k % n && d[k / n] == c[k % n])
      return true;
  return false;
}

bool decodeMma(Decoder &d, const Stmt &s) {
  Mods m(s);
  bool ok = m.take("sync") & m.take("aligned") & m.take("row") & m.take("col");
  std::string c = m.type(), b = m.type(), a = m.type(), o = m.type();
  bool sat = m.take("satfinite");
  const Shape *shape = nullptr;
  for (const Shape &p : shapes)
    if (m.has(p.shape) && sameInput(p.a, a) && sameInput(p.b, b) && c == p.sum && o == p.sum)
      shape = &p;
  if (!ok || !shape || (sat && shape->unit != Unit::TensorInt))
    m.unsupported();
  m.take(shape->shape);
  m.done();
  d.count(s, 4);
  unsigned bits = shape->cBits;
  std::vector<uint32_t> regs;
  addRegs(d, s.ops[0], shape->cRegs, bits, true, regs);
  addRegs(d, s.ops[1], shape->aRegs, bits, false, regs);
  addRegs(d, s.ops[2], shape->bRegs, bits, false, regs);
  addRegs(d, s.ops[3], shape->cRegs, bits, false, regs);
  uint32_t at = d.table(regs);
  Inst &i = d.emit(shape->fn, Class::Tensor);
  i.target = at, i.flops = shape->flops, i.unit = shape->unit;
  i.vec = shape->bRegs;
  i.flags = crossed(regs.data(), &regs[regs.size() - shape->cRegs], shape->cRegs);
  i.imm = (a[0] == 's') | (b[0] == 's') << 1 | sat << 2;
  return true;
}

} // namespace

bool gpusim::decodeMatrix(Decoder &d, const Stmt &s) {
  if (s.name == "ldmatrix" || s.name == "stmatrix")
    return decodeTile(d, s);
  if (s.name == "movmatrix")
    return decodeMoveMatrix(d, s);
  if (s.name == "mma")
    return decodeMma(d, s);
  return false;
}
