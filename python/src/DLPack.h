// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads arrays that other libraries hand over by DLPack. The structures are
// those of its stable ABI (dmlc/dlpack, version 0.x: "dltensor" capsules).
#ifndef RINGCONV_PYTHON_SRC_DLPACK_H
#define RINGCONV_PYTHON_SRC_DLPACK_H

#include <pybind11/pybind11.h>

/// (address, shape, strides in elements, type code, bits, device type, device
/// number) of an unused capsule, and a capsule that keeps the memory alive.
pybind11::tuple dlpackView(pybind11::capsule capsule);

#endif
