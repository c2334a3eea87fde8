// The core's own operators new and delete count what they hand out. They are those of this library alone (it is linked
// with its own symbols first), and fall back on malloc like the usual ones, so that either may free what the other
// gave. Types of more than the usual alignment would need the aligned forms too; the core has none.
#include "run/memory_limit.hpp"

#include <cstdlib>
#include <limits>
#include <new>
#ifdef __APPLE__
#include <malloc/malloc.h>
#else
#include <malloc.h>
#endif

namespace autocomp {
namespace {

constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();
thread_local int64_t held = 0, limit = kUnlimited;

int64_t size_of(void* memory) {
#ifdef __APPLE__
  return static_cast<int64_t>(malloc_size(memory));
#else
  return static_cast<int64_t>(malloc_usable_size(memory));
#endif
}

void* try_allocate(size_t bytes) noexcept {
  if (limit != kUnlimited && (bytes > static_cast<size_t>(limit) || held + static_cast<int64_t>(bytes) > limit))
    return nullptr;
  void* memory = std::malloc(bytes == 0 ? 1 : bytes);
  if (memory != nullptr && limit != kUnlimited) held += size_of(memory);
  return memory;
}

void* allocate(size_t bytes) {
  void* memory = try_allocate(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void release(void* memory) {
  if (memory != nullptr && limit != kUnlimited) held -= size_of(memory);
  std::free(memory);
}

}  // namespace

MemoryLimit::MemoryLimit(int64_t bytes) {
  held = 0;
  limit = bytes;
}

MemoryLimit::~MemoryLimit() { lift(); }

void MemoryLimit::lift() { limit = kUnlimited; }

}  // namespace autocomp

void* operator new(size_t bytes) { return autocomp::allocate(bytes); }
void* operator new[](size_t bytes) { return autocomp::allocate(bytes); }
void* operator new(size_t bytes, const std::nothrow_t&) noexcept { return autocomp::try_allocate(bytes); }
void* operator new[](size_t bytes, const std::nothrow_t&) noexcept { return autocomp::try_allocate(bytes); }
void operator delete(void* memory) noexcept { autocomp::release(memory); }
void operator delete[](void* memory) noexcept { autocomp::release(memory); }
void operator delete(void* memory, size_t) noexcept { autocomp::release(memory); }
void operator delete[](void* memory, size_t) noexcept { autocomp::release(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { autocomp::release(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { autocomp::release(memory); }
