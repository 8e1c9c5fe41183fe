// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Contexts, diagnostics, versions, bytes.
#include "CAPI.h"

#include "ringconv/Pipelines/Pipelines.h"
#include "ringconv/Target/Version.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/InitAllPasses.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>
#include <mutex>

using namespace mlir;

static DialectRegistry makeRegistry() {
  static std::once_flag once;
  std::call_once(once, [] {
    registerAllPasses();
    ringconv::registerPasses();
    ringconv::registerPipelines();
  });
  DialectRegistry registry;
  ringconv::registerDialects(registry);
  return registry;
}

RingConvContext::RingConvContext() : mlir(makeRegistry()) {
  mlir.printOpOnDiagnostic(false);
  mlir.getDiagEngine().registerHandler([this](Diagnostic &diagnostic) {
    record(diagnostic, static_cast<int32_t>(diagnostic.getSeverity()));
    for (Diagnostic &note : diagnostic.getNotes())
      record(note, RINGCONV_DIAG_NOTE);
    return success();
  });
}

void RingConvContext::record(Diagnostic &diagnostic, int32_t severity) {
  add(severity, diagnostic.str(), diagnostic.getLocation());
}

void RingConvContext::add(int32_t severity, StringRef text, Location loc) {
  RingConvDiagnostic d{severity, texts.emplace_back(text).c_str(), "", 0, 0};
  if (auto place = loc->findInstanceOf<FileLineColLoc>()) {
    d.file = texts.emplace_back(place.getFilename().getValue()).c_str();
    d.line = place.getLine();
    d.column = place.getColumn();
  }
  diagnostics.push_back(d);
  if (handler)
    handler(&d, handlerData);
}

int32_t RingConvContext::refuse(const Twine &text) {
  add(RINGCONV_DIAG_ERROR, text.str(), UnknownLoc::get(&mlir));
  return RINGCONV_REFUSED;
}

static_assert(int(DiagnosticSeverity::Note) == RINGCONV_DIAG_NOTE &&
              int(DiagnosticSeverity::Warning) == RINGCONV_DIAG_WARNING &&
              int(DiagnosticSeverity::Error) == RINGCONV_DIAG_ERROR &&
              int(DiagnosticSeverity::Remark) == RINGCONV_DIAG_REMARK);

uint32_t ringconvVersion(void) { return RINGCONV_C_VERSION_MAJOR << 16 | RINGCONV_C_VERSION_MINOR; }

const char *ringconvVersionText(void) {
  try {
    static const std::string text = [] {
      std::string text;
      llvm::raw_string_ostream os(text);
      ringconv::printVersion(os);
      return text;
    }();
    return text.c_str();
  } catch (...) {
    return "";
  }
}

void ringconvBytesFree(RingConvBytes bytes) { std::free(bytes.data); }

RingConvContext *ringconvContextCreate(void) {
  try {
    return new RingConvContext;
  } catch (...) {
    return nullptr;
  }
}

void ringconvContextDestroy(RingConvContext *context) { delete context; }

int64_t ringconvContextNumDiagnostics(const RingConvContext *context) { return context->diagnostics.size(); }

static constexpr RingConvDiagnostic nothing = {RINGCONV_DIAG_NOTE, "", "", 0, 0};

RingConvDiagnostic ringconvContextDiagnostic(const RingConvContext *context, int64_t index) {
  return index >= 0 && index < int64_t(context->diagnostics.size()) ? context->diagnostics[index] : nothing;
}

RingConvDiagnostic ringconvContextError(const RingConvContext *context) {
  auto isError = [](const RingConvDiagnostic &d) { return d.severity == RINGCONV_DIAG_ERROR; };
  auto found = llvm::find_if(context->diagnostics, isError);
  return found == context->diagnostics.end() ? nothing : *found;
}

void ringconvContextSetDiagnosticHandler(RingConvContext *context, RingConvDiagnosticHandler handler, void *data) {
  context->handler = handler;
  context->handlerData = data;
}
