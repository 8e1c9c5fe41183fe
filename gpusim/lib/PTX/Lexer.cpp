// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lexer.h"

#include <cctype>

using namespace gpusim;

static bool isWordStart(char c) { return std::isalpha((unsigned char)c) || c == '_' || c == '$' || c == '%'; }
static bool isWordBody(char c) { return std::isalnum((unsigned char)c) || c == '_' || c == '$' || c == '%'; }

void Lexer::skipBlanks() {
  while (pos < text.size()) {
    char c = text[pos];
    if (c == '\n')
      ++line;
    if (std::isspace((unsigned char)c) || c == '\0') {
      ++pos;
    } else if (c == '/' && text.compare(pos, 2, "//") == 0) {
      while (pos < text.size() && text[pos] != '\n')
        ++pos;
    } else if (c == '/' && text.compare(pos, 2, "/*") == 0) {
      size_t end = text.find("*/", pos + 2);
      if (end == std::string::npos)
        throw PTXError(line, "comment without an end");
      for (; pos < end + 2; ++pos)
        line += text[pos] == '\n';
    } else {
      break;
    }
  }
}

/// Integer (decimal, 0x, 0b, octal, suffix U), 0fXXXXXXXX, 0dXXXXXXXXXXXXXXXX,
/// or a decimal floating-point literal (PTX ISA, "Constants").
void Lexer::number() {
  auto digits = [&](int base) {
    uint64_t v = 0;
    size_t first = pos;
    while (pos < text.size() && std::isxdigit((unsigned char)text[pos])) {
      char c = std::tolower(text[pos]);
      int d = c <= '9' ? c - '0' : c - 'a' + 10;
      if (d >= base)
        break;
      v = v * base + d;
      ++pos;
    }
    if (first == pos)
      throw PTXError(line, "number without digits");
    return v;
  };
  size_t start = pos;
  char marker = pos + 1 < text.size() ? std::tolower(text[pos + 1]) : 0;
  current.kind = Token::Int;
  if (text[pos] == '0' && (marker == 'f' || marker == 'd')) {
    pos += 2;
    current.kind = marker == 'f' ? Token::F32 : Token::F64;
    current.value = digits(16);
  } else if (text[pos] == '0' && (marker == 'x' || marker == 'b')) {
    pos += 2;
    current.value = digits(marker == 'x' ? 16 : 2);
  } else {
    size_t end = pos;
    while (end < text.size() && std::isdigit((unsigned char)text[end]))
      ++end;
    if (end < text.size() && text[end] == '.' && end + 1 < text.size() && std::isdigit((unsigned char)text[end + 1])) {
      // Copied out: strtod must not run over an embedded end of the text.
      std::string literal = text.substr(pos, 64);
      char *stop = nullptr;
      double d = std::strtod(literal.c_str(), &stop);
      pos += stop - literal.c_str();
      current.kind = Token::F64;
      __builtin_memcpy(&current.value, &d, 8);
    } else {
      current.value = digits(text[pos] == '0' && end - pos > 1 ? 8 : 10);
    }
  }
  if (pos < text.size() && (text[pos] == 'U' || text[pos] == 'u'))
    ++pos;
  current.text = text.substr(start, pos - start);
}

void Lexer::wordOrDirective(bool directive) {
  size_t start = pos;
  if (directive)
    ++pos;
  bool register_ = text[start] == '%';
  auto moreModifiers = [&] {
    if (directive || pos + 1 >= text.size())
      return false;
    if (text[pos] == '.')
      return isWordBody(text[pos + 1]) != 0;
    return text[pos] == ':' && pos + 2 < text.size() && text[pos + 1] == ':' && isWordBody(text[pos + 2]);
  };
  while (pos < text.size()) {
    if (isWordBody(text[pos])) {
      ++pos;
    } else if (moreModifiers()) {
      pos += text[pos] == ':' ? 2 : 1;
    } else {
      break;
    }
  }
  (void)register_;
  current.kind = directive ? Token::Directive : Token::Word;
  current.text = text.substr(start, pos - start);
}

void Lexer::advance() {
  skipBlanks();
  current = Token();
  current.line = line;
  if (pos >= text.size())
    return;
  char c = text[pos];
  if (std::isdigit((unsigned char)c))
    return number();
  if (isWordStart(c))
    return wordOrDirective(false);
  if (c == '.' && pos + 1 < text.size() && isWordStart(text[pos + 1]))
    return wordOrDirective(true);
  if (c == '"') {
    size_t end = text.find('"', pos + 1);
    if (end == std::string::npos)
      throw PTXError(line, "string without an end");
    current.kind = Token::String;
    current.text = text.substr(pos + 1, end - pos - 1);
    pos = end + 1;
    return;
  }
  current.kind = Token::Punct;
  current.text = std::string(1, c);
  ++pos;
}

void Lexer::skipBraces() {
  expect("{");
  for (unsigned depth = 1; depth;) {
    if (peek().kind == Token::End)
      fail("'{' without '}'");
    if (is("{"))
      ++depth;
    if (is("}"))
      --depth;
    advance();
  }
}

void Lexer::skipToSemicolonOrEndOfLine() {
  unsigned first = current.line;
  while (current.kind != Token::End && current.line == first) {
    bool stop = is(";");
    advance();
    if (stop)
      break;
  }
}
