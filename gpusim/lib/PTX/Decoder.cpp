// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Decoder.h"

#include <algorithm>

using namespace gpusim;

//===-- Modifiers ---------------------------------------------------------===//

bool Mods::take(const char *name) {
  auto it = std::find(left.begin(), left.end(), name);
  if (it == left.end())
    return false;
  left.erase(it);
  return true;
}

bool Mods::has(const char *name) const {
  return std::find(left.begin(), left.end(), name) != left.end();
}

bool Mods::hasType() const {
  return std::any_of(left.begin(), left.end(),
                     [](const std::string &m) { return sizeOfType(m); });
}

std::string Mods::type() {
  for (size_t n = left.size(); n-- > 0;)
    if (sizeOfType(left[n])) {
      std::string t = left[n];
      left.erase(left.begin() + n);
      return t;
    }
  throw PTXError(stmt.line, "'" + stmt.name + "' without a type it knows");
}

std::string Mods::oneOf(std::initializer_list<const char *> names) {
  for (const char *n : names)
    if (take(n))
      return n;
  return "";
}

void Mods::ignore(std::initializer_list<const char *> names) {
  for (const char *n : names)
    take(n);
}

void Mods::ignoreHints() {
  ignore({"ca", "cg", "cs", "lu", "cv", "wb", "wt", "nc", "weak", "relaxed",
          "acquire", "release", "acq_rel", "volatile", "cta", "cluster", "gpu",
          "sys", "mmio", "L1::evict_normal", "L1::evict_unchanged",
          "L1::evict_first", "L1::evict_last", "L1::no_allocate", "L2::64B",
          "L2::128B", "L2::256B", "unified"});
}

void Mods::done() const {
  if (!left.empty())
    unsupported();
}

void Mods::unsupported() const {
  std::string full = stmt.name;
  for (const std::string &m : stmt.mods)
    full += "." + m;
  std::string what = left.empty() ? "form" : "modifier '." + left.front() + "'";
  throw PTXError(stmt.line, "unsupported " + what + " of '" + full + "'");
}

//===-- Names and registers -----------------------------------------------===//

Decoder::Decoder(const ModuleSyntax &syntax, Module &module)
    : syntax(syntax), module(module) {}

void Decoder::fail(const std::string &message) const {
  throw PTXError(current ? current->line : 0, message);
}

void Decoder::count(const Stmt &s, size_t n) const {
  if (s.ops.size() != n)
    fail("'" + s.name + "' has " + std::to_string(s.ops.size()) +
         " operands instead of " + std::to_string(n));
}

uint32_t Decoder::allocate(unsigned bytes) {
  uint32_t at = result->fileBytes;
  result->fileBytes += bytes * 32;
  if (result->fileBytes > 1u << 26)
    fail("the kernel uses too many registers");
  return at;
}

/// A register is declared by its own name, or by a prefix and a number below
/// the count, in the statement's scope or one around it.
bool Decoder::isRegister(const std::string &name, std::string *type) {
  const Function &f = *frames.back().function;
  size_t digits = name.size();
  while (digits > 0 && std::isdigit((unsigned char)name[digits - 1]))
    --digits;
  for (int s = current->scope; s >= 0; s = f.scopes[s].parent) {
    const Scope &scope = f.scopes[s];
    std::string id = "/" + std::to_string(frames.back().id) + "." +
                     std::to_string(s);
    auto exact = scope.regs.find(name);
    if (exact != scope.regs.end() && exact->second.count == 0) {
      *type = exact->second.type + id;
      return true;
    }
    for (size_t cut = digits; cut < name.size(); ++cut) {
      auto ranged = scope.regs.find(name.substr(0, cut));
      if (ranged == scope.regs.end() || ranged->second.count == 0 ||
          name.size() - cut > 9)
        continue;
      if (std::stoull(name.substr(cut)) < ranged->second.count) {
        *type = ranged->second.type + id;
        return true;
      }
    }
  }
  return false;
}

const Decoder::Reg &Decoder::reg(const std::string &name) {
  std::string type;
  if (!isRegister(name, &type))
    fail("'" + name + "' is not a register");
  size_t slash = type.find('/');
  std::string key = name + type.substr(slash);
  auto it = regs.find(key);
  if (it != regs.end())
    return it->second;
  std::string t = type.substr(0, slash);
  Reg r{0, sizeOfType(t) * 8};
  if (t == "pred") {
    r.bits = 1;
    r.offset = result->numPreds++;
    if (r.offset > 0xffff)
      fail("too many predicate registers");
  } else if (r.bits == 128) {
    fail("128-bit register '" + name + "' is not supported");
  } else {
    r.offset = allocate(r.bits == 64 ? 8 : 4);
  }
  return regs.emplace(key, r).first->second;
}

static const std::map<std::string, unsigned> &specialRegisters() {
  static const std::map<std::string, unsigned> names = {
      {"%tid.x", 32},     {"%tid.y", 32},       {"%tid.z", 32},
      {"%ntid.x", 32},    {"%ntid.y", 32},      {"%ntid.z", 32},
      {"%ctaid.x", 32},   {"%ctaid.y", 32},     {"%ctaid.z", 32},
      {"%nctaid.x", 32},  {"%nctaid.y", 32},    {"%nctaid.z", 32},
      {"%laneid", 32},    {"%warpid", 32},      {"%nwarpid", 32},
      {"%smid", 32},      {"%nsmid", 32},       {"%gridid", 64},
      {"%lanemask_eq", 32}, {"%lanemask_lt", 32}, {"%lanemask_le", 32},
      {"%lanemask_gt", 32}, {"%lanemask_ge", 32}, {"%clock", 32},
      {"%clock_hi", 32},  {"%clock64", 64},     {"%globaltimer", 64},
      {"%dynamic_smem_size", 32}, {"%total_smem_size", 32},
      {"%cluster_ctaid.x", 32}, {"%cluster_ctaid.y", 32},
      {"%cluster_ctaid.z", 32}, {"%cluster_nctaid.x", 32},
      {"%cluster_nctaid.y", 32}, {"%cluster_nctaid.z", 32},
      {"%cluster_ctarank", 32}, {"%cluster_nctarank", 32},
      {"%clusterid.x", 32}, {"%clusterid.y", 32}, {"%clusterid.z", 32},
      {"%nclusterid.x", 32}, {"%nclusterid.y", 32}, {"%nclusterid.z", 32},
      {"WARP_SZ", 32}};
  return names;
}

bool Decoder::special(const std::string &name, uint32_t &offset,
                      unsigned &bits) {
  auto known = specialRegisters().find(name);
  if (known == specialRegisters().end())
    return false;
  bits = known->second;
  auto it = specials.find(name);
  if (it == specials.end()) {
    it = specials.emplace(name, allocate(bits / 8)).first;
    result->specials.push_back({name, it->second});
  }
  offset = it->second;
  return true;
}

uint32_t Decoder::constant(uint64_t value, bool wide) {
  if (!wide)
    value = (uint32_t)value;
  auto key = std::make_pair(value, wide);
  auto it = constants.find(key);
  if (it != constants.end())
    return it->second;
  uint32_t at = allocate(wide ? 8 : 4);
  result->constants.push_back({at, wide, value});
  constants[key] = at;
  return at;
}

uint32_t Decoder::note(uint32_t offset, bool isDst, unsigned bits) {
  uses.push_back({(uint32_t)result->code.size(), offset, isDst,
                  (uint8_t)(bits == 64 ? 2 : 1)});
  return offset;
}

uint32_t Decoder::scratch(bool wide) { return allocate(wide ? 8 : 4); }

uint64_t Decoder::immediate(const Operand &o) {
  if (o.kind != Operand::Int)
    fail("operand of '" + current->name + "' must be an integer constant");
  return o.value;
}

uint32_t Decoder::src(const Operand &o, unsigned bits) {
  bool wide = bits == 64;
  auto narrow = [&](uint64_t v) {
    return bits == 16 ? v & 0xffff : bits == 8 ? v & 0xff : v;
  };
  switch (o.kind) {
  case Operand::Int:
    return constant(narrow(o.value), wide);
  case Operand::F32:
    if (bits != 32)
      fail("f32 constant where " + std::to_string(bits) + " bits are needed");
    return constant(o.value, false);
  case Operand::F64: {
    if (wide)
      return constant(o.value, true);
    if (bits != 32)
      fail("f64 constant where " + std::to_string(bits) + " bits are needed");
    double v;
    __builtin_memcpy(&v, &o.value, 8);
    float f = v;
    uint32_t b;
    __builtin_memcpy(&b, &f, 4);
    return constant(b, false);
  }
  case Operand::Ident:
    break;
  default:
    fail("operand of '" + current->name + "' must be a register or constant");
  }
  if (o.negated || !o.pair.empty() || o.value)
    fail("operand '" + o.name + "' of '" + current->name +
         "' must be a plain register");
  uint32_t offset;
  unsigned have;
  std::string type;
  if (!isRegister(o.name, &type) && special(o.name, offset, have)) {
    if (have != bits)
      fail("'" + o.name + "' has " + std::to_string(have) + " bits");
    return offset;
  }
  const Reg &r = reg(o.name);
  if (r.bits != bits)
    fail("register '" + o.name + "' has " + std::to_string(r.bits) +
         " bits where '" + current->name + "' needs " + std::to_string(bits));
  return note(r.offset, false, bits);
}

uint32_t Decoder::dst(const Operand &o, unsigned bits) {
  if (o.kind == Operand::Ident && o.name == "_")
    return scratch(bits == 64);
  if (o.kind != Operand::Ident || o.negated || o.value)
    fail("destination of '" + current->name + "' must be a register");
  const Reg &r = reg(o.name);
  if (r.bits != bits)
    fail("register '" + o.name + "' has " + std::to_string(r.bits) +
         " bits where '" + current->name + "' needs " + std::to_string(bits));
  return note(r.offset, true, bits);
}

uint32_t Decoder::anyReg(const Operand &o, unsigned bits, unsigned &regBits,
                         bool isDst) {
  if (o.kind == Operand::Ident && o.name == "_" && isDst) {
    regBits = 64;
    return scratch(true);
  }
  if (o.kind != Operand::Ident) {
    if (isDst)
      fail("destination of '" + current->name + "' must be a register");
    regBits = bits == 64 ? 64 : 32;
    return src(o, bits == 64 ? 64 : 32);
  }
  std::string type;
  uint32_t offset;
  if (!isDst && !isRegister(o.name, &type) &&
      special(o.name, offset, regBits))
    return offset;
  const Reg &r = reg(o.name);
  if (r.bits == 1 || r.bits < bits || o.negated || o.value)
    fail("register '" + o.name + "' cannot hold " + std::to_string(bits) +
         " bits");
  regBits = r.bits;
  return note(r.offset, isDst, r.bits);
}

uint16_t Decoder::predByName(const std::string &name, bool isDst) {
  if (name == "_" && isDst)
    return result->numPreds++;
  const Reg &r = reg(name);
  if (r.bits != 1)
    fail("'" + name + "' is not a predicate register");
  return r.offset;
}

uint16_t Decoder::predSrc(const Operand &o, bool allowNegated) {
  if (o.kind == Operand::Int) {
    // Predicate 0 is always true; one that nobody writes is always false.
    if (!o.value && !falsePred)
      falsePred = result->numPreds++;
    return o.value ? 0 : falsePred;
  }
  if (o.kind != Operand::Ident || (o.negated && !allowNegated) ||
      !o.pair.empty() || o.value)
    fail("operand of '" + current->name + "' must be a predicate register");
  return predByName(o.name, false);
}

uint16_t Decoder::predDst(const Operand &o) {
  if (o.kind != Operand::Ident || o.negated || o.value)
    fail("destination of '" + current->name + "' must be a predicate");
  return predByName(o.name, true);
}

uint32_t Decoder::table(const std::vector<uint32_t> &operands) {
  uint32_t at = result->operandTable.size();
  result->operandTable.insert(result->operandTable.end(), operands.begin(),
                              operands.end());
  return at;
}

//===-- Addresses ---------------------------------------------------------===//

bool Decoder::findPlace(const std::string &name, Place &place) {
  const Function &f = *frames.back().function;
  auto arg = frames.back().args.find(name);
  if (arg != frames.back().args.end()) {
    place = arg->second;
    return true;
  }
  for (int s = current ? (int)current->scope : 0; s >= 0;
       s = f.scopes[s].parent) {
    auto v = f.scopes[s].vars.find(name);
    if (v == f.scopes[s].vars.end())
      continue;
    const Variable &var = v->second;
    std::string key = std::to_string(frames.back().id) + "." +
                      std::to_string(s) + "." + name;
    if (var.space == "shared") {
      place = sharedPlaces.at(f.name + "." + std::to_string(s) + "." + name);
      return true;
    }
    if (var.space != "local" && var.space != "param")
      fail("variable '" + name + "' in space '" + var.space +
           "' inside a function is not supported");
    auto known = locals.find(key);
    if (known == locals.end()) {
      uint64_t align = std::max(var.align, 1u);
      uint64_t at = (result->localBytes + align - 1) / align * align;
      if (at + var.size > 1u << 20)
        fail("more than 1 MiB of local memory");
      result->localBytes = at + var.size;
      known = locals.emplace(key, Place{Space::Local, at, var.size}).first;
    }
    place = known->second;
    return true;
  }
  auto shared = sharedPlaces.find(name);
  if (shared != sharedPlaces.end()) {
    place = shared->second;
    return true;
  }
  auto global = module.globals.find(name);
  if (global != module.globals.end()) {
    place = {Space::Global, global->second->base, global->second->size};
    return true;
  }
  return false;
}

Decoder::Address Decoder::address(const Operand &o) {
  if (o.kind != Operand::Addr || !o.elems.empty())
    fail("operand of '" + current->name + "' must be an address");
  Address a;
  a.offset = o.value;
  std::string type;
  if (o.name.empty()) {
    a.isStatic = true;
    return a;
  }
  if (isRegister(o.name, &type)) {
    const Reg &r = reg(o.name);
    if (r.bits != 32 && r.bits != 64)
      fail("address register '" + o.name + "' has " + std::to_string(r.bits) +
           " bits");
    a.reg = note(r.offset, false, r.bits);
    a.regBits = r.bits;
    return a;
  }
  Place p;
  if (!findPlace(o.name, p))
    fail("unknown name '" + o.name + "' in an address");
  a.isStatic = true;
  a.space = p.space;
  a.offset += p.address;
  return a;
}

void Decoder::sharedWidth(unsigned bytes) {
  result->granule = std::min(result->granule, std::max(bytes, 1u));
}

//===-- Layout of shared memory ------------------------------------------===//

/// Shared variables that a kernel names, directly or through functions.
void Decoder::collectShared(const Function &f,
                            std::vector<const Variable *> &out,
                            std::set<std::string> &seen) {
  if (!seen.insert("fn " + f.name).second)
    return;
  for (const Scope &s : f.scopes)
    for (const auto &v : s.vars)
      if (v.second.space == "shared")
        out.push_back(&v.second);
  std::set<std::string> used;
  std::vector<const Operand *> work;
  for (const Stmt &s : f.body)
    for (const Operand &o : s.ops)
      work.push_back(&o);
  while (!work.empty()) {
    const Operand *o = work.back();
    work.pop_back();
    if (!o->name.empty())
      used.insert(o->name);
    for (const Operand &e : o->elems)
      work.push_back(&e);
  }
  for (const Variable &v : syntax.globals)
    if (v.space == "shared" && used.count(v.name) && seen.insert(v.name).second)
      out.push_back(&v);
  for (const std::string &name : used) {
    auto callee = syntax.functions.find(name);
    if (callee != syntax.functions.end())
      collectShared(callee->second, out, seen);
  }
}

/// Every array starts at an odd multiple of its alignment, so that code which
/// relies on more than it declares fails, and has a gap around it.
void Decoder::layoutShared(const Function &f) {
  std::vector<const Variable *> vars;
  std::set<std::string> seen;
  collectShared(f, vars, seen);
  uint64_t at = 0;
  std::map<const Variable *, uint64_t> where;
  for (const Variable *v : vars) {
    if (v->isUnsized || (v->isExtern && v->size == 0)) {
      result->dynamicAlign = std::max(result->dynamicAlign, v->align);
      continue;
    }
    uint64_t align = v->align;
    at = (at + align - 1) / align * align;
    if ((at / align) % 2 == 0)
      at += align;
    if (v->size > 1u << 20)
      fail("shared variable '" + v->name + "' of " + std::to_string(v->size) +
           " bytes");
    where[v] = at;
    result->shared.push_back({v->name, (uint32_t)at, (uint32_t)v->size});
    result->declaredShared =
        (result->declaredShared + align - 1) / align * align + v->size;
    at += v->size + 16;
    if (at > 1u << 24)
      fail("too much shared memory");
  }
  result->staticShared = at;
  // The dynamic part starts at the same place whatever its size.
  uint64_t dyn = 0;
  if (uint64_t align = result->dynamicAlign) {
    dyn = (at + align - 1) / align * align;
    if ((dyn / align) % 2 == 0)
      dyn += align;
    result->staticShared = dyn;
  }
  auto place = [&](const Variable &v) {
    if (v.isUnsized || (v.isExtern && v.size == 0))
      return Place{Space::Shared, dyn, 0};
    return Place{Space::Shared, where.at(&v), v.size};
  };
  for (const Variable *v : vars)
    for (const Variable &g : syntax.globals)
      if (&g == v)
        sharedPlaces[v->name] = place(*v);
  for (const auto &fn : syntax.functions)
    for (size_t s = 0; s < fn.second.scopes.size(); ++s)
      for (const auto &v : fn.second.scopes[s].vars)
        if (where.count(&v.second) ||
            (v.second.space == "shared" && v.second.isUnsized))
          sharedPlaces[fn.first + "." + std::to_string(s) + "." + v.first] =
              place(v.second);
}

//===-- Statements --------------------------------------------------------===//

Inst &Decoder::emit(Handler fn, Class cls) {
  Inst i;
  i.fn = fn;
  i.cls = cls;
  i.line = current ? current->line : 0;
  if (current && !current->pred.empty()) {
    i.pred = predByName(current->pred, false);
    i.predXor = current->predNegated ? ~0u : 0;
  }
  std::string text;
  if (current) {
    text = current->name;
    for (const std::string &m : current->mods)
      text += "." + m;
  }
  if (result->code.size() > 4000000)
    fail("the kernel is too long");
  result->text.push_back(text);
  result->code.push_back(i);
  return result->code.back();
}

std::string Decoder::labelName(const std::string &name) const {
  // Labels are looked up from the innermost scope outwards in `finish`.
  return std::to_string(frames.back().id) + "." + name;
}

void Decoder::branchTo(Inst &i, const std::string &label) {
  fixups.push_back({(uint32_t)(&i - result->code.data()),
                    std::to_string(frames.back().id) + ":" +
                        std::to_string(current->scope) + ":" + label});
}

void Decoder::statement(const Stmt &s) {
  current = &s;
  if (s.isLabel) {
    std::string key = std::to_string(frames.back().id) + ":" +
                      std::to_string(s.scope) + ":" + s.name;
    if (!labels.emplace(key, result->code.size()).second)
      fail("label '" + s.name + "' stands twice");
    emit(handlerLabel(), Class::None);
    return;
  }
  if (s.name == "call")
    return call(s);
  if (s.name == "brx")
    return multiwayBranch(s);
  if (s.name == "ret" && frames.size() > 1) {
    // Return of a function that is expanded in place.
    Mods(s).ignore({"uni"});
    Inst &i = emit(handlerJump(), Class::Control);
    fixups.push_back({(uint32_t)(&i - result->code.data()),
                      "return:" + std::to_string(frames.back().id)});
    return;
  }
  static bool (*const families[])(Decoder &, const Stmt &) = {
      decodeMove,   decodeInteger, decodeFloat,  decodeHalf,    decodeCompare,
      decodeBits,   decodeConvert, decodeMemory, decodeControl, decodeMatrix,
      decodeAsync,  decodeShuffle, decodeAtomic, decodeCarry};
  for (auto decode : families)
    if (decode(*this, s))
      return;
  std::string full = s.name;
  for (const std::string &m : s.mods)
    full += "." + m;
  fail("unknown opcode '" + full + "'");
}

void Decoder::multiwayBranch(const Stmt &s) {
  count(s, 2);
  Mods m(s);
  m.take("uni");
  if (!m.take("idx"))
    m.unsupported();
  m.done();
  const Function &f = *frames.back().function;
  const std::vector<std::string> *targets = nullptr;
  for (int scope = s.scope; scope >= 0 && !targets;
       scope = f.scopes[scope].parent) {
    auto it = f.scopes[scope].branchTargets.find(s.ops[1].name);
    if (it != f.scopes[scope].branchTargets.end())
      targets = &it->second;
  }
  if (!targets)
    fail("unknown list of branch targets '" + s.ops[1].name + "'");
  uint32_t index = src(s.ops[0], 32);
  Inst &i = emit(handlerBranchIndexed(), Class::Control);
  i.a = index;
  i.imm = targets->size();
  i.target = table(std::vector<uint32_t>(targets->size(), 0));
  for (size_t n = 0; n < targets->size(); ++n)
    fixups.push_back({0x80000000u | (i.target + (uint32_t)n),
                      std::to_string(frames.back().id) + ":" +
                          std::to_string(s.scope) + ":" + (*targets)[n]});
}

/// Functions are expanded at each call; recursion is refused. Parameters live
/// in the caller's `.param` variables, which are local memory.
void Decoder::call(const Stmt &s) {
  Mods m(s);
  m.take("uni");
  m.done();
  size_t at = 0;
  std::vector<Operand> results, args;
  if (at < s.ops.size() && s.ops[at].kind == Operand::List)
    results = s.ops[at++].elems;
  if (at >= s.ops.size() || s.ops[at].kind != Operand::Ident)
    fail("call without a function name");
  std::string name = s.ops[at++].name;
  if (at < s.ops.size() && s.ops[at].kind == Operand::List)
    args = s.ops[at++].elems;
  if (!s.pred.empty())
    fail("a call under a predicate is not supported");
  if (name == "__assertfail" || name == "vprintf") {
    Stmt special = s;
    special.name = name == "vprintf" ? "gpusim_printf" : "gpusim_assertfail";
    special.ops.clear();
    special.mods.clear();
    for (Operand &o : args) {
      Place p;
      if (!findPlace(o.name, p))
        fail("unknown argument '" + o.name + "'");
      Operand v;
      v.kind = Operand::Int;
      v.value = p.address;
      special.ops.push_back(v);
    }
    for (Operand &o : results) {
      Place p;
      if (findPlace(o.name, p)) {
        Operand v;
        v.kind = Operand::Int;
        v.value = p.address;
        special.ops.push_back(v);
      }
    }
    decodeControl(*this, special);
    current = &s;
    return;
  }
  auto callee = syntax.functions.find(name);
  if (callee == syntax.functions.end() || !callee->second.hasBody)
    fail("call of '" + name + "', which this module does not define");
  const Function &f = callee->second;
  for (const Frame &frame : frames)
    if (frame.function == &f)
      fail("recursive call of '" + name + "' is not supported");
  if (++inlined > 2000)
    fail("too many calls");
  if (args.size() != f.params.size() || results.size() != f.results.size())
    fail("call of '" + name + "' with the wrong number of arguments");
  Frame frame{&f, ++nextFrame, "", {}};
  auto bind = [&](const std::vector<Variable> &formal,
                  const std::vector<Operand> &actual) {
    for (size_t n = 0; n < formal.size(); ++n) {
      Place p;
      if (formal[n].space != "param" || !findPlace(actual[n].name, p) ||
          p.size < formal[n].size)
        fail("argument '" + actual[n].name + "' of '" + name +
             "' does not fit its parameter");
      frame.args[formal[n].name] = p;
    }
  };
  bind(f.params, args);
  bind(f.results, results);
  unsigned id = frame.id;
  frames.push_back(frame);
  for (const Stmt &inner : f.body)
    statement(inner);
  current = &s;
  frames.pop_back();
  labels["return:" + std::to_string(id)] = result->code.size();
  emit(handlerLabel(), Class::None);
}

void Decoder::finish(const Function &f) {
  current = nullptr;
  emit(handlerExit(), Class::None);
  for (auto &fix : fixups) {
    std::string key = fix.second;
    auto it = labels.find(key);
    if (it == labels.end() && key.compare(0, 7, "return:")) {
      // "<frame>:<scope>:<label>": try the scopes around it.
      size_t c1 = key.find(':'), c2 = key.find(':', c1 + 1);
      int scope = std::stoi(key.substr(c1 + 1, c2 - c1 - 1));
      for (const auto &fn : syntax.functions) {
        if (it != labels.end())
          break;
        if (scope >= (int)fn.second.scopes.size())
          continue;
        for (int s = scope; s >= 0 && it == labels.end();
             s = fn.second.scopes[s].parent)
          it = labels.find(key.substr(0, c1 + 1) + std::to_string(s) +
                           key.substr(c2));
      }
    }
    if (it == labels.end())
      throw PTXError(f.line, "branch to an unknown label '" +
                                 key.substr(key.rfind(':') + 1) + "'");
    if (fix.first & 0x80000000u)
      result->operandTable[fix.first & 0x7fffffffu] = it->second;
    else
      result->code[fix.first].target = it->second;
  }
}

std::unique_ptr<Kernel> Decoder::kernel(const Function &f) {
  result = std::make_unique<Kernel>();
  result->name = f.name;
  std::copy(f.maxThreads, f.maxThreads + 3, result->maxThreads);
  std::copy(f.reqThreads, f.reqThreads + 3, result->reqThreads);
  result->minBlocksPerSM = f.minBlocksPerSM;
  result->maxRegisters = f.maxRegisters;
  Frame frame{&f, 0, "", {}};
  for (const Variable &p : f.params) {
    if (p.isUnsized || p.size > 1u << 15 || p.space != "param")
      throw PTXError(p.line, "parameter '" + p.name + "' has no usable size");
    uint32_t at = (result->paramBytes + p.align - 1) / p.align * p.align;
    result->params.push_back({at, (uint32_t)p.size});
    result->paramBytes = at + p.size;
    frame.args[p.name] = Place{Space::Param, at, p.size};
  }
  frames.push_back(frame);
  layoutShared(f);
  for (const Stmt &s : f.body)
    statement(s);
  finish(f);
  result->estimatedRegisters = estimateRegisters(*result, uses);
  frames.pop_back();
  return std::move(result);
}
