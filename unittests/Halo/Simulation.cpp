// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Simulation.h"

#include <set>

using namespace ringconv::halo;
using namespace ringconv::halo::test;

Box::Box(Index shape) : extent(std::move(shape)) {
  size_t count = 1;
  for (int64_t size : extent)
    count *= static_cast<size_t>(size);
  cells.resize(count);
}

bool Box::contains(const Index &at) const {
  for (size_t d = 0; d < extent.size(); ++d)
    if (at[d] < 0 || at[d] >= extent[d])
      return false;
  return true;
}

size_t Box::linear(const Index &at) const {
  size_t index = 0;
  for (size_t d = 0; d < extent.size(); ++d)
    index = index * extent[d] + at[d];
  return index;
}

static size_t rankOf(const Index &mesh, const Index &coord) {
  size_t rank = 0;
  for (size_t d = 0; d < mesh.size(); ++d)
    rank = rank * mesh[d] + coord[d];
  return rank;
}

Simulation::Simulation(std::vector<Dim> allDims, Random &random)
    : dims(std::move(allDims)) {
  for (const Dim &dim : dims) {
    allPlans.push_back(
        planRanges(dim.window, dim.inputs, dim.outputs, dim.taps));
    padded.push_back(paddedDimension(dim.window, dim.size()));
    mesh.push_back(dim.parts());
  }
  setUp(random);
}

void Simulation::fail(const std::string &what) {
  if (!failure.empty())
    return;
  failure = what;
  for (const Dim &dim : dims)
    failure += "\n  " + dim.str();
}

/// Slab k is extended in the dimensions before k and has the own range in those
/// behind, so that all slabs together hold every corner once:
///
///        low 1 | shard | high 1        dimension 1 is the last here
///        ------+-------+-------
///              | low 0 |               (only where dimension 1 is own)
void Simulation::setUp(Random &random) {
  Index size, taps;
  for (const Dim &dim : dims) {
    size.push_back(dim.size());
    taps.push_back(dim.window.size);
  }
  input = Box(size);
  forEachIndex(
      size, [&](const Index &at) { input.set(at, draw(random, 1, 1 << 20)); });
  filter = Box(taps);
  forEachIndex(
      taps, [&](const Index &at) { filter.set(at, draw(random, 1, 1 << 20)); });
  forEachIndex(mesh, [&](const Index &coord) {
    Node node{coord, {}, {}, {}, {}};
    for (size_t d = 0; d < dims.size(); ++d)
      node.own.push_back(dims[d].inputs.part(coord[d]).size());
    node.shard = Box(node.own);
    forEachIndex(node.own, [&](const Index &at) {
      Index global = at;
      for (size_t d = 0; d < dims.size(); ++d)
        global[d] += dims[d].inputs.bounds[coord[d]];
      node.shard.set(at, input.get(global));
    });
    Index shape = node.own;
    for (size_t d = 0; d < dims.size(); ++d) {
      shape[d] = allPlans[d].low;
      node.low.emplace_back(shape);
      shape[d] = allPlans[d].high;
      node.high.emplace_back(shape);
      shape[d] = allPlans[d].low + node.own[d] + allPlans[d].high;
    }
    nodes.push_back(std::move(node));
  });
  traffic.resize(nodes.size());
}

/// The slab (or the shard) that holds an extended index, and where in it.
Box &Simulation::place(Node &node, const Index &extended, Index &at) const {
  at = extended;
  for (size_t d = dims.size(); d-- > 0;) {
    at[d] -= allPlans[d].low;
    if (at[d] < 0) {
      at[d] += allPlans[d].low;
      return node.low[d];
    }
    if (at[d] >= node.own[d]) {
      at[d] -= node.own[d];
      return node.high[d];
    }
  }
  return node.shard;
}

void Simulation::send(const std::vector<size_t> &pieces) {
  for (size_t s = 0; s < nodes.size(); ++s) {
    Index peer, from, count;
    bool takesPart = true;
    for (size_t d = 0; d < dims.size() && takesPart; ++d) {
      int64_t c = nodes[s].coord[d];
      peer.push_back(piece(d, pieces).sendPeer.at(c));
      from.push_back(piece(d, pieces).sendAt.at(c));
      count.push_back(piece(d, pieces).sendSize.at(c));
      takesPart = peer.back() >= 0;
      if (takesPart && (peer.back() >= mesh[d] || count.back() < 1))
        return fail("a message without elements or receiver");
    }
    if (!takesPart)
      continue;
    Message message{pieces, {}};
    forEachIndex(count, [&](Index at) {
      for (size_t d = 0; d < dims.size(); ++d)
        at[d] = from[d] + at[d] * piece(d, pieces).step;
      if (!nodes[s].shard.contains(at))
        return fail("sent from outside the shard");
      message.values.push_back(nodes[s].shard.get(at));
    });
    wires[{s, rankOf(mesh, peer)}].push_back(std::move(message));
  }
}

/// Lays a message out in the slab of the last dimension whose piece is not own.
void Simulation::unpack(Node &node, const std::vector<size_t> &pieces,
                        const Message &message, size_t dim) {
  bool low = piece(dim, pieces).side == Side::Low;
  Box &slab = low ? node.low[dim] : node.high[dim];
  Index begin, step, count;
  for (size_t d = 0; d < dims.size(); ++d) {
    int64_t c = node.coord[d];
    const Piece &p = piece(d, pieces);
    begin.push_back(d < dim ? p.recvExtended.at(c) : p.recvAt.at(c));
    count.push_back(p.recvSize.at(c));
    step.push_back(p.step);
    int64_t inside = p.side == Side::Low   ? 0
                     : p.side == Side::Own ? allPlans[d].low
                                           : allPlans[d].low + node.own[d];
    if (p.recvExtended.at(c) != inside + p.recvAt.at(c))
      fail("place in the slab and in the extended dimension differ");
  }
  Box values(count);
  size_t next = 0;
  forEachIndex(count, [&](const Index &at) {
    if (next < message.values.size())
      values.set(at, message.values[next]);
    ++next;
  });
  if (next != message.values.size())
    return fail("sizes of a message differ at its ends");
  forEachIndex(count, [&](const Index &at) {
    Index source = at, target = at;
    for (size_t d = 0; d < dims.size(); ++d) {
      source[d] = piece(d, pieces).reverse ? count[d] - 1 - at[d] : at[d];
      target[d] = begin[d] + at[d] * step[d];
    }
    if (!slab.contains(target))
      return fail("received outside the slab");
    if (slab.written(target))
      return fail("received twice");
    slab.set(target, values.get(source));
  });
}

void Simulation::receive(const std::vector<size_t> &pieces) {
  for (size_t r = 0; r < nodes.size(); ++r) {
    Index peer;
    size_t dim = dims.size();
    bool takesPart = true;
    for (size_t d = 0; d < dims.size() && takesPart; ++d) {
      peer.push_back(piece(d, pieces).recvPeer.at(nodes[r].coord[d]));
      takesPart = peer.back() >= 0;
      if (piece(d, pieces).side != Side::Own)
        dim = d;
    }
    if (!takesPart)
      continue;
    size_t s = rankOf(mesh, peer);
    auto &wire = wires[{s, r}];
    if (wire.empty() || wire.front().pieces != pieces)
      return fail(
          "messages are not received in the order in which they are sent");
    Message message = std::move(wire.front());
    wire.pop_front();
    unpack(nodes[r], pieces, message, dim);
    if (s != r) {
      ++traffic[r].messages;
      traffic[r].elements += static_cast<int64_t>(message.values.size());
    }
  }
}

/// Everything beside the place along `dim`, extended in earlier dimensions and
/// in later ones; what nobody wrote stays so.
void Simulation::fill(Node &node, size_t dim, const Fill &f) {
  int64_t c = node.coord[dim], size = f.size.at(c);
  Index planes;
  for (size_t d = 0; d < dims.size(); ++d)
    planes.push_back(allPlans[d].low + node.own[d] + allPlans[d].high);
  planes[dim] = 1;
  auto sideOf = [&](int64_t extended) {
    int64_t inShard = extended - allPlans[dim].low;
    return inShard < 0 ? Side::Low : inShard < node.own[dim] ? Side::Own : Side::High;
  };
  for (int64_t j = 0; j < size; ++j) {
    int64_t to = f.extended.at(c) + j * f.step, from = f.fromExtended.at(c) + j * f.fromStep;
    if (sideOf(to) != f.side || sideOf(from) != f.from)
      fail("a copy leaves its side");
    if (f.isBox() && f.side == f.from && to >= f.fromExtended.at(c) &&
        to <= f.fromExtended.at(c) + (size - 1) * f.step && f.step > 0 && (to - f.fromExtended.at(c)) % f.step == 0)
      fail("a box overlaps its source");
    forEachIndex(planes, [&](Index at) {
      Index target, source, extended = at;
      extended[dim] = from;
      Box &fromBox = place(node, extended, source);
      if (!fromBox.contains(source) || !fromBox.written(source))
        return;
      extended[dim] = to;
      Box &toBox = place(node, extended, target);
      if (toBox.written(target))
        return fail("copied to where something stands");
      toBox.set(target, fromBox.get(source));
    });
  }
}

bool Simulation::readLocal(Node &node, const Index &output, const Index &tap,
                           int64_t &value) {
  Index extended, at;
  for (size_t d = 0; d < dims.size(); ++d) {
    const Window &w = dims[d].window;
    int64_t c = node.coord[d];
    int64_t position =
        allPlans[d].offset.at(c) + output[d] * w.stride + tap[d] * w.dilation;
    int64_t element = floorDiv(position, w.baseDilation);
    if (element * w.baseDilation != position ||
        element < allPlans[d].validBegin.at(c) ||
        element >= allPlans[d].validEnd.at(c))
      return false;
    extended.push_back(element);
  }
  Box &box = place(node, extended, at);
  if (!box.contains(at) || !box.written(at)) {
    fail("rank " + std::to_string(rankOf(mesh, node.coord)) +
         " reads what nobody wrote");
    return false;
  }
  value = box.get(at);
  return true;
}

/// 0 for padding: no element is 0.
int64_t Simulation::readUncut(const Node &node, const Index &output,
                              const Index &tap) const {
  Index at;
  for (size_t d = 0; d < dims.size(); ++d) {
    int64_t o = dims[d].outputs[node.coord[d]].begin + output[d],
            t = dims[d].taps[node.coord[d]].begin + tap[d];
    at.push_back(
        padded[d].at(o * dims[d].window.stride + t * dims[d].window.dilation));
    if (at.back() < 0)
      return 0;
  }
  return input.get(at);
}

/// Sums of products with random factors, and each element for itself: two
/// errors cannot hide each other.
void Simulation::compute(Node &node) {
  Index outputs, taps;
  for (size_t d = 0; d < dims.size(); ++d) {
    outputs.push_back(dims[d].outputs[node.coord[d]].size());
    taps.push_back(dims[d].taps[node.coord[d]].size());
  }
  forEachIndex(outputs, [&](const Index &output) {
    int64_t sum = 0, expected = 0;
    forEachIndex(taps, [&](const Index &tap) {
      Index global = tap;
      for (size_t d = 0; d < dims.size(); ++d)
        global[d] += dims[d].taps[node.coord[d]].begin;
      int64_t value = 0, uncut = readUncut(node, output, tap);
      readLocal(node, output, tap, value);
      if (value != uncut)
        fail("rank " + std::to_string(rankOf(mesh, node.coord)) +
             " reads a wrong element");
      sum += value * filter.get(global);
      expected += uncut * filter.get(global);
    });
    if (sum != expected)
      fail("a sum is wrong");
  });
}

std::string Simulation::run() {
  Index choices;
  for (const Plan &plan : allPlans)
    choices.push_back(static_cast<int64_t>(plan.pieces.size()));
  std::vector<std::vector<size_t>> exchange;
  forEachIndex(choices, [&](const Index &choice) {
    std::vector<size_t> pieces(choice.begin(), choice.end());
    bool own = true;
    for (size_t d = 0; d < dims.size(); ++d)
      own = own && piece(d, pieces).side == Side::Own;
    if (!own)
      exchange.push_back(pieces);
  });
  for (const auto &pieces : exchange)
    send(pieces);
  for (const auto &pieces : exchange)
    receive(pieces);
  for (const auto &[ends, wire] : wires)
    if (!wire.empty())
      fail("a message was sent but not received");
  for (Node &node : nodes) {
    for (size_t d = 0; d < dims.size(); ++d)
      for (const Fill &f : allPlans[d].fills)
        fill(node, d, f);
    compute(node);
  }
  return failure;
}
