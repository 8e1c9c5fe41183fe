// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What ringconv-partition tells about the program it made, for reports and for
// the run-time table: one entry per operation with a window.
#ifndef RINGCONV_DIALECT_RINGCONV_TRANSFORMS_REPORT_H
#define RINGCONV_DIALECT_RINGCONV_TRANSFORMS_REPORT_H

#include "ringconv/Halo/Mesh.h"
#include <map>
#include <string>
#include <vector>

namespace ringconv {

/// One cut dimension of a windowed operation; tables are functions of the part
/// number of `axes` (positions in the mesh, major first).
struct WindowDimReport {
  int64_t dim, parts;
  std::vector<int64_t> axes;
  halo::Table ownBegin, ownEnd, needBegin, needEnd;
};

/// A whole tensor and how it lies on the mesh.
struct TensorReport {
  std::vector<int64_t> shape;
  std::string elementType;
  std::vector<halo::MeshDim> dims; ///< one per dimension
  int64_t elementBytes = 0;
};

struct WindowReport {
  std::string label, location;
  bool exchanges = false;
  std::vector<WindowDimReport> dims;
  TensorReport input, result;
  int64_t exchangedBytes = 0;              ///< per element: of the input and what travels with it
  std::vector<halo::ExchangeDim> exchange; ///< of the input, for this operation
};

/// Entry i belongs to the operations with attribute `report = i`.
struct FuncReport {
  std::vector<std::string> axes; ///< of the mesh
  std::vector<int64_t> extents;
  std::vector<WindowReport> windows;
};

struct PartitionReport {
  std::map<std::string, FuncReport> functions; ///< by name
};

} // namespace ringconv

#endif
