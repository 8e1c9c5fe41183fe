// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   ringconv-mutate [--seed=N] [--count=N] [--print] FOLDER|FILE...
//
// Mutates the tokens of .mlir files and takes each result through parser,
// verifier and the pipeline ringconv-host. Errors are right; a crash, a hang or
// running out of memory is a failure, unless it happens inside upstream
// passes, parsers or verifiers: those are listed. Mutation i of a run has seed SEED + i. They run in
// forked batches, a parser's crash costs one mutation.
#include "Tokens.h"

#include "ringconv/Pipelines/Pipelines.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <execinfo.h>
#include <map>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace mutation;

namespace {
struct Settings {
  uint64_t seed = 1, count = 10000;
  bool print = false;
  std::vector<Tokens> corpus;
  size_t valid = 0; ///< programs of the corpus that are no tests of errors: these come first
};

/// Where the child is; outlives it.
struct Progress {
  uint64_t done;               ///< mutations finished
  uint64_t verified, compiled; ///< how far they came
  char stage[64];
  bool ours; ///< functions of ours stood on the stack of a crash
};

constexpr unsigned kHangSeconds = 30, kBatch = 500;
constexpr rlim_t kMemory = rlim_t(6) << 30;

extern "C" char __executable_start, etext;

/// Functions of this executable on the stack: ours, and templates that we
/// instantiate. Upstream code is in shared libraries.
int ownFrames() {
  void *frames[256];
  int own = 0;
  for (int i = 0, n = backtrace(frames, 256); i < n; ++i)
    own += frames[i] >= &__executable_start && frames[i] < &etext;
  return own;
}

/// Of the child: its progress, and how many frames stand below the parser.
Progress *watched;
int framesBelow;

void onCrash(int signal) {
  watched->ours = ownFrames() > framesBelow + 1; // this function
  std::signal(signal, SIG_DFL);
  raise(signal);
}

void watchCrashes(Progress &progress) {
  static char stack[1 << 16];
  stack_t alternate{stack, 0, sizeof stack};
  sigaltstack(&alternate, nullptr);
  watched = &progress;
  for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM}) {
    struct sigaction action = {};
    action.sa_handler = onCrash;
    action.sa_flags = SA_ONSTACK | SA_NODEFER;
    sigaction(signal, &action, nullptr);
  }
}

class Watch : public mlir::PassInstrumentation {
public:
  explicit Watch(Progress &progress) : progress(progress) {}
  void runBeforePass(mlir::Pass *pass, mlir::Operation *) override {
    llvm::StringRef name = pass->getArgument().empty() ? pass->getName() : pass->getArgument();
    snprintf(progress.stage, sizeof progress.stage, "%.*s", int(name.size()), name.data());
  }

private:
  Progress &progress;
};

std::string mutant(const Settings &s, uint64_t index) {
  Random random(s.seed + index);
  random.next();
  bool far = s.valid && random.below(5) > 0;
  Tokens tokens = s.corpus[random.below(far ? s.valid : s.corpus.size())];
  for (size_t changes = 1 + (random.below(2) ? 0 : random.below(3)); changes > 0; --changes)
    mutate(tokens, s.corpus, random);
  return join(tokens);
}

void tryOne(mlir::MLIRContext &context, const std::string &text, Progress &progress) {
  strcpy(progress.stage, "parser and verifier");
  progress.ours = true;
  framesBelow = ownFrames();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!module)
    return;
  ++progress.verified;
  mlir::PassManager pm(&context);
  ringconv::HostOptions options;
  ringconv::buildHostPipeline(pm, options);
  pm.addInstrumentation(std::make_unique<Watch>(progress));
  if (succeeded(pm.run(*module)))
    ++progress.compiled;
}

[[noreturn]] void child(const Settings &s, uint64_t end, Progress &progress) {
  rlimit memory{kMemory, kMemory};
  setrlimit(RLIMIT_AS, &memory);
  mlir::DialectRegistry registry;
  ringconv::registerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.getDiagEngine().registerHandler([](mlir::Diagnostic &) { return mlir::success(); });
  watchCrashes(progress);
  for (uint64_t i = progress.done; i < end; ++i) {
    alarm(kHangSeconds);
    tryOne(context, mutant(s, i), progress);
    ++progress.done;
  }
  _exit(0);
}

std::string describe(int status) {
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
    return "hangs";
  return WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "exit code " + std::to_string(WEXITSTATUS(status));
}

void readFile(const std::string &path, Settings &s) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return;
  llvm::SmallVector<llvm::StringRef> parts;
  (*buffer)->getBuffer().split(parts, "// -----");
  for (llvm::StringRef part : parts)
    if (Tokens tokens = tokenize(part.str()); !tokens.empty())
      s.corpus.push_back(std::move(tokens));
}

void readPath(const std::string &path, Settings &s) {
  if (!llvm::sys::fs::is_directory(path))
    return readFile(path, s);
  std::error_code error;
  std::vector<std::string> files;
  for (llvm::sys::fs::recursive_directory_iterator it(path, error), end; it != end && !error; it.increment(error))
    if (llvm::StringRef(it->path()).ends_with(".mlir"))
      files.push_back(it->path());
  // The order of a folder is the file system's; seeds mean the same everywhere.
  auto isErrors = [](const std::string &file) { return llvm::StringRef(file).contains("-errors.mlir"); };
  std::sort(files.begin(), files.end(), [&](const std::string &a, const std::string &b) {
    return std::make_pair(isErrors(a), a) < std::make_pair(isErrors(b), b);
  });
  for (const std::string &file : files) {
    readFile(file, s);
    if (!isErrors(file))
      s.valid = s.corpus.size();
  }
}

bool parse(int argc, char **argv, Settings &s) {
  for (int i = 1; i < argc; ++i) {
    llvm::StringRef word = argv[i];
    if (word.consume_front("--seed=") ? !word.getAsInteger(10, s.seed)
                                      : word.consume_front("--count=") && !word.getAsInteger(10, s.count))
      continue;
    if (word == "--print")
      s.print = true;
    else if (!word.starts_with("--") && llvm::sys::fs::exists(word))
      readPath(word.str(), s);
    else
      return llvm::errs() << argv[0] << ": unknown word " << argv[i] << '\n', false;
  }
  if (s.corpus.empty())
    llvm::errs() << argv[0] << ": expected .mlir files or folders of them\n";
  return !s.corpus.empty();
}
} // namespace

int main(int argc, char **argv) {
  Settings s;
  if (!parse(argc, argv, s))
    return 2;
  auto *progress = static_cast<Progress *>(
      mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  if (progress == MAP_FAILED)
    return 2;
  llvm::outs() << "seed " << s.seed << ", " << s.count << " mutations of " << s.corpus.size() << " programs\n";
  if (s.print)
    for (uint64_t i = 0; i < s.count; ++i)
      llvm::outs() << "// seed " << s.seed + i << '\n' << mutant(s, i) << '\n';
  llvm::outs().flush();
  std::map<std::string, uint64_t> upstream;
  uint64_t failed = 0;
  while (progress->done < s.count) {
    uint64_t end = std::min<uint64_t>(progress->done + kBatch, s.count);
    pid_t pid = fork();
    if (pid == 0)
      child(s, end, *progress);
    int status = 0;
    waitpid(pid, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
      continue;
    llvm::StringRef stage = progress->stage;
    bool ours = stage.contains("ringconv") || (stage == "parser and verifier" && progress->ours);
    llvm::outs() << (ours ? "FAILED" : "upstream") << " seed " << s.seed + progress->done << ": " << describe(status)
                 << " in " << stage << '\n';
    llvm::outs().flush();
    ++progress->done;
    ours ? ++failed : ++upstream[stage.str() + ": " + describe(status)];
  }
  llvm::outs() << progress->verified << " verify, " << progress->compiled << " compile\n";
  for (auto &[what, n] : upstream)
    llvm::outs() << n << " in upstream code, " << what << '\n';
  llvm::outs() << s.count - failed << " passed, " << failed << " failed\n";
  return failed != 0;
}
