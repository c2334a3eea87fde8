#include "timing/cache.hpp"

#include <algorithm>

#include "timing/command.hpp"

namespace autocomp::timing {

Lines Cache::move(const AccessInstance& access, int64_t address) {
  Lines lines{.per_row = (access.bytes + 2 * line_ - 2) / line_};
  const int64_t rows = points(access);
  lines.states.resize(static_cast<size_t>(rows * lines.per_row));
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t begin = address + row_at(access, row) - access.base, end = begin + access.bytes;
    const int64_t first = begin / line_;
    for (int64_t number = first; number * line_ < end; ++number) {
      const bool whole = number * line_ >= begin && (number + 1) * line_ <= end;
      lines.states[static_cast<size_t>(row * lines.per_row + number - first)] = use(number, access.write, whole);
    }
  }
  return lines;
}

// A line that is written as a whole need not be fetched.
uint8_t Cache::use(int64_t number, bool write, bool whole) {
  uint8_t state = 0;
  if (const auto known = places_.find(number); known != places_.end()) {
    held_.splice(held_.begin(), held_, known->second);
  } else {
    if (!write || !whole) state |= Lines::kFetched;
    if (held_.size() == lines_) {
      if (held_.back().changed) state |= Lines::kWrittenBack;
      places_.erase(held_.back().number);
      held_.pop_back();
    }
    held_.push_front({number, false});
    places_[number] = held_.begin();
  }
  held_.front().changed = held_.front().changed || write;
  return state;
}

}  // namespace autocomp::timing
