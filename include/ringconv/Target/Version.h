// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RINGCONV_TARGET_VERSION_H
#define RINGCONV_TARGET_VERSION_H

#include "llvm/Support/raw_ostream.h"

namespace ringconv {

/// Version, commit, LLVM, and what was found when this was built: the text of
/// every tool's --version.
void printVersion(llvm::raw_ostream &os);

} // namespace ringconv

#endif
