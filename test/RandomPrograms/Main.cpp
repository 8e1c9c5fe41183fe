// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   ringconv-random-programs [--seed=N] [--count=N] [--jobs=N] [--print]
//                            [--reduce=N] [--minimum-share=PERCENT] [--gradient]
//                            [--target=cuda]
//
// --target=cuda: on simulated GPUs.
// --gradient: what is compiled and compared are the gradients of each program.
// Program i of a run has seed SEED + i: `--seed=THAT --count=1 --print` shows
// and repeats a failing one. Programs run in forked batches, so that a crash or
// a hang is a failure with a seed, and memory of compiled code is given back.
#include "DeviceShards.h"
#include "Program.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace randprog;

namespace {
struct Settings {
  uint64_t seed = 1;
  int64_t count = 100, jobs = 1, batch = 40, reductions = 3;
  double minimumShare = 0;
  bool print = false, gradient = false;
  RunSettings run;
};

struct Failure {
  uint64_t seed;
  std::string why;
};

struct Totals {
  int64_t passed = 0;
  std::vector<Failure> failures;
  Features features;
};

constexpr unsigned kHangSeconds = 120;

/// Programs begin .. end - 1: a line `B seed` before each, `P` or `F why` after it, then
/// `N` and its features. A program that fails on GPUs is the last of its process: a
/// fault stays with the GPU's context.
[[noreturn]] void child(const Settings &s, int64_t begin, int64_t end, FILE *out) {
  for (int64_t i = begin; i < end; ++i) {
    uint64_t seed = s.seed + uint64_t(i);
    fprintf(out, "B %llu\n", (unsigned long long)seed);
    fflush(out);
    alarm(kHangSeconds);
    Program p = draw(seed, s.gradient);
    if (s.print)
      printf("// seed %llu%s\n%s\n", (unsigned long long)seed, p.vectorize ? "" : ", plain loops", text(p).c_str());
    fflush(stdout);
    Outcome outcome = run(p, s.run);
    Features features;
    addFeatures(p, *infer(p), features);
    for (const std::string &name : outcome.seen)
      features[name] = 1;
    std::string line;
    for (auto &[name, n] : features)
      line += "|" + name;
    for (char &c : outcome.why)
      c = c == '\n' ? ' ' : c;
    fprintf(out, "%s %s\nN %s\n", outcome.ok ? "P" : "F", outcome.why.c_str(), line.c_str());
    fflush(out);
    if (!outcome.ok && s.run.target == "cuda")
      break;
  }
  fflush(stdout);
  _exit(0);
}

struct Worker {
  pid_t pid = 0;
  int fd = -1;
  int64_t begin = 0, end = 0;
  std::string text;
};

Worker start(const Settings &s, int64_t begin, int64_t end) {
  int fds[2];
  if (pipe(fds))
    abort();
  fflush(stdout);
  pid_t pid = fork();
  if (pid == 0) {
    close(fds[0]);
    child(s, begin, end, fdopen(fds[1], "w"));
  }
  close(fds[1]);
  return {pid, fds[0], begin, end, {}};
}

std::string describe(int status) {
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
    return "hangs";
  if (WIFSIGNALED(status))
    return std::string("crashes: ") + strsignal(WTERMSIG(status));
  return "exits with code " + std::to_string(WEXITSTATUS(status));
}

/// Reads a finished worker's lines; gives the index of the first program that it did
/// not begin. One in whose middle it died has failed.
int64_t collect(const Worker &w, int status, const Settings &s, Totals &totals) {
  uint64_t seed = s.seed + uint64_t(w.begin);
  int64_t done = w.begin;
  size_t at = 0;
  while (at < w.text.size()) {
    size_t newline = std::min(w.text.find('\n', at), w.text.size());
    std::string line = w.text.substr(at, newline - at);
    at = newline + 1;
    if (line.size() < 2)
      continue;
    if (line[0] == 'B')
      seed = strtoull(line.c_str() + 2, nullptr, 10);
    if (line[0] == 'P')
      ++totals.passed;
    if (line[0] == 'F')
      totals.failures.push_back({seed, line.substr(2)});
    if (line[0] != 'N')
      continue;
    done = int64_t(seed - s.seed) + 1;
    for (size_t bar = line.find('|'); bar != std::string::npos;) {
      size_t next = line.find('|', bar + 1);
      ++totals.features[line.substr(bar + 1, next == std::string::npos ? next : next - bar - 1)];
      bar = next;
    }
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && done == int64_t(seed - s.seed) + 1)
    return done;
  totals.failures.push_back({seed, describe(status)});
  return int64_t(seed - s.seed) + 1;
}

void runAll(const Settings &s, Totals &totals) {
  std::vector<Worker> workers;
  int64_t next = 0;
  std::vector<std::pair<int64_t, int64_t>> ranges;
  for (; next < s.count; next += s.batch)
    ranges.push_back({next, std::min(next + s.batch, s.count)});
  std::reverse(ranges.begin(), ranges.end());
  while (!ranges.empty() || !workers.empty()) {
    while (int64_t(workers.size()) < s.jobs && !ranges.empty()) {
      workers.push_back(start(s, ranges.back().first, ranges.back().second));
      ranges.pop_back();
    }
    std::vector<pollfd> polls;
    for (Worker &w : workers)
      polls.push_back({w.fd, POLLIN, 0});
    poll(polls.data(), polls.size(), -1);
    for (size_t i = polls.size(); i-- > 0;) {
      if (!polls[i].revents)
        continue;
      char buffer[4096];
      ssize_t n = read(polls[i].fd, buffer, sizeof buffer);
      if (n > 0) {
        workers[i].text.append(buffer, size_t(n));
        continue;
      }
      int status = 0;
      waitpid(workers[i].pid, &status, 0);
      close(workers[i].fd);
      size_t failures = totals.failures.size();
      int64_t reached = collect(workers[i], status, s, totals);
      for (; failures < totals.failures.size(); ++failures)
        printf("FAILED seed %llu: %s\n", (unsigned long long)totals.failures[failures].seed,
               totals.failures[failures].why.c_str());
      fflush(stdout);
      if (reached < workers[i].end)
        ranges.push_back({reached, workers[i].end});
      workers.erase(workers.begin() + long(i));
    }
  }
}

/// Runs one program in a process of its own; what is wrong with it, or "".
std::string runAlone(const Program &p, const Settings &s) {
  int fds[2];
  if (pipe(fds))
    abort();
  fflush(stdout);
  pid_t pid = fork();
  if (pid == 0) {
    alarm(kHangSeconds);
    if (!freopen("/dev/null", "w", stderr))
      _exit(3);
    Outcome outcome = run(p, s.run);
    dprintf(fds[1], "%s", outcome.why.c_str());
    _exit(0);
  }
  close(fds[1]);
  std::string why;
  char buffer[4096];
  for (ssize_t n; (n = read(fds[0], buffer, sizeof buffer)) > 0;)
    why.append(buffer, size_t(n));
  close(fds[0]);
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? why : describe(status);
}

/// Failures stay of one kind while they are reduced.
std::string kindOf(const std::string &why) {
  for (const char *kind : {"does not compile", "crashes", "hangs", "got ", "replicas", "second run", "has box",
                           "without elements", "bits", "traffic"})
    if (why.find(kind) != std::string::npos)
      return kind;
  return why.substr(0, 12);
}

void showReduced(const Failure &failure, const Settings &s) {
  Program p = draw(failure.seed, s.gradient);
  std::string kind = kindOf(failure.why), why = failure.why;
  Program small = reduce(p, [&](const Program &candidate) {
    std::string now = runAlone(candidate, s);
    if (now.empty() || kindOf(now) != kind)
      return false;
    why = now;
    return true;
  });
  printf("\n// reduced from seed %llu%s%s: %s\n%s", (unsigned long long)failure.seed,
         small.vectorize ? "" : ", plain loops",
         small.alwaysOverlap ? ", overlap always"
         : small.overlap     ? ""
                             : ", no overlap",
         why.c_str(), text(small).c_str());
  fflush(stdout);
}

bool flag(const char *word, const char *name, const std::function<void(const char *)> &set) {
  size_t n = strlen(name);
  if (strncmp(word, name, n) || (word[n] != '=' && word[n] != 0))
    return false;
  set(word[n] ? word + n + 1 : "");
  return true;
}

bool parse(int argc, char **argv, Settings &s) {
  for (int i = 1; i < argc; ++i) {
    auto number = [](int64_t &to) { return [&](const char *v) { to = strtoll(v, nullptr, 10); }; };
    const char *w = argv[i];
    bool known = flag(w, "--seed", [&](const char *v) { s.seed = strtoull(v, nullptr, 10); }) ||
                 flag(w, "--count", number(s.count)) || flag(w, "--jobs", number(s.jobs)) ||
                 flag(w, "--batch", number(s.batch)) || flag(w, "--reduce", number(s.reductions)) ||
                 flag(w, "--gradient", [&](const char *) { s.gradient = true; }) ||
                 flag(w, "--target", [&](const char *v) { s.run.target = v; }) ||
                 flag(w, "--print", [&](const char *) { s.print = true; }) ||
                 flag(w, "--target-cpu", [&](const char *v) { s.run.cpu = v; }) ||
                 flag(w, "--minimum-share", [&](const char *v) { s.minimumShare = atof(v); });
    if (!known) {
      fprintf(stderr,
              "%s: unknown word %s\nusage: ringconv-random-programs [--seed=N] [--count=N] [--jobs=N] [--batch=N]\n"
              "  [--reduce=N] [--gradient] [--target=host|cuda] [--print] [--target-cpu=NAME] [--minimum-share=PERCENT]\n",
              argv[0], w);
      return false;
    }
  }
  s.jobs = std::max<int64_t>(1, s.jobs);
  s.batch = std::max<int64_t>(1, s.batch);
  return true;
}
} // namespace

int main(int argc, char **argv) {
  Settings s;
  if (!parse(argc, argv, s))
    return 2;
  if (s.run.target == "cuda")
    if (std::string why = simulate(); !why.empty())
      return fprintf(stderr, "%s\n", why.c_str()), 2;
  printf("seed %llu, %lld programs\n", (unsigned long long)s.seed, (long long)s.count);
  auto begin = std::chrono::steady_clock::now();
  Totals totals;
  runAll(s, totals);
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  for (size_t i = 0; i < totals.failures.size() && int64_t(i) < s.reductions; ++i)
    showReduced(totals.failures[i], s);
  printf("\n%-34s %8s %8s\n", "feature", "programs", "share");
  int64_t rare = 0;
  for (const std::string &name : requiredFeatures())
    totals.features.insert({name, 0});
  for (auto &[name, n] : totals.features) {
    double share = 100.0 * double(n) / double(s.count);
    const std::vector<std::string> &required = requiredFeatures();
    bool isRare = share < s.minimumShare && std::count(required.begin(), required.end(), name);
    rare += isRare;
    printf("%-34s %8lld %7.1f%%%s\n", name.c_str(), (long long)n, share, isRare ? " RARE" : "");
  }
  printf("%.1f programs/s\n%lld passed, %lld failed\n", double(s.count) / seconds, (long long)totals.passed,
         (long long)totals.failures.size());
  return !totals.failures.empty() || rare > 0;
}
