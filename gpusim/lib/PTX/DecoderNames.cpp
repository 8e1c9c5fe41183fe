// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The decoder's view of names: modifiers, registers, constants, addresses.
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

bool Mods::has(const char *name) const { return std::find(left.begin(), left.end(), name) != left.end(); }

bool Mods::hasType() const {
  return std::any_of(left.begin(), left.end(), [](const std::string &m) { return sizeOfType(m); });
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
  ignore({"ca",
          "cg",
          "cs",
          "lu",
          "cv",
          "wb",
          "wt",
          "nc",
          "weak",
          "relaxed",
          "acquire",
          "release",
          "acq_rel",
          "volatile",
          "cta",
          "cluster",
          "gpu",
          "sys",
          "mmio",
          "L1::evict_normal",
          "L1::evict_unchanged",
          "L1::evict_first",
          "L1::evict_last",
          "L1::no_allocate",
          "L2::64B",
          "L2::128B",
          "L2::256B",
          "unified"});
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

Decoder::Decoder(const ModuleSyntax &syntax, Module &module) : syntax(syntax), module(module) {}

void Decoder::fail(const std::string &message) const { throw PTXError(current ? current->line : 0, message); }

void Decoder::count(const Stmt &s, size_t n) const {
  if (s.ops.size() != n)
    fail("'" + s.name + "' has " + std::to_string(s.ops.size()) + " operands instead of " + std::to_string(n));
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
    std::string id = "/" + std::to_string(frames.back().id) + "." + std::to_string(s);
    auto exact = scope.regs.find(name);
    if (exact != scope.regs.end() && exact->second.count == 0) {
      *type = exact->second.type + id;
      return true;
    }
    for (size_t cut = digits; cut < name.size(); ++cut) {
      auto ranged = scope.regs.find(name.substr(0, cut));
      if (ranged == scope.regs.end() || ranged->second.count == 0 || name.size() - cut > 9)
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
  static const std::map<std::string, unsigned> names = {{"%tid.x", 32},
                                                        {"%tid.y", 32},
                                                        {"%tid.z", 32},
                                                        {"%ntid.x", 32},
                                                        {"%ntid.y", 32},
                                                        {"%ntid.z", 32},
                                                        {"%ctaid.x", 32},
                                                        {"%ctaid.y", 32},
                                                        {"%ctaid.z", 32},
                                                        {"%nctaid.x", 32},
                                                        {"%nctaid.y", 32},
                                                        {"%nctaid.z", 32},
                                                        {"%laneid", 32},
                                                        {"%warpid", 32},
                                                        {"%nwarpid", 32},
                                                        {"%smid", 32},
                                                        {"%nsmid", 32},
                                                        {"%gridid", 64},
                                                        {"%lanemask_eq", 32},
                                                        {"%lanemask_lt", 32},
                                                        {"%lanemask_le", 32},
                                                        {"%lanemask_gt", 32},
                                                        {"%lanemask_ge", 32},
                                                        {"%clock", 32},
                                                        {"%clock_hi", 32},
                                                        {"%clock64", 64},
                                                        {"%globaltimer", 64},
                                                        {"%dynamic_smem_size", 32},
                                                        {"%total_smem_size", 32},
                                                        {"%cluster_ctaid.x", 32},
                                                        {"%cluster_ctaid.y", 32},
                                                        {"%cluster_ctaid.z", 32},
                                                        {"%cluster_nctaid.x", 32},
                                                        {"%cluster_nctaid.y", 32},
                                                        {"%cluster_nctaid.z", 32},
                                                        {"%cluster_ctarank", 32},
                                                        {"%cluster_nctarank", 32},
                                                        {"%clusterid.x", 32},
                                                        {"%clusterid.y", 32},
                                                        {"%clusterid.z", 32},
                                                        {"%nclusterid.x", 32},
                                                        {"%nclusterid.y", 32},
                                                        {"%nclusterid.z", 32},
                                                        {"WARP_SZ", 32}};
  return names;
}

bool Decoder::special(const std::string &name, uint32_t &offset, unsigned &bits) {
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
  uses.push_back({(uint32_t)result->code.size(), offset, isDst, (uint8_t)(bits == 64 ? 2 : 1)});
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
  auto narrow = [&](uint64_t v) { return bits == 16 ? v & 0xffff : bits == 8 ? v & 0xff : v; };
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
    fail("operand '" + o.name + "' of '" + current->name + "' must be a plain register");
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
    fail("register '" + o.name + "' has " + std::to_string(r.bits) + " bits where '" + current->name + "' needs " +
         std::to_string(bits));
  return note(r.offset, false, bits);
}

uint32_t Decoder::dst(const Operand &o, unsigned bits) {
  if (o.kind == Operand::Ident && o.name == "_")
    return scratch(bits == 64);
  if (o.kind != Operand::Ident || o.negated || o.value)
    fail("destination of '" + current->name + "' must be a register");
  const Reg &r = reg(o.name);
  if (r.bits != bits)
    fail("register '" + o.name + "' has " + std::to_string(r.bits) + " bits where '" + current->name + "' needs " +
         std::to_string(bits));
  return note(r.offset, true, bits);
}

uint32_t Decoder::anyReg(const Operand &o, unsigned bits, unsigned &regBits, bool isDst) {
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
  if (!isDst && !isRegister(o.name, &type) && special(o.name, offset, regBits))
    return offset;
  const Reg &r = reg(o.name);
  if (r.bits == 1 || r.bits < bits || o.negated || o.value)
    fail("register '" + o.name + "' cannot hold " + std::to_string(bits) + " bits");
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
  if (o.kind != Operand::Ident || (o.negated && !allowNegated) || !o.pair.empty() || o.value)
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
  result->operandTable.insert(result->operandTable.end(), operands.begin(), operands.end());
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
  for (int s = current ? (int)current->scope : 0; s >= 0; s = f.scopes[s].parent) {
    auto v = f.scopes[s].vars.find(name);
    if (v == f.scopes[s].vars.end())
      continue;
    const Variable &var = v->second;
    std::string key = std::to_string(frames.back().id) + "." + std::to_string(s) + "." + name;
    if (var.space == "shared") {
      place = sharedPlaces.at(f.name + "." + std::to_string(s) + "." + name);
      return true;
    }
    if (var.space != "local" && var.space != "param")
      fail("variable '" + name + "' in space '" + var.space + "' inside a function is not supported");
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
      fail("address register '" + o.name + "' has " + std::to_string(r.bits) + " bits");
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
  while (1u << result->granuleShift > std::max(bytes, 1u))
    --result->granuleShift;
}
