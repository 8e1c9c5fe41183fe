// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RINGCONV_LIB_TARGET_TEMPORARYFILE_H
#define RINGCONV_LIB_TARGET_TEMPORARYFILE_H

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Signals.h"

namespace ringconv {

/// Makes and opens a file that only its user may read, at a name that nobody can
/// have put a link at: `%`s of `model` become random digits.
inline std::error_code createPrivateFile(const llvm::Twine &model, int &fd, llvm::SmallVectorImpl<char> &path) {
  namespace fs = llvm::sys::fs;
  return fs::createUniqueFile(model, fd, path, fs::OF_None, fs::owner_read | fs::owner_write);
}

/// The same among the system's temporary files. On failure `path` is their folder.
inline std::error_code createPrivateTemporary(llvm::StringRef suffix, int &fd, llvm::SmallVectorImpl<char> &path) {
  llvm::SmallString<128> model;
  llvm::sys::path::system_temp_directory(/*ErasedOnReboot=*/true, model);
  llvm::SmallString<128> folder(model);
  llvm::sys::path::append(model, "ringconv-%%%%%%%%%%%%." + suffix);
  std::error_code error = createPrivateFile(model, fd, path);
  if (error)
    path.assign(folder.begin(), folder.end());
  return error;
}

/// An existing file that goes with this object, or with a signal that ends the
/// process, unless it has been renamed.
class TemporaryFile {
public:
  explicit TemporaryFile(llvm::StringRef path) : path(path) { llvm::sys::RemoveFileOnSignal(path); }
  TemporaryFile(const TemporaryFile &) = delete;
  TemporaryFile &operator=(const TemporaryFile &) = delete;
  ~TemporaryFile() {
    llvm::sys::fs::remove(path);
    llvm::sys::DontRemoveFileOnSignal(path);
  }

private:
  llvm::SmallString<128> path;
};

} // namespace ringconv

#endif
