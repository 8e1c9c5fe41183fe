// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "DriverCalls.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace ringconv;

Value DriverCalls::i32(int64_t v) { return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(v)); }

Value DriverCalls::stream(Stream which) {
  return call("ringconv_cuda_stream", {context, i64(int64_t(which))}, pointer);
}

Value DriverCalls::text(StringRef text) {
  LLVM::GlobalOp &global = texts[text];
  if (!global) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    std::string zeroEnded = text.str() + '\0', name;
    do
      name = "ringconv_text_" + std::to_string(nextText++);
    while (module.lookupSymbol(name));
    auto type = LLVM::LLVMArrayType::get(b.getI8Type(), zeroEnded.size());
    global = LLVM::GlobalOp::create(b, module.getLoc(), type, /*isConstant=*/true, LLVM::Linkage::Internal, name,
                                    b.getStringAttr(zeroEnded));
  }
  return LLVM::AddressOfOp::create(b, loc, global);
}

/// "file:line:column", or where it was inlined from.
static std::string placeOf(Location loc) {
  if (auto file = loc->findInstanceOf<FileLineColLoc>())
    return (file.getFilename().getValue() + ":" + Twine(file.getLine()) + ":" + Twine(file.getColumn())).str();
  return "unknown location";
}

Value DriverCalls::place() { return text(placeOf(loc)); }

void DriverCalls::status(StringRef name, ArrayRef<Value> args) {
  Value result = call(name, args, b.getI32Type());
  call("ringconv_cuda_check", {context, result, text(name), place()}, b.getI32Type());
}

void DriverCalls::lowerMark(MarkOp op) {
  call("ringconv_cuda_mark", {context, i64(op.getReport()), i32(op.getEnd())}, b.getI32Type());
}
