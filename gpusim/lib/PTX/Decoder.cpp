// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The decoder's walk over a function: shared memory, statements, calls.
#include "Decoder.h"

#include <algorithm>

using namespace gpusim;

//===-- Layout of shared memory ------------------------------------------===//

/// Shared variables that a kernel names, directly or through functions.
void Decoder::collectShared(const Function &f, std::vector<const Variable *> &out, std::set<std::string> &seen) {
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
      fail("shared variable '" + v->name + "' of " + std::to_string(v->size) + " bytes");
    where[v] = at;
    result->shared.push_back({v->name, (uint32_t)at, (uint32_t)v->size});
    result->declaredShared = (result->declaredShared + align - 1) / align * align + v->size;
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
        if (where.count(&v.second) || (v.second.space == "shared" && v.second.isUnsized))
          sharedPlaces[fn.first + "." + std::to_string(s) + "." + v.first] = place(v.second);
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
                    std::to_string(frames.back().id) + ":" + std::to_string(current->scope) + ":" + label});
}

void Decoder::statement(const Stmt &s) {
  current = &s;
  if (s.isLabel) {
    std::string key = std::to_string(frames.back().id) + ":" + std::to_string(s.scope) + ":" + s.name;
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
    fixups.push_back({(uint32_t)(&i - result->code.data()), "return:" + std::to_string(frames.back().id)});
    return;
  }
  static bool (*const families[])(Decoder &, const Stmt &) = {
      decodeMove,    decodeInteger, decodeFloat,   decodeHalf,     decodeCompare, decodeBits,
      decodeConvert, decodeMemory,  decodeControl, decodeMatrix,   decodeAsync,   decodeShuffle,
      decodeAtomic,  decodeCarry,   decodeBulk,    decodeMBarrier, decodeWgmma};
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
  for (int scope = s.scope; scope >= 0 && !targets; scope = f.scopes[scope].parent) {
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
                      std::to_string(frames.back().id) + ":" + std::to_string(s.scope) + ":" + (*targets)[n]});
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
  auto bind = [&](const std::vector<Variable> &formal, const std::vector<Operand> &actual) {
    for (size_t n = 0; n < formal.size(); ++n) {
      Place p;
      if (formal[n].space != "param" || !findPlace(actual[n].name, p) || p.size < formal[n].size)
        fail("argument '" + actual[n].name + "' of '" + name + "' does not fit its parameter");
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
        for (int s = scope; s >= 0 && it == labels.end(); s = fn.second.scopes[s].parent)
          it = labels.find(key.substr(0, c1 + 1) + std::to_string(s) + key.substr(c2));
      }
    }
    if (it == labels.end())
      throw PTXError(f.line, "branch to an unknown label '" + key.substr(key.rfind(':') + 1) + "'");
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
