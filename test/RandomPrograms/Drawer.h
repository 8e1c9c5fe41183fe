// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Draws a program. Values are numbered as they are made; at the end arguments
// move to the front, as in the text.
#ifndef RINGCONV_TEST_RANDOMPROGRAMS_DRAWER_H
#define RINGCONV_TEST_RANDOMPROGRAMS_DRAWER_H

#include "Program.h"

namespace randprog {

class Drawer {
public:
  Drawer(uint64_t seed, bool gradient) : r(seed) {
    p.seed = seed;
    p.gradient = gradient;
  }
  std::optional<Program> run();

private:
  void drawMesh();
  void drawFirst();
  bool drawOp();
  bool drawConv();
  bool drawPool();
  bool drawReshard();
  bool drawUnary();
  bool drawBinary();
  bool drawTranspose();
  bool drawMove();
  void drawResults();
  Program renumber() const;

  Window drawWindow(int64_t size, int64_t most);
  void drawPads(Window &w, int64_t size);
  Dims drawLayout(int spatial, int64_t first = kFirst, int64_t second = kSecond);
  Sharding drawSharding(const Shape &shape, const std::vector<int> &weights, int uncut);
  std::vector<int64_t> drawCuts(int64_t size, int64_t parts);
  std::vector<int> weightsFor(const Dims &dims, int first, int second, int spatial) const;
  Sharding like(const Shape &shape);

  int addArgument(const Shape &shape, std::optional<Sharding> sharding, int64_t reach);
  bool addOp(const Op &op, bool small = true);
  const Type &type() const { return types[current]; }
  int64_t sizeOf(int number) const { return type().shape[positionOf(dims, number)]; }

  struct Node {
    bool argument;
    size_t index;
  };
  Random r;
  Program p;
  std::vector<Node> nodes;
  std::vector<Type> types;
  int current = 0;
  Dims dims;             ///< what the dimensions of the current value are
  Sharding lastSharding; ///< a likely sharding of the current value
  Dims lastDims;         ///< ... of these dimensions
  DType dtype = DType::F32;
  Argument::Fill fill = Argument::Integers;
};

} // namespace randprog

#endif
