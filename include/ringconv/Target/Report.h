// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RINGCONV_TARGET_REPORT_H
#define RINGCONV_TARGET_REPORT_H

#include "ringconv/Target/Compiler.h"

#include "llvm/Support/raw_ostream.h"

namespace ringconv {

/// JSON: per windowed operation its label and location, and per cut dimension
/// and part the owned and the needed interval.
void writeReport(llvm::raw_ostream &os, const CompiledProgram &program);

} // namespace ringconv

#endif
