// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device memory. Device addresses are a reserved range without access rights,
// so that host code which dereferences a device pointer fails at once; the
// bytes themselves lie at another place. Every byte of an allocation has a
// bit that says whether it was ever written. Freed ranges are never handed
// out again while fresh addresses last, so that a stale pointer is recognised.
#ifndef GPUSIM_PTX_MEMORY_H
#define GPUSIM_PTX_MEMORY_H

#include <cstdint>
#include <map>
#include <memory>
#include <shared_mutex>
#include <string>

namespace gpusim {

struct Allocation {
  uint64_t id = 0;
  uint64_t base = 0, size = 0;
  uint8_t *data = nullptr;  ///< host address of the first byte
  uint8_t *valid = nullptr; ///< one bit per byte; null: all count as written
  int device = -1;          ///< -1: host memory
  bool freed = false;
  std::string name;      ///< variable name, or empty
  void *owner = nullptr; ///< memory pool, for the driver

  uint64_t end() const { return base + size; }
  std::string describe() const;
};

using AllocationRef = std::shared_ptr<Allocation>;

class MemorySpace {
public:
  static MemorySpace &get();

  /// A new allocation with unwritten, poisoned content; null if the address
  /// space is exhausted. Capacity limits are the driver's business.
  AllocationRef allocate(uint64_t size, int device, uint64_t align = 256, const std::string &name = "");
  /// Pinned host memory: host and device address are equal, all bytes count as
  /// written because host stores cannot be seen.
  AllocationRef adoptHost(void *ptr, uint64_t size);
  /// Marks an allocation freed and gives its pages back to the host.
  void release(const AllocationRef &a);

  /// The allocation, live or freed, that contains `addr`; null if none.
  AllocationRef find(uint64_t addr) const;
  /// The live allocation that contains [addr, addr+size), or null.
  AllocationRef findRange(uint64_t addr, uint64_t size) const;
  /// Words for a report: which allocation is missed, and by how much.
  std::string explain(uint64_t addr, uint64_t size) const;

  static void setValid(Allocation &a, uint64_t addr, uint64_t size, bool v);
  static bool isValid(const Allocation &a, uint64_t addr, uint64_t size);
  static void copyValid(Allocation &dst, uint64_t to, const Allocation &src, uint64_t from, uint64_t size);

  static constexpr uint8_t poison = 0xcb;

private:
  MemorySpace();

  mutable std::shared_mutex mutex;
  std::map<uint64_t, AllocationRef> byBase;
  uint64_t arena = 0, arenaSize = 0, nextOffset = 0, nextId = 1;
  uint8_t *storage = nullptr, *validBits = nullptr;
};

} // namespace gpusim

#endif // GPUSIM_PTX_MEMORY_H
