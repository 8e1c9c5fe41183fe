// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cp.async.bulk and cp.async.bulk.tensor (PTX ISA, "Asynchronous copy: bulk").
// Every executing lane makes a copy of its own. Into shared memory the bytes
// are on their way until somebody looks at the mbarrier; out of it they are
// there at once, and count as read until the group is waited for.
#include "Decoder.h"
#include "Lanes.h"
#include "TensorMap.h"

#include <algorithm>

using namespace gpusim;

namespace {

enum Flags { SharedStatic = 1, Shared32 = 2, BarrierStatic = 4, Barrier32 = 8, Store = 16, Im2col = 32 };

/// The operands of one copy; registers, with offsets for addresses. It stands
/// in the operand table.
struct Operands {
  uint32_t shared, sharedOffset, barrier, barrierOffset, global;
  uint32_t size; ///< register of the bytes, without a tensor
  uint32_t rank, coords[5], offsets[3];
};
constexpr size_t operandWords = sizeof(Operands) / sizeof(uint32_t);

uint32_t sharedPlace(Warp &w, uint32_t reg, bool isStatic, bool narrow, uint32_t offset, unsigned lane) {
  const uint64_t a = isStatic ? 0 : narrow ? w.r<uint32_t>(reg)[lane] : w.r<uint64_t>(reg)[lane] & ~windowMask;
  const uint64_t at = a + (int32_t)offset;
  return at > 0xffffffffull ? 0xffffffffu : (uint32_t)at;
}

/// Where chunks of 16 bytes go: their number within 128 bytes is combined
/// with that of the 128 bytes.
uint32_t swizzled(uint32_t addr, unsigned bits) { return addr ^ ((addr >> 7 & ((1u << bits) - 1)) << 4); }

TensorMap readMap(Warp &w, unsigned lane, uint64_t addr) {
  TensorMap map;
  if ((addr & windowMask) == paramWindow) {
    const auto &params = w.block->launch->config.params;
    const uint64_t at = addr & ~windowMask;
    if (at + sizeof map > params.size() || at + sizeof map < at)
      w.faultAt(FaultKind::IllegalAddress, lane, at, "tensor map beyond the kernel's parameters");
    memcpy(&map, &params[at], sizeof map);
  } else {
    memcpy(&map, globalRegion(w, lane, addr, sizeof map, Access::Read), sizeof map);
  }
  if (map.magic != TensorMap::rightMagic)
    w.faultAt(FaultKind::Illegal, lane, addr, "these 128 bytes are no tensor map (cuTensorMapEncode...)");
  return map;
}

/// Walks over the innermost rows of a box, in the order of shared memory.
class Box {
public:
  Box(const TensorMap &map, const int32_t *coords, const uint16_t *offsets);
  uint32_t rowBytes() const { return map.box[0] * map.elementBytes; }
  uint32_t bytes() const { return rowBytes() * rows; }
  /// Calls f(row, address, skip, bytes) with the part of each row that lies
  /// in the tensor; bytes is 0 if none does.
  template <typename F> void each(F f) {
    for (uint32_t n = 0; n < rows; ++n, next()) {
      uint64_t address = map.address;
      bool inside = true;
      for (unsigned d = 1; d < map.rank; ++d) {
        const int64_t at = position[d] + shift[d];
        inside &= at >= 0 && at < (int64_t)map.dims[d];
        address += at * map.strides[d - 1];
      }
      const int64_t lo = std::max<int64_t>(position[0], 0),
                    hi = std::min<int64_t>(position[0] + map.box[0], map.dims[0]);
      if (inside && lo < hi)
        f(n, address + lo * map.elementBytes, (lo - position[0]) * map.elementBytes, (hi - lo) * map.elementBytes);
    }
  }

private:
  void next();

  const TensorMap &map;
  int64_t start[5] = {}, position[5] = {}, shift[5] = {};
  uint32_t rows = 1;
};

Box::Box(const TensorMap &map, const int32_t *coords, const uint16_t *offsets) : map(map) {
  for (unsigned d = 0; d < map.rank; ++d)
    start[d] = position[d] = coords[d];
  if (map.im2col) {
    for (unsigned d = 1; d + 1 < map.rank; ++d)
      shift[d] = offsets[d - 1];
    rows = map.box[1];
    return;
  }
  for (unsigned d = 1; d < map.rank; ++d)
    rows *= (map.box[d] + map.elementStrides[d] - 1) / map.elementStrides[d];
}

/// Tiles: like a number with one digit for each dimension. im2col: pixel by
/// pixel through the bounding box, then on to the next image.
void Box::next() {
  const unsigned last = map.rank - 1;
  for (unsigned d = 1; d <= last; ++d) {
    const bool isImage = map.im2col && d == last;
    position[d] += isImage ? 1 : map.elementStrides[d];
    const int64_t end = map.im2col ? (int64_t)map.dims[d] + map.upper[d - 1 < 3 ? d - 1 : 0] : start[d] + map.box[d];
    if (isImage || position[d] < end)
      return;
    position[d] = map.im2col ? map.lower[d - 1] : start[d];
  }
}

void loadBox(const TensorMap &map, Box &box, Warp &w, unsigned lane, uint32_t to, uint8_t *out) {
  if (map.nanFill)
    w.fault(FaultKind::Illegal, lane, "tensor maps that fill with NaN are not simulated");
  const uint32_t rowBytes = box.rowBytes();
  box.each([&](uint32_t row, uint64_t address, uint32_t skip, uint32_t bytes) {
    const uint8_t *from = globalRegion(w, lane, address, bytes, Access::Read);
    for (uint32_t n = 0; n < bytes;) { // up to the end of a chunk
      const uint32_t at = to + row * rowBytes + skip + n, length = std::min(bytes - n, 16 - at % 16);
      memcpy(out + (swizzled(at, map.swizzleBits) - to), from + n, length);
      n += length;
    }
  });
}
void storeBox(const TensorMap &map, Box &box, Warp &w, unsigned lane, uint32_t from) {
  const uint32_t rowBytes = box.rowBytes();
  box.each([&](uint32_t row, uint64_t address, uint32_t skip, uint32_t bytes) {
    uint8_t *to = globalRegion(w, lane, address, bytes, Access::Write);
    for (uint32_t n = 0; n < bytes;) {
      const uint32_t at = from + row * rowBytes + skip + n, length = std::min(bytes - n, 16 - at % 16);
      memcpy(to + n, &w.block->shared[swizzled(at, map.swizzleBits)], length);
      n += length;
    }
  });
}

void issue(Warp &w, const Inst &i, uint32_t barrier, uint32_t to, unsigned lane, std::vector<uint8_t> data) {
  if (!w.block->mbarriers.count(barrier))
    w.faultAt(FaultKind::Uninitialised, lane, barrier,
              "a bulk copy towards an mbarrier that no mbarrier.init has made");
  sharedRegion(w, lane, to, data.size(), Access::Write, true);
  const uint32_t inst = &i - w.kernel->code.data();
  w.block->bulk.push_back({barrier, to, w.index, inst, raceTag(w, inFlightTag), std::move(data)});
}

/// The bytes that a store reads count as read until its group has been waited
/// for.
void keepReading(Warp &w, uint32_t from, uint32_t bytes) { w.bulkReads.push_back({w.bulkGroup, from, bytes}); }

void copyTensor(Warp &w, const Inst &i) {
  Operands o;
  memcpy(&o, &w.kernel->operandTable[i.target], sizeof o);
  forLanes(w.mask, [&](unsigned l) {
    const TensorMap map = readMap(w, l, w.r<uint64_t>(o.global)[l]);
    if (map.rank != o.rank || map.im2col != !!(i.flags & Im2col))
      w.fault(FaultKind::Illegal, l,
              "the tensor map has " + std::to_string(map.rank) + " dimensions" +
                  (map.im2col ? " and is for im2col" : " and is for tiles"));
    int32_t coords[5] = {};
    uint16_t offsets[3] = {};
    for (unsigned d = 0; d < o.rank; ++d)
      coords[d] = w.r<int32_t>(o.coords[d])[l];
    for (unsigned d = 0; d + 2 < o.rank && i.flags & Im2col; ++d)
      offsets[d] = w.r<uint32_t>(o.offsets[d])[l];
    const uint32_t shared = sharedPlace(w, o.shared, i.flags & SharedStatic, i.flags & Shared32, o.sharedOffset, l);
    if (shared % 128)
      w.faultAt(FaultKind::Misaligned, l, shared, "shared memory of a bulk tensor copy must be aligned to 128 bytes");
    Box box(map, coords, offsets);
    if (i.flags & Store) {
      sharedRegion(w, l, shared, box.bytes(), Access::Read);
      storeBox(map, box, w, l, shared);
      keepReading(w, shared, box.bytes());
      return;
    }
    std::vector<uint8_t> data(box.bytes());
    loadBox(map, box, w, l, shared, data.data());
    issue(w, i, sharedPlace(w, o.barrier, i.flags & BarrierStatic, i.flags & Barrier32, o.barrierOffset, l), shared, l,
          std::move(data));
  });
}

/// Without a tensor: so many bytes in a row.
void copyBytes(Warp &w, const Inst &i) {
  Operands o;
  memcpy(&o, &w.kernel->operandTable[i.target], sizeof o);
  forLanes(w.mask, [&](unsigned l) {
    const uint64_t global = w.r<uint64_t>(o.global)[l] + i.imm;
    const uint32_t bytes = w.r<uint32_t>(o.size)[l];
    if (!bytes || bytes % 16)
      w.fault(FaultKind::Illegal, l, "bulk copy of " + std::to_string(bytes) + " bytes, not a multiple of 16");
    if (global % 16)
      w.faultAt(FaultKind::Misaligned, l, global, "global memory of a bulk copy must be aligned to 16 bytes");
    const uint32_t shared = sharedPlace(w, o.shared, i.flags & SharedStatic, i.flags & Shared32, o.sharedOffset, l);
    if (i.flags & Store) {
      sharedRegion(w, l, shared, bytes, Access::Read);
      memcpy(globalRegion(w, l, global, bytes, Access::Write), &w.block->shared[shared], bytes);
      keepReading(w, shared, bytes);
      return;
    }
    const uint8_t *from = globalRegion(w, l, global, bytes, Access::Read);
    issue(w, i, sharedPlace(w, o.barrier, i.flags & BarrierStatic, i.flags & Barrier32, o.barrierOffset, l), shared, l,
          {from, from + bytes});
  });
}

void commitBulk(Warp &w, const Inst &) { ++w.bulkGroup; }
void waitBulk(Warp &w, const Inst &i) {
  const unsigned lane = __builtin_ctz(w.mask);
  size_t kept = 0;
  for (const Warp::BulkRead &r : w.bulkReads)
    if (r.group + i.imm < w.bulkGroup)
      sharedRegion(w, lane, r.from, r.bytes, Access::Read);
    else
      w.bulkReads[kept++] = r;
  w.bulkReads.resize(kept);
}
void nothing(Warp &, const Inst &) {}

//===-- Decoding ----------------------------------------------------------===//

void setShared(Decoder &d, const Operand &o, Operands &out, uint8_t &flags, bool barrier) {
  const Decoder::Address a = d.address(o);
  if ((a.isStatic && a.space != Space::Shared) || a.offset != (int32_t)a.offset)
    d.fail("bulk copy with an address in the wrong space");
  flags |= (a.isStatic ? SharedStatic : a.regBits == 32 ? Shared32 : 0) << (barrier ? 2 : 0);
  (barrier ? out.barrier : out.shared) = a.reg;
  (barrier ? out.barrierOffset : out.sharedOffset) = (uint32_t)a.offset;
  d.sharedWidth(barrier ? 8 : 16);
}

/// [map, {coordinates}]
void setTensor(Decoder &d, const Operand &o, Operands &out) {
  if (o.kind != Operand::Addr || o.name.empty() || o.value || o.elems.size() != 1 || o.elems[0].kind != Operand::Vec ||
      o.elems[0].elems.size() != out.rank)
    d.fail("bulk tensor copy needs a tensor map and " + std::to_string(out.rank) + " coordinates");
  Operand map;
  map.name = o.name;
  out.global = d.src(map, 64);
  for (unsigned n = 0; n < out.rank; ++n)
    out.coords[n] = d.src(o.elems[0].elems[n], 32);
}

Inst &emitCopy(Decoder &d, const Operands &o, Handler fn, uint8_t flags) {
  std::vector<uint32_t> words(operandWords);
  memcpy(words.data(), &o, sizeof o);
  const uint32_t at = d.table(words);
  Inst &i = d.emit(fn, Class::AsyncCopy);
  i.target = at, i.flags = flags;
  return i;
}

bool decodeTensor(Decoder &d, const Stmt &s, Mods &m, bool store, bool policy) {
  Operands o{};
  for (unsigned n = 1; n <= 5; ++n)
    if (m.take((std::to_string(n) + "d").c_str()))
      o.rank = n;
  const bool im2col = m.take("im2col");
  m.take("tile");
  m.done();
  if (!o.rank || (im2col && (store || o.rank < 3)))
    m.unsupported();
  d.count(s, (store ? 2 : 3) + im2col + policy);
  uint8_t flags = (store ? Store : 0) | (im2col ? Im2col : 0);
  setShared(d, s.ops[store ? 1 : 0], o, flags, false);
  setTensor(d, s.ops[store ? 0 : 1], o);
  if (!store)
    setShared(d, s.ops[2], o, flags, true);
  if (im2col && (s.ops[3].kind != Operand::Vec || s.ops[3].elems.size() != o.rank - 2))
    d.fail("im2col needs " + std::to_string(o.rank - 2) + " offsets");
  for (unsigned n = 0; im2col && n + 2 < o.rank; ++n)
    o.offsets[n] = d.src(s.ops[3].elems[n], 16);
  if (policy)
    d.src(s.ops.back(), 64);
  emitCopy(d, o, copyTensor, flags);
  return true;
}

bool decodeBytes(Decoder &d, const Stmt &s, Mods &m, bool store, bool policy) {
  m.done();
  d.count(s, (store ? 3 : 4) + policy);
  Operands o{};
  uint8_t flags = store ? Store : 0;
  setShared(d, s.ops[store ? 1 : 0], o, flags, false);
  const Decoder::Address global = d.address(s.ops[store ? 0 : 1]);
  if (global.isStatic || global.regBits != 64)
    d.fail("bulk copy with an address in the wrong space");
  o.global = global.reg;
  o.size = d.src(s.ops[2], 32);
  if (!store)
    setShared(d, s.ops[3], o, flags, true);
  if (policy)
    d.src(s.ops.back(), 64);
  emitCopy(d, o, copyBytes, flags).imm = global.offset;
  return true;
}

} // namespace

bool gpusim::decodeBulk(Decoder &d, const Stmt &s) {
  if (s.name != "cp" || s.mods.size() < 2 || s.mods[0] != "async" || s.mods[1] != "bulk")
    return false;
  Mods m(s);
  m.take("async");
  m.take("bulk");
  d.out().partialBarriers = true;
  if (m.take("commit_group")) {
    m.done();
    d.count(s, 0);
    d.emit(commitBulk, Class::AsyncCopy);
    return true;
  }
  if (m.take("wait_group")) {
    m.take("read");
    m.done();
    d.count(s, 1);
    const uint64_t n = d.immediate(s.ops[0]);
    d.emit(waitBulk, Class::AsyncCopy).imm = std::min<uint64_t>(n, 1u << 20);
    return true;
  }
  if (m.take("prefetch")) { // into a cache
    m.ignore({"L2", "global", "L2::cache_hint", "tensor", "tile", "im2col", "1d", "2d", "3d", "4d", "5d"});
    m.done();
    d.emit(nothing, Class::Control);
    return true;
  }
  const bool policy = m.take("L2::cache_hint"), tensor = m.take("tensor"), store = m.take("bulk_group");
  if (!m.has("global"))
    m.unsupported();
  // The space of the destination stands first.
  const bool toGlobal = *std::find_if(s.mods.begin() + 2, s.mods.end(), [](const std::string &mod) {
    return mod == "global" || mod.compare(0, 6, "shared") == 0;
  }) == "global";
  m.ignore({"shared::cluster", "shared::cta", "global"});
  if (store != toGlobal || (!store && !m.take("mbarrier::complete_tx::bytes")))
    m.unsupported();
  return tensor ? decodeTensor(d, s, m, store, policy) : decodeBytes(d, s, m, store, policy);
}
