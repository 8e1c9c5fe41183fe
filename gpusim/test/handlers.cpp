// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which handlers the kernels of some PTX files use: gpusim-handlers FOLDER.
// Prints the address of each, as an offset from gpusim::loadModule, for
// handlers.py to name.
#include "Exec.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

using namespace gpusim;

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: gpusim-handlers FOLDER\n");
    return 2;
  }
  std::set<intptr_t> handlers;
  for (const auto &file : std::filesystem::directory_iterator(argv[1])) {
    std::stringstream text;
    text << std::ifstream(file.path()).rdbuf();
    try {
      const std::unique_ptr<Module> module = loadModule(text.str(), 0);
      for (const auto &k : module->kernels)
        for (const Inst &i : k.second->code)
          handlers.insert((intptr_t)i.fn);
    } catch (PTXError &) {
      // Tests of refusals load such files too.
    }
  }
  for (intptr_t h : handlers)
    printf("%td\n", h - (intptr_t)&loadModule);
}
