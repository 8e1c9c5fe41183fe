// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shards of a rank in the memory of its (simulated) GPU.
#ifndef RINGCONV_TEST_RANDOMPROGRAMS_DEVICESHARDS_H
#define RINGCONV_TEST_RANDOMPROGRAMS_DEVICESHARDS_H

#include <cstdint>
#include <string>
#include <vector>

namespace randprog {

/// Programs of this process find gpusim's libraries, and enough GPUs.
std::string simulate();

class DeviceShards {
public:
  explicit DeviceShards(int64_t device) : device(device) {}
  ~DeviceShards();

  /// Copies of the arrays; an error, or nothing.
  std::string upload(const std::vector<std::vector<char>> &arrays);
  void *pointer(size_t i) const { return reinterpret_cast<void *>(memory[i]); }
  std::string download(size_t i, std::vector<char> &array) const;

private:
  int64_t device;
  bool current = false;
  std::vector<unsigned long long> memory;
};

} // namespace randprog

#endif
