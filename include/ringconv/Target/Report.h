// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RINGCONV_TARGET_REPORT_H
#define RINGCONV_TARGET_REPORT_H

#include "ringconv/Dialect/RingConv/Transforms/Report.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

namespace ringconv {

/// JSON: per windowed operation its label and location, and per cut dimension
/// and part the owned and the needed interval; with `costs`, also what every
/// operation is predicted to cost.
void writeReport(llvm::raw_ostream &os, llvm::StringRef entry, const FuncReport &report, bool costs = false);

} // namespace ringconv

#endif
