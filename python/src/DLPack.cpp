// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "DLPack.h"

#include <pybind11/stl.h>

#include <cstdint>
#include <cstring>
#include <vector>

namespace py = pybind11;

namespace {
struct Tensor {
  void *data;
  int32_t deviceType, deviceId;
  int32_t rank;
  uint8_t typeCode, bits;
  uint16_t lanes;
  int64_t *shape, *strides;
  uint64_t byteOffset;
};

struct ManagedTensor {
  Tensor tensor;
  void *context;
  void (*deleter)(ManagedTensor *self);
};
} // namespace

py::tuple dlpackView(py::capsule capsule) {
  if (!capsule.name() || std::strcmp(capsule.name(), "dltensor") != 0)
    throw py::value_error("expected an unused DLPack capsule");
  auto *managed = capsule.get_pointer<ManagedTensor>();
  const Tensor &t = managed->tensor;
  if (t.lanes != 1)
    throw py::value_error("DLPack elements with several lanes are not supported");
  std::vector<int64_t> shape(t.shape, t.shape + t.rank), strides(t.rank);
  int64_t stride = 1;
  for (int32_t d = t.rank - 1; d >= 0; --d) { // no strides: dense and row-major
    strides[d] = t.strides ? t.strides[d] : stride;
    stride *= shape[d];
  }
  // The name says that the capsule is used, so that only we free the tensor.
  PyCapsule_SetName(capsule.ptr(), "used_dltensor");
  py::capsule owner(managed, [](void *p) {
    auto *managed = static_cast<ManagedTensor *>(p);
    if (managed->deleter)
      managed->deleter(managed);
  });
  auto address = reinterpret_cast<std::uintptr_t>(t.data) + t.byteOffset;
  return py::make_tuple(address, shape, strides, t.typeCode, t.bits, t.deviceType, t.deviceId, owner);
}
