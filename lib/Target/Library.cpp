// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What files add to a compiled program: a main function, or the functions and
// the header of the library of one entry. All of them call the runtime with the
// program's descriptor.
#include "RuntimeTypes.h"
#include "TemporaryFile.h"
#include "ringconv/Target/Compiler.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/Target/TargetMachine.h"

using namespace ringconv;

namespace {
/// NAME_x forwards to the runtime's function, with the descriptor first where
/// that wants it.
struct Forwarder {
  const char *name, *runtime;
  bool program;
  char result;           ///< i: int32, p: pointer, v: void
  const char *arguments; ///< p: pointer, i: int32, l: int64
  const char *comment, *prototype;
};
} // namespace

static constexpr Forwarder forwarders[] = {
    {"shard", "ringconv_shard", true, 'i', "pipp",
     "Box of an operand (inputs first, then outputs) that a rank owns: offsets and sizes,\n * one per dimension. "
     "Needs no session.",
     "int32_t %_shard(const ringconv_world *world, int32_t operand, int64_t *offsets, int64_t *sizes);"},
    {"create", "ringconv_session_create", true, 'i', "ppp",
     "Collective. On failure *session can only give its error and be destroyed (NULL when\n * memory ran out). options "
     "may be NULL.",
     "int32_t %_create(ringconv_session **session, const ringconv_world *world, const ringconv_options *options);"},
    {"set_parameters", "ringconv_session_set_parameters", false, 'i', "pp",
     "Local shards of the parameters, in their order; the memory stays the caller's and\n * unchanged until the next "
     "call or destroy.",
     "int32_t %_set_parameters(ringconv_session *session, const void *const *parameters);"},
    {"run", "ringconv_session_run", false, 'i', "pppp",
     "Collective. Local shards, dense and row-major, caller-owned; in: the inputs that are\n * no parameters. On host "
     "stream is NULL. On GPUs: device memory aligned to 16 bytes; the work goes to\n * stream, a CUstream, and the call "
     "does not wait for it.",
     "int32_t %_run(ringconv_session *session, void *stream, const void *const *in, void *const *out);"},
    {"synchronize", "ringconv_session_synchronize", false, 'i', "p",
     "On GPUs: waits for the last run, and looks for faults of peers meanwhile.",
     "int32_t %_synchronize(ringconv_session *session);"},
    {"error", "ringconv_session_error", false, 'p', "p", "Text of the last error, \"\" if none.",
     "const char *%_error(const ringconv_session *session);"},
    {"counters", "ringconv_session_counters", false, 'v', "pp", "Totals of this rank since create.",
     "void %_counters(const ringconv_session *session, ringconv_counters *counters);"},
    {"destroy", "ringconv_session_destroy", false, 'v', "p", "Ends a session.",
     "void %_destroy(ringconv_session *session);"},
    {"team_create", "ringconv_team_create", false, 'p', "l",
     "What ranks that are threads share: made by one of them, for `size` ranks.",
     "ringconv_team *%_team_create(int64_t size);"},
    {"team_destroy", "ringconv_team_destroy", false, 'v', "p", "After the last session of the team.",
     "void %_team_destroy(ringconv_team *team);"},
};

static llvm::Type *typeOf(char letter, llvm::LLVMContext &ctx) {
  switch (letter) {
  case 'i':
    return llvm::Type::getInt32Ty(ctx);
  case 'l':
    return llvm::Type::getInt64Ty(ctx);
  case 'v':
    return llvm::Type::getVoidTy(ctx);
  default:
    return llvm::PointerType::getUnqual(ctx);
  }
}

void ringconv::addLibraryFunctions(CompiledProgram &program) {
  llvm::Module &module = *program.module;
  llvm::LLVMContext &ctx = module.getContext();
  for (const Forwarder &f : forwarders) {
    llvm::SmallVector<llvm::Type *> own, called;
    if (f.program)
      called.push_back(typeOf('p', ctx));
    for (const char *a = f.arguments; *a; ++a)
      own.push_back(typeOf(*a, ctx));
    called.append(own);
    llvm::Type *result = typeOf(f.result, ctx);
    auto *function = llvm::Function::Create(llvm::FunctionType::get(result, own, false),
                                            llvm::GlobalValue::ExternalLinkage, program.entry + "_" + f.name, module);
    llvm::IRBuilder<> b(llvm::BasicBlock::Create(ctx, "entry", function));
    llvm::SmallVector<llvm::Value *> args;
    if (f.program)
      args.push_back(module.getNamedGlobal(program.entry + "_program"));
    for (llvm::Argument &a : function->args())
      args.push_back(&a);
    auto callee = module.getOrInsertFunction(f.runtime, llvm::FunctionType::get(result, called, false));
    llvm::Value *value = b.CreateCall(callee, args);
    result->isVoidTy() ? b.CreateRetVoid() : b.CreateRet(value);
  }
}

void ringconv::addMain(CompiledProgram &program) {
  llvm::Module &module = *program.module;
  llvm::LLVMContext &ctx = module.getContext();
  llvm::Type *i32 = typeOf('i', ctx), *pointer = typeOf('p', ctx);
  auto *function = llvm::Function::Create(llvm::FunctionType::get(i32, {i32, pointer}, false),
                                          llvm::GlobalValue::ExternalLinkage, "main", module);
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(ctx, "entry", function));
  auto callee = module.getOrInsertFunction("ringconv_main", i32, i32, pointer, pointer);
  b.CreateRet(b.CreateCall(callee, {function->getArg(0), function->getArg(1),
                                    module.getNamedGlobal(program.entry + "_program")}));
}

std::string ringconv::emitHeader(const CompiledProgram &program) {
  std::string text;
  llvm::raw_string_ostream os(text);
  std::string guard = "RINGCONV_PROGRAM_" + llvm::StringRef(program.entry).upper() + "_H";
  os << "/* The compiled program '" << program.entry << "'. Functions give 0 or an error code; the text is\n * "
     << program.entry << "_error's. None of them exits, aborts or throws.\n *\n";
  for (const std::string &line : program.signature)
    os << " *   " << line << '\n';
  os << " */\n#ifndef " << guard << "\n#define " << guard << "\n\n" << runtimeTypes << "\n#ifdef __cplusplus\nextern "
     << "\"C\" {\n#endif\n\n";
  for (const Forwarder &f : forwarders) {
    llvm::StringRef prototype = f.prototype;
    auto [before, after] = prototype.split('%');
    os << "/* " << f.comment << " */\n" << before << program.entry << after << "\n";
  }
  os << "\n#ifdef __cplusplus\n}\n#endif\n#endif\n";
  return text;
}

std::optional<std::string> ringconv::linkProgram(llvm::StringRef object, llvm::StringRef runtime,
                                                 llvm::StringRef output, bool shared) {
  llvm::ErrorOr<std::string> compiler = std::error_code();
  for (const char *name : {"cc", "gcc", "clang", "clang-22"})
    if ((compiler = llvm::sys::findProgramByName(name)))
      break;
  if (!compiler)
    return "no C compiler (cc, gcc or clang) to link with";
  // Made first, so that no words of the linker stand before ours.
  llvm::SmallString<128> temporary;
  int fd;
  if (auto error = createPrivateFile(output + ".%%%%%%%%%%%%", fd, temporary))
    return (output + ": " + error.message()).str();
  TemporaryFile remover(temporary);
  llvm::sys::Process::SafelyCloseFileDescriptor(fd);
  llvm::SmallVector<llvm::StringRef> args{*compiler, "-o", temporary, object, runtime, "-lm", "-lpthread", "-ldl"};
  if (shared)
    args.append({"-shared", "-Wl,--exclude-libs,ALL"});
  std::string message;
  int code = llvm::sys::ExecuteAndWait(*compiler, args, std::nullopt, {}, 0, 0, &message);
  if (code != 0)
    return "linking with " + *compiler + " failed" + (message.empty() ? "" : ": " + message);
  if (auto error = llvm::sys::fs::rename(temporary, output))
    return (output + ": " + error.message()).str();
  return std::nullopt;
}
