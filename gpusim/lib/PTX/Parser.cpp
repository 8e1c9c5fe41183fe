// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lexer.h"

using namespace gpusim;

unsigned gpusim::sizeOfType(const std::string &t) {
  static const std::map<std::string, unsigned> sizes = {
      {"pred", 1}, {"b8", 1},  {"u8", 1},  {"s8", 1},  {"b16", 2},   {"u16", 2},   {"s16", 2},    {"f16", 2},
      {"bf16", 2}, {"b32", 4}, {"u32", 4}, {"s32", 4}, {"f32", 4},   {"f16x2", 4}, {"bf16x2", 4}, {"tf32", 4},
      {"b64", 8},  {"u64", 8}, {"s64", 8}, {"f64", 8}, {"b128", 16}, {"e4m3", 1},  {"e5m2", 1}};
  auto it = sizes.find(t);
  return it == sizes.end() ? 0 : it->second;
}

namespace {

/// Sizes beyond this are refused: no device has them, and a broken module
/// must not make the simulator allocate the host's memory away.
constexpr uint64_t maxVariableSize = 1ull << 34;

class Parser {
public:
  explicit Parser(const std::string &text) : lex(text) {}
  ModuleSyntax run();

private:
  void moduleItem();
  void function(bool isKernel);
  void functionDirectives(Function &f);
  void body(Function &f);
  void bodyDirective(Function &f);
  void statement(Function &f);
  void registers(Scope &scope);
  std::vector<Variable> variables(const std::string &space, bool isExtern);
  Variable variable(const std::string &space, bool isExtern);
  void initialiser(Variable &v, unsigned elementSize);
  std::vector<Variable> parameters();
  Operand operand();
  Operand braced(Operand::Kind kind, const char *close);
  uint64_t integer();
  std::string word();

  Lexer lex;
  ModuleSyntax module;
  std::vector<unsigned> scopeStack;
  unsigned depth = 0;
};

std::string Parser::word() {
  if (lex.peek().kind != Token::Word)
    lex.fail("expected a name but found '" + lex.describe() + "'");
  return lex.next().text;
}

uint64_t Parser::integer() {
  bool negative = lex.accept("-");
  if (lex.peek().kind != Token::Int)
    lex.fail("expected an integer but found '" + lex.describe() + "'");
  uint64_t v = lex.next().value;
  return negative ? 0 - v : v;
}

ModuleSyntax Parser::run() {
  while (lex.peek().kind != Token::End)
    moduleItem();
  if (module.version.empty())
    throw PTXError(1, "no .version directive: this is not PTX");
  return std::move(module);
}

void Parser::moduleItem() {
  static const char *const linkage[] = {".visible", ".extern", ".weak", ".common"};
  bool isExtern = false;
  for (bool again = true; again;) {
    again = false;
    for (const char *l : linkage)
      if (lex.is(l)) {
        isExtern |= lex.is(".extern");
        lex.next();
        again = true;
      }
  }
  if (lex.accept(".version")) {
    module.version = lex.next().text;
    if (lex.accept("."))
      module.version += "." + lex.next().text;
  } else if (lex.accept(".target")) {
    module.target = word();
    while (lex.accept(","))
      lex.next();
  } else if (lex.accept(".address_size")) {
    if (integer() != 64)
      lex.fail(".address_size other than 64");
  } else if (lex.accept(".entry")) {
    function(true);
  } else if (lex.accept(".func")) {
    function(false);
  } else if (lex.is(".global") || lex.is(".const") || lex.is(".shared")) {
    std::string space = lex.next().text.substr(1);
    for (Variable &v : variables(space, isExtern))
      module.globals.push_back(std::move(v));
  } else if (lex.accept(".section")) {
    lex.next();
    while (!lex.is("{") && lex.peek().kind != Token::End)
      lex.next();
    lex.skipBraces();
  } else if (lex.is(".file") || lex.is(".pragma") || lex.is(".loc") || lex.is(".alias")) {
    lex.skipToSemicolonOrEndOfLine();
  } else {
    lex.fail("unknown directive '" + lex.describe() + "'");
  }
}

/// `.align 8 .b8 name[4][2] = {...}, ...;`
std::vector<Variable> Parser::variables(const std::string &space, bool isExtern) {
  std::vector<Variable> result;
  result.push_back(variable(space, isExtern));
  while (lex.accept(",")) {
    Variable v = result.front();
    v.relocs.clear();
    v.init.clear();
    v.name = word();
    unsigned element = sizeOfType(v.type);
    v.size = element;
    if (lex.accept("=")) {
      v.init.assign(element, 0);
      initialiser(v, element);
    }
    result.push_back(std::move(v));
  }
  lex.expect(";");
  return result;
}

Variable Parser::variable(const std::string &space, bool isExtern) {
  Variable v;
  v.space = space;
  v.isExtern = isExtern;
  v.line = lex.peek().line;
  bool aligned = false;
  unsigned vector = 1;
  while (lex.peek().kind == Token::Directive) {
    std::string d = lex.next().text.substr(1);
    if (d == "align") {
      v.align = integer();
      aligned = true;
    } else if (d == "attribute") {
      lex.expect("(");
      while (!lex.accept(")")) {
        if (lex.peek().kind == Token::End)
          lex.fail("'(' without ')'");
        lex.next();
      }
    } else if (d == "ptr" || d == "global" || d == "const" || d == "shared" || d == "local") {
      // Describes what a pointer parameter points to, not the variable.
      if (d == "ptr" && lex.is(".align"))
        lex.next(), integer();
      else if (d != "ptr" && lex.is(".align"))
        lex.next(), integer();
    } else if (d == "v2" || d == "v4") {
      vector = d == "v2" ? 2 : 4;
    } else if (sizeOfType(d)) {
      v.type = d;
    } else if (d == "texref" || d == "samplerref" || d == "surfref") {
      lex.fail("textures are not simulated ('." + d + "')");
    } else {
      lex.fail("unknown directive '." + d + "' in a declaration");
    }
  }
  if (v.type.empty())
    lex.fail("declaration without a type");
  v.name = word();
  unsigned element = sizeOfType(v.type);
  uint64_t count = vector;
  bool firstDim = true;
  while (lex.accept("[")) {
    if (lex.accept("]")) {
      if (!firstDim)
        lex.fail("only the first dimension may be open");
      v.isUnsized = true;
      firstDim = false;
      continue;
    }
    firstDim = false;
    uint64_t n = integer();
    lex.expect("]");
    if (n && count > maxVariableSize / n)
      lex.fail("variable '" + v.name + "' is too large");
    count *= n;
  }
  v.size = v.isUnsized ? 0 : count * element;
  if (v.size > maxVariableSize)
    lex.fail("variable '" + v.name + "' is too large");
  if (!aligned)
    v.align = element * vector;
  if (v.align == 0 || (v.align & (v.align - 1)) || v.align > 4096)
    lex.fail("alignment of '" + v.name + "' is not a power of two up to 4096");
  if (lex.accept("=")) {
    if (v.isUnsized || v.size > (1u << 28))
      lex.fail("initialiser for a variable without a fixed, modest size");
    v.init.assign(v.size, 0);
    initialiser(v, element);
  }
  return v;
}

void Parser::initialiser(Variable &v, unsigned element) {
  uint64_t at = 0;
  unsigned nesting = 0;
  do {
    while (lex.accept("{"))
      ++nesting;
    if (at + element > v.init.size())
      lex.fail("initialiser of '" + v.name + "' has too many values");
    uint64_t bits = 0;
    unsigned bytes = element;
    bool generic = lex.accept("generic");
    if (generic)
      lex.expect("(");
    if (lex.peek().kind == Token::Word) {
      std::string symbol = lex.next().text;
      uint64_t addend = lex.accept("+") ? integer() : 0;
      if (element != 8)
        lex.fail("address of '" + symbol + "' in a variable not of 8 bytes");
      v.relocs.push_back({at, symbol, addend});
    } else {
      bool negative = lex.accept("-");
      Token t = lex.next();
      bits = t.value;
      if (t.kind == Token::F64 && element == 4) {
        double d;
        __builtin_memcpy(&d, &bits, 8);
        float f = d;
        bits = 0;
        __builtin_memcpy(&bits, &f, 4);
      } else if (t.kind != Token::Int && t.kind != Token::F32 && t.kind != Token::F64) {
        lex.fail("unexpected '" + t.text + "' in an initialiser");
      }
      if (negative)
        bits = 0 - bits;
    }
    if (generic)
      lex.expect(")");
    for (unsigned i = 0; i < bytes && i < 8; ++i)
      v.init[at + i] = bits >> (8 * i);
    at += element;
    while (nesting && lex.accept("}"))
      --nesting;
  } while (lex.accept(","));
  if (nesting)
    lex.fail("initialiser without '}'");
}

std::vector<Variable> Parser::parameters() {
  std::vector<Variable> result;
  lex.expect("(");
  if (lex.accept(")"))
    return result;
  do {
    if (lex.accept(".reg")) {
      result.push_back(variable("reg", false));
    } else {
      lex.expect(".param");
      result.push_back(variable("param", false));
    }
  } while (lex.accept(","));
  lex.expect(")");
  return result;
}

void Parser::function(bool isKernel) {
  Function f;
  f.isKernel = isKernel;
  f.line = lex.peek().line;
  if (!isKernel && lex.is("("))
    f.results = parameters();
  f.name = word();
  if (lex.is("("))
    f.params = parameters();
  functionDirectives(f);
  if (!lex.accept(";")) {
    f.hasBody = true;
    body(f);
  }
  Function &old = module.functions[f.name];
  if (old.hasBody && f.hasBody)
    throw PTXError(f.line, "function '" + f.name + "' is defined twice");
  if (f.hasBody || !old.hasBody)
    old = std::move(f);
}

void Parser::functionDirectives(Function &f) {
  auto triple = [&](unsigned *out) {
    unsigned n = 0;
    do {
      if (n == 3)
        lex.fail("more than three dimensions");
      out[n++] = integer();
    } while (lex.accept(","));
    while (n < 3)
      out[n++] = 1;
  };
  while (lex.peek().kind == Token::Directive) {
    if (lex.accept(".maxntid"))
      triple(f.maxThreads);
    else if (lex.accept(".reqntid"))
      triple(f.reqThreads);
    else if (lex.accept(".minnctapersm"))
      f.minBlocksPerSM = integer();
    else if (lex.accept(".maxnreg"))
      f.maxRegisters = integer();
    else if (lex.accept(".noreturn") || lex.accept(".blocksareclusters"))
      continue;
    else if (lex.is(".pragma"))
      lex.skipToSemicolonOrEndOfLine();
    else
      lex.fail("unknown directive '" + lex.describe() + "' of a function");
  }
}

void Parser::body(Function &f) {
  lex.expect("{");
  f.scopes.emplace_back();
  scopeStack = {0};
  while (!scopeStack.empty()) {
    if (lex.peek().kind == Token::End)
      lex.fail("function '" + f.name + "' has no end");
    if (lex.accept("{")) {
      if (scopeStack.size() > 64)
        lex.fail("scopes nested too deeply");
      f.scopes.emplace_back();
      f.scopes.back().parent = scopeStack.back();
      scopeStack.push_back(f.scopes.size() - 1);
    } else if (lex.accept("}")) {
      scopeStack.pop_back();
    } else if (lex.peek().kind == Token::Directive) {
      bodyDirective(f);
    } else if (!lex.accept(";")) {
      statement(f);
    }
  }
}

void Parser::registers(Scope &scope) {
  Token type = lex.next();
  unsigned vector = 1;
  if (type.text == ".v2" || type.text == ".v4") {
    vector = type.text[2] - '0';
    type = lex.next();
  }
  if (type.kind != Token::Directive || !sizeOfType(type.text.substr(1)))
    lex.fail("unknown register type '" + type.text + "'");
  if (vector != 1)
    lex.fail("vector registers are not supported");
  do {
    std::string name = word();
    RegDecl decl;
    decl.type = type.text.substr(1);
    if (lex.accept("<")) {
      decl.count = integer();
      lex.expect(">");
    }
    scope.regs[name] = decl;
  } while (lex.accept(","));
  lex.expect(";");
}

void Parser::bodyDirective(Function &f) {
  Scope &scope = f.scopes[scopeStack.back()];
  if (lex.accept(".reg"))
    return registers(scope);
  if (lex.is(".loc") || lex.is(".file") || lex.is(".pragma"))
    return lex.skipToSemicolonOrEndOfLine();
  if (lex.is(".local") || lex.is(".shared") || lex.is(".param") || lex.is(".global") || lex.is(".const")) {
    std::string space = lex.next().text.substr(1);
    for (Variable &v : variables(space, false))
      scope.vars[v.name] = v;
    return;
  }
  lex.fail("unknown directive '" + lex.describe() + "'");
}

Operand Parser::braced(Operand::Kind kind, const char *close) {
  if (++depth > 32)
    lex.fail("operands nested too deeply");
  Operand result;
  result.kind = kind;
  if (!lex.accept(close)) {
    do
      result.elems.push_back(operand());
    while (lex.accept(","));
    lex.expect(close);
  }
  --depth;
  return result;
}

Operand Parser::operand() {
  Operand o;
  if (lex.accept("{"))
    return braced(Operand::Vec, "}");
  if (lex.accept("("))
    return braced(Operand::List, ")");
  if (lex.accept("[")) {
    o.kind = Operand::Addr;
    if (lex.peek().kind == Token::Word)
      o.name = lex.next().text;
    if (lex.accept("+") || lex.is("-") || lex.peek().kind == Token::Int)
      o.value = integer();
    while (lex.accept(","))
      o.elems.push_back(operand());
    lex.expect("]");
    return o;
  }
  if (lex.accept("!") || lex.accept("-"))
    o.negated = true;
  Token t = lex.next();
  switch (t.kind) {
  case Token::Word:
    o.name = t.text;
    if (lex.accept("|"))
      o.pair = word();
    else if (lex.accept("+"))
      o.value = integer();
    return o;
  case Token::Int:
    o.kind = Operand::Int;
    o.value = o.negated ? 0 - t.value : t.value;
    break;
  case Token::F32:
    o.kind = Operand::F32;
    o.value = t.value ^ (o.negated ? 1ull << 31 : 0);
    break;
  case Token::F64:
    o.kind = Operand::F64;
    o.value = t.value ^ (o.negated ? 1ull << 63 : 0);
    break;
  default:
    throw PTXError(t.line, "expected an operand but found '" + t.text + "'");
  }
  o.negated = false;
  return o;
}

void Parser::statement(Function &f) {
  Stmt s;
  s.line = lex.peek().line;
  s.scope = scopeStack.back();
  if (lex.accept("@")) {
    s.predNegated = lex.accept("!");
    s.pred = word();
  }
  std::string text = word();
  if (s.pred.empty() && lex.accept(":")) {
    if (lex.accept(".branchtargets")) {
      auto &targets = f.scopes[s.scope].branchTargets[text];
      do
        targets.push_back(word());
      while (lex.accept(","));
      lex.expect(";");
      return;
    }
    if (lex.is(".callprototype"))
      lex.fail("indirect calls are not supported");
    s.isLabel = true;
    s.name = text;
    f.body.push_back(std::move(s));
    return;
  }
  size_t dot = text.find('.');
  s.name = text.substr(0, dot);
  while (dot != std::string::npos) {
    size_t end = text.find('.', dot + 1);
    s.mods.push_back(text.substr(dot + 1, end - dot - 1));
    dot = end;
  }
  if (!lex.is(";")) {
    do
      s.ops.push_back(operand());
    while (lex.accept(","));
  }
  if (!lex.is(";"))
    lex.fail("expected ';' after '" + text + "' but found '" + lex.describe() + "'");
  lex.next();
  f.body.push_back(std::move(s));
}

} // namespace

ModuleSyntax gpusim::parsePTX(const std::string &text) { return Parser(text).run(); }
