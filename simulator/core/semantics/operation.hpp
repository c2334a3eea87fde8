// A decoded command: everything that timing and the memory discipline need to know of one issued instruction,
// with arguments and configuration state already folded in. Traces and kernels both become a stream of these, of which
// no more is kept than its readers still need.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "arithmetic/scalar.hpp"
#include "tables/typing.hpp"

namespace autocomp {

constexpr int kMaxDims = 3;

struct AccessInstance {
  int16_t memory = -1;
  bool write = false;
  bool accumulate_read = false;
  bool tracked = false;  // rows by which the machine tracks hazards, which are not accessed
  int8_t dims = 0;       // dimensions with stride 0 or count 1 are dropped
  int8_t parameter = -1;
  int32_t tensor = -1;  // DRAM only
  int64_t base = 0;     // first row; DRAM: byte offset in the tensor
  int64_t count[kMaxDims] = {1, 1, 1};
  int64_t stride[kMaxDims] = {0, 0, 0};
  int64_t first_col = 0, cols = 0;  // local memories
  int64_t bytes = 0;                // DRAM: contiguous bytes at each point

  // Rows (DRAM: bytes) [first, last) that enclose the access.
  [[nodiscard]] int64_t first() const {
    int64_t low = base;
    for (int d = 0; d < dims; ++d)
      if (stride[d] < 0) low += stride[d] * (count[d] - 1);
    return low;
  }
  [[nodiscard]] int64_t last() const {
    int64_t high = base + (bytes > 0 ? bytes : 1);
    for (int d = 0; d < dims; ++d)
      if (stride[d] > 0) high += stride[d] * (count[d] - 1);
    return high;
  }
};

// What commands read and write of a memory: elements of a local one, bytes of DRAM.
struct Traffic {
  int32_t memory = -1;
  int64_t read = 0, written = 0;
};

// Points of the access times what lies at each of them.
[[nodiscard]] inline int64_t amount_of(const AccessInstance& access) {
  int64_t amount = access.bytes > 0 ? access.bytes : access.cols;
  for (int d = 0; d < access.dims; ++d) amount = scalar::mul(amount, access.count[d]);
  return amount;
}

// Adds an access to the traffic of its memory.
inline void count_access(const AccessInstance& access, std::vector<Traffic>& traffic) {
  auto at = std::find_if(traffic.begin(), traffic.end(), [&](const Traffic& t) { return t.memory == access.memory; });
  if (at == traffic.end()) at = traffic.insert(at, Traffic{.memory = access.memory});
  int64_t& total = access.write ? at->written : at->read;
  total = scalar::add(total, amount_of(access));
}

// The page of main memory on which a unit's command begins, by those of its commands before.
enum class Page : uint8_t { Other, Last, BeforeLast };

struct Operation {
  int32_t instruction = -1;
  int32_t line = 0;         // source line, 0 for a trace without one
  int64_t host_cycles = 0;  // cycles the host needs between the previous command and this one, beyond issue itself
  uint32_t first_access = 0,
           access_count = 0;    // into OperationList::accesses; zero-sized and guarded-off ones left out
  uint32_t first_property = 0;  // into OperationList::properties, in the order of Instruction::properties
  int32_t sender = -1;          // the expander that sends it, or -1: the host does
  int32_t stream = -1;          // of the expander's, or -1
  int32_t plan = -1;            // operations with the same plan differ in where their accesses begin only; -1: unknown
  // Set by the timing engine.
  int64_t partner = -1;     // of a preload: the number of its multiply
  Page page = Page::Other;  // on which its access of main memory begins
};

// One command of a stream: its Emit statement and the values of the loop variables around it.
struct StreamCommand {
  int32_t statement = -1, stream = -1;
  int64_t operation = -1;  // its number
  std::array<int32_t, kMaxLoops> position{};
};

// A command that an expander takes, and those that it sends in its place. They stand in the list behind it, in an order
// that the awaits allow; with the streams timing finds the order in which they leave.
struct Expansion {
  int64_t operation = -1;               // the number of the command that expands
  std::vector<Value> arguments, state;  // with which the awaits are evaluated
  std::vector<std::vector<StreamCommand>> streams;
};

// Operations by number, from 0 on, of which those before `first` are forgotten.
struct OperationList {
  int64_t first = 0;
  std::vector<Operation> operations;
  std::vector<AccessInstance> accesses;
  std::vector<int64_t> properties;
  std::deque<Expansion> expansions;  // of those operations that expand

  [[nodiscard]] const Expansion& expansion(int64_t number) const {
    return *std::lower_bound(expansions.begin(), expansions.end(), number,
                             [](const Expansion& expansion, int64_t n) { return expansion.operation < n; });
  }
  [[nodiscard]] int64_t count() const { return first + static_cast<int64_t>(operations.size()); }
  [[nodiscard]] Operation& at(int64_t number) { return operations[static_cast<size_t>(number - first)]; }
  [[nodiscard]] const Operation& at(int64_t number) const { return operations[static_cast<size_t>(number - first)]; }
  [[nodiscard]] const AccessInstance* accesses_of(const Operation& operation) const {
    return accesses.data() + operation.first_access;
  }
  [[nodiscard]] const int64_t* properties_of(const Operation& operation) const {
    return properties.data() + operation.first_property;
  }
  void forget(int64_t before) {
    while (!expansions.empty() && expansions.front().operation < before) expansions.pop_front();
    if (before >= count()) {
      first = count();
      operations.clear();
      accesses.clear();
      properties.clear();
      return;
    }
    const Operation oldest = at(before);
    operations.erase(operations.begin(), operations.begin() + (before - first));
    accesses.erase(accesses.begin(), accesses.begin() + oldest.first_access);
    properties.erase(properties.begin(), properties.begin() + oldest.first_property);
    first = before;
    for (Operation& operation : operations) {
      operation.first_access -= oldest.first_access;
      operation.first_property -= oldest.first_property;
    }
  }
};

}  // namespace autocomp
