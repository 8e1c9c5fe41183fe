// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mov with packing and unpacking, cvta, isspacep, and special registers that
// change while a kernel runs.
#include "Decoder.h"
#include "Lanes.h"

using namespace gpusim;

namespace {

template <class C> void move(Warp &w, const Inst &i) {
  const auto *a = w.r<C>(i.a);
  eachLane<C>(w, i.d, [&](unsigned l) { return a[l]; });
}
void movePred(Warp &w, const Inst &i) { setPred(w, i.d, w.preds[i.a]); }

/// Operand-table entries are offsets; size is the bits of one part.
template <class C> void packParts(Warp &w, const Inst &i) {
  const uint32_t *parts = &w.kernel->operandTable[i.target];
  eachLane<C>(w, i.d, [&](unsigned l) {
    C v = 0;
    for (unsigned n = 0; n < i.vec; ++n)
      v |= (C)w.r<uint32_t>(parts[n])[l] << (n * i.size);
    return v;
  });
}
template <class C> void unpackParts(Warp &w, const Inst &i) {
  const uint32_t *parts = &w.kernel->operandTable[i.target];
  C v[warpSize];
  memcpy(v, w.r<C>(i.a), sizeof v); // a part may be the source itself
  const uint32_t keep = i.size == 32 ? ~0u : (1u << i.size) - 1;
  for (unsigned n = 0; n < i.vec; ++n)
    eachLane<uint32_t>(w, parts[n], [&](unsigned l) { return (uint32_t)(v[l] >> (n * i.size)) & keep; });
}

/// Time is the number of taken branches, so that it is repeatable and grows.
void readClock(Warp &w, const Inst &i) {
  uint64_t t = w.block->executed * 1024 + w.worker->instCounts[w.pc - 1].warps;
  if (i.size == 8)
    eachLane<uint64_t>(w, i.d, [&](unsigned) { return t; });
  else
    eachLane<uint32_t>(w, i.d, [&](unsigned) { return (uint32_t)t; });
}
void activeMask(Warp &w, const Inst &i) {
  uint32_t m = w.mask;
  eachLane<uint32_t>(w, i.d, [&](unsigned) { return m; });
}

bool decodeVector(Decoder &d, const Stmt &s, unsigned bits) {
  bool unpack = s.ops[0].kind == Operand::Vec;
  const Operand &vec = s.ops[unpack ? 0 : 1];
  size_t n = vec.elems.size();
  if ((n != 2 && n != 4) || bits / n < 8)
    d.fail("mov with " + std::to_string(n) + " parts");
  unsigned part = bits / n;
  std::vector<uint32_t> parts;
  for (const Operand &e : vec.elems)
    parts.push_back(unpack ? d.dst(e, part) : d.src(e, part));
  uint32_t whole = unpack ? d.src(s.ops[1], bits) : d.dst(s.ops[0], bits);
  uint32_t at = d.table(parts);
  bool wide = bits == 64;
  Inst &i = d.emit(unpack ? (wide ? unpackParts<uint64_t> : unpackParts<uint32_t>)
                          : (wide ? packParts<uint64_t> : packParts<uint32_t>),
                   Class::Move);
  (unpack ? i.a : i.d) = whole;
  i.target = at, i.vec = n, i.size = part;
  return true;
}

bool decodeMov(Decoder &d, const Stmt &s) {
  Mods m(s);
  std::string t = m.type();
  m.done();
  d.count(s, 2);
  if (t == "pred") {
    uint32_t a = d.predSrc(s.ops[1]), o = d.predDst(s.ops[0]);
    Inst &i = d.emit(movePred, Class::Move);
    i.a = a, i.d = o;
    return true;
  }
  unsigned bits = sizeOfType(t) * 8;
  if (bits < 16 || bits > 64)
    m.unsupported();
  if (s.ops[0].kind == Operand::Vec || s.ops[1].kind == Operand::Vec)
    return decodeVector(d, s, bits);
  const Operand &from = s.ops[1];
  bool clock = from.name.compare(0, 6, "%clock") == 0 || from.name == "%globaltimer";
  uint32_t a = 0, o = d.dst(s.ops[0], bits);
  Place p;
  if (from.kind == Operand::Ident && !clock && from.name[0] != '%' && d.findPlace(from.name, p) && bits >= 32) {
    a = d.constant(p.address + from.value, bits == 64);
  } else if (!clock) {
    a = d.src(from, bits);
  }
  Inst &i = d.emit(clock ? readClock : bits == 64 ? move<uint64_t> : move<uint32_t>, Class::Move);
  i.a = a, i.d = o, i.size = bits / 8;
  return true;
}

/// imm is the window of the space; direction in flags: 1 to the space.
void convertAddress(Warp &w, const Inst &i) {
  const auto *a = w.r<uint64_t>(i.a);
  uint64_t window = i.imm;
  if (i.flags & 1)
    eachLane<uint64_t>(w, i.d, [&](unsigned l) { return a[l] & windowMask ? a[l] & ~windowMask : a[l]; });
  else
    eachLane<uint64_t>(w, i.d, [&](unsigned l) { return a[l] | window; });
}
void isSpace(Warp &w, const Inst &i) {
  const auto *a = w.r<uint64_t>(i.a);
  uint32_t bits = 0;
  for (unsigned l = 0; l < warpSize; ++l)
    bits |= (uint32_t)((a[l] & windowMask) == (uint64_t)i.imm) << l;
  setPred(w, i.d, bits);
}

uint64_t windowOf(const std::string &space) {
  return space == "shared" ? sharedWindow : space == "local" ? localWindow : space == "param" ? paramWindow : 0;
}

std::string takeSpace(Mods &m) {
  std::string s =
      m.oneOf({"global", "const", "shared", "local", "param", "shared::cta", "shared::cluster", "param::entry"});
  return s.compare(0, 6, "shared") == 0 ? "shared" : s.compare(0, 5, "param") == 0 ? "param" : s;
}

} // namespace

bool gpusim::decodeMove(Decoder &d, const Stmt &s) {
  if (s.name == "mov")
    return decodeMov(d, s);
  if (s.name == "activemask") {
    Mods m(s);
    m.type();
    m.done();
    d.count(s, 1);
    uint32_t o = d.dst(s.ops[0], 32);
    d.emit(activeMask, Class::Move).d = o;
    return true;
  }
  if (s.name != "cvta" && s.name != "isspacep")
    return false;
  Mods m(s);
  bool to = s.name == "cvta" && m.take("to");
  std::string space = takeSpace(m);
  if (space.empty())
    m.unsupported();
  d.count(s, 2);
  if (s.name == "isspacep") {
    m.done();
    uint32_t a = d.src(s.ops[1], 64), o = d.predDst(s.ops[0]);
    Inst &i = d.emit(isSpace, Class::Move);
    i.a = a, i.d = o, i.imm = windowOf(space);
    return true;
  }
  std::string t = m.type();
  m.done();
  if (t != "u64")
    m.unsupported();
  uint32_t a, o = d.dst(s.ops[0], 64);
  Place p;
  if (s.ops[1].kind == Operand::Ident && s.ops[1].name[0] != '%' && d.findPlace(s.ops[1].name, p))
    a = d.constant(p.address + s.ops[1].value, true);
  else
    a = d.src(s.ops[1], 64);
  Inst &i = d.emit(convertAddress, Class::Move);
  i.a = a, i.d = o, i.imm = windowOf(space), i.flags = to;
  return true;
}
