// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Cache.h"
#include "Kernels.h"
#include "ringconv/Config.h"
#include "ringconv/Target/Version.h"

#include "mlir/Bytecode/BytecodeWriter.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SHA1.h"

#include <dlfcn.h>

using namespace mlir;
using namespace ringconv;

static std::string digestOf(StringRef bytes) {
  return llvm::toHex(llvm::SHA1::hash(llvm::arrayRefFromStringRef(bytes)), /*LowerCase=*/true);
}

// ===--------------------------------------------------------------------=== //
// Keys
// ===--------------------------------------------------------------------=== //

/// What changes when a file is built or installed anew.
static void addIdentity(llvm::raw_ostream &os, StringRef file) {
  llvm::sys::fs::file_status status;
  if (!llvm::sys::fs::status(file, status))
    os << status.getSize() << ' ' << status.getLastModificationTime().time_since_epoch().count() << '\n';
}

/// This compiler: a version alone does not tell two builds apart. It is in the
/// executable or in a library.
static void addCompiler(llvm::raw_ostream &os) {
  printVersion(os);
  addIdentity(os, llvm::sys::fs::getMainExecutable(nullptr, nullptr));
  Dl_info self;
  if (dladdr(reinterpret_cast<void *>(&printVersion), &self) && self.dli_fname)
    addIdentity(os, self.dli_fname);
}

static void addOptions(llvm::raw_ostream &os, const CompileOptions &o) {
  os << o.entry << '\n' << o.mesh << '\n' << o.target << '\n';
  for (bool flag : {o.machineCode, o.reference, o.vectorize, o.mergeHalos, o.overlap, o.alwaysOverlap,
                    o.countMultiplyAdds, o.quick})
    os << flag;
  os << '\n';
#if RINGCONV_ENABLE_CUDA
  if (o.target != "cuda")
    return;
  llvm::interleave(o.gpuArchs, os, " ");
  os << '\n' << o.localConv << ' ' << o.cudnnWorkspace << '\n';
  if (o.machineCode)
    addIdentity(os, findPtxas());
#endif
}

Cache::Cache(ModuleOp module, const CompileOptions &options, Form form, StringRef target)
    : loc(module.getLoc()), folder(options.cacheDir) {
  std::string text;
  llvm::raw_string_ostream os(text);
  addCompiler(os);
  os << target << '\n' << int(form) << '\n';
  addOptions(os, options);
  // With its locations, which the code's tables and messages hold. Into memory
  // it cannot fail.
  (void)writeBytecodeToFile(module, os);
  llvm::SmallString<128> file(folder);
  llvm::sys::path::append(file, digestOf(text) + ".ringconv");
  path = file.str();
}

// ===--------------------------------------------------------------------=== //
// Files: a line with the digest of the rest, a line of JSON, the object code
// ===--------------------------------------------------------------------=== //

static llvm::json::Value toJSON(const Message &m) {
  return llvm::json::Array{int64_t(m.severity), m.text, m.file, m.line, m.column};
}

static std::optional<Message> messageOf(const llvm::json::Value &value) {
  const llvm::json::Array *list = value.getAsArray();
  if (!list || list->size() != 5)
    return std::nullopt;
  auto severity = (*list)[0].getAsInteger(), line = (*list)[3].getAsInteger(), column = (*list)[4].getAsInteger();
  auto text = (*list)[1].getAsString(), file = (*list)[2].getAsString();
  if (!severity || !line || !column || !text || !file)
    return std::nullopt;
  return Message{DiagnosticSeverity(*severity), text->str(), file->str(), *line, *column};
}

static std::string contentOf(const CacheEntry &entry) {
  std::string content;
  llvm::raw_string_ostream os(content);
  llvm::json::Array messages;
  for (const Message &m : entry.messages)
    messages.push_back(toJSON(m));
  const ObjectCode &code = entry.code;
  os << llvm::json::Value(llvm::json::Object{{"entry", code.entry},
                                             {"header", code.header},
                                             {"report", code.report},
                                             {"cuts", llvm::json::Array(code.cuts)},
                                             {"messages", std::move(messages)}})
     << '\n'
     << code.bytes;
  return content;
}

/// Nothing for what contentOf did not write.
static std::optional<CacheEntry> entryOf(StringRef content) {
  auto [head, bytes] = content.split('\n');
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(head);
  if (!value)
    return llvm::consumeError(value.takeError()), std::nullopt;
  const llvm::json::Object *object = value->getAsObject();
  auto text = [&](StringRef key) { return object ? object->getString(key) : std::nullopt; };
  const llvm::json::Array *cuts = object ? object->getArray("cuts") : nullptr;
  const llvm::json::Array *messages = object ? object->getArray("messages") : nullptr;
  if (!text("entry") || !text("header") || !text("report") || !cuts || !messages)
    return std::nullopt;
  CacheEntry entry{{text("entry")->str(), bytes.str(), text("header")->str(), text("report")->str(), {}}, {}};
  for (const llvm::json::Value &cut : *cuts)
    entry.code.cuts.push_back(cut.getAsString().value_or("").str());
  for (const llvm::json::Value &value : *messages)
    if (std::optional<Message> message = messageOf(value))
      entry.messages.push_back(*message);
  return entry;
}

std::optional<CacheEntry> Cache::read() const {
  auto file = llvm::MemoryBuffer::getFile(path);
  if (!file)
    return std::nullopt;
  auto [digest, content] = (*file)->getBuffer().split('\n');
  std::optional<CacheEntry> entry;
  if (digest == digestOf(content))
    entry = entryOf(content);
  if (!entry)
    emitWarning(loc) << path << ": damaged, compiled anew";
  return entry;
}

void Cache::write(const CacheEntry &entry) const {
  std::string content = contentOf(entry);
  auto keep = [&]() -> llvm::Error {
    if (std::error_code error = llvm::sys::fs::create_directories(folder))
      return llvm::errorCodeToError(error);
    auto file = llvm::sys::fs::TempFile::create(path + ".%%%%%%%%");
    if (!file)
      return file.takeError();
    llvm::raw_fd_ostream os(file->FD, /*shouldClose=*/false);
    os << digestOf(content) << '\n' << content;
    os.flush();
    if (std::error_code error = os.error()) {
      os.clear_error();
      return llvm::joinErrors(llvm::errorCodeToError(error), file->discard());
    }
    return file->keep(path);
  };
  if (llvm::Error error = keep())
    emitWarning(loc) << "cache " << folder
                     << " cannot be written, the program is not kept: " << toString(std::move(error));
}
