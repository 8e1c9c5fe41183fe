// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ringconv/Runtime/Program.h as LLVM constants. Fields stand in the order of
// the C structures.
#include "ProgramDescriptor.h"

#include "ringconv/Runtime/Program.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"

#include <optional>

using namespace ringconv;
using llvm::Constant;
using llvm::ConstantInt;

/// RINGCONV_F64 ..; none for a type that files and callers cannot hold.
static std::optional<int32_t> dtypeOf(mlir::Type type) {
  if (type.isF64())
    return RINGCONV_F64;
  if (type.isF32())
    return RINGCONV_F32;
  if (type.isF16())
    return RINGCONV_F16;
  if (type.isBF16())
    return RINGCONV_BF16;
  if (type.isSignlessInteger(1))
    return RINGCONV_I1;
  if (type.isSignlessInteger(8))
    return RINGCONV_I8;
  if (type.isSignlessInteger(32))
    return RINGCONV_I32;
  if (type.isSignlessInteger(64))
    return RINGCONV_I64;
  return std::nullopt;
}

mlir::FailureOr<ProgramInfo> ProgramInfo::read(mlir::func::FuncOp func, MeshAttr mesh) {
  ProgramInfo info;
  info.entry = func.getSymName().str();
  info.mesh = mesh;
  auto operand = [&](mlir::Type type, mlir::Attribute shardOf, mlir::Attribute name, bool parameter,
                     const llvm::Twine &what) -> mlir::FailureOr<OperandInfo> {
    auto shard = llvm::dyn_cast_or_null<ShardOfAttr>(shardOf);
    if (!shard)
      return func.emitError() << what << " of an entry must be a tensor, got " << type, mlir::failure();
    OperandInfo o;
    if (auto text = llvm::dyn_cast_or_null<mlir::StringAttr>(name))
      o.name = text.str();
    o.whole = shard.getType();
    if (!dtypeOf(o.whole.getElementType()))
      return func.emitError() << what << " of an entry must have f64, f32, f16, bf16, i64, i32, i8 or i1 elements, got "
                              << o.whole,
             mlir::failure();
    o.local = mlir::cast<mlir::RankedTensorType>(type);
    o.sharding = shard.getSharding();
    o.parameter = parameter;
    return o;
  };
  for (auto [i, type] : llvm::enumerate(func.getArgumentTypes())) {
    auto o = operand(type, func.getArgAttr(i, kShardOf), func.getArgAttr(i, kName),
                     bool(func.getArgAttr(i, kParameter)), "argument " + llvm::Twine(i));
    if (mlir::failed(o))
      return mlir::failure();
    info.inputs.push_back(*o);
  }
  for (auto [i, type] : llvm::enumerate(func.getResultTypes())) {
    auto o = operand(type, func.getResultAttr(i, kShardOf), func.getResultAttr(i, kName), false,
                     "result " + llvm::Twine(i));
    if (mlir::failed(o))
      return mlir::failure();
    info.outputs.push_back(*o);
  }
  return info;
}

namespace {
class Emitter {
public:
  Emitter(llvm::Module &module, const ProgramInfo &info)
      : module(module), info(info), ctx(module.getContext()), pointer(llvm::PointerType::getUnqual(ctx)),
        i32(llvm::Type::getInt32Ty(ctx)), i64(llvm::Type::getInt64Ty(ctx)) {}

  llvm::GlobalVariable *program(llvm::Function *rank, llvm::Function *reference);
  llvm::Function *rankFunction();
  llvm::Function *referenceFunction(llvm::StringRef name);

private:
  Constant *c32(int64_t v) { return ConstantInt::get(i32, v, true); }
  Constant *c64(int64_t v) { return ConstantInt::get(i64, v, true); }
  Constant *null() { return llvm::ConstantPointerNull::get(pointer); }
  Constant *record(llvm::ArrayRef<Constant *> fields) { return llvm::ConstantStruct::getAnon(ctx, fields); }
  /// A private constant; null for nothing.
  Constant *global(Constant *value) {
    return new llvm::GlobalVariable(module, value->getType(), true, llvm::GlobalValue::PrivateLinkage, value,
                                    ".ringconv");
  }
  Constant *text(llvm::StringRef s) { return global(llvm::ConstantDataArray::getString(ctx, s)); }
  Constant *array(llvm::ArrayRef<Constant *> values) {
    if (values.empty())
      return null();
    return global(llvm::ConstantArray::get(llvm::ArrayType::get(values[0]->getType(), values.size()), values));
  }
  Constant *numbers64(llvm::ArrayRef<int64_t> values) {
    return values.empty() ? null() : global(llvm::ConstantDataArray::get(ctx, values));
  }
  Constant *axes(llvm::ArrayRef<int64_t> values) {
    llvm::SmallVector<int32_t> narrow(values.begin(), values.end());
    return narrow.empty() ? null() : global(llvm::ConstantDataArray::get(ctx, llvm::ArrayRef<int32_t>(narrow)));
  }
  Constant *table(const halo::Table &table) {
    llvm::SmallVector<int64_t> flat;
    for (const halo::Run &run : table.runs)
      flat.append({run.begin, run.base, run.slope});
    return record({c64(table.runs.size()), numbers64(flat)});
  }
  Constant *cut(DimShardingAttr dim, int64_t size);
  Constant *operand(const OperandInfo &o);
  Constant *operands(llvm::ArrayRef<OperandInfo> list);
  Constant *mesh();
  Constant *op(unsigned i);
  Constant *cuda();
  void passMemref(llvm::IRBuilder<> &b, llvm::SmallVectorImpl<llvm::Value *> &args, llvm::Value *data,
                  mlir::RankedTensorType type, llvm::Value *context, int64_t operand);

  llvm::Module &module;
  const ProgramInfo &info;
  llvm::LLVMContext &ctx;
  llvm::PointerType *pointer;
  llvm::Type *i32, *i64;
};
} // namespace

Constant *Emitter::cut(DimShardingAttr dim, int64_t size) {
  llvm::SmallVector<int64_t> positions;
  for (mlir::StringAttr name : dim.getAxes())
    positions.push_back(info.mesh.axisIndex(name.getValue()));
  halo::Table bounds = dim.isCut() ? halo::Table::of(cutsOf(dim, size, info.mesh).bounds) : halo::Table();
  return record({c32(positions.size()), axes(positions), table(bounds)});
}

Constant *Emitter::operand(const OperandInfo &o) {
  llvm::SmallVector<Constant *> cuts;
  for (auto [dim, size] : llvm::zip(o.sharding.getDims(), o.whole.getShape()))
    cuts.push_back(cut(dim, size));
  return record({o.name.empty() ? null() : text(o.name), c32(*dtypeOf(o.whole.getElementType())), c32(o.whole.getRank()),
                 numbers64(o.whole.getShape()), array(cuts), c32(o.parameter ? RINGCONV_PARAMETER : 0)});
}

Constant *Emitter::operands(llvm::ArrayRef<OperandInfo> list) {
  llvm::SmallVector<Constant *> values;
  for (const OperandInfo &o : list)
    values.push_back(operand(o));
  return array(values);
}

Constant *Emitter::mesh() {
  llvm::SmallVector<Constant *> names;
  for (mlir::StringAttr name : info.mesh.getAxes())
    names.push_back(text(name.getValue()));
  return record({c32(names.size()), array(names), numbers64(info.mesh.getExtents()),
                 numbers64(info.mesh.getDeviceIds())});
}

Constant *Emitter::op(unsigned i) {
  const WindowReport &window = info.report.windows[i];
  llvm::SmallVector<Constant *> dims;
  for (const WindowDimReport &d : window.dims)
    dims.push_back(record({c32(d.dim), c32(d.axes.size()), axes(d.axes), table(d.ownBegin), table(d.ownEnd),
                           table(d.needBegin), table(d.needEnd)}));
  int64_t exchange = i < info.exchangeOf.size() ? info.exchangeOf[i] : -1;
  return record({text(window.label), text(window.location), c32(exchange), c32(dims.size()), array(dims)});
}

Constant *Emitter::cuda() {
  if (!info.cuda)
    return null();
  llvm::SmallVector<Constant *> images, kernels, constants;
  for (const CudaInfo::Image &image : info.cuda->images)
    images.push_back(record({c32(image.arch), c32(image.isText), c64(image.bytes.size()),
                             global(llvm::ConstantDataArray::getString(ctx, image.bytes, /*AddNull=*/image.isText))}));
  for (const CudaInfo::Kernel &kernel : info.cuda->kernels)
    kernels.push_back(record({text(kernel.name), c32(kernel.sharedBytes)}));
  for (const std::string &name : info.cuda->constants) {
    llvm::GlobalVariable *data = module.getNamedGlobal(name);
    constants.push_back(record({data, c64(module.getDataLayout().getTypeAllocSize(data->getValueType()))}));
  }
  return global(record({c64(info.cuda->arenaBytes), c32(info.cuda->hasBoxes), c32(images.size()), c32(kernels.size()),
                        c32(constants.size()), c32(info.cuda->sums.size()),
                        c32(info.cuda->usesCudnn), array(images), array(kernels),
                        array(constants), numbers64(info.cuda->sums)}));
}

llvm::GlobalVariable *Emitter::program(llvm::Function *rank, llvm::Function *reference) {
  llvm::SmallVector<Constant *> ops;
  for (unsigned i = 0; i < info.report.windows.size(); ++i)
    ops.push_back(op(i));
  Constant *value = record({c32(RINGCONV_ABI_VERSION), text(info.entry), c64(info.hash), text(info.target),
                            text(info.cpuFeatures), mesh(), c32(info.inputs.size()), c32(info.outputs.size()),
                            c32(ops.size()), c32(info.numExchanges), operands(info.inputs), operands(info.outputs),
                            array(ops), rank, reference ? static_cast<Constant *>(reference) : null(), cuda()});
  return new llvm::GlobalVariable(module, value->getType(), true, llvm::GlobalValue::ExternalLinkage, value,
                                  info.entry + "_program");
}

/// A memref in MLIR's calling convention: base, aligned, offset, sizes, strides.
void Emitter::passMemref(llvm::IRBuilder<> &b, llvm::SmallVectorImpl<llvm::Value *> &args, llvm::Value *data,
                         mlir::RankedTensorType type, llvm::Value *context, int64_t operand) {
  args.append({data, data, b.getInt64(0)});
  llvm::SmallVector<llvm::Value *> sizes, strides(type.getRank());
  for (auto [d, size] : llvm::enumerate(type.getShape())) {
    if (!mlir::ShapedType::isDynamic(size)) {
      sizes.push_back(b.getInt64(size));
      continue;
    }
    auto extent = module.getOrInsertFunction("ringconv_rt_extent", i64, pointer, i64, i64);
    sizes.push_back(b.CreateCall(extent, {context, b.getInt64(operand), b.getInt64(d)}));
  }
  llvm::Value *stride = b.getInt64(1);
  for (int64_t d = type.getRank() - 1; d >= 0; --d) {
    strides[d] = stride;
    stride = b.CreateMul(stride, sizes[d]);
  }
  args.append(sizes);
  args.append(strides);
}

static llvm::Value *element(llvm::IRBuilder<> &b, llvm::Value *list, unsigned i, llvm::Type *pointer) {
  return b.CreateLoad(pointer, b.CreateConstGEP1_64(pointer, list, i));
}

llvm::Function *Emitter::rankFunction() {
  auto *type = llvm::FunctionType::get(i32, {pointer, pointer, pointer}, false);
  auto *f = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, info.entry + "_rank", module);
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(ctx, "entry", f));
  llvm::SmallVector<llvm::Value *> args{f->getArg(0)};
  for (auto [i, o] : llvm::enumerate(info.inputs))
    passMemref(b, args, element(b, f->getArg(1), i, pointer), o.local, f->getArg(0), i);
  for (auto [i, o] : llvm::enumerate(info.outputs))
    passMemref(b, args, element(b, f->getArg(2), i, pointer), o.local, f->getArg(0), info.inputs.size() + i);
  b.CreateRet(b.CreateCall(module.getFunction(info.entry), args));
  return f;
}

llvm::Function *Emitter::referenceFunction(llvm::StringRef name) {
  auto *type = llvm::FunctionType::get(i32, {pointer, pointer}, false);
  auto *f = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, info.entry + "_reference", module);
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(ctx, "entry", f));
  llvm::SmallVector<llvm::Value *> args;
  for (auto [i, o] : llvm::enumerate(info.inputs))
    passMemref(b, args, element(b, f->getArg(0), i, pointer), o.whole, nullptr, i);
  for (auto [i, o] : llvm::enumerate(info.outputs))
    passMemref(b, args, element(b, f->getArg(1), i, pointer), o.whole, nullptr, i);
  b.CreateRet(b.CreateCall(module.getFunction(name), args));
  return f;
}

void ringconv::emitProgram(llvm::Module &module, const ProgramInfo &info, llvm::StringRef reference) {
  Emitter emitter(module, info);
  llvm::Function *rank = emitter.rankFunction();
  llvm::Function *ref = reference.empty() ? nullptr : emitter.referenceFunction(reference);
  emitter.program(rank, ref);
  // The entry's own name is free for others, `main` above all.
  llvm::Function *local = module.getFunction(info.entry);
  local->setLinkage(llvm::GlobalValue::InternalLinkage);
  local->setName(info.entry + "_local");
  if (ref)
    module.getFunction(reference)->setLinkage(llvm::GlobalValue::InternalLinkage);
}
