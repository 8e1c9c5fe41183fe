// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tokens of PTX (PTX ISA, "Syntax"). Opcodes come out as one token each with
// their modifiers, because `.` also starts directives.
#ifndef GPUSIM_PTX_LEXER_H
#define GPUSIM_PTX_LEXER_H

#include "Syntax.h"

namespace gpusim {

struct Token {
  enum Kind { End, Word, Directive, Int, F32, F64, String, Punct };
  Kind kind = End;
  std::string text; ///< Word with modifiers, `.directive`, or one character
  uint64_t value = 0;
  unsigned line = 1;
};

class Lexer {
public:
  explicit Lexer(const std::string &text) : text(text) { advance(); }

  const Token &peek() const { return current; }
  Token next() {
    Token result = current;
    advance();
    return result;
  }
  bool is(const char *punctOrWord) const { return current.kind != Token::String && current.text == punctOrWord; }
  bool accept(const char *punctOrWord) {
    if (!is(punctOrWord))
      return false;
    advance();
    return true;
  }
  void expect(const char *punctOrWord) {
    if (!accept(punctOrWord))
      fail(std::string("expected '") + punctOrWord + "' but found '" + describe() + "'");
  }
  [[noreturn]] void fail(const std::string &message) const { throw PTXError(current.line, message); }
  std::string describe() const { return current.kind == Token::End ? "end of file" : current.text; }
  /// Skips a `{ ... }` group, used for debug sections.
  void skipBraces();
  void skipToSemicolonOrEndOfLine();

private:
  void advance();
  void skipBlanks();
  void number();
  void wordOrDirective(bool directive);

  const std::string &text;
  size_t pos = 0;
  unsigned line = 1;
  Token current;
};

} // namespace gpusim

#endif // GPUSIM_PTX_LEXER_H
