// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The dialect's version in MLIR bytecode. Attributes and types are stored as
// text and operations by their properties, both upstream's ways; the version
// says whose text it is.
#include "ringconv/Dialect/RingConv/IR/Bytecode.h"
#include "ringconv/Dialect/RingConv/IR/RingConv.h"

#include "mlir/Bytecode/BytecodeImplementation.h"

using namespace mlir;
using namespace ringconv;

namespace {
struct Version : DialectVersion {
  Version(uint64_t major, uint64_t minor) : major(major), minor(minor) {}
  uint64_t major, minor;
};

struct BytecodeInterface : BytecodeDialectInterface {
  BytecodeInterface(Dialect *dialect) : BytecodeDialectInterface(dialect) {}

  void writeVersion(DialectBytecodeWriter &writer) const override {
    writer.writeVarInt(kBytecodeMajor);
    writer.writeVarInt(kBytecodeMinor);
  }

  std::unique_ptr<DialectVersion> readVersion(DialectBytecodeReader &reader) const override {
    uint64_t major, minor;
    if (failed(reader.readVarInt(major)) || failed(reader.readVarInt(minor)))
      return nullptr;
    if (std::pair(major, minor) > std::pair<uint64_t, uint64_t>(kBytecodeMajor, kBytecodeMinor)) {
      reader.emitError() << "ringconv bytecode of version " << major << "." << minor << ", this build reads up to "
                         << kBytecodeMajor << "." << kBytecodeMinor;
      return nullptr;
    }
    return std::make_unique<Version>(major, minor);
  }
};
} // namespace

void ringconv::addBytecodeInterface(RingConvDialect &dialect) { dialect.addInterfaces<BytecodeInterface>(); }
