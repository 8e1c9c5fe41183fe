// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// wgmma of sm_90a (PTX ISA, "Asynchronous Warpgroup Level Matrix
// Instructions"). Each warp of a warpgroup computes its own 16 of the 64 rows
// when it comes by, so that the four never have to meet. Shared memory counts
// as read until the group is waited for; that nobody touches the sums before
// is not checked.
#include "Decoder.h"
#include "Fragments.h"

using namespace gpusim;

namespace {

/// A matrix descriptor (PTX ISA, "Shared Memory Matrix Layout"): `wide` is the
/// number of 16-byte chunks in a row of the swizzle, 1 without one.
struct Matrix {
  uint32_t start, leading, stride, wide, swizzleBits;

  explicit Matrix(uint64_t descriptor) {
    auto bytes = [&](unsigned bit) { return (uint32_t)(descriptor >> bit & 0x3fff) << 4; };
    start = bytes(0), leading = bytes(16), stride = bytes(32);
    const unsigned layout = descriptor >> 62;
    swizzleBits = layout ? 4 - layout : 0; // 1: 128 bytes, 2: 64, 3: 32
    wide = 1u << swizzleBits;
  }
  uint32_t swizzled(uint32_t addr) const { return addr ^ ((addr >> 7 & (wide - 1)) << 4); }
  /// Chunk `c` along k of row `r`, where rows lie along k.
  uint32_t rowChunk(uint32_t r, uint32_t c) const {
    return swizzled(start + r / 8 * stride + r % 8 * 16 * wide + c * (swizzleBits ? 16 : leading));
  }
  /// The eight rows from 8 * `r8` on at one k, where columns lie together.
  uint32_t columnChunk(uint32_t r8, uint32_t k) const {
    return swizzled(start + r8 / wide * (swizzleBits ? leading : stride) + r8 % wide * 16 + k % 8 * 16 * wide +
                    k / 8 * (swizzleBits ? stride : leading));
  }
};

enum Flags { ARegisters = 1, ATransposed = 2, BTransposed = 4, Negate = 8 };

/// Reads `rows` (a multiple of 8) rows of K elements from `first` on, as
/// floats. The chunks are noted as read.
template <class In, unsigned K>
void readRows(Warp &w, const Matrix &m, bool transposed, unsigned first, unsigned rows, float (*out)[K],
              std::vector<uint32_t> &chunks) {
  constexpr unsigned each = 4 * In::E; // elements of a chunk
  const uint8_t *shared = w.block->shared.data();
  const size_t from = chunks.size();
  if (transposed)
    for (unsigned r = first / 8; r < (first + rows) / 8; ++r)
      for (unsigned k = 0; k < K; ++k)
        chunks.push_back(m.columnChunk(r, k));
  else
    for (unsigned r = first; r < first + rows; ++r)
      for (unsigned c = 0; c < K / each; ++c)
        chunks.push_back(m.rowChunk(r, c));
  for (size_t n = from; n < chunks.size(); n += warpSize)
    sharedChunks(w, &chunks[n], std::min<size_t>(warpSize, chunks.size() - n));
  float values[each];
  for (size_t n = from; n < chunks.size(); ++n) {
    uint32_t words[4];
    memcpy(words, shared + chunks[n], sizeof words);
    In::row(words, values);
    const size_t at = n - from;
    if (transposed)
      for (unsigned e = 0; e < each; ++e)
        out[at / K * 8 + e][at % K] = values[e];
    else
      memcpy(&out[at / (K / each)][at % (K / each) * each], values, sizeof values);
  }
}

/// Operand table: registers of D, then of A if it has some. a, b: descriptors;
/// c: predicate that keeps the old sums; vec: columns / 8.
template <class In, unsigned K, bool HalfSums> void multiplyAsync(Warp &w, const Inst &i) {
  if (!wholeWarp(w, i))
    return;
  const unsigned tiles = i.vec, perTile = HalfSums ? 2 : 4;
  const uint32_t *dRegs = &w.kernel->operandTable[i.target], *aRegs = dRegs + tiles * perTile;
  const bool keep = w.preds[i.c] & 1;
  alignas(64) float a[16][K], byColumn[8][K], b[K][8];
  alignas(64) float c[4][warpSize] = {}, d[4][warpSize];
  Warp::TensorReads reads{w.tensorGroup, {}};
  if (i.flags & ARegisters) {
    constexpr unsigned block = 4 * In::E;
    for (unsigned n = 0; n < K / block; ++n)
      for (unsigned r = 0; r < 16; ++r)
        In::row(w.r<uint32_t>(aRegs[2 * n + r / 8]) + 4 * (r % 8), &a[r][n * block]);
  } else {
    const Matrix m(w.r<uint64_t>(i.a)[0]);
    readRows<In, K>(w, m, i.flags & ATransposed, 16 * (w.index % 4), 16, a, reads.chunks);
  }
  for (unsigned r = 0; r < 16 && i.flags & Negate; ++r)
    for (float &v : a[r])
      v = -v;
  const Matrix m(w.r<uint64_t>(i.b)[0]);
  for (unsigned t = 0; t < tiles; ++t) {
    readRows<In, K>(w, m, i.flags & BTransposed, 8 * t, 8, byColumn, reads.chunks);
    transpose<K>(byColumn, b);
    const uint32_t *sums = dRegs + t * perTile;
    for (unsigned half = 0; half < 2; ++half) {
      float *c0 = c[2 * half], *c1 = c[2 * half + 1], *d0 = d[2 * half], *d1 = d[2 * half + 1];
      if (!HalfSums)
        d0 = w.r<float>(sums[2 * half]), d1 = w.r<float>(sums[2 * half + 1]);
      if (HalfSums && keep)
        widenSums(w.r<uint32_t>(sums[half]), c0, c1);
      if (!HalfSums && keep)
        c0 = d0, c1 = d1;
      multiply8<K>(c0, c1, a + 8 * half, b, d0, d1);
      if (HalfSums)
        narrowSums(d0, d1, w.r<uint32_t>(sums[half]));
    }
  }
  w.tensorReads.push_back(std::move(reads));
}

void commitTensor(Warp &w, const Inst &i) {
  if (wholeWarp(w, i))
    ++w.tensorGroup;
}
void waitTensor(Warp &w, const Inst &i) {
  if (!wholeWarp(w, i))
    return;
  size_t kept = 0;
  for (Warp::TensorReads &r : w.tensorReads) {
    if (r.group + i.imm >= w.tensorGroup) {
      if (&w.tensorReads[kept] != &r)
        w.tensorReads[kept] = std::move(r);
      ++kept;
      continue;
    }
    for (size_t n = 0; n < r.chunks.size(); n += warpSize)
      sharedChunks(w, &r.chunks[n], std::min<size_t>(warpSize, r.chunks.size() - n));
  }
  w.tensorReads.resize(kept);
}
void fenceTensor(Warp &w, const Inst &i) { wholeWarp(w, i); }

struct Form {
  const char *k, *sum, *in;
  Handler fn;
  Unit unit;
  unsigned depth, perTile;
  bool canTranspose;
};
const Form forms[] = {
    {"k16", "f32", "f16", multiplyAsync<F16In, 16, false>, Unit::TensorF16, 16, 4, true},
    {"k16", "f16", "f16", multiplyAsync<F16In, 16, true>, Unit::TensorF16, 16, 2, true},
    {"k16", "f32", "bf16", multiplyAsync<Bf16In, 16, false>, Unit::TensorBf16, 16, 4, true},
    {"k8", "f32", "tf32", multiplyAsync<Tf32In, 8, false>, Unit::TensorTf32, 8, 4, false},
};

/// `m64nNkK`; null if there is no such form.
const Form *takeForm(Mods &m, const Stmt &s, unsigned &columns) {
  const std::string b = m.type(), a = m.type(), sum = m.type();
  for (const std::string &mod : s.mods)
    for (const Form &f : forms)
      for (columns = 8; columns <= 256; columns += 8)
        if (mod == "m64n" + std::to_string(columns) + f.k && a == f.in && b == f.in && sum == f.sum) {
          m.take(mod.c_str());
          return &f;
        }
  return nullptr;
}

bool scale(Decoder &d, const Operand &o) {
  if (o.kind != Operand::Int || (o.value != 1 && o.value != (uint64_t)-1))
    d.fail("wgmma scales by 1 or -1");
  return o.value != 1;
}

bool decodeMultiply(Decoder &d, const Stmt &s, Mods &m) {
  unsigned columns = 0;
  const Form *f = takeForm(m, s, columns);
  if (!f)
    m.unsupported();
  m.done();
  if (s.ops.size() < 6)
    d.fail("wgmma with too few operands");
  const bool aRegisters = s.ops[1].kind == Operand::Vec;
  const unsigned transposes = f->canTranspose ? (aRegisters ? 1 : 2) : 0, tiles = columns / 8;
  d.count(s, 6 + transposes);
  if (s.ops[0].kind != Operand::Vec || s.ops[0].elems.size() != tiles * f->perTile ||
      (aRegisters && s.ops[1].elems.size() != 4))
    d.fail("wgmma needs " + std::to_string(tiles * f->perTile) +
           " registers of sums, and 4 of A if it is in registers");
  std::vector<uint32_t> regs;
  uint8_t flags = aRegisters ? ARegisters : 0;
  for (const Operand &e : s.ops[0].elems) {
    d.src(e, 32);
    regs.push_back(d.dst(e, 32));
  }
  for (const Operand &e : s.ops[1].elems)
    regs.push_back(d.src(e, 32));
  const uint32_t a = aRegisters ? 0 : d.src(s.ops[1], 64), b = d.src(s.ops[2], 64);
  const uint16_t keep = d.predSrc(s.ops[3]);
  if (scale(d, s.ops[4]) != scale(d, s.ops[5]))
    flags |= Negate;
  if (transposes == 2 && d.immediate(s.ops[6]))
    flags |= ATransposed;
  if (transposes && d.immediate(s.ops.back()))
    flags |= BTransposed;
  const uint32_t at = d.table(regs);
  Inst &i = d.emit(f->fn, Class::Tensor);
  i.a = a, i.b = b, i.c = keep, i.target = at, i.vec = tiles, i.flags = flags;
  i.unit = f->unit, i.flops = 2 * 16 * columns * f->depth;
  return true;
}

} // namespace

bool gpusim::decodeWgmma(Decoder &d, const Stmt &s) {
  if (s.name != "wgmma")
    return false;
  Mods m(s);
  const std::string kind = m.oneOf({"fence", "commit_group", "wait_group", "mma_async"});
  if (kind.empty() || !(m.take("sync") & m.take("aligned")))
    m.unsupported();
  d.out().partialBarriers = true;
  if (kind == "mma_async")
    return decodeMultiply(d, s, m);
  m.done();
  d.count(s, kind == "wait_group" ? 1 : 0);
  const uint64_t n = kind == "wait_group" ? d.immediate(s.ops[0]) : 0;
  d.emit(kind == "fence" ? fenceTensor : kind == "commit_group" ? commitTensor : waitTensor, Class::Control).imm = n;
  return true;
}
