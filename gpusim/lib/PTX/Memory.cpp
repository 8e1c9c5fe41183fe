// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Memory.h"

#include <cstring>
#include <mutex>
#include <sys/mman.h>

using namespace gpusim;

static std::string hex(uint64_t v) {
  char text[24];
  snprintf(text, sizeof text, "0x%llx", (unsigned long long)v);
  return text;
}

std::string Allocation::describe() const {
  std::string text = device < 0 ? "host allocation" : "allocation";
  text += " #" + std::to_string(id);
  if (!name.empty())
    text += " '" + name + "'";
  text += " [" + hex(base) + ", " + hex(end()) + ") of " + std::to_string(size) + " bytes";
  if (device >= 0)
    text += " on device " + std::to_string(device);
  return text;
}

MemorySpace &MemorySpace::get() {
  static MemorySpace *space = new MemorySpace; // outlives every static user
  return *space;
}

static void *reserve(uint64_t size, int rights) {
  void *p = mmap(nullptr, size, rights, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return p == MAP_FAILED ? nullptr : p;
}

/// Takes as much address space as the process may have, at most 2 TiB.
MemorySpace::MemorySpace() {
  for (uint64_t size = 1ull << 41; size >= 1ull << 28; size /= 2) {
    void *addresses = reserve(size, PROT_NONE);
    void *bytes = reserve(size, PROT_READ | PROT_WRITE);
    void *bits = reserve(size / 8, PROT_READ | PROT_WRITE);
    if (addresses && bytes && bits) {
      arena = ((uint64_t)addresses + 4095) & ~4095ull;
      arenaSize = size - 4096;
      storage = (uint8_t *)bytes;
      validBits = (uint8_t *)bits;
      return;
    }
    if (addresses)
      munmap(addresses, size);
    if (bytes)
      munmap(bytes, size);
    if (bits)
      munmap(bits, size / 8);
  }
}

AllocationRef MemorySpace::allocate(uint64_t size, int device, uint64_t align, const std::string &name) {
  std::unique_lock<std::shared_mutex> lock(mutex);
  // A gap of at least a page keeps small overruns outside every allocation.
  if (align < 256)
    align = 256;
  uint64_t offset = (nextOffset + 4096 + align - 1) & ~(align - 1);
  if (size > arenaSize || offset > arenaSize - size)
    return nullptr;
  nextOffset = offset + ((size + 4095) & ~4095ull);
  auto a = std::make_shared<Allocation>();
  a->id = nextId++;
  a->base = arena + offset;
  a->size = size;
  a->data = storage + offset;
  a->valid = validBits + offset / 8;
  a->device = device;
  a->name = name;
  // Fresh pages are zero; only modest sizes are poisoned by value, since the
  // bit per byte finds the reads anyway.
  if (size <= 1u << 22)
    memset(a->data, poison, size);
  byBase[a->base] = a;
  return a;
}

AllocationRef MemorySpace::adoptHost(void *ptr, uint64_t size) {
  std::unique_lock<std::shared_mutex> lock(mutex);
  auto a = std::make_shared<Allocation>();
  a->id = nextId++;
  a->base = (uint64_t)ptr;
  a->size = size;
  a->data = (uint8_t *)ptr;
  byBase[a->base] = a;
  return a;
}

void MemorySpace::release(const AllocationRef &a) {
  std::unique_lock<std::shared_mutex> lock(mutex);
  a->freed = true;
  if (a->device < 0) {
    byBase.erase(a->base); // the host will reuse the address
    return;
  }
  uint64_t pages = (a->size + 4095) & ~4095ull;
  uint64_t first = ((uint64_t)a->data + 4095) & ~4095ull;
  uint64_t last = ((uint64_t)a->data + pages) & ~4095ull;
  if (last > first)
    madvise((void *)first, last - first, MADV_DONTNEED);
  memset(a->valid, 0, (a->size + 7) / 8);
}

AllocationRef MemorySpace::find(uint64_t addr) const {
  std::shared_lock<std::shared_mutex> lock(mutex);
  auto it = byBase.upper_bound(addr);
  if (it == byBase.begin())
    return nullptr;
  --it;
  const AllocationRef &a = it->second;
  return addr < a->end() || (a->size == 0 && addr == a->base) ? a : nullptr;
}

AllocationRef MemorySpace::findRange(uint64_t addr, uint64_t size) const {
  AllocationRef a = find(addr);
  if (!a || a->freed || size > a->end() - addr)
    return nullptr;
  return a;
}

std::string MemorySpace::explain(uint64_t addr, uint64_t size) const {
  std::shared_lock<std::shared_mutex> lock(mutex);
  auto next = byBase.upper_bound(addr);
  auto prev = next == byBase.begin() ? byBase.end() : std::prev(next);
  if (prev != byBase.end() && addr < prev->second->end()) {
    const Allocation &a = *prev->second;
    if (a.freed)
      return "freed " + a.describe() + ", byte " + std::to_string(addr - a.base) + " (use after free)";
    return "crosses the end of " + a.describe();
  }
  uint64_t below = prev != byBase.end() ? addr - prev->second->end() : ~0ull;
  uint64_t above = next != byBase.end() ? next->first - addr : ~0ull;
  constexpr uint64_t near = 1ull << 30;
  (void)size;
  if (below <= above && below < near)
    return std::to_string(below) + " bytes past the end of " + std::string(prev->second->freed ? "freed " : "") +
           prev->second->describe();
  if (above < near)
    return std::to_string(above) + " bytes before " + std::string(next->second->freed ? "freed " : "") +
           next->second->describe();
  return addr < 4096 ? "null pointer" : "no allocation is near";
}

void MemorySpace::setValid(Allocation &a, uint64_t addr, uint64_t size, bool v) {
  if (!a.valid || !size)
    return;
  uint64_t first = addr - a.base, last = first + size; // bit numbers
  uint64_t firstByte = first / 8, lastByte = last / 8;
  uint8_t head = 0xff << (first % 8), tail = (1u << (last % 8)) - 1;
  auto apply = [&](uint64_t byte, uint8_t mask) {
    // Neighbouring bytes may be written by another worker.
    if (!mask)
      return;
    if (v)
      __atomic_fetch_or(a.valid + byte, mask, __ATOMIC_RELAXED);
    else
      __atomic_fetch_and(a.valid + byte, (uint8_t)~mask, __ATOMIC_RELAXED);
  };
  if (firstByte == lastByte)
    return apply(firstByte, head & tail);
  apply(firstByte, head);
  memset(a.valid + firstByte + 1, v ? 0xff : 0, lastByte - firstByte - 1);
  apply(lastByte, tail);
}

bool MemorySpace::isValid(const Allocation &a, uint64_t addr, uint64_t size) {
  if (!a.valid)
    return true;
  uint64_t bit = addr - a.base, end = bit + size;
  while (bit < end) {
    if (bit % 8 == 0 && end - bit >= 8) {
      if (a.valid[bit / 8] != 0xff)
        return false;
      bit += 8;
    } else {
      if (!(a.valid[bit / 8] >> (bit % 8) & 1))
        return false;
      ++bit;
    }
  }
  return true;
}

void MemorySpace::copyValid(Allocation &dst, uint64_t to, const Allocation &src, uint64_t from, uint64_t size) {
  if (!src.valid)
    return setValid(dst, to, size, true);
  if (!dst.valid)
    return;
  uint64_t d = to - dst.base, s = from - src.base;
  if (d % 8 == 0 && s % 8 == 0 && size % 8 == 0) {
    memmove(dst.valid + d / 8, src.valid + s / 8, size / 8);
    return;
  }
  for (uint64_t i = 0; i < size;) {
    bool v = src.valid[(s + i) / 8] >> ((s + i) % 8) & 1;
    uint64_t n = 1;
    while (i + n < size && bool(src.valid[(s + i + n) / 8] >> ((s + i + n) % 8) & 1) == v)
      ++n;
    setValid(dst, to + i, n, v);
    i += n;
  }
}
