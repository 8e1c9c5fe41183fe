// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The syntax tree of a PTX module. It keeps names and source lines and knows
// nothing about what an opcode means; Decode.h turns it into executable form.
#ifndef GPUSIM_PTX_SYNTAX_H
#define GPUSIM_PTX_SYNTAX_H

#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace gpusim {

/// Anything wrong with the text of a module: syntax, unknown opcode, types.
struct PTXError : std::runtime_error {
  PTXError(unsigned line, const std::string &message)
      : std::runtime_error("line " + std::to_string(line) + ": " + message), line(line) {}
  unsigned line;
};

struct Operand {
  enum Kind { Ident, Int, F32, F64, Vec, Addr, List };
  Kind kind = Ident;
  bool negated = false;       ///< `!%p` or `-%r`
  std::string name;           ///< Ident, or the base of an Addr (may be empty)
  std::string pair;           ///< second half of `%r|%p`
  uint64_t value = 0;         ///< Int, bits of F32/F64, or the offset of an Addr
  std::vector<Operand> elems; ///< Vec, List, or the coordinates of an Addr
};

/// One instruction or label of a function body.
struct Stmt {
  bool isLabel = false;
  bool predNegated = false;
  unsigned line = 0;
  unsigned scope = 0;
  std::string pred;              ///< guard register or empty
  std::string name;              ///< label, or opcode without modifiers
  std::vector<std::string> mods; ///< `.rn`, `.f32`, ... without the dot
  std::vector<Operand> ops;
};

/// A variable in any state space, at module or function level.
struct Variable {
  std::string name, space, type;
  unsigned align = 1;
  uint64_t size = 0; ///< bytes; 0 for `extern x[]`
  bool isExtern = false, isUnsized = false;
  unsigned line = 0;
  std::vector<uint8_t> init; ///< empty: zero
  /// Addresses to store into the initialiser: offset, symbol, addend.
  struct Reloc {
    uint64_t offset;
    std::string symbol;
    uint64_t addend;
  };
  std::vector<Reloc> relocs;
};

/// Registers declared as `%r<100>` or by single names.
struct RegDecl {
  std::string type;
  uint64_t count = 0; ///< 0: a single register with this very name
};

struct Scope {
  int parent = -1;
  std::map<std::string, RegDecl> regs; ///< keyed by name or by prefix
  std::map<std::string, Variable> vars;
  std::map<std::string, std::vector<std::string>> branchTargets;
};

struct Function {
  std::string name;
  bool isKernel = false, hasBody = false;
  unsigned line = 0;
  std::vector<Variable> params, results;
  std::vector<Scope> scopes;
  std::vector<Stmt> body;
  unsigned maxThreads[3] = {0, 0, 0}, reqThreads[3] = {0, 0, 0};
  unsigned minBlocksPerSM = 0, maxRegisters = 0;
};

struct ModuleSyntax {
  std::string version, target;
  std::vector<Variable> globals;
  std::map<std::string, Function> functions;
};

/// Parses PTX text; throws PTXError.
ModuleSyntax parsePTX(const std::string &text);

/// Size in bytes of a fundamental type such as "f16x2"; 0 if unknown.
unsigned sizeOfType(const std::string &type);

} // namespace gpusim

#endif // GPUSIM_PTX_SYNTAX_H
