// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What all ranks do along one dimension, as kinds with tables.
#include "Detail.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <tuple>

using namespace ringconv::halo;
using namespace ringconv::halo::detail;

/// Values that matter only for the parts that take part; the others get what
/// gives few runs, never below 0 or above the largest, so that nobody computes
/// a strange size from them.
namespace {
class Sparse {
public:
  explicit Sparse(size_t parts) : allowed(parts, Range{0, 0}), set(parts, false) {}
  void put(int64_t c, int64_t value) {
    allowed[c] = {value, value};
    set[c] = true;
    largest = std::max(largest, value);
  }
  Table table() {
    for (size_t c = 0; c < allowed.size(); ++c)
      if (!set[c])
        allowed[c].max = largest;
    return fit(allowed);
  }

private:
  std::vector<Range> allowed;
  std::vector<bool> set;
  int64_t largest = 0;
};
} // namespace

/// The extended place at which a side begins.
static int64_t beginOf(Side side, const Rank &rank, int64_t low) {
  return side == Side::Low ? 0 : side == Side::Own ? low : low + rank.own.size();
}

/// The segments of one piece: at most one for each receiver and, as they have
/// one distance, at most one for each sender. The sender's tables are thus the
/// receiver's, indexed by the other end.
static Piece pieceOf(const std::vector<const Segment *> &segments, const std::vector<Rank> &ranks, int64_t low) {
  size_t parts = ranks.size();
  std::vector<int64_t> recvPeer(parts, -1), sendPeer(parts, -1);
  Sparse recvAt(parts), recvExtended(parts), recvSize(parts), sendAt(parts), sendSize(parts);
  Piece piece{segments.front()->side, segments.front()->reverse, segments.front()->step, {}, {}, {}, {}, {}, {}, {}};
  for (const Segment *segment : segments) {
    int64_t receiver = segment->receiver, sender = segment->sender;
    recvPeer[receiver] = sender;
    recvAt.put(receiver, segment->extended - beginOf(piece.side, ranks[receiver], low));
    recvExtended.put(receiver, segment->extended);
    recvSize.put(receiver, segment->size);
    sendPeer[sender] = receiver;
    sendAt.put(sender, segment->source - ranks[sender].own.begin);
    sendSize.put(sender, segment->size);
  }
  piece.recvPeer = Table::of(recvPeer);
  piece.recvAt = recvAt.table();
  piece.recvExtended = recvExtended.table();
  piece.recvSize = recvSize.table();
  piece.sendPeer = Table::of(sendPeer);
  piece.sendAt = sendAt.table();
  piece.sendSize = sendSize.table();
  return piece;
}

static Fill fillOf(const std::vector<const Copy *> &copies, const std::vector<Rank> &ranks, int64_t low) {
  size_t parts = ranks.size();
  std::vector<int64_t> size(parts, 0);
  Sparse at(parts), extended(parts), fromAt(parts), fromExtended(parts);
  const Copy &first = *copies.front();
  Fill fill{first.side, first.from, first.step, first.fromStep, first.ordered, {}, {}, {}, {}, {}};
  for (const Copy *copy : copies) {
    const Rank &rank = ranks[copy->rank];
    at.put(copy->rank, copy->extended - beginOf(copy->side, rank, low));
    extended.put(copy->rank, copy->extended);
    fromAt.put(copy->rank, copy->fromExtended - beginOf(copy->from, rank, low));
    fromExtended.put(copy->rank, copy->fromExtended);
    size[copy->rank] = copy->size;
  }
  fill.at = at.table();
  fill.extended = extended.table();
  fill.fromAt = fromAt.table();
  fill.fromExtended = fromExtended.table();
  fill.size = Table::of(size);
  return fill;
}

/// Groups segments of the same kind: own first, then by side, layout and
/// distance. The order is the same on every rank, so it may order messages.
static std::vector<Piece> piecesOf(const std::vector<Segment> &segments, const std::vector<Rank> &ranks, int64_t low) {
  std::map<std::tuple<int, bool, int64_t, int64_t, int64_t>, std::vector<const Segment *>> kinds;
  for (const Segment &s : segments) {
    int side = s.side == Side::Own ? 0 : s.side == Side::Low ? 1 : 2;
    kinds[{side, s.reverse, s.step, s.distance, s.ordinal}].push_back(&s);
  }
  std::vector<Piece> pieces;
  for (const auto &[key, members] : kinds)
    pieces.push_back(pieceOf(members, ranks, low));
  return pieces;
}

/// A copy may read what others wrote: above the shard they are made first, and
/// a slab reads itself last, outwards.
static std::vector<Fill> fillsOf(const std::vector<Copy> &copies, const std::vector<Rank> &ranks, int64_t low) {
  std::map<std::tuple<bool, int, int64_t, int64_t, int64_t, bool>, std::vector<const Copy *>> kinds;
  for (const Copy &c : copies) {
    int from = c.from == Side::Own ? 0 : c.from == c.side ? 2 : 1;
    kinds[{c.side == Side::Low, from, c.ordinal, c.step, c.fromStep, c.ordered}].push_back(&c);
  }
  std::vector<Fill> fills;
  for (const auto &[key, members] : kinds)
    fills.push_back(fillOf(members, ranks, low));
  return fills;
}

void detail::tabulateExchange(const Exchange &exchange, const std::vector<Rank> &ranks, bool circular, Plan &plan) {
  int64_t parts = static_cast<int64_t>(ranks.size());
  std::vector<int64_t> read(ranks.size(), 0);
  for (const Segment &s : exchange.segments) {
    int64_t distance = std::abs(s.sender - s.receiver);
    plan.hops = std::max(plan.hops, circular ? std::min(distance, parts - distance) : distance);
    if (s.side == Side::Own)
      read[s.receiver] += s.size;
  }
  for (size_t r = 0; r < ranks.size(); ++r)
    plan.readsAll = plan.readsAll && read[r] == ranks[r].own.size();
  plan.pieces = piecesOf(exchange.segments, ranks, plan.low);
  plan.fills = fillsOf(exchange.copies, ranks, plan.low);
}
