// The core's own operators new and delete count what they hand out. They are those of this library alone (it is linked
// with its own symbols first), and fall back on malloc like the usual ones, so that either may free what the other
// gave.
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

constexpr int64_t kNone = std::numeric_limits<int64_t>::max();
thread_local int64_t held = 0, limit = kNone;

int64_t size_of(void* memory) {
#ifdef __APPLE__
  return static_cast<int64_t>(malloc_size(memory));
#else
  return static_cast<int64_t>(malloc_usable_size(memory));
#endif
}

void* allocate(size_t bytes) {
  if (limit != kNone && (bytes > static_cast<size_t>(limit) || held + static_cast<int64_t>(bytes) > limit))
    throw std::bad_alloc();
  void* memory = std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) throw std::bad_alloc();
  if (limit != kNone) held += size_of(memory);
  return memory;
}

void release(void* memory) {
  if (memory != nullptr && limit != kNone) held -= size_of(memory);
  std::free(memory);
}

}  // namespace

MemoryLimit::MemoryLimit(int64_t bytes) {
  held = 0;
  limit = bytes;
}

MemoryLimit::~MemoryLimit() { lift(); }

void MemoryLimit::lift() { limit = kNone; }

}  // namespace autocomp

void* operator new(size_t bytes) { return autocomp::allocate(bytes); }
void* operator new[](size_t bytes) { return autocomp::allocate(bytes); }
void operator delete(void* memory) noexcept { autocomp::release(memory); }
void operator delete[](void* memory) noexcept { autocomp::release(memory); }
void operator delete(void* memory, size_t) noexcept { autocomp::release(memory); }
void operator delete[](void* memory, size_t) noexcept { autocomp::release(memory); }
