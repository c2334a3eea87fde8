// How much memory a run may take, whatever takes it: its records, the states of the timing engine, the events of the
// memory discipline.
#pragma once

#include <cstdint>

namespace autocomp {

// While it lives, allocations of this thread by the core's own code throw std::bad_alloc once those that are not freed
// yet come to more than `bytes` together. One at a time in a thread.
class MemoryLimit {
 public:
  explicit MemoryLimit(int64_t bytes);
  ~MemoryLimit();
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;

  void lift();  // from now on there is none
};

}  // namespace autocomp
