// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A machine of many ranks in one process that does exactly what plans say, in
// any number of dimensions, and complains about everything that a real machine
// would pass over: reads of what nobody wrote, messages that do not match.
#ifndef RINGCONV_UNITTESTS_HALO_SIMULATION_H
#define RINGCONV_UNITTESTS_HALO_SIMULATION_H

#include "Reference.h"

#include <deque>
#include <map>

namespace ringconv::halo::test {

using Index = std::vector<int64_t>;

/// A box of numbers that remembers which were written. Row-major.
class Box {
public:
  Box() = default;
  explicit Box(Index shape);
  bool contains(const Index &at) const;
  bool written(const Index &at) const { return cells[linear(at)].written; }
  int64_t get(const Index &at) const { return cells[linear(at)].value; }
  void set(const Index &at, int64_t value) {
    cells[linear(at)] = {value, true};
  }
  const Index &shape() const { return extent; }

private:
  struct Cell {
    int64_t value = 0;
    bool written = false;
  };
  size_t linear(const Index &at) const;
  Index extent;
  std::vector<Cell> cells;
};

/// Calls visit(index) for every index of a box in row-major order.
template <typename Visit> void forEachIndex(const Index &shape, Visit visit) {
  Index at(shape.size(), 0);
  for (int64_t extent : shape)
    if (extent <= 0)
      return;
  while (true) {
    visit(at);
    size_t d = shape.size();
    while (d-- > 0) {
      if (++at[d] < shape[d])
        break;
      at[d] = 0;
    }
    if (d == static_cast<size_t>(-1))
      return;
  }
}

struct Traffic {
  int64_t messages = 0, elements = 0;
};

class Simulation {
public:
  Simulation(std::vector<Dim> dims, Random &random);

  /// Runs the exchange and every rank's outputs. Empty if all is well.
  std::string run();

  const std::vector<Plan> &plans() const { return allPlans; }
  /// What one rank got from others; ranks are row-major.
  const std::vector<Traffic> &received() const { return traffic; }

private:
  struct Message {
    std::vector<size_t> pieces;
    std::vector<int64_t> values;
  };
  struct Node {
    Index coord, own;
    Box shard;
    std::vector<Box> low, high; ///< by dimension
  };

  Box &place(Node &node, const Index &extended, Index &at) const;
  const Piece &piece(size_t d, const std::vector<size_t> &pieces) const {
    return allPlans[d].pieces[pieces[d]];
  }
  void setUp(Random &random);
  void send(const std::vector<size_t> &pieces);
  void receive(const std::vector<size_t> &pieces);
  void unpack(Node &node, const std::vector<size_t> &pieces,
              const Message &message, size_t dim);
  void fill(Node &node, size_t dim, const Fill &fill);
  void compute(Node &node);
  bool readLocal(Node &node, const Index &output, const Index &tap,
                 int64_t &value);
  int64_t readUncut(const Node &node, const Index &output,
                    const Index &tap) const;
  void fail(const std::string &what);

  std::vector<Dim> dims;
  std::vector<Plan> allPlans;
  std::vector<std::vector<int64_t>> padded;
  Box input, filter;
  Index mesh;
  std::vector<Node> nodes;
  std::map<std::pair<size_t, size_t>, std::deque<Message>> wires;
  std::vector<Traffic> traffic;
  std::string failure;
};

} // namespace ringconv::halo::test

#endif
