// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RINGCONV_TEST_MUTATION_TOKENS_H
#define RINGCONV_TEST_MUTATION_TOKENS_H

#include <cstdint>
#include <string>
#include <vector>

namespace mutation {

/// The same numbers on every machine for a seed.
class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}
  uint64_t next() {
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  size_t below(size_t n) { return size_t(next() % n); }

private:
  uint64_t state;
};

using Tokens = std::vector<std::string>;

/// Words, numbers, strings and single characters, without comments; white space
/// stands before the token it belongs to.
Tokens tokenize(const std::string &text);
std::string join(const Tokens &tokens);

/// One change: a token dropped, doubled, swapped with another, replaced by one
/// of the same kind from any file, a number made strange, or a stretch moved.
void mutate(Tokens &tokens, const std::vector<Tokens> &corpus, Random &random);

} // namespace mutation

#endif
