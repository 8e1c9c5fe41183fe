// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ringconv/Target/ObjectCode.h"
#include "Cache.h"
#include "Machine.h"
#include "ringconv/Target/Report.h"

#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"

using namespace mlir;
using namespace ringconv;

FailureOr<std::string> ringconv::emitObject(CompiledProgram &program) {
  SmallVector<char> buffer;
  llvm::raw_svector_ostream os(buffer);
  llvm::legacy::PassManager pm;
  if (program.machine->addPassesToEmitFile(pm, os, nullptr, llvm::CodeGenFileType::ObjectFile))
    return failure();
  pm.run(*program.module);
  return std::string(buffer.begin(), buffer.end());
}

FailureOr<ObjectCode> ringconv::generateCode(CompiledProgram &program, Form form) {
  if (form == Form::Executable)
    addMain(program);
  if (form == Form::Library)
    addLibraryFunctions(program);
  FailureOr<std::string> bytes = emitObject(program);
  if (failed(bytes))
    return failure();
  ObjectCode code{program.entry, std::move(*bytes), form == Form::Library ? emitHeader(program) : "", "", program.cuts};
  llvm::raw_string_ostream report(code.report);
  writeReport(report, program.entry, program.report);
  return code;
}

static FailureOr<ObjectCode> compileAnew(ModuleOp module, const CompileOptions &options, Form form) {
  FailureOr<CompiledProgram> program = compileProgram(module, options);
  if (failed(program))
    return failure();
  FailureOr<ObjectCode> code = generateCode(*program, form);
  if (failed(code))
    return emitError(module.getLoc()) << "no object code for this target";
  return code;
}

static Message messageOf(Diagnostic &diagnostic) {
  Message message{diagnostic.getSeverity(), diagnostic.str(), "", 0, 0};
  if (auto place = diagnostic.getLocation()->findInstanceOf<FileLineColLoc>()) {
    message.file = place.getFilename().getValue().str();
    message.line = place.getLine();
    message.column = place.getColumn();
  }
  return message;
}

/// What a compilation said, once more.
static void repeat(const Message &message, MLIRContext *context) {
  Location loc = UnknownLoc::get(context);
  if (!message.file.empty())
    loc = FileLineColLoc::get(context, message.file, message.line, message.column);
  context->getDiagEngine().emit(loc, message.severity) << message.text;
}

FailureOr<ObjectCode> ringconv::compileObject(ModuleOp module, const CompileOptions &options, Form form) {
  if (options.cacheDir.empty())
    return compileAnew(module, options, form);
  auto machine = makeMachine(module.getLoc(), options.cpu);
  if (failed(machine))
    return failure();
  std::string target = ((*machine)->getTargetTriple().str() + " " + (*machine)->getTargetCPU() + " " +
                        (*machine)->getTargetFeatureString())
                           .str();
  Cache cache(module, options, form, target);
  if (std::optional<CacheEntry> entry = cache.read()) {
    for (const Message &message : entry->messages)
      repeat(message, module.getContext());
    return std::move(entry->code);
  }
  CacheEntry entry;
  FailureOr<ObjectCode> code;
  {
    ScopedDiagnosticHandler listen(module.getContext(), [&](Diagnostic &diagnostic) {
      entry.messages.push_back(messageOf(diagnostic));
      return failure(); // others see it too
    });
    code = compileAnew(module, options, form);
  }
  if (failed(code))
    return failure();
  entry.code = *code;
  cache.write(entry);
  return code;
}
