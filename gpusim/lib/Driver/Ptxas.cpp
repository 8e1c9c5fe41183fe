// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Ptxas.h"

#include "State.h"

#include <cstdlib>
#include <cstring>
#include <unistd.h>

using namespace gpusim;

/// Reads `ptxas -v`: "Compiling entry function 'f' for 'sm_80'", then
/// "N bytes spill stores" and "Used N registers" lines.
static std::map<std::string, StaticFacts> run(const Module &m) {
  std::map<std::string, StaticFacts> result;
  const std::string &ptxas = Settings::get().ptxas;
  if (ptxas.empty() || ptxas.find('\'') != std::string::npos)
    return result;
  char path[] = "/tmp/gpusim-XXXXXX";
  int fd = mkstemp(path);
  if (fd < 0)
    return result;
  FILE *text = fdopen(fd, "w");
  fwrite(m.source.data(), 1, m.source.size(), text);
  fclose(text);
  std::string arch = m.target.compare(0, 3, "sm_") ? "sm_80" : m.target;
  for (char c : arch)
    if (!isalnum((unsigned char)c) && c != '_')
      arch = "sm_80";
  std::string command = "'" + ptxas + "' -v -arch=" + arch + " -o /dev/null " + path + " 2>&1";
  if (FILE *out = popen(command.c_str(), "r")) {
    char line[1000], name[600] = "";
    while (fgets(line, sizeof line, out)) {
      if (const char *p = strstr(line, "entry function '"))
        sscanf(p, "entry function '%599[^']'", name);
      if (const char *p = strstr(line, "bytes stack frame, "))
        sscanf(p, "bytes stack frame, %d bytes spill stores, %d bytes spill", &result[name].spillStores,
               &result[name].spillLoads);
      if (const char *p = strstr(line, "Used "))
        if (*name)
          sscanf(p, "Used %d registers", &result[name].registers);
    }
    pclose(out);
  }
  unlink(path);
  return result;
}

const StaticFacts *gpusim::ptxasFacts(const Module &m, const std::string &kernel) {
  if (Settings::get().ptxas.empty())
    return nullptr;
  static std::mutex lock;
  static std::map<const Module *, std::map<std::string, StaticFacts>> known;
  std::lock_guard<std::mutex> guard(lock);
  auto it = known.find(&m);
  if (it == known.end())
    it = known.emplace(&m, run(m)).first;
  auto k = it->second.find(kernel);
  return k == it->second.end() || !k->second.registers ? nullptr : &k->second;
}
