// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elements of a picture, as text. Lengths are SVG user units.
#ifndef RINGCONV_LIB_DRAW_SVG_H
#define RINGCONV_LIB_DRAW_SVG_H

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/raw_ostream.h"
#include <string>

namespace ringconv::draw {

/// Rank colours in the style sheet: classes r0 .. r7.
inline constexpr int64_t numColours = 8;

class Svg {
public:
  /// `title` is what a pointer that rests on the element shows.
  void rect(double x, double y, double width, double height, const llvm::Twine &styles, const llvm::Twine &title = "");
  void line(double x1, double y1, double x2, double y2, llvm::StringRef styles);
  /// From the first point to the second, with a head; faint ones may cross other elements.
  void arrow(double x1, double y1, double x2, double y2, bool faint);
  /// anchor: start, middle or end.
  void text(double x, double y, const llvm::Twine &text, llvm::StringRef styles, llvm::StringRef anchor = "start");
  /// A group of elements moved down by `y`.
  void group(double y, llvm::StringRef elements);
  const std::string &elements() const { return body; }

private:
  std::string body;
  llvm::raw_string_ostream os{body};
};

std::string escape(llvm::StringRef text);
/// `17 B`, `3.5 KiB`; short: `3.5K`.
std::string bytesText(double bytes, bool brief = false);
std::string plural(int64_t count, llvm::StringRef noun);

/// <svg> with a style sheet of its own around `elements`. `title` is for those
/// who cannot see it.
std::string document(double width, double height, llvm::StringRef title, llvm::StringRef elements);
/// Variables of light and dark mode, for `selector`; pages and pictures share them.
std::string colours(llvm::StringRef selector);

} // namespace ringconv::draw

#endif
