// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ringconv._ringconv: the C API with Python's ownership and exceptions. Arrays
// come as addresses; the Python side has checked what lies there. Long calls
// release the GIL, and a context serves one thread at a time.
#include "DLPack.h"
#include "ringconv-c/RingConv.h"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace py = pybind11;
using Addresses = std::vector<std::uintptr_t>;

namespace {

struct Context {
  Context() : handle(ringconvContextCreate(), ringconvContextDestroy) {
    if (!handle)
      throw std::bad_alloc();
  }
  std::unique_ptr<RingConvContext, decltype(&ringconvContextDestroy)> handle;
  std::mutex mutex;
};

[[noreturn]] void raise(const char *type, py::object argument) {
  py::object exception = py::module_::import("ringconv.errors").attr(type);
  PyErr_SetObject(exception.ptr(), exception(argument).ptr());
  throw py::error_already_set();
}

/// Runs `body`, a call of the C API on the context, without the GIL; what it
/// found becomes Python exceptions and warnings' raw material.
template <typename Body> py::list onContext(Context &context, Body body) {
  int32_t code;
  std::unique_lock<std::mutex> lock(context.mutex, std::defer_lock);
  {
    py::gil_scoped_release release;
    lock.lock();
    code = body(context.handle.get());
  }
  py::list diagnostics;
  for (int64_t i = 0; i < ringconvContextNumDiagnostics(context.handle.get()); ++i) {
    RingConvDiagnostic d = ringconvContextDiagnostic(context.handle.get(), i);
    diagnostics.append(py::make_tuple(d.severity, d.text, d.file, d.line, d.column));
  }
  lock.unlock();
  if (code == RINGCONV_NO_MEMORY)
    throw std::bad_alloc();
  if (code)
    raise("CompileError", diagnostics);
  return diagnostics;
}

struct CompileOptions {
  std::string target, entry, mesh, cpu, cacheDir;
  bool vectorize, mergeHalos, overlap, reference;

  RingConvCompileOptions get() const {
    RingConvCompileOptions o = {};
    auto text = [](const std::string &s) { return s.empty() ? nullptr : s.c_str(); };
    o.size = sizeof o;
    o.target = text(target);
    o.entry = text(entry);
    o.mesh = text(mesh);
    o.targetCpu = text(cpu);
    o.noVectorize = !vectorize;
    o.noMergeHalos = !mergeHalos;
    o.noOverlap = !overlap;
    o.reference = reference;
    o.cacheDir = text(cacheDir);
    return o;
  }
};

struct Program {
  explicit Program(RingConvProgram *program) : handle(program, ringconvProgramDestroy) {}

  py::list operands() const {
    py::list list;
    int32_t count = ringconvProgramNumInputs(handle.get()) + ringconvProgramNumOutputs(handle.get());
    for (int32_t i = 0; i < count; ++i) {
      RingConvOperand o = ringconvProgramOperand(handle.get(), i);
      list.append(
          py::make_tuple(o.name, o.cut, o.dtype, std::vector<int64_t>(o.sizes, o.sizes + o.rank), o.isParameter != 0));
    }
    return list;
  }
  py::tuple shard(int64_t rank, int32_t operand) const {
    RingConvOperand o = ringconvProgramOperand(handle.get(), operand);
    std::vector<int64_t> offsets(o.rank + 1), sizes(o.rank + 1);
    if (ringconvProgramShard(handle.get(), rank, operand, offsets.data(), sizes.data()))
      throw py::index_error("no rank " + std::to_string(rank) + " or no operand " + std::to_string(operand));
    offsets.resize(o.rank);
    sizes.resize(o.rank);
    return py::make_tuple(offsets, sizes);
  }
  bool reference(const Addresses &in, const Addresses &out) const;

  std::shared_ptr<RingConvProgram> handle;
};

std::vector<const void *> inputs(const Addresses &addresses) {
  std::vector<const void *> list;
  for (std::uintptr_t a : addresses)
    list.push_back(reinterpret_cast<const void *>(a));
  return list;
}
std::vector<void *> outputs(const Addresses &addresses) {
  std::vector<void *> list;
  for (std::uintptr_t a : addresses)
    list.push_back(reinterpret_cast<void *>(a));
  return list;
}

bool Program::reference(const Addresses &in, const Addresses &out) const {
  auto from = inputs(in);
  auto to = outputs(out);
  py::gil_scoped_release release;
  return ringconvProgramRunReference(handle.get(), from.data(), to.data()) == RINGCONV_OK;
}

py::dict countersOf(const ringconv_counters &c) {
  using namespace pybind11::literals;
  return py::dict("messages_sent"_a = c.messages_sent, "bytes_sent"_a = c.bytes_sent,
                  "messages_received"_a = c.messages_received, "bytes_received"_a = c.bytes_received,
                  "reductions"_a = c.reductions);
}

/// All ranks as threads, on whole arrays.
struct Ranks {
  Ranks(const Program &program, double timeout) : program(program.handle) {
    ringconv_options options = {};
    options.abi_version = RINGCONV_ABI_VERSION;
    options.timeout = timeout;
    ringconv_ranks *ranks;
    int32_t code = ringconv_ranks_create(ringconvProgramGet(this->program.get()), &ranks, &options);
    handle.reset(ranks);
    check(code);
  }
  void check(int32_t code) const {
    if (code)
      raise("RunError", py::str(ringconv_ranks_error(handle.get())));
  }
  template <typename Call> void locked(Call call) {
    int32_t code;
    std::unique_lock<std::mutex> lock(mutex, std::defer_lock);
    {
      py::gil_scoped_release release;
      lock.lock();
      code = call();
    }
    check(code);
  }
  void setParameters(const Addresses &parameters) {
    auto list = inputs(parameters);
    locked([&] { return ringconv_ranks_set_parameters(handle.get(), list.data()); });
  }
  void run(const Addresses &in, const Addresses &out) {
    auto from = inputs(in);
    auto to = outputs(out);
    locked([&] { return ringconv_ranks_run(handle.get(), from.data(), to.data()); });
  }
  py::dict counters(int64_t rank) const {
    ringconv_counters c = {};
    ringconv_ranks_counters(handle.get(), rank, &c);
    return countersOf(c);
  }

  std::shared_ptr<RingConvProgram> program; // outlives the ranks
  struct Destroy {
    void operator()(ringconv_ranks *ranks) const { ringconv_ranks_destroy(ranks); }
  };
  std::unique_ptr<ringconv_ranks, Destroy> handle;
  std::mutex mutex;
};

/// One rank on its shards: of an MPI communicator, or the only one.
struct Session {
  Session(const Program &program, int64_t rank, int64_t size, std::optional<int32_t> comm, double timeout)
      : program(program.handle) {
    ringconv_world world = {};
    world.rank = rank;
    world.size = size;
    world.transport = comm ? RINGCONV_TRANSPORT_MPI : RINGCONV_TRANSPORT_THREADS;
    world.mpi_comm = comm.value_or(0);
    world.device = RINGCONV_DEVICE_AUTO;
    ringconv_options options = {};
    options.abi_version = RINGCONV_ABI_VERSION;
    options.timeout = timeout;
    ringconv_session *session;
    int32_t code;
    {
      py::gil_scoped_release release;
      code = ringconv_session_create(ringconvProgramGet(this->program.get()), &session, &world, &options);
    }
    handle.reset(session);
    check(code);
  }
  void check(int32_t code) const {
    if (code)
      raise("RunError", py::str(ringconv_session_error(handle.get())));
  }
  void setParameters(const Addresses &parameters) {
    check(ringconv_session_set_parameters(handle.get(), inputs(parameters).data()));
  }
  /// On `stream`, a CUstream (0: the session's own, which is waited for).
  void run(const Addresses &in, const Addresses &out, std::uintptr_t stream) {
    auto from = inputs(in);
    auto to = outputs(out);
    int32_t code;
    {
      py::gil_scoped_release release;
      code = ringconv_session_run(handle.get(), reinterpret_cast<void *>(stream), from.data(), to.data());
      if (!code && !stream)
        code = ringconv_session_synchronize(handle.get());
    }
    check(code);
  }
  py::dict counters() const {
    ringconv_counters c = {};
    ringconv_session_counters(handle.get(), &c);
    return countersOf(c);
  }

  std::shared_ptr<RingConvProgram> program;
  struct Destroy {
    void operator()(ringconv_session *session) const { ringconv_session_destroy(session); }
  };
  std::unique_ptr<ringconv_session, Destroy> handle;
};

struct Module {
  Module(std::shared_ptr<Context> context, RingConvModule *module)
      : context(std::move(context)), handle(module, ringconvModuleDestroy) {}

  static Module parse(const std::string &source, const std::string &name) {
    auto context = std::make_shared<Context>();
    RingConvModule *module;
    onContext(*context, [&](RingConvContext *c) {
      return ringconvModuleParse(c, source.data(), source.size(), name.c_str(), &module);
    });
    return Module(context, module);
  }
  py::bytes print(bool bytecode) {
    RingConvBytes bytes;
    onContext(*context, [&](RingConvContext *) {
      return bytecode ? ringconvModuleToBytecode(handle.get(), &bytes) : ringconvModuleToText(handle.get(), &bytes);
    });
    py::bytes result(bytes.data, bytes.size);
    ringconvBytesFree(bytes);
    return result;
  }
  Module clone() {
    RingConvModule *copy;
    onContext(*context, [&](RingConvContext *) { return ringconvModuleClone(handle.get(), &copy); });
    return Module(context, copy);
  }
  py::list runPipeline(const std::string &pipeline) {
    return onContext(*context,
                     [&](RingConvContext *) { return ringconvModuleRunPipeline(handle.get(), pipeline.c_str()); });
  }
  void addMesh(const std::string &name, const std::string &mesh) {
    onContext(*context,
              [&](RingConvContext *) { return ringconvModuleAddMesh(handle.get(), name.c_str(), mesh.c_str()); });
  }
  void annotate(const std::string &function, int32_t operand, const std::string &name, const std::string &attribute) {
    onContext(*context, [&](RingConvContext *) {
      return ringconvModuleAnnotate(handle.get(), function.c_str(), operand, name.c_str(), attribute.c_str());
    });
  }
  Module partition(const CompileOptions &options) {
    RingConvModule *local;
    RingConvCompileOptions o = options.get();
    onContext(*context, [&](RingConvContext *) { return ringconvPartition(handle.get(), &o, &local); });
    return Module(context, local);
  }
  py::tuple compile(const CompileOptions &options) {
    RingConvProgram *program;
    RingConvCompileOptions o = options.get();
    py::list remarks =
        onContext(*context, [&](RingConvContext *) { return ringconvCompile(handle.get(), &o, &program); });
    return py::make_tuple(Program(program), remarks);
  }
  void compileToFile(const CompileOptions &options, int32_t emit, const std::string &path) {
    RingConvCompileOptions o = options.get();
    onContext(*context, [&](RingConvContext *) { return ringconvCompileToFile(handle.get(), &o, emit, path.c_str()); });
  }

  std::shared_ptr<Context> context; // outlives the module
  std::shared_ptr<RingConvModule> handle;
};

} // namespace

PYBIND11_MODULE(_ringconv, m) {
  m.doc() = "The C API of ringconv; see the package ringconv for its documented face.";
  m.attr("version_text") = ringconvVersionText();
  m.def("dlpack_view", &dlpackView, py::arg("capsule"));
  py::class_<CompileOptions>(m, "CompileOptions")
      .def(py::init([](std::string target, std::string entry, std::string mesh, std::string cpu,
                       std::string cacheDir, bool vectorize, bool mergeHalos, bool overlap, bool reference) {
             return CompileOptions{target, entry, mesh, cpu, cacheDir, vectorize, mergeHalos, overlap, reference};
           }),
           py::kw_only(), py::arg("target"), py::arg("entry"), py::arg("mesh"), py::arg("cpu"), py::arg("cache_dir"),
           py::arg("vectorize"), py::arg("merge_halos"), py::arg("overlap"), py::arg("reference"));
  py::class_<Module>(m, "Module")
      .def_static("parse", &Module::parse)
      .def("print", &Module::print)
      .def("clone", &Module::clone)
      .def("run_pipeline", &Module::runPipeline)
      .def("add_mesh", &Module::addMesh)
      .def("annotate", &Module::annotate)
      .def("partition", &Module::partition)
      .def("compile", &Module::compile)
      .def("compile_to_file", &Module::compileToFile);
  py::class_<Program>(m, "Program")
      .def_property_readonly("entry", [](const Program &p) { return ringconvProgramEntry(p.handle.get()); })
      .def_property_readonly("target", [](const Program &p) { return ringconvProgramTarget(p.handle.get()); })
      .def_property_readonly("num_ranks", [](const Program &p) { return ringconvProgramNumRanks(p.handle.get()); })
      .def_property_readonly("num_inputs", [](const Program &p) { return ringconvProgramNumInputs(p.handle.get()); })
      .def_property_readonly("report", [](const Program &p) { return ringconvProgramReport(p.handle.get()); })
      .def("operands", &Program::operands)
      .def("shard", &Program::shard)
      .def("reference", &Program::reference);
  py::class_<Ranks>(m, "Ranks")
      .def(py::init<const Program &, double>())
      .def("set_parameters", &Ranks::setParameters)
      .def("run", &Ranks::run)
      .def("counters", &Ranks::counters);
  py::class_<Session>(m, "Session")
      .def(py::init<const Program &, int64_t, int64_t, std::optional<int32_t>, double>())
      .def("set_parameters", &Session::setParameters)
      .def("run", &Session::run, py::arg("inputs"), py::arg("outputs"), py::arg("stream") = 0)
      .def("counters", &Session::counters);
}
