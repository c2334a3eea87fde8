// A cache in front of a memory of tensors: it holds whole lines, those used least recently make room, and changed ones
// are written back then. What it holds follows from the order of commands alone, so that kernels are not judged by
// where tensors happen to lie: any line may be anywhere.
#pragma once

#include <cstdint>
#include <list>
#include <unordered_map>
#include <vector>

#include "semantics/operation.hpp"

namespace autocomp::timing {

// What the cache does for each line of each row of an access.
struct Lines {
  static constexpr uint8_t kFetched = 1, kWrittenBack = 2;  // the line itself; another, to make room
  int64_t per_row = 0;                                      // places in `states`, of which a row may need fewer
  std::vector<uint8_t> states;

  // Calls put(word) for words that distinguish it from others.
  template <typename Put>
  void spell(Put& put) const {
    uint64_t word = 1;
    for (const uint8_t state : states) {
      word = word << 2 | state;
      if (word >> 62 == 0) continue;
      put(static_cast<int64_t>(word));
      word = 1;
    }
    if (word != 1) put(static_cast<int64_t>(word));
  }
};

class Cache {
 public:
  Cache(int64_t lines, int64_t line) : lines_(static_cast<size_t>(lines)), line_(line) {}
  // Whether there is one.
  [[nodiscard]] bool there() const { return lines_ > 0; }
  // Reads or writes the bytes of an access that begins at this address.
  [[nodiscard]] Lines move(const AccessInstance& access, int64_t address);

 private:
  struct Line {
    int64_t number = 0;
    bool changed = false;
  };
  [[nodiscard]] uint8_t use(int64_t number, bool write, bool whole);

  size_t lines_;
  int64_t line_;
  std::list<Line> held_;  // the latest used first
  std::unordered_map<int64_t, std::list<Line>::iterator> places_;
};

}  // namespace autocomp::timing
