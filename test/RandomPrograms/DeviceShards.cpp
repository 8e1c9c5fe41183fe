// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "DeviceShards.h"

#include <cstdlib>

extern "C" {
#include "cuda/Driver.h"
}

using namespace randprog;

/// As many as the largest mesh that is drawn has ranks.
static constexpr const char *kDevices = "64";

std::string randprog::simulate() {
  char text[RCRT_TEXT];
  setenv("GPUSIM_DEVICES", kDevices, 0);
  return rcrt_cuda_simulate(text) ? "" : text;
}

static std::string error(const char *call, CUresult status) {
  return status ? std::string(call) + ": status " + std::to_string(status) : "";
}

DeviceShards::~DeviceShards() {
  for (CUdeviceptr data : memory)
    cuMemFree_v2(data);
  CUcontext before;
  if (!current)
    return;
  cuCtxPopCurrent_v2(&before);
  cuDevicePrimaryCtxRelease_v2(CUdevice(device));
}

std::string DeviceShards::upload(const std::vector<std::vector<char>> &arrays) {
  CUcontext context;
  CUresult status = cuDevicePrimaryCtxRetain(&context, CUdevice(device));
  if (!status)
    status = cuCtxPushCurrent_v2(context);
  current = !status;
  for (const std::vector<char> &array : arrays) {
    if (status)
      break;
    CUdeviceptr data = 0;
    status = cuMemAlloc_v2(&data, array.size());
    if (status)
      break;
    memory.push_back(data);
    status = cuMemcpyHtoDAsync_v2(data, array.data(), array.size(), nullptr);
  }
  if (!status)
    status = cuStreamSynchronize(nullptr);
  return error("upload", status);
}

std::string DeviceShards::download(size_t i, std::vector<char> &array) const {
  CUresult status = cuMemcpyDtoHAsync_v2(array.data(), memory[i], array.size(), nullptr);
  if (!status)
    status = cuStreamSynchronize(nullptr);
  return error("download", status);
}
