// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs as MLIR: reading, writing, passes.
#include "CAPI.h"

#include "ringconv/Dialect/RingConv/IR/RingConv.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

#include <cstdlib>
#include <cstring>

using namespace mlir;
using namespace ringconv::capi;

int32_t ringconv::capi::give(RingConvContext *context, OwningOpRef<ModuleOp> module, RingConvModule **result) {
  if (!module)
    return RINGCONV_REFUSED;
  *result = new RingConvModule(context, std::move(module));
  return RINGCONV_OK;
}

static int32_t parse(RingConvContext *context, std::unique_ptr<llvm::MemoryBuffer> buffer, RingConvModule **module) {
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(buffer), SMLoc());
  return give(context, parseSourceFile<ModuleOp>(sources, ParserConfig(&context->mlir)), module);
}

int32_t ringconvModuleParse(RingConvContext *context, const char *source, size_t size, const char *name,
                            RingConvModule **module) {
  *module = nullptr;
  return call(context, [&] {
    return parse(context, llvm::MemoryBuffer::getMemBufferCopy(StringRef(source, size), name ? name : "-"), module);
  });
}

int32_t ringconvModuleParseFile(RingConvContext *context, const char *path, RingConvModule **module) {
  *module = nullptr;
  return call(context, [&] {
    auto buffer = llvm::MemoryBuffer::getFile(path);
    if (!buffer)
      return context->refuse(Twine(path) + ": " + buffer.getError().message());
    return parse(context, std::move(*buffer), module);
  });
}

int32_t ringconvModuleClone(const RingConvModule *module, RingConvModule **clone) {
  *clone = nullptr;
  return call(module->context, [&] { return give(module->context, module->op.get().clone(), clone); });
}

void ringconvModuleDestroy(RingConvModule *module) { delete module; }

static int32_t giveBytes(StringRef text, RingConvBytes *bytes) {
  auto *data = static_cast<char *>(std::malloc(text.size() + 1));
  if (!data)
    return RINGCONV_NO_MEMORY;
  std::memcpy(data, text.data(), text.size());
  data[text.size()] = 0;
  *bytes = {data, text.size()};
  return RINGCONV_OK;
}

int32_t ringconvModuleToText(const RingConvModule *module, RingConvBytes *text) {
  *text = {nullptr, 0};
  return call(module->context, [&] {
    std::string string;
    llvm::raw_string_ostream os(string);
    module->op.get()->print(os);
    os << '\n';
    return giveBytes(string, text);
  });
}

int32_t ringconvModuleToBytecode(const RingConvModule *module, RingConvBytes *bytecode) {
  *bytecode = {nullptr, 0};
  return call(module->context, [&]() -> int32_t {
    std::string string;
    llvm::raw_string_ostream os(string);
    if (failed(writeBytecodeToFile(module->op.get(), os)))
      return RINGCONV_REFUSED;
    return giveBytes(string, bytecode);
  });
}

int32_t ringconvModuleVerify(const RingConvModule *module) {
  return call(module->context, [&] { return succeeded(verify(module->op.get())) ? RINGCONV_OK : RINGCONV_REFUSED; });
}

int32_t ringconvModuleRunPipeline(RingConvModule *module, const char *pipeline) {
  RingConvContext *context = module->context;
  return call(context, [&]() -> int32_t {
    // A manager for any operation takes names with their anchor, as mlir-opt's
    // --pass-pipeline does; one for modules would nest a module in the module.
    std::string why;
    llvm::raw_string_ostream os(why);
    FailureOr<OpPassManager> parsed = parsePassPipeline(pipeline, os);
    if (failed(parsed))
      return context->refuse(StringRef(why).rtrim());
    if (parsed->getOpAnchorName() != ModuleOp::getOperationName())
      return context->refuse("pipeline '" + Twine(pipeline) + "': expected builtin.module(...), got " +
                             parsed->getOpAnchorName() + "(...)");
    PassManager pm(&context->mlir, ModuleOp::getOperationName());
    static_cast<OpPassManager &>(pm) = std::move(*parsed);
    return succeeded(pm.run(module->op.get())) ? RINGCONV_OK : RINGCONV_REFUSED;
  });
}

int32_t ringconvModuleAddMesh(RingConvModule *module, const char *name, const char *mesh) {
  RingConvContext *context = module->context;
  return call(context, [&]() -> int32_t {
    ModuleOp op = module->op.get();
    if (!op.getOps<ringconv::MeshOp>().empty())
      return context->refuse("the module has a mesh already");
    if (op.lookupSymbol(name))
      return context->refuse("the module has a @" + Twine(name) + " already");
    context->mlir.getOrLoadDialect<ringconv::RingConvDialect>();
    auto attr = parseAttribute(("#ringconv.mesh_attr" + Twine(mesh)).str(), &context->mlir);
    auto value = dyn_cast_or_null<ringconv::MeshAttr>(attr);
    if (!value)
      return RINGCONV_REFUSED;
    OpBuilder b = OpBuilder::atBlockBegin(op.getBody());
    ringconv::MeshOp::create(b, op.getLoc(), name, value);
    return RINGCONV_OK;
  });
}

/// Sets (null: removes) an attribute of an argument or, counted after them, of a
/// result; gives the one before.
static Attribute setOperandAttr(func::FuncOp func, unsigned operand, StringRef name, Attribute value) {
  unsigned arguments = func.getNumArguments();
  if (operand < arguments) {
    Attribute before = func.getArgAttr(operand, name);
    value ? func.setArgAttr(operand, name, value) : (void)func.removeArgAttr(operand, name);
    return before;
  }
  operand -= arguments;
  Attribute before = func.getResultAttr(operand, name);
  value ? func.setResultAttr(operand, name, value)
        : (void)func.removeResultAttr(operand, StringAttr::get(func.getContext(), name));
  return before;
}

int32_t ringconvModuleAnnotate(RingConvModule *module, const char *function, int32_t operand, const char *name,
                               const char *attribute) {
  RingConvContext *context = module->context;
  return call(context, [&]() -> int32_t {
    auto func = dyn_cast_or_null<func::FuncOp>(module->op.get().lookupSymbol(function));
    if (!func)
      return context->refuse("no function @" + Twine(function));
    unsigned operands = func.getNumArguments() + func.getNumResults();
    if (operand < 0 || unsigned(operand) >= operands)
      return context->refuse("@" + Twine(function) + " has " + Twine(operands) +
                             " arguments and results, there is no number " + Twine(operand));
    context->mlir.getOrLoadDialect<ringconv::RingConvDialect>();
    Attribute value = UnitAttr::get(&context->mlir);
    if (attribute && *attribute && !(value = parseAttribute(attribute, &context->mlir)))
      return RINGCONV_REFUSED;
    Attribute before = setOperandAttr(func, operand, name, attribute ? value : Attribute());
    if (succeeded(verify(module->op.get())))
      return RINGCONV_OK;
    setOperandAttr(func, operand, name, before);
    return RINGCONV_REFUSED;
  });
}
