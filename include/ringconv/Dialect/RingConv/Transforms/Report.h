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

/// A tensor that comes to lie otherwise.
struct MoveReport {
  TensorReport from, to;
};

/// One operation, what its operands go through before it, and the sum of its
/// partial results.
struct StepReport {
  std::string label, location;
  double work = 0;                   ///< of the whole program: multiply-adds, or else values computed
  std::vector<TensorReport> tensors; ///< operands as they are needed, then results as they are computed
  std::vector<MoveReport> moves;
  std::vector<int64_t> reduceAxes; ///< of the mesh: results are summed over them
  int64_t results = 0;             ///< how many of the tensors
  int64_t window = -1;             ///< of FuncReport::windows, with its exchange
};

/// A value and the steps that make it and that read it last.
struct ValueReport {
  TensorReport tensor;
  int64_t begin, end;
};

/// Entry i belongs to the operations with attribute `report = i`.
struct FuncReport {
  std::vector<std::string> axes; ///< of the mesh
  std::vector<int64_t> extents;
  std::vector<WindowReport> windows;
  bool wantsSteps = false;         ///< for prices: the next two, which take time on large meshes
  std::vector<StepReport> steps;   ///< in the order of the program
  std::vector<ValueReport> values; ///< arguments and results of the function live throughout
};

struct PartitionReport {
  bool wantsSteps = false; ///< set by who wants FuncReport::steps
  std::map<std::string, FuncReport> functions; ///< by name
};

} // namespace ringconv

#endif
