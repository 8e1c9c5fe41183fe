// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Tokens.h"

#include <algorithm>
#include <cctype>
#include <cstring>

using namespace mutation;

static bool isWord(char c) { return isalnum((unsigned char)c) || strchr("_.$", c); }

static std::string kindOf(const std::string &token) {
  char c = token.find_first_not_of(" \t\n") == std::string::npos ? ' ' : token[token.find_first_not_of(" \t\n")];
  if (isdigit((unsigned char)c))
    return "number";
  return isalpha((unsigned char)c) ? "word" : std::string(1, c);
}

Tokens mutation::tokenize(const std::string &text) {
  Tokens tokens;
  size_t i = 0, n = text.size();
  while (i < n) {
    std::string token;
    while (i < n && isspace((unsigned char)text[i]))
      token += text[i++];
    if (text.compare(i, 2, "//") == 0) {
      while (i < n && text[i] != '\n')
        ++i;
      continue;
    }
    if (i >= n)
      break;
    if (text[i] == '"') {
      do
        token += text[i++];
      while (i < n && text[i] != '"' && text[i] != '\n');
      if (i < n)
        token += text[i++];
    } else if (isdigit((unsigned char)text[i])) {
      // Sizes of `4x3xf32` are numbers of their own.
      while (i < n && isdigit((unsigned char)text[i]))
        token += text[i++];
    } else if (strchr("%@#!^", text[i])) {
      do
        token += text[i++];
      while (i < n && isWord(text[i]));
    } else if (text[i] == 'x' && i && isdigit((unsigned char)text[i - 1])) {
      token += text[i++];
    } else if (isWord(text[i])) {
      while (i < n && isWord(text[i]))
        token += text[i++];
    } else {
      token += text[i++];
    }
    tokens.push_back(token);
  }
  return tokens;
}

std::string mutation::join(const Tokens &tokens) {
  std::string text;
  for (const std::string &token : tokens)
    text += token;
  return text + "\n";
}

static std::string strangeNumber(Random &random) {
  static const char *numbers[] = {"0",
                                  "1",
                                  "2",
                                  "3",
                                  "-1",
                                  "7",
                                  "16",
                                  "255",
                                  "1024",
                                  "1048576",
                                  "1048577",
                                  "2147483647",
                                  "-2147483648",
                                  "4294967296",
                                  "9223372036854775807",
                                  "-9223372036854775808",
                                  "18446744073709551616",
                                  "1.5",
                                  "0x10"};
  return numbers[random.below(sizeof numbers / sizeof *numbers)];
}

static std::string leading(const std::string &token) {
  return token.substr(0, std::min(token.find_first_not_of(" \t\n"), token.size()));
}

/// A token of the same kind from anywhere.
static std::string another(const std::string &token, const std::vector<Tokens> &corpus, Random &random) {
  std::string kind = kindOf(token);
  for (int tries = 0; tries < 60; ++tries) {
    const Tokens &from = corpus[random.below(corpus.size())];
    if (from.empty())
      continue;
    const std::string &candidate = from[random.below(from.size())];
    if (tries >= 40 || kindOf(candidate) == kind)
      return leading(token) + candidate.substr(leading(candidate).size());
  }
  return token;
}

void mutation::mutate(Tokens &tokens, const std::vector<Tokens> &corpus, Random &random) {
  if (tokens.empty())
    return;
  size_t at = random.below(tokens.size());
  std::string &token = tokens[at];
  switch (random.below(10)) {
  case 0:
    tokens.erase(tokens.begin() + long(at));
    return;
  case 1:
    tokens.insert(tokens.begin() + long(at), std::string(token));
    return;
  case 2:
    std::swap(token, tokens[random.below(tokens.size())]);
    return;
  case 3:
  case 4:
    token = another(token, corpus, random);
    return;
  case 5: {
    size_t length = std::min(1 + random.below(8), tokens.size() - at);
    Tokens part(tokens.begin() + long(at), tokens.begin() + long(at + length));
    if (random.below(2))
      tokens.erase(tokens.begin() + long(at), tokens.begin() + long(at + length));
    size_t to = random.below(tokens.size() + 1);
    tokens.insert(tokens.begin() + long(to), part.begin(), part.end());
    return;
  }
  default: // numbers, where most of the meaning is
    for (size_t i = 0; i < tokens.size(); ++i) {
      std::string &number = tokens[(at + i) % tokens.size()];
      if (kindOf(number) != "number")
        continue;
      std::string changed = random.below(2) ? strangeNumber(random) : another(number, corpus, random);
      number = leading(number) + changed.substr(leading(changed).size());
      return;
    }
  }
}
