// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs a program with the simulated driver and NCCL before any others in the
// library path, and prints what each of its processes counted. The program
// replaces nothing and is not changed.
#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fstream>
#include <sstream>
#include <string>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

static const char usage[] = "usage: ringconv-gpusim [options] PROGRAM ARGS...\n"
                            "  --arch=sm_80|sm_90|...  device to simulate (default sm_90)\n"
                            "  --devices=N             number of devices (default 1)\n"
                            "  --memory=SIZE           memory of each device, such as 512M (default "
                            "2G)\n"
                            "  --seed=N                order of blocks, warps and streams (default 1)\n"
                            "  --cores=N               host threads that run one kernel (default 1)\n"
                            "  --delay=MICROSECONDS    longest random delay in streams (default 50)\n"
                            "  --ptxas[=PATH]          take register counts from ptxas\n"
                            "  --json[=FILE]           counters as JSON, to FILE or standard output\n"
                            "  --quiet                 no table\n"
                            "Exit status: the program's own, or 86 if it succeeded but gpusim "
                            "reported\n"
                            "a fault.\n";

static std::string folderOf(const std::string &path) {
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

static bool exists(const std::string &path) { return access(path.c_str(), F_OK) == 0; }

/// The libraries lie in ../lib/gpusim from this program.
static std::string libraryFolder() {
  if (const char *dir = getenv("GPUSIM_LIBRARY_DIR"))
    return dir;
  char self[PATH_MAX];
  ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
  if (n <= 0)
    return "";
  self[n] = 0;
  return folderOf(folderOf(self)) + "/lib/gpusim";
}

static std::string contents(const std::string &path) {
  std::stringstream s;
  s << std::ifstream(path).rdbuf();
  return s.str();
}

struct Options {
  bool json = false, quiet = false;
  std::string jsonFile;
  std::vector<char *> command;
};

static bool parse(int argc, char **argv, Options &o) {
  struct Setting {
    const char *flag, *variable;
  };
  static const Setting settings[] = {{"--devices=", "GPUSIM_DEVICES"}, {"--memory=", "GPUSIM_MEMORY"},
                                     {"--seed=", "GPUSIM_SEED"},       {"--cores=", "GPUSIM_CORES"},
                                     {"--delay=", "GPUSIM_DELAY"},     {"--ptxas=", "GPUSIM_PTXAS"}};
  int n = 1;
  for (; n < argc && argv[n][0] == '-'; ++n) {
    std::string a = argv[n];
    bool known = false;
    for (const Setting &s : settings)
      if (a.compare(0, strlen(s.flag), s.flag) == 0) {
        setenv(s.variable, a.c_str() + strlen(s.flag), 1);
        known = true;
      }
    if (a.compare(0, 7, "--arch=") == 0) {
      std::string arch = a.substr(7);
      setenv("GPUSIM_ARCH", arch.compare(0, 3, "sm_") ? arch.c_str() : arch.c_str() + 3, 1);
    } else if (a == "--ptxas") {
      setenv("GPUSIM_PTXAS", "ptxas", 1);
    } else if (a == "--json" || a.compare(0, 7, "--json=") == 0) {
      o.json = true;
      o.jsonFile = a.size() > 7 ? a.substr(7) : "";
    } else if (a == "--quiet") {
      o.quiet = true;
    } else if (a == "--") {
      ++n;
      break;
    } else if (!known) {
      if (a != "--help")
        fprintf(stderr, "unknown option '%s'\n", a.c_str());
      return false;
    }
  }
  for (; n < argc; ++n)
    o.command.push_back(argv[n]);
  o.command.push_back(nullptr);
  return o.command.size() > 1;
}

/// Prints the files of all processes and removes them; true if any has reports.
static bool collect(const std::string &dir, const Options &o) {
  std::vector<std::string> names;
  if (DIR *d = opendir(dir.c_str())) {
    while (dirent *e = readdir(d))
      if (e->d_name[0] != '.')
        names.push_back(e->d_name);
    closedir(d);
  }
  std::sort(names.begin(), names.end());
  bool reports = false;
  std::string json;
  for (const std::string &n : names) {
    std::string text = contents(dir + "/" + n);
    if (n.size() > 5 && n.compare(n.size() - 5, 5, ".json") == 0) {
      json += (json.empty() ? "[" : ",\n") + text;
      reports |= text.find("\"reports\": []") == std::string::npos;
    } else if (!o.quiet) {
      fprintf(o.json && o.jsonFile.empty() ? stderr : stdout, "%s\n", text.c_str());
    }
    unlink((dir + "/" + n).c_str());
  }
  json += json.empty() ? "[]\n" : "]\n";
  if (o.json && o.jsonFile.empty())
    fputs(json.c_str(), stdout);
  else if (o.json)
    std::ofstream(o.jsonFile) << json;
  return reports;
}

int main(int argc, char **argv) {
  Options o;
  if (!parse(argc, argv, o)) {
    fputs(usage, stderr);
    return 2;
  }
  std::string libraries = libraryFolder();
  if (!exists(libraries + "/libcuda.so.1")) {
    fprintf(stderr, "no libcuda.so.1 in '%s'\n", libraries.c_str());
    return 2;
  }
  const char *old = getenv("LD_LIBRARY_PATH");
  setenv("LD_LIBRARY_PATH", (libraries + (old && *old ? std::string(":") + old : "")).c_str(), 1);
  char dir[] = "/tmp/gpusim-report-XXXXXX";
  if (!mkdtemp(dir)) {
    perror("gpusim: mkdtemp");
    return 2;
  }
  setenv("GPUSIM_REPORT_DIR", dir, 1);
  pid_t child = fork();
  if (child == 0) {
    execvp(o.command[0], o.command.data());
    perror(o.command[0]);
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  bool reports = collect(dir, o);
  rmdir(dir);
  int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return code == 0 && reports ? 86 : code;
}
