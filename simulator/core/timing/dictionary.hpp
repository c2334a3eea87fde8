// Sequences of words, numbered in the order in which they first came. Almost every look-up finds what it looks for, so
// that they lie in few places: a table without chains, and all words one after the other.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace autocomp::timing {

struct WordsHash {
  [[nodiscard]] size_t operator()(std::span<const int64_t> words) const {
    uint64_t sum = 0, factor = 0x9E3779B97F4A7C15U;
    for (const int64_t word : words) {
      sum += (static_cast<uint64_t>(word) + 0x632BE59BD9B4E019U) * factor;
      factor += 0xBF58476D1CE4E5B8U;  // stays odd
    }
    sum ^= sum >> 32;
    return sum * 0x94D049BB133111EBU >> 16;
  }
};

class Dictionary {
 public:
  // The number of these words, known or new.
  [[nodiscard]] int32_t number(std::span<const int64_t> words) {
    if (const auto known = find(words)) return *known;
    if (2 * (begins_.size() + 1) > slots_.size()) grow();
    const auto number = static_cast<int32_t>(begins_.size());
    begins_.push_back(words_.size());
    words_.insert(words_.end(), words.begin(), words.end());
    put({tag(words), number});
    return number;
  }
  [[nodiscard]] std::optional<int32_t> find(std::span<const int64_t> words) const {
    const uint32_t wanted = tag(words);
    for (size_t place = wanted & mask(); slots_[place].number >= 0; place = (place + 1) & mask())
      if (slots_[place].tag == wanted && std::ranges::equal(spelled(slots_[place].number), words))
        return slots_[place].number;
    return std::nullopt;
  }
  [[nodiscard]] size_t size() const { return begins_.size(); }
  [[nodiscard]] std::span<const int64_t> spelled(int32_t number) const {
    const auto n = static_cast<size_t>(number);
    const size_t end = n + 1 < begins_.size() ? begins_[n + 1] : words_.size();
    return std::span(words_).subspan(begins_[n], end - begins_[n]);
  }

 private:
  struct Slot {
    uint32_t tag = 0;
    int32_t number = -1;
  };

  [[nodiscard]] static uint32_t tag(std::span<const int64_t> words) {
    return static_cast<uint32_t>(WordsHash{}(words));
  }
  [[nodiscard]] size_t mask() const { return slots_.size() - 1; }
  void put(Slot slot) {
    size_t place = slot.tag & mask();
    while (slots_[place].number >= 0) place = (place + 1) & mask();
    slots_[place] = slot;
  }
  void grow() {
    std::vector<Slot> old(2 * slots_.size());
    old.swap(slots_);
    for (const Slot& slot : old)
      if (slot.number >= 0) put(slot);
  }

  std::vector<Slot> slots_ = std::vector<Slot>(256);  // a power of two, at most half of them in use
  std::vector<size_t> begins_;                        // of the words of each number
  std::vector<int64_t> words_;
};

}  // namespace autocomp::timing
