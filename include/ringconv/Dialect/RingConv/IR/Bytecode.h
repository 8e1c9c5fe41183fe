// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RINGCONV_DIALECT_RINGCONV_IR_BYTECODE_H
#define RINGCONV_DIALECT_RINGCONV_IR_BYTECODE_H

#include <cstdint>

namespace ringconv {
class RingConvDialect;

/// Written into every bytecode file. What an older version wrote is read by
/// every newer one of the same major number: minor grows when an operation or
/// attribute gets something new, major when old files cannot be read any more.
inline constexpr uint64_t kBytecodeMajor = 1, kBytecodeMinor = 0;

void addBytecodeInterface(RingConvDialect &dialect);

} // namespace ringconv

#endif
