// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An estimate of registers where no ptxas is at hand: backward data flow over
// basic blocks, then the most 32-bit words alive at any instruction. Real
// allocators need a few more for addresses and scheduling.
#include "Decoder.h"

#include <algorithm>

using namespace gpusim;

namespace {

using Bits = std::vector<uint64_t>;

struct BasicBlock {
  uint32_t first, end;
  std::vector<uint32_t> next;
  Bits in, out;
};

class Liveness {
public:
  Liveness(const Kernel &k, const std::vector<RegisterUse> &uses);
  unsigned most();

private:
  void findBlocks();
  void flow();
  /// Steps over one instruction backwards.
  void step(Bits &live, uint32_t inst) const;
  unsigned words(const Bits &live) const;

  const Kernel &kernel;
  std::vector<std::vector<std::pair<uint32_t, bool>>> operands; ///< by inst
  std::vector<uint8_t> size;                                    ///< words of each register
  std::vector<BasicBlock> blocks;
};

Liveness::Liveness(const Kernel &k, const std::vector<RegisterUse> &uses) : kernel(k), operands(k.code.size()) {
  std::map<uint32_t, uint32_t> numbers;
  for (const RegisterUse &u : uses) {
    auto it = numbers.emplace(u.reg, (uint32_t)numbers.size()).first;
    if (it->second == size.size())
      size.push_back(u.words);
    if (u.inst < operands.size())
      operands[u.inst].push_back({it->second, u.isDst});
  }
}

bool isBranch(const Inst &i) { return i.fn == handlerJump() || i.fn == handlerBranchIndexed(); }

void Liveness::findBlocks() {
  const uint32_t n = kernel.code.size();
  std::vector<char> starts(n + 1, 0);
  starts[0] = 1;
  for (uint32_t i = 0; i < n; ++i) {
    const Inst &inst = kernel.code[i];
    if (inst.fn == handlerLabel())
      starts[i] = 1;
    if (isBranch(inst) || inst.fn == handlerExit())
      starts[i + 1] = 1;
  }
  std::vector<uint32_t> blockOf(n);
  for (uint32_t i = 0; i < n; ++i) {
    if (starts[i])
      blocks.push_back({i, i + 1, {}, {}, {}});
    blockOf[i] = blocks.size() - 1;
    blocks.back().end = i + 1;
  }
  for (size_t b = 0; b < blocks.size(); ++b) {
    const Inst &last = kernel.code[blocks[b].end - 1];
    auto &next = blocks[b].next;
    if (last.fn == handlerJump())
      next.push_back(blockOf[last.target]);
    if (last.fn == handlerBranchIndexed())
      for (int64_t t = 0; t < last.imm; ++t)
        next.push_back(blockOf[kernel.operandTable[last.target + t]]);
    bool leaves = (isBranch(last) || last.fn == handlerExit()) && !last.pred;
    if (!leaves && b + 1 < blocks.size())
      next.push_back(b + 1);
  }
}

void Liveness::step(Bits &live, uint32_t inst) const {
  // A guarded write may leave the old value: it does not end a life.
  const bool guarded = kernel.code[inst].pred != 0;
  for (const auto &o : operands[inst])
    if (o.second && !guarded)
      live[o.first / 64] &= ~(1ull << o.first % 64);
  for (const auto &o : operands[inst])
    if (!o.second)
      live[o.first / 64] |= 1ull << o.first % 64;
}

void Liveness::flow() {
  const size_t words = size.size() / 64 + 1;
  for (BasicBlock &b : blocks)
    b.in = b.out = Bits(words, 0);
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t n = blocks.size(); n-- > 0;) {
      BasicBlock &b = blocks[n];
      for (uint32_t next : b.next)
        for (size_t w = 0; w < words; ++w)
          b.out[w] |= blocks[next].in[w];
      Bits live = b.out;
      for (uint32_t i = b.end; i-- > b.first;)
        step(live, i);
      if (live != b.in) {
        b.in = std::move(live);
        changed = true;
      }
    }
  }
}

unsigned Liveness::words(const Bits &live) const {
  unsigned n = 0;
  for (size_t w = 0; w < live.size(); ++w)
    for (uint64_t m = live[w]; m; m &= m - 1)
      n += size[w * 64 + __builtin_ctzll(m)];
  return n;
}

unsigned Liveness::most() {
  // Of a broken or huge kernel an estimate is worth nothing.
  if ((uint64_t)kernel.code.size() * size.size() > 1ull << 32)
    return 0;
  findBlocks();
  flow();
  unsigned most = 0;
  for (const BasicBlock &b : blocks) {
    Bits live = b.out;
    for (uint32_t i = b.end; i-- > b.first;) {
      step(live, i);
      if (!operands[i].empty())
        most = std::max(most, words(live));
    }
  }
  return most;
}

} // namespace

unsigned gpusim::estimateRegisters(const Kernel &k, const std::vector<RegisterUse> &uses) {
  return std::min(255u, Liveness(k, uses).most());
}
