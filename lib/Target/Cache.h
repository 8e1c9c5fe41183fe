// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiled programs on disk, one file each, named by a digest of everything that
// went into it. Files appear whole and never change, so that any number of
// processes share a folder without locks; all of it may be deleted at any time.
#ifndef RINGCONV_LIB_TARGET_CACHE_H
#define RINGCONV_LIB_TARGET_CACHE_H

#include "ringconv/Target/ObjectCode.h"

#include "mlir/IR/Diagnostics.h"

namespace ringconv {

/// A diagnostic that is no error, without its context.
struct Message {
  mlir::DiagnosticSeverity severity;
  std::string text, file; ///< no file: no place
  int64_t line = 0, column = 0;
};

struct CacheEntry {
  ObjectCode code;
  std::vector<Message> messages; ///< of the compilation
};

class Cache {
public:
  /// The place of what `options` make of the module; `target` says for which
  /// machine. Made or not, the folder is options.cacheDir.
  Cache(mlir::ModuleOp module, const CompileOptions &options, Form form, llvm::StringRef target);

  /// Nothing where there is no file, and, with a warning, where it is damaged.
  std::optional<CacheEntry> read() const;
  /// A warning where the folder cannot be written.
  void write(const CacheEntry &entry) const;

private:
  mlir::Location loc;
  std::string folder, path;
};

} // namespace ringconv

#endif
