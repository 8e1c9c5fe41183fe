// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Collectives as exchanges. Reductions add in the order of the ranks, so that
// results are the same on every rank and in every run; NCCL's own order
// depends on its topology.
#include "Comm.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace gpusim;

const char *gpusim::kindName(Kind k) {
  static const char *const names[] = {"point-to-point message", "part of an all-reduce",
                                      "part of a reduce",       "part of a reduce-scatter",
                                      "part of an all-gather",  "broadcast",
                                      "part of an all-to-all",  "split"};
  return (unsigned)k < 8 ? names[(unsigned)k] : "message";
}

unsigned gpusim::typeBytes(int type) {
  static const unsigned bytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
  return type >= 0 && type < ncclNumTypes ? bytes[type] : 0;
}

//===-- Small floating-point formats --------------------------------------===//

namespace {

/// Sign, exponent bits E, mantissa bits M. `ieee`: the top exponent holds
/// infinities and NaN; else (e4m3) only all ones is NaN.
template <unsigned E, unsigned M, bool Ieee> struct Small {
  static constexpr int bias = (1 << (E - 1)) - 1;
  static double widen(unsigned b) {
    unsigned e = b >> M & ((1u << E) - 1), m = b & ((1u << M) - 1);
    double sign = b >> (E + M) & 1 ? -1 : 1;
    if (Ieee && e == (1u << E) - 1)
      return m ? NAN : sign * INFINITY;
    if (!Ieee && e == (1u << E) - 1 && m == (1u << M) - 1)
      return NAN;
    return sign * (e ? std::ldexp(1.0 + std::ldexp(m, -(int)M), (int)e - bias) : std::ldexp(m, 1 - bias - (int)M));
  }
  static unsigned narrow(double v) {
    const unsigned sign = std::signbit(v) ? 1u << (E + M) : 0;
    const unsigned nan = Ieee ? (1u << (E + M)) - 1 : (1u << (E + M)) - 1;
    if (v != v)
      return sign | nan;
    double a = std::fabs(v);
    int e = 0;
    std::frexp(a, &e);
    int ulp = std::max(e - 1, 1 - bias) - (int)M;
    double r = std::ldexp(std::nearbyint(std::ldexp(a, -ulp)), ulp);
    const double top = widen(Ieee ? (((1u << E) - 2) << M | ((1u << M) - 1)) : (1u << (E + M)) - 2);
    if (r > top)
      return sign | (Ieee ? ((1u << E) - 1) << M : nan);
    if (r == 0)
      return sign;
    std::frexp(r, &e);
    if (e - 1 < 1 - bias)
      return sign | (unsigned)std::ldexp(r, bias - 1 + (int)M);
    unsigned m = (unsigned)std::ldexp(r, (int)M - (e - 1)) - (1u << M);
    return sign | (unsigned)(e - 1 + bias) << M | m;
  }
};
using F16 = Small<5, 10, true>;
using BF16 = Small<8, 7, true>;
using E4M3 = Small<4, 3, false>;
using E5M2 = Small<5, 2, true>;

template <class T> T combine(int op, T a, T b) {
  switch (op) {
  case ncclProd:
    return a * b;
  case ncclMax:
    return b > a ? b : a;
  case ncclMin:
    return b < a ? b : a;
  default:
    return a + b;
  }
}

template <class T, class F> void eachValue(uint8_t *p, uint64_t n, F f) {
  for (uint64_t i = 0; i < n; ++i) {
    T v;
    memcpy(&v, p + i * sizeof v, sizeof v);
    v = f(v, i);
    memcpy(p + i * sizeof v, &v, sizeof v);
  }
}
template <class T> T at(const uint8_t *p, uint64_t i) {
  T v;
  memcpy(&v, p + i * sizeof v, sizeof v);
  return v;
}

/// Applies f to every value in the type's own arithmetic: integers as they
/// are (they wrap), f32 as float, the small types as double with one rounding.
template <class F> void apply(uint8_t *p, const uint8_t *q, uint64_t n, int type, F f) {
#define PLAIN(code, T)                                                                                                 \
  case code:                                                                                                           \
    return eachValue<T>(p, n, [&](T v, uint64_t i) { return (T)f(v, q ? at<T>(q, i) : v); })
#define SMALL(code, T, H)                                                                                              \
  case code:                                                                                                           \
    return eachValue<T>(p, n, [&](T v, uint64_t i) {                                                                   \
      double x = H::widen(v), y = q ? H::widen(at<T>(q, i)) : x;                                                       \
      return (T)H::narrow(f(x, y));                                                                                    \
    })
  switch (type) {
    PLAIN(ncclInt8, int8_t);
    PLAIN(ncclUint8, uint8_t);
    PLAIN(ncclInt32, int32_t);
    PLAIN(ncclUint32, uint32_t);
    PLAIN(ncclInt64, int64_t);
    PLAIN(ncclUint64, uint64_t);
    PLAIN(ncclFloat32, float);
    PLAIN(ncclFloat64, double);
    SMALL(ncclFloat16, uint16_t, F16);
    SMALL(ncclBfloat16, uint16_t, BF16);
    SMALL(ncclFloat8e4m3, uint8_t, E4M3);
    SMALL(ncclFloat8e5m2, uint8_t, E5M2);
  }
#undef PLAIN
#undef SMALL
}

} // namespace

void gpusim::reduceInto(uint8_t *into, const uint8_t *from, uint64_t count, int type, const ReduceOp &op) {
  apply(into, from, count, type, [&](auto a, auto b) { return combine(op.op, a, b); });
}
void gpusim::finishReduce(uint8_t *data, uint64_t count, int type, const ReduceOp &op, int ranks) {
  if (op.op == ncclAvg)
    apply(data, nullptr, count, type, [&](auto a, auto) { return a / (decltype(a))ranks; });
}
void gpusim::scaleInput(uint8_t *data, uint64_t count, int type, const ReduceOp &op) {
  if (op.premul)
    apply(data, nullptr, count, type, [&](auto a, auto) { return (decltype(a))(a * (decltype(a))op.scalar); });
}

//===-- Collectives -------------------------------------------------------===//

namespace {

/// Bytes [lo, hi) of a buffer as a message.
Message part(int peer, const void *buffer, uint64_t lo, uint64_t hi, uint32_t what) {
  Message m;
  m.peer = peer;
  m.device = (CUdeviceptr)buffer + lo;
  m.bytes = hi - lo;
  m.what = what;
  // An empty message has no address.
  m.data = m.bytes ? (uint8_t *)gpusimHostAddress(m.device, m.bytes) : nullptr;
  if (!m.bytes)
    m.device = 0;
  return m;
}
Message hostPart(int peer, std::vector<uint8_t> &bytes, uint32_t what) {
  Message m;
  m.peer = peer;
  m.data = bytes.data();
  m.bytes = bytes.size();
  m.what = what;
  return m;
}

/// Receives one contribution per rank and reduces them in rank order. `lo`,
/// `hi` say which bytes of everybody's buffer this rank reduces.
bool gatherAndReduce(ncclComm &comm, const Call &c, const std::vector<std::pair<uint64_t, uint64_t>> &ranges,
                     bool reduces, std::vector<uint8_t> &result) {
  const uint32_t what = whatOf(c.kind, c.type);
  std::vector<Message> sends, receives;
  std::vector<std::vector<uint8_t>> got(comm.size);
  for (int peer = 0; peer < comm.size; ++peer) {
    if (ranges[peer].second > ranges[peer].first || peer == comm.rank)
      sends.push_back(part(peer, c.send, ranges[peer].first, ranges[peer].second, what));
    if (!reduces && peer != comm.rank)
      continue;
    got[peer].resize(ranges[comm.rank].second - ranges[comm.rank].first);
    if (!got[peer].empty() || peer == comm.rank)
      receives.push_back(hostPart(peer, got[peer], what));
  }
  if (!comm.exchange(sends, receives))
    return false;
  const uint64_t count = got[comm.rank].size() / typeBytes(c.type);
  for (int peer = 0; peer < comm.size && reduces; ++peer) {
    scaleInput(got[peer].data(), count, c.type, c.op);
    if (peer)
      reduceInto(got[0].data(), got[peer].data(), count, c.type, c.op);
  }
  if (reduces) {
    finishReduce(got[0].data(), count, c.type, c.op, comm.size);
    result = std::move(got[0]);
  }
  return true;
}

void store(void *buffer, uint64_t lo, const std::vector<uint8_t> &bytes) {
  if (bytes.empty())
    return;
  CUdeviceptr at = (CUdeviceptr)buffer + lo;
  if (void *p = gpusimHostAddress(at, bytes.size()))
    memcpy(p, bytes.data(), bytes.size());
  std::vector<uint8_t> bits((bytes.size() + 7) / 8, 0xff);
  gpusimSetWritten(at, bytes.size(), bits.data());
}

bool allReduce(ncclComm &comm, const Call &c) {
  const uint64_t width = typeBytes(c.type);
  std::vector<std::pair<uint64_t, uint64_t>> ranges;
  for (int n = 0; n < comm.size; ++n)
    ranges.push_back({c.count * n / comm.size * width, c.count * (n + 1) / comm.size * width});
  std::vector<uint8_t> mine;
  if (!gatherAndReduce(comm, c, ranges, true, mine))
    return false;
  store(c.recv, ranges[comm.rank].first, mine);
  const uint32_t what = whatOf(c.kind, c.type);
  std::vector<Message> sends, receives;
  for (int peer = 0; peer < comm.size; ++peer) {
    if (peer == comm.rank)
      continue;
    if (!mine.empty())
      sends.push_back(hostPart(peer, mine, what));
    if (ranges[peer].second > ranges[peer].first)
      receives.push_back(part(peer, c.recv, ranges[peer].first, ranges[peer].second, what));
  }
  return comm.exchange(sends, receives);
}

bool reduceScatter(ncclComm &comm, const Call &c) {
  const uint64_t bytes = c.count * typeBytes(c.type);
  std::vector<std::pair<uint64_t, uint64_t>> ranges;
  for (int n = 0; n < comm.size; ++n)
    ranges.push_back({n * bytes, (n + 1) * bytes});
  std::vector<uint8_t> mine;
  if (!gatherAndReduce(comm, c, ranges, true, mine))
    return false;
  store(c.recv, 0, mine);
  return true;
}

bool reduceToRoot(ncclComm &comm, const Call &c) {
  const uint64_t bytes = c.count * typeBytes(c.type);
  std::vector<std::pair<uint64_t, uint64_t>> ranges(comm.size, {0, 0});
  ranges[c.peer] = {0, bytes};
  std::vector<uint8_t> mine;
  if (!gatherAndReduce(comm, c, ranges, comm.rank == c.peer, mine))
    return false;
  if (comm.rank == c.peer)
    store(c.recv, 0, mine);
  return true;
}

/// All-gather, broadcast and all-to-all move blocks unchanged.
bool moveBlocks(ncclComm &comm, const Call &c) {
  const uint64_t bytes = c.count * typeBytes(c.type);
  const uint32_t what = whatOf(c.kind, c.type);
  std::vector<Message> sends, receives;
  for (uint64_t peer = 0; peer < (uint64_t)comm.size; ++peer) {
    const bool all = c.kind == Kind::AlltoAll, one = c.kind == Kind::Broadcast;
    if (!one || comm.rank == c.peer)
      sends.push_back(part(peer, c.send, all ? peer * bytes : 0, (all ? peer * bytes : 0) + bytes, what));
    if (!one || (int)peer == c.peer)
      receives.push_back(part(peer, c.recv, one ? 0 : peer * bytes, (one ? 0 : peer * bytes) + bytes, what));
  }
  return comm.exchange(sends, receives);
}

} // namespace

bool ncclComm::run(const Call &c) {
  switch (c.kind) {
  case Kind::AllReduce:
    return allReduce(*this, c);
  case Kind::ReduceScatter:
    return reduceScatter(*this, c);
  case Kind::Reduce:
    return reduceToRoot(*this, c);
  default:
    return moveBlocks(*this, c);
  }
}
