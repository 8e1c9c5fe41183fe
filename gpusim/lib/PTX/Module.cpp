// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Decoder.h"

#include <cstring>

using namespace gpusim;

Module::~Module() {
  for (auto &g : globals)
    if (!g.second->freed)
      MemorySpace::get().release(g.second);
}

static void storeInitialisers(const ModuleSyntax &syntax, Module &module) {
  for (const Variable &v : syntax.globals) {
    auto it = module.globals.find(v.name);
    if (it == module.globals.end())
      continue;
    Allocation &a = *it->second;
    memset(a.data, 0, a.size); // variables without initialiser are zero
    if (!v.init.empty())
      memcpy(a.data, v.init.data(), v.init.size());
    for (const Variable::Reloc &r : v.relocs) {
      auto target = module.globals.find(r.symbol);
      if (target == module.globals.end())
        throw PTXError(v.line, "initialiser names unknown '" + r.symbol + "'");
      uint64_t address = target->second->base + r.addend;
      memcpy(a.data + r.offset, &address, 8);
    }
    MemorySpace::setValid(a, a.base, a.size, true);
  }
}

std::unique_ptr<Module> gpusim::loadModule(const std::string &ptx, int device) {
  ModuleSyntax syntax = parsePTX(ptx);
  auto module = std::make_unique<Module>();
  module->target = syntax.target;
  module->version = syntax.version;
  uint64_t total = 0;
  for (const Variable &v : syntax.globals) {
    if (v.space == "shared" || v.isUnsized)
      continue;
    if (v.isExtern)
      throw PTXError(v.line, "undefined external variable '" + v.name + "'");
    total += v.size;
    AllocationRef a = total > 1ull << 32 ? nullptr : MemorySpace::get().allocate(v.size, device, v.align, v.name);
    if (!a)
      throw PTXError(v.line, "no memory for variable '" + v.name + "'");
    if (!module->globals.emplace(v.name, a).second)
      throw PTXError(v.line, "variable '" + v.name + "' is defined twice");
  }
  storeInitialisers(syntax, *module);
  for (const auto &f : syntax.functions)
    if (f.second.isKernel && f.second.hasBody)
      module->kernels[f.first] = Decoder(syntax, *module).kernel(f.second);
  return module;
}
