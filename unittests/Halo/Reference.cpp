// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Reference.h"

#include <algorithm>
#include <sstream>

using namespace ringconv::halo;
using namespace ringconv::halo::test;

static std::vector<int64_t> dilated(int64_t size, int64_t factor) {
  std::vector<int64_t> line;
  for (int64_t i = 0; i < size; ++i) {
    if (i > 0)
      line.insert(line.end(), factor - 1, -1);
    line.push_back(i);
  }
  return line;
}

/// What a border puts `distance` (from 1) before the front of a line.
static int64_t before(const std::vector<int64_t> &line, Border border,
                      int64_t distance) {
  int64_t length = static_cast<int64_t>(line.size());
  switch (border) {
  case Border::Zero:
    return -1;
  case Border::Circular:
    return line[(length - distance % length) % length];
  case Border::Reflect:
    return line.at(distance);
  case Border::Replicate:
    return line.front();
  }
  return -1;
}

static std::vector<int64_t> reversed(std::vector<int64_t> line) {
  std::reverse(line.begin(), line.end());
  return line;
}

static std::vector<int64_t> padding(const std::vector<int64_t> &line,
                                    Border border, int64_t count) {
  std::vector<int64_t> pad;
  for (int64_t distance = count; distance > 0; --distance)
    pad.push_back(before(line, border, distance));
  return pad;
}

static void dropFront(std::vector<int64_t> &line, int64_t count) {
  line.erase(line.begin(),
             line.begin() + std::clamp<int64_t>(count, 0, line.size()));
}

/// Zero padding may be cropped away from the other side, so it is put there
/// first; the other borders see only what cropping leaves.
std::vector<int64_t> test::paddedDimension(const Window &w, int64_t size) {
  std::vector<int64_t> line = dilated(size, w.baseDilation);
  auto crop = [&] {
    dropFront(line, -w.padLow);
    line = reversed(line);
    dropFront(line, -w.padHigh);
    line = reversed(line);
  };
  if (w.border != Border::Zero)
    crop();
  std::vector<int64_t> low = padding(line, w.border, w.padLow);
  std::vector<int64_t> high =
      reversed(padding(reversed(line), w.border, w.padHigh));
  line.insert(line.begin(), low.begin(), low.end());
  line.insert(line.end(), high.begin(), high.end());
  if (w.border == Border::Zero)
    crop();
  return line;
}

int64_t test::countOutputs(const Window &w, int64_t size) {
  int64_t length = static_cast<int64_t>(paddedDimension(w, size).size()),
          count = 0;
  int64_t last = w.size == 0 ? -1 : (w.size - 1) * w.dilation;
  if (size == 0 || length == 0)
    return 0;
  while (count * w.stride + last < length)
    ++count;
  return count;
}

std::string Dim::str() const {
  std::ostringstream out;
  const char *borders[] = {"zero", "circular", "reflect", "replicate"};
  out << "size " << size() << " k " << window.size << " s " << window.stride
      << " d " << window.dilation << " b " << window.baseDilation << " pad "
      << window.padLow << "," << window.padHigh << " "
      << borders[static_cast<int>(window.border)] << " inputs";
  for (int64_t bound : inputs.bounds)
    out << " " << bound;
  out << " outputs";
  for (Interval range : outputs)
    out << " [" << range.begin << "," << range.end << ")";
  out << " taps";
  for (Interval range : taps)
    out << " [" << range.begin << "," << range.end << ")";
  return out.str();
}

int64_t test::draw(Random &random, int64_t low, int64_t high) {
  return low +
         static_cast<int64_t>(random() % static_cast<uint64_t>(high - low + 1));
}

Cuts test::drawCuts(Random &random, int64_t size, int64_t parts) {
  if (draw(random, 0, 2) == 0)
    return Cuts::balanced(size, parts);
  Cuts cuts{{0}};
  for (int64_t c = 1; c < parts; ++c)
    cuts.bounds.push_back(draw(random, 0, size));
  cuts.bounds.push_back(size);
  std::sort(cuts.bounds.begin(), cuts.bounds.end());
  return cuts;
}

std::vector<Interval> test::intervalsOf(const Cuts &cuts) {
  std::vector<Interval> intervals;
  for (int64_t r = 0; r < cuts.parts(); ++r)
    intervals.push_back(cuts.part(r));
  return intervals;
}

static Window drawWindow(Random &random, const DrawOptions &options) {
  Window w;
  w.size = draw(random, draw(random, 0, 40) == 0 ? 0 : 1, options.maxTaps);
  w.stride = draw(random, 0, 1) ? 1 : draw(random, 1, 5);
  w.dilation =
      draw(random, 0, 1) ? 1 : draw(random, 1, draw(random, 0, 3) ? 4 : 14);
  if (draw(random, 0, 1))
    w.border = static_cast<Border>(draw(random, 1, 3));
  else if (draw(random, 0, 1))
    w.baseDilation = draw(random, 1, 4);
  int64_t most = draw(random, 0, 3) ? 4 : 30;
  w.padLow = draw(random, draw(random, 0, 2) ? 0 : -6, most);
  w.padHigh = draw(random, draw(random, 0, 2) ? 0 : -6, most);
  return w;
}

Dim test::drawDim(Random &random, const DrawOptions &options) {
  Dim dim;
  int64_t size, outputs;
  do {
    size = draw(random, 1, options.maxSize);
    dim.window = drawWindow(random, options);
    outputs =
        checkWindow(dim.window, size) ? -1 : countOutputs(dim.window, size);
  } while (outputs < 0 || outputs > options.maxOutputs ||
           (outputs == 0 && draw(random, 0, 20)));
  int64_t parts = draw(random, 1, options.maxParts);
  dim.inputs = drawCuts(random, size, parts);
  dim.outputs =
      intervalsOf(draw(random, 0, 1) ? drawCuts(random, outputs, parts)
                                     : anchoredOutputs(dim.window, dim.inputs));
  dim.taps.assign(parts, Interval{0, dim.window.size});
  if (draw(random, 0, 3) == 0) {
    dim.taps = intervalsOf(drawCuts(random, dim.window.size, parts));
    if (draw(random, 0, 1))
      dim.outputs.assign(parts, Interval{0, outputs});
  }
  return dim;
}
