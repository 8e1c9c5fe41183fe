// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Partitioned modules, files of native code, programs in this process.
#include "CAPI.h"

#include "ringconv/Dialect/RingConv/Transforms/Report.h"
#include "ringconv/Target/Emit.h"

#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cstring>

using namespace mlir;
using namespace ringconv;
using namespace ringconv::capi;

struct RingConvProgram {
  LoadedProgram loaded;
  std::string report;
  std::vector<std::string> cuts; ///< of inputs, then outputs
};

/// What the caller's version of the structure holds, the rest zero.
static int32_t readOptions(RingConvContext *context, const RingConvCompileOptions *given, const char *cpu,
                           CompileOptions &options) {
  RingConvCompileOptions o = {};
  if (given && given->size < offsetof(RingConvCompileOptions, countMultiplyAdds))
    return context->refuse("RingConvCompileOptions: a size of " + Twine(given->size) + ", expected sizeof");
  if (given)
    std::memcpy(&o, given, std::min(given->size, sizeof o));
  auto text = [](const char *value) { return std::string(value ? value : ""); };
  options.target = o.target ? o.target : "host";
  if (std::string why = whyNotTarget(options.target); !why.empty())
    return context->refuse("target " + options.target + " " + why);
  options.entry = text(o.entry);
  options.mesh = text(o.mesh);
  options.cpu = o.targetCpu ? o.targetCpu : cpu;
  options.vectorize = !o.noVectorize;
  options.mergeHalos = !o.noMergeHalos;
  options.overlap = !o.noOverlap;
  options.alwaysOverlap = o.alwaysOverlap;
  options.reference = o.reference;
  options.countMultiplyAdds = o.countMultiplyAdds;
  options.cacheDir = text(o.cacheDir);
  return RINGCONV_OK;
}

int32_t ringconvPartition(const RingConvModule *module, const RingConvCompileOptions *given,
                          RingConvModule **partitioned) {
  *partitioned = nullptr;
  RingConvContext *context = module->context;
  return call(context, [&]() -> int32_t {
    CompileOptions options;
    if (int32_t code = readOptions(context, given, "native", options))
      return code;
    PartitionReport report;
    FailureOr<OwningOpRef<ModuleOp>> result = partitionModule(module->op.get(), options, report);
    return failed(result) ? RINGCONV_REFUSED : give(context, std::move(*result), partitioned);
  });
}

int32_t ringconvCompileToFile(const RingConvModule *module, const RingConvCompileOptions *given, int32_t emit,
                              const char *path) {
  RingConvContext *context = module->context;
  return call(context, [&]() -> int32_t {
    static_assert(int(Emit::LLVM) == RINGCONV_EMIT_LLVM && int(Emit::Executable) == RINGCONV_EMIT_EXECUTABLE);
    if (emit < RINGCONV_EMIT_LLVM || emit > RINGCONV_EMIT_EXECUTABLE)
      return context->refuse("no kind of file has number " + Twine(emit));
    CompileOptions options;
    if (int32_t code = readOptions(context, given, "x86-64-v3", options))
      return code;
    std::optional<std::string> why;
    if (std::optional<Form> form = formOf(Emit(emit))) {
      FailureOr<ObjectCode> code = compileObject(module->op.get(), options, *form);
      if (failed(code))
        return RINGCONV_REFUSED;
      why = writeCode(*code, Emit(emit), path);
    } else {
      FailureOr<CompiledProgram> program = compileProgram(module->op.get(), options);
      if (failed(program))
        return RINGCONV_REFUSED;
      why = writeText(*program, Emit(emit), path);
    }
    return why ? context->refuse(*why) : RINGCONV_OK;
  });
}

int32_t ringconvCompile(const RingConvModule *module, const RingConvCompileOptions *given, RingConvProgram **program) {
  *program = nullptr;
  RingConvContext *context = module->context;
  return call(context, [&]() -> int32_t {
    CompileOptions options;
    if (int32_t code = readOptions(context, given, "native", options))
      return code;
    FailureOr<ObjectCode> code = compileObject(module->op.get(), options, Form::InProcess);
    if (failed(code))
      return RINGCONV_REFUSED;
    llvm::Expected<LoadedProgram> loaded = loadInProcess(*code);
    if (!loaded)
      return context->refuse("cannot load the compiled program: " + toString(loaded.takeError()));
    auto result = std::make_unique<RingConvProgram>();
    result->loaded = std::move(*loaded);
    result->report = std::move(code->report);
    result->cuts = std::move(code->cuts);
    *program = result.release();
    return RINGCONV_OK;
  });
}

void ringconvProgramDestroy(RingConvProgram *program) { delete program; }

const ringconv_program *ringconvProgramGet(const RingConvProgram *program) { return program->loaded.descriptor; }

const char *ringconvProgramEntry(const RingConvProgram *program) { return program->loaded.descriptor->entry; }

const char *ringconvProgramTarget(const RingConvProgram *program) { return program->loaded.descriptor->target; }

int64_t ringconvProgramNumRanks(const RingConvProgram *program) {
  const ringconv_mesh &mesh = program->loaded.descriptor->mesh;
  int64_t ranks = 1;
  for (int32_t a = 0; a < mesh.num_axes; ++a)
    ranks *= mesh.extents[a];
  return ranks;
}

int32_t ringconvProgramNumInputs(const RingConvProgram *program) { return program->loaded.descriptor->num_inputs; }

int32_t ringconvProgramNumOutputs(const RingConvProgram *program) { return program->loaded.descriptor->num_outputs; }

RingConvOperand ringconvProgramOperand(const RingConvProgram *program, int32_t index) {
  const ringconv_program &p = *program->loaded.descriptor;
  if (index < 0 || index >= p.num_inputs + p.num_outputs)
    return {"", "", -1, 0, nullptr, 0};
  const ringconv_operand &o = index < p.num_inputs ? p.inputs[index] : p.outputs[index - p.num_inputs];
  return {o.name ? o.name : "",
          program->cuts[index].c_str(),
          o.dtype,
          o.rank,
          o.sizes,
          (o.flags & RINGCONV_PARAMETER) != 0};
}

int32_t ringconvProgramShard(const RingConvProgram *program, int64_t rank, int32_t operand, int64_t *offsets,
                             int64_t *sizes) {
  ringconv_world world = {};
  world.rank = rank;
  world.size = ringconvProgramNumRanks(program);
  world.transport = RINGCONV_TRANSPORT_THREADS;
  return ringconv_shard(program->loaded.descriptor, &world, operand, offsets, sizes) ? RINGCONV_REFUSED : RINGCONV_OK;
}

const char *ringconvProgramReport(const RingConvProgram *program) { return program->report.c_str(); }

int32_t ringconvProgramRunReference(const RingConvProgram *program, const void *const *in, void *const *out) {
  ringconv_reference_fn reference = program->loaded.descriptor->reference;
  return reference && reference(const_cast<void *const *>(in), out) == 0 ? RINGCONV_OK : RINGCONV_REFUSED;
}
