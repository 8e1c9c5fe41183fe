// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiles a program, or its gradients, through lib/Target, runs its ranks as
// threads through the runtime's C interface, and compares every element with the
// evaluation.
#include "DeviceShards.h"
#include "Messages.h"

#include "ringconv/Dialect/RingConv/Transforms/Passes.h"
#include "ringconv/Pipelines/Pipelines.h"
#include "ringconv/Runtime/Session.h"
#include "ringconv/Target/Compiler.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <thread>

using namespace randprog;

namespace {
// ===--------------------------------------------------------------------=== //
// Elements as bytes
// ===--------------------------------------------------------------------=== //

int64_t bytesOf(DType type) {
  static const int64_t sizes[] = {8, 4, 2, 2, 1, 4};
  return sizes[int(type)];
}

uint16_t halfBits(double v, const llvm::fltSemantics &semantics) {
  llvm::APFloat f(v);
  bool loses;
  f.convert(semantics, llvm::APFloat::rmNearestTiesToEven, &loses);
  return uint16_t(f.bitcastToAPInt().getZExtValue());
}

template <typename T> void put(char *at, T v) { std::memcpy(at, &v, sizeof v); }
template <typename T> T get(const char *at) {
  T v;
  std::memcpy(&v, at, sizeof v);
  return v;
}

void encode(DType type, double v, char *at) {
  switch (type) {
  case DType::F64:
    return put(at, v);
  case DType::F32:
    return put(at, float(v));
  case DType::F16:
    return put(at, halfBits(v, llvm::APFloat::IEEEhalf()));
  case DType::BF16:
    return put(at, halfBits(v, llvm::APFloat::BFloat()));
  case DType::I8:
    return put(at, int8_t(v));
  case DType::I32:
    return put(at, int32_t(v));
  }
}

double decode(DType type, const char *at) {
  switch (type) {
  case DType::F64:
    return get<double>(at);
  case DType::F32:
    return get<float>(at);
  case DType::F16: {
    llvm::APFloat f(llvm::APFloat::IEEEhalf(), llvm::APInt(16, get<uint16_t>(at)));
    bool loses;
    f.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &loses);
    return f.convertToDouble();
  }
  case DType::BF16:
    return get<float>((const char *)std::vector<uint32_t>{uint32_t(get<uint16_t>(at)) << 16}.data());
  case DType::I8:
    return get<int8_t>(at);
  case DType::I32:
    return get<int32_t>(at);
  }
  return 0;
}

// ===--------------------------------------------------------------------=== //
// Boxes
// ===--------------------------------------------------------------------=== //

std::string show(const Box &box) {
  std::string s;
  for (size_t d = 0; d < box.sizes.size(); ++d)
    s += "[" + std::to_string(box.offsets[d]) + ", " + std::to_string(box.offsets[d] + box.sizes[d]) + ") ";
  return s;
}

/// An argument or a result of what is run. `known`: the sharding must be this
/// (none: whole); else it is the compiler's choice.
struct Operand {
  Type type;
  std::optional<Sharding> sharding;
  bool known = true, parameter = false;
};

struct Signature {
  std::vector<Operand> inputs, outputs;
};

Signature signatureOf(const Program &p, const std::vector<Type> &types) {
  Signature s;
  for (const Argument &a : p.arguments)
    s.inputs.push_back({{a.type, a.shape}, a.sharding, true, a.parameter});
  for (const Result &r : p.results)
    (p.gradient ? s.inputs : s.outputs).push_back({types[r.value], r.sharding, r.sharding.has_value()});
  if (p.gradient)
    for (int i : gradientArguments(p))
      s.outputs.push_back({{p.arguments[i].type, p.arguments[i].shape}, p.arguments[i].sharding});
  return s;
}

/// Calls `each(global element, local element)` for the elements of a box.
template <typename Each> void forBox(const Shape &shape, const Box &box, Each each) {
  int64_t n = count(box.sizes);
  for (int64_t local = 0; local < n; ++local) {
    int64_t global = 0, rest = local, stride = 1;
    for (size_t d = shape.size(); d-- > 0;) {
      global += (box.offsets[d] + rest % box.sizes[d]) * stride;
      rest /= box.sizes[d];
      stride *= shape[d];
    }
    each(global, local);
  }
}

// ===--------------------------------------------------------------------=== //
// Compiling
// ===--------------------------------------------------------------------=== //

struct Compiler {
  mlir::DialectRegistry registry;
  std::unique_ptr<mlir::MLIRContext> context;
  std::string errors;
  /// Code of all programs of the batch: it must outlive their sessions.
  std::vector<ringconv::LoadedProgram> loaded;

  Compiler() {
    ringconv::registerDialects(registry);
    context = std::make_unique<mlir::MLIRContext>(registry, mlir::MLIRContext::Threading::DISABLED);
    context->printOpOnDiagnostic(false);
    context->getDiagEngine().registerHandler([this](mlir::Diagnostic &diag) {
      if (diag.getSeverity() == mlir::DiagnosticSeverity::Error) {
        llvm::raw_string_ostream os(errors);
        os << (errors.empty() ? "" : "; ") << diag;
      }
      return mlir::success();
    });
  }

  const ringconv_program *compile(const Program &p, const RunSettings &settings) {
    errors.clear();
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text(p), context.get());
    if (!module)
      return nullptr;
    ringconv::CompileOptions options;
    if (p.gradient) {
      mlir::PassManager passes(context.get());
      passes.addPass(ringconv::createRaisePass());
      passes.addPass(ringconv::createDifferentiatePass());
      if (failed(passes.run(*module)))
        return nullptr;
      options.entry = "main_grad";
    }
    options.target = settings.target;
    options.cpu = settings.cpu;
    options.reference = false;
    options.machineCode = false;
    options.vectorize = p.vectorize;
    options.overlap = p.overlap;
    options.alwaysOverlap = p.alwaysOverlap;
    options.mergeHalos = p.merge;
    options.quick = p.quick;
    auto program = ringconv::compileProgram(*module, options);
    if (failed(program))
      return nullptr;
    auto code = ringconv::loadInProcess(std::move(*program));
    if (!code) {
      errors += llvm::toString(code.takeError());
      return nullptr;
    }
    loaded.push_back(std::move(*code));
    return loaded.back().descriptor;
  }
};

// ===--------------------------------------------------------------------=== //
// Running
// ===--------------------------------------------------------------------=== //

struct Rank {
  std::vector<Box> boxes;              ///< of inputs, then outputs
  std::vector<std::vector<char>> data; ///< likewise
  ringconv_counters counters{};
  std::vector<std::vector<char>> again; ///< outputs of a second run
  std::string error;
};

std::string session(const ringconv_program *program, const Program &p, const Signature &signature,
                    const ringconv_world &world, double timeout, Rank &rank) {
  ringconv_options options{};
  options.abi_version = RINGCONV_ABI_VERSION;
  options.timeout = timeout;
  ringconv_session *session = nullptr;
  int code = ringconv_session_create(program, &session, &world, &options);
  llvm::scope_exit destroy([&] { ringconv_session_destroy(session); });
  auto error = [&](const char *call) {
    return std::string(call) + ": " + (session ? ringconv_session_error(session) : "out of memory");
  };
  if (code)
    return error("create");
  DeviceShards device(world.rank);
  if (program->cuda)
    if (std::string why = device.upload(rank.data); !why.empty())
      return why;
  std::vector<const void *> in, parameters;
  std::vector<void *> out, again;
  auto pointer = [&](size_t i) { return program->cuda ? device.pointer(i) : rank.data[i].data(); };
  size_t inputs = signature.inputs.size();
  for (size_t i = 0; i < inputs; ++i)
    (signature.inputs[i].parameter ? parameters : in).push_back(pointer(i));
  for (size_t i = inputs; i < rank.data.size(); ++i) {
    out.push_back(pointer(i));
    again.push_back(program->cuda ? pointer(i) : rank.again[i - inputs].data());
  }
  if (!parameters.empty() && ringconv_session_set_parameters(session, parameters.data()))
    return error("set_parameters");
  auto download = [&](bool first) {
    std::string why;
    for (size_t i = inputs; program->cuda && i < rank.data.size() && why.empty(); ++i)
      why = device.download(i, first ? rank.data[i] : rank.again[i - inputs]);
    return why;
  };
  if (ringconv_session_run(session, nullptr, in.data(), out.data()) || ringconv_session_synchronize(session))
    return error("run");
  if (std::string why = download(true); !why.empty())
    return why;
  ringconv_session_counters(session, &rank.counters);
  if (!p.twice)
    return "";
  if (ringconv_session_run(session, nullptr, in.data(), again.data()) || ringconv_session_synchronize(session))
    return error("second run");
  return download(false);
}

/// Boxes of one rank, by the runtime; an error where they are not what the
/// annotations say.
std::string findBoxes(const ringconv_program *program, const Program &p, const Signature &signature,
                      const ringconv_world &world, Rank &rank) {
  size_t inputs = signature.inputs.size();
  for (size_t i = 0; i < inputs + signature.outputs.size(); ++i) {
    const Operand &operand = i < inputs ? signature.inputs[i] : signature.outputs[i - inputs];
    const Shape &shape = operand.type.shape;
    Box box{Shape(shape.size()), Shape(shape.size())};
    if (ringconv_shard(program, &world, int32_t(i), box.offsets.data(), box.sizes.data()))
      return "ringconv_shard fails for operand " + std::to_string(i);
    Box expected = annotatedBox(p, operand.sharding, shape, world.rank);
    if (operand.known && !(box == expected))
      return "rank " + std::to_string(world.rank) + ": operand " + std::to_string(i) + " has box " + show(box) +
             "expected " + show(expected);
    rank.boxes.push_back(box);
  }
  return "";
}

std::string runRanks(const ringconv_program *program, const Program &p, const Signature &signature,
                     const std::vector<Tensor> &inputs, double timeout, std::vector<Rank> &ranks) {
  ringconv_team *team = ringconv_team_create(int64_t(ranks.size()));
  std::vector<ringconv_world> worlds;
  for (size_t r = 0; r < ranks.size(); ++r) {
    ringconv_world world{};
    world.rank = r;
    world.size = ranks.size();
    world.transport = RINGCONV_TRANSPORT_THREADS;
    world.team = team;
    world.device = RINGCONV_DEVICE_AUTO;
    worlds.push_back(world);
    Rank &rank = ranks[r];
    if (std::string why = findBoxes(program, p, signature, worlds[r], rank); !why.empty())
      return ringconv_team_destroy(team), why;
    for (size_t i = 0; i < rank.boxes.size(); ++i) {
      bool input = i < inputs.size();
      DType type = input ? inputs[i].type.dtype : signature.outputs[i - inputs.size()].type.dtype;
      // Outputs start as bytes that no correct result has by accident.
      rank.data.emplace_back(count(rank.boxes[i].sizes) * bytesOf(type) + 1, char(0x5b));
      if (!input)
        rank.again.push_back(rank.data.back());
      else
        forBox(inputs[i].type.shape, rank.boxes[i], [&](int64_t global, int64_t local) {
          encode(type, inputs[i].values[global], rank.data[i].data() + local * bytesOf(type));
        });
    }
  }
  std::vector<std::thread> threads;
  for (size_t r = 0; r < ranks.size(); ++r)
    threads.emplace_back([&, r] { ranks[r].error = session(program, p, signature, worlds[r], timeout, ranks[r]); });
  for (std::thread &thread : threads)
    thread.join();
  ringconv_team_destroy(team);
  // Ranks that only heard of another's failure say "rank N failed".
  std::string why;
  for (size_t r = 0; r < ranks.size(); ++r)
    if (!ranks[r].error.empty() && (why.empty() || ranks[r].error.find(" failed") == std::string::npos))
      why = "rank " + std::to_string(r) + ": " + ranks[r].error;
  return why;
}

// ===--------------------------------------------------------------------=== //
// Comparing
// ===--------------------------------------------------------------------=== //

/// Processors that convert to bf16 make 0 of what has no normal form.
bool agrees(DType type, double got, double want, double bound) {
  if (type == DType::BF16)
    bound = std::max(bound, 0x1p-126);
  if (std::isnan(want) || std::isnan(got))
    return std::isnan(want) && std::isnan(got);
  return got == want || (std::isfinite(want) && std::fabs(got - want) <= bound);
}

/// `operand`: number of the result among all operands.
std::string compareResult(const Program &p, size_t index, size_t operand, const Tensor &want,
                          const std::vector<Rank> &ranks) {
  DType type = want.type.dtype;
  int64_t bytes = bytesOf(type);
  std::vector<std::string> written(want.values.size());
  std::string why;
  for (size_t r = 0; r < ranks.size() && why.empty(); ++r)
    forBox(want.type.shape, ranks[r].boxes[operand], [&](int64_t global, int64_t local) {
      const char *at = ranks[r].data[operand].data() + local * bytes;
      std::string raw(at, bytes);
      double got = decode(type, at);
      std::string place = "result " + std::to_string(index) + ", rank " + std::to_string(r) + ", element " +
                          std::to_string(global) + ": ";
      if (!why.empty())
        return;
      if (!agrees(type, got, want.values[global], want.bounds[global])) {
        char text[120];
        snprintf(text, sizeof text, "got %.9g, expected %.9g within %.3g", got, want.values[global],
                 want.bounds[global]);
        why = place + text;
      } else if (!written[global].empty() && written[global] != raw && !std::isnan(got)) {
        why = place + "replicas differ";
      } else if (p.twice && std::memcmp(ranks[r].again[index].data() + local * bytes, at, bytes)) {
        why = place + "a second run differs";
      }
      written[global] = raw;
    });
  for (size_t i = 0; i < written.size() && why.empty(); ++i)
    if (written[i].empty())
      why = "result " + std::to_string(index) + ": no rank owns element " + std::to_string(i);
  return why;
}

/// The same program without a cut.
Program onOneRank(Program p, bool onGPU) {
  p.mesh = {};
  for (Argument &a : p.arguments)
    a.sharding.reset();
  for (Op &op : p.ops)
    if (op.kind == Kind::Reshard)
      op.sharding.assign(op.sharding.size(), {});
  for (Result &r : p.results)
    r.sharding.reset();
  // Every form of a kernel of the host adds in one order.
  p.vectorize = onGPU ? p.vectorize : !p.vectorize;
  p.twice = p.single = false;
  return p;
}

/// Bytes of an operand as a whole; NaNs, whose bits mean nothing, as 0.
std::vector<char> gather(size_t operand, const Type &type, const std::vector<Rank> &ranks) {
  int64_t bytes = bytesOf(type.dtype);
  std::vector<char> all(count(type.shape) * bytes);
  for (const Rank &rank : ranks)
    forBox(type.shape, rank.boxes[operand], [&](int64_t global, int64_t local) {
      const char *at = rank.data[operand].data() + local * bytes;
      if (!std::isnan(decode(type.dtype, at)))
        std::memcpy(all.data() + global * bytes, at, bytes);
    });
  return all;
}

// ===--------------------------------------------------------------------=== //
// What the compiled program does
// ===--------------------------------------------------------------------=== //

int64_t at(const ringconv_table &table, int64_t part) {
  int64_t i = table.num_runs - 1;
  while (i > 0 && table.runs[i].begin > part)
    --i;
  return table.runs[i].base + table.runs[i].slope * (part - table.runs[i].begin);
}

void look(const ringconv_program &program, Outcome &outcome) {
  for (int32_t i = 0; i < program.num_ops; ++i) {
    int wide = 0;
    for (int32_t d = 0; d < program.ops[i].num_dims; ++d) {
      const ringconv_op_dim &dim = program.ops[i].dims[d];
      int64_t parts = 1;
      for (int32_t a = 0; a < dim.num_axes; ++a)
        parts *= program.mesh.extents[dim.axes[a]];
      bool halo = false, hops = false;
      for (int64_t c = 0; c < parts; ++c)
        for (int64_t other = 0; other < parts; ++other) {
          int64_t begin = std::max(at(dim.need_begin, c), at(dim.own_begin, other));
          int64_t end = std::min(at(dim.need_end, c), at(dim.own_end, other));
          halo |= other != c && begin < end;
          hops |= std::abs(other - c) > 1 && begin < end;
        }
      wide += halo;
      if (hops)
        outcome.seen.push_back("several hops");
    }
    if (wide)
      outcome.seen.push_back("halo exchange");
    if (wide > 1)
      outcome.seen.push_back("corners");
  }
}
/// No message that is empty or discarded, no byte more than is read.
std::string checkMessages(const Program &p, const std::vector<Type> &types, const std::vector<Rank> &ranks,
                          Outcome &outcome) {
  std::vector<std::vector<Box>> results(p.results.size());
  for (const Rank &rank : ranks)
    for (size_t i = 0; i < results.size(); ++i)
      results[i].push_back(rank.boxes[p.arguments.size() + i]);
  auto expected = expectedTraffic(p, types, results);
  if (!expected)
    return "";
  outcome.seen.push_back("messages counted");
  for (size_t r = 0; r < ranks.size(); ++r) {
    const ringconv_counters &c = ranks[r].counters;
    const Traffic &want = (*expected)[r];
    if (c.messages_received != want.messages || c.bytes_received != want.bytes)
      return "traffic: rank " + std::to_string(r) + " receives " + std::to_string(c.messages_received) +
             " messages of " + std::to_string(c.bytes_received) + " bytes, expected " + std::to_string(want.messages) +
             " of " + std::to_string(want.bytes);
  }
  return "";
}

std::string compareWithOneRank(Compiler &compiler, const Program &p, const RunSettings &settings,
                               const Signature &signature, const std::vector<Tensor> &inputs,
                               const std::vector<Rank> &ranks) {
  Program one = onOneRank(p, settings.target == "cuda");
  const ringconv_program *program = compiler.compile(one, settings);
  if (!program)
    return "does not compile for one rank: " + compiler.errors;
  std::vector<Rank> single(1);
  Signature whole = signature;
  for (Operand &operand : whole.inputs)
    operand.sharding.reset();
  for (Operand &operand : whole.outputs)
    operand.sharding.reset();
  if (std::string why = runRanks(program, one, whole, inputs, settings.timeout, single); !why.empty())
    return "on one rank: " + why;
  for (size_t i = 0; i < signature.outputs.size(); ++i) {
    const Type &type = signature.outputs[i].type;
    size_t operand = signature.inputs.size() + i;
    std::vector<char> a = gather(operand, type, ranks), b = gather(operand, type, single);
    for (size_t at = 0; at < a.size(); at += bytesOf(type.dtype))
      if (std::memcmp(&a[at], &b[at], bytesOf(type.dtype)))
        return "result " + std::to_string(i) + ", element " + std::to_string(at / bytesOf(type.dtype)) +
               ": the bits are not those of one rank";
  }
  return "";
}
} // namespace

Outcome randprog::run(const Program &p, const RunSettings &settings) {
  static Compiler compiler;
  auto types = infer(p);
  if (!types)
    return {false, "not a valid program", {}};
  const ringconv_program *program = compiler.compile(p, settings);
  if (!program)
    return {false, "does not compile: " + compiler.errors, {}};
  Outcome outcome;
  look(*program, outcome);
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < p.arguments.size(); ++i)
    inputs.push_back(makeInput(p, int(i)));
  std::vector<Tensor> values = evaluate(p, inputs), expected;
  for (const Result &r : p.results)
    expected.push_back(values[r.value]);
  if (p.gradient) {
    if (std::string why = compareWithDifferences(p); !why.empty())
      return {false, why, {}};
    std::vector<Tensor> seeds;
    for (size_t i = 0; i < p.results.size(); ++i)
      seeds.push_back(makeSeed(p, int(i), (*types)[p.results[i].value]));
    expected = gradients(p, values, seeds);
    inputs.insert(inputs.end(), seeds.begin(), seeds.end());
  }
  Signature signature = signatureOf(p, *types);
  std::vector<Rank> ranks(p.mesh.size());
  outcome.why = runRanks(program, p, signature, inputs, settings.timeout, ranks);
  for (size_t i = 0; i < expected.size() && outcome.why.empty(); ++i)
    outcome.why = compareResult(p, i, inputs.size() + i, expected[i], ranks);
  bool sums = std::any_of(ranks.begin(), ranks.end(), [](const Rank &r) { return r.counters.reductions > 0; });
  // Sums send messages of their own.
  if (outcome.why.empty() && !sums && !p.gradient)
    outcome.why = checkMessages(p, *types, ranks, outcome);
  if (p.single && !sums && outcome.why.empty())
    outcome.why = compareWithOneRank(compiler, p, settings, signature, inputs, ranks);
  outcome.ok = outcome.why.empty();
  return outcome;
}
