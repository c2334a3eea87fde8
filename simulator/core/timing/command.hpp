// A command as timing sees it, from its allocation in a unit's pool to its completion.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "semantics/operation.hpp"
#include "timing/archive.hpp"
#include "timing/cache.hpp"
#include "timing/settings.hpp"
#include "timing/timing.hpp"

namespace autocomp::timing {

struct Range {  // rows [first, last) of a memory
  int32_t memory = -1;
  bool write = false;
  int64_t first = 0, last = 0;
};

constexpr size_t kMaxRanges = 8;
constexpr size_t kMaxDemands = 4;

struct Demand {  // of the bandwidth of a local memory
  int32_t memory = -1;
  int64_t bytes = 0;
};
constexpr size_t kMaxReads = 4;

struct Command {
  Role role = Role::Work;
  Cause hazard = Cause::ReadAfterWrite;
  uint32_t range_count = 0;
  std::array<Range, kMaxRanges> ranges{};  // the first range_count of them
  uint32_t replaced = 0;                   // bit i: a later write has renamed the rows that ranges[i] writes
  int32_t sender = -1;                     // the unit that sent it, or -1: the host
  std::array<int64_t, kKeys> values{};
  std::array<AccessInstance, kMaxReads> reads{};  // operands in local memory, in order; the first read_count of them
  size_t read_count = 0;
  std::array<Demand, kMaxDemands> demands{};  // the first demand_count of them
  size_t demand_count = 0;
  std::optional<AccessInstance> write;  // local memory written
  std::optional<AccessInstance> dram;
  size_t home = 0;                       // the memory of tensors that it accesses
  Lines lines;                           // … and what its cache does
  Page page = Page::Other;               // on which the access of main memory begins
  bool accumulate = false;               // the write reads the old value
  std::optional<AccessInstance> result;  // preload: the write of its multiply, which this command owns
  int64_t host_cycles = 0;               // of the host's code in front of it
  CommandTiming times;
  int64_t operation = -1;  // its number
  int32_t id = -1;         // among the distinct commands; -1: none

  [[nodiscard]] int64_t value(Key key) const { return values[static_cast<size_t>(key)]; }
};

// Far more than any memory has, and far from the ends of int64.
constexpr int64_t kMostPoints = int64_t{1} << 36;

[[nodiscard]] inline int64_t points(const AccessInstance& access) {
  if (access.dims == 0) return 1;
  int64_t n = std::min(access.count[0], kMostPoints);
  for (int d = 1; d < access.dims; ++d) n = access.count[d] > kMostPoints / n ? kMostPoints : n * access.count[d];
  return n;
}

// Row of an access's i-th point, outermost dimension first.
[[nodiscard]] inline int64_t row_at(const AccessInstance& access, int64_t i) {
  int64_t row = access.base;
  for (int d = access.dims - 1; d > 0; --d) {
    row += (i % access.count[d]) * access.stride[d];
    i /= access.count[d];
  }
  return access.dims > 0 ? row + i * access.stride[0] : row;
}

// The number of the page, from the first one on, of a byte of an access that begins `offset` bytes into its page.
[[nodiscard]] inline int64_t page_of(int64_t offset, int64_t page) { return page > 0 ? offset / page : 0; }

// Numbers for the pages of main memory that a unit's commands access, one after the other.
class PageNumbers {
 public:
  static constexpr int64_t kOrigin = int64_t{1} << 40;  // of a page before all that are accessed
  // The number of the page on which a command begins. It ends `last` pages further on.
  int64_t begin(Page page, int64_t last) {
    const int64_t first = page == Page::Last ? last_ : page == Page::BeforeLast ? before_ : newest_ + 1;
    if (last != 0 || first != last_) before_ = last != 0 ? first : last_;
    last_ = first + last;
    newest_ = std::max(newest_, last_);
    return first;
  }
  [[nodiscard]] int64_t newest() const { return newest_; }
  void archive(Archive& archive) {
    if (!archive.saves()) newest_ = kOrigin;
    for (int64_t* number : {&last_, &before_}) relative(archive, *number);
  }
  // A number that follows from these.
  void relative(Archive& archive, int64_t& number) const {
    int64_t distance = newest_ - number;
    archive.value(distance);
    number = newest_ - distance;
  }

 private:
  int64_t newest_ = kOrigin, last_ = kOrigin, before_ = kOrigin - 1;
};

}  // namespace autocomp::timing
