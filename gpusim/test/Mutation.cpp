// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Mutation.h"
#include "Exec.h"
#include "TensorMap.h"

#include <cstring>

using namespace gpusim;

static const char *const snippets[] = {
    ";",
    ",",
    "{",
    "}",
    "[",
    "]",
    ".",
    "@",
    "!",
    "%r1",
    "%rd1",
    "%p1",
    "%f1",
    ".b32",
    ".u64",
    ".f16x2",
    "0",
    "-1",
    "0xffffffffffffffff",
    "4294967295",
    "bar.sync 0;",
    "ret;",
    "bra",
    ".shared",
    ".reg .b32 %r<999999999>;",
    "ld.global.u32 %r1, [%rd1];",
    "st.shared.v4.u32 [%r1], {%r1,%r1,%r1,%r1};",
    "mma.sync",
    "ldmatrix",
    "cp.async.wait_group 0;",
    ".local",
    "call",
    "(",
    ")",
    "0f7fffffff",
    "// ",
    "/*",
    "\"",
    "\\",
    "trap;",
    "mbarrier.init.shared.b64 [%r1], 1;",
    "mbarrier.try_wait.parity.shared.b64 %p1, [%r1], %r1;",
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1], %r1, [%r1];",
    "wgmma.wait_group.sync.aligned 0;",
    ".align 4096",
    "[2147483647]"};

std::string gpusim::mutate(std::string text, const std::string &other, Random &rng) {
  auto pick = [&](size_t n) { return n ? rng() % n : 0; };
  auto tokenAt = [&](const std::string &s, size_t at, size_t &end) {
    while (at > 0 && !strchr(" \t\n,;[]{}", s[at - 1]))
      --at;
    end = at;
    while (end < s.size() && !strchr(" \t\n,;[]{}", s[end]))
      ++end;
    return at;
  };
  for (int n = pick(4) ? 1 : 3; n > 0; --n) {
    if (text.empty())
      return text;
    size_t at = pick(text.size()), end;
    switch (pick(9)) {
    case 0:
      text[at] = (char)rng();
      break;
    case 1:
      text.erase(at, 1 + pick(8));
      break;
    case 2:
      text.insert(at, snippets[pick(sizeof snippets / sizeof *snippets)]);
      break;
    case 3: { // a token for another of the same text
      size_t start = tokenAt(text, at, end), end2, from = pick(other.size());
      size_t start2 = tokenAt(other, from, end2);
      text.replace(start, end - start, other.substr(start2, end2 - start2));
      break;
    }
    case 4: { // a line twice, or gone
      size_t line = text.rfind('\n', at), next = text.find('\n', at);
      if (line == std::string::npos || next == std::string::npos)
        break;
      std::string copy = text.substr(line, next - line);
      if (pick(2))
        text.insert(next, copy);
      else
        text.erase(line, next - line);
      break;
    }
    case 5: { // a number
      size_t start = tokenAt(text, at, end);
      text.replace(start, end - start, std::to_string((int64_t)rng() >> pick(64)));
      break;
    }
    case 6: { // a line moves
      size_t line = text.rfind('\n', at), next = text.find('\n', at);
      if (line == std::string::npos || next == std::string::npos)
        break;
      std::string copy = text.substr(line, next - line);
      text.erase(line, next - line);
      text.insert(pick(text.size()), copy);
      break;
    }
    case 7:
      text.resize(at);
      break;
    default: { // one modifier or digit less or more
      size_t dot = text.find('.', at);
      if (dot != std::string::npos)
        text.insert(dot, pick(2) ? ".rn" : ".u16");
    }
    }
  }
  return text;
}

/// 16 x 64 halves, in boxes of 8 rows.
static TensorMap tensorMap(uint64_t address) {
  TensorMap map{};
  map.magic = TensorMap::rightMagic;
  map.elementBytes = map.rank = 2;
  map.swizzleBits = 3;
  map.address = address;
  map.strides[0] = 128;
  map.dims[0] = map.box[0] = 64;
  map.dims[1] = 16, map.box[1] = 8;
  map.elementStrides[0] = map.elementStrides[1] = 1;
  return map;
}

void gpusim::runAll(const std::string &ptx, Random &rng, Tally &tally) {
  std::unique_ptr<Module> module;
  try {
    module = loadModule(ptx, 0);
  } catch (PTXError &) {
    ++tally.refused;
    return;
  }
  AllocationRef a = MemorySpace::get().allocate(4096, 0);
  memset(a->data, 1, 4096);
  MemorySpace::setValid(*a, a->base, 4096, true);
  for (auto &k : module->kernels) {
    LaunchConfig c;
    c.block[0] = rng() % 2 ? 64 : 33;
    c.grid[0] = 2;
    c.dynamicShared = 4096;
    c.params.resize(k.second->paramBytes);
    for (auto &p : k.second->params)
      for (uint32_t at = 0; at + 8 <= p.second; at += 8)
        memcpy(&c.params[p.first + at], &a->base, 8);
    for (auto &p : k.second->params) {
      if (p.second == 4)
        c.params[p.first] = 16;
      if (p.second == sizeof(TensorMap)) {
        const TensorMap map = tensorMap(a->base);
        memcpy(&c.params[p.first], &map, sizeof map);
      }
    }
    if (c.params.size() > 1u << 20 || k.second->staticShared > 1u << 20 || k.second->fileBytes > 1u << 22 ||
        k.second->localBytes > 1u << 16)
      continue;
    LaunchOptions o;
    o.seed = rng();
    o.maxWarpInsts = 4000;
    LaunchResult r = runKernel(*k.second, c, o);
    ++(r.fault ? tally.faulted : tally.ran);
  }
  MemorySpace::get().release(a);
}
