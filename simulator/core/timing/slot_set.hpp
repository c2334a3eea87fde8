// A set of the slots that commands live in, as bits. The fewest words that hold a machine's slots are looked at.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace autocomp::timing {

class SlotSet {
 public:
  static constexpr int64_t kMost = 1024;
  // `slots`: of the machine, at most kMost.
  explicit SlotSet(size_t slots) : words_(std::max<size_t>(1, (slots + kBits - 1) / kBits)) {}

  [[nodiscard]] bool holds(int32_t slot) const { return (bits_[word(slot)] & bit(slot)) != 0; }
  void add(int32_t slot) { bits_[word(slot)] |= bit(slot); }
  void remove(int32_t slot) { bits_[word(slot)] &= ~bit(slot); }
  void clear() { std::fill_n(bits_.begin(), words_, 0); }
  [[nodiscard]] bool empty() const {
    return std::all_of(bits_.begin(), bits_.begin() + words_, [](uint64_t bits) { return bits == 0; });
  }
  [[nodiscard]] int64_t count() const {
    int64_t count = 0;
    for (size_t w = 0; w < words_; ++w) count += std::popcount(bits_[w]);
    return count;
  }
  // Calls visit(slot) for each, in ascending order.
  template <typename Visit>
  void each(Visit visit) const {
    for (size_t w = 0; w < words_; ++w)
      for (uint64_t left = bits_[w]; left != 0; left &= left - 1)
        visit(static_cast<int32_t>(w * kBits) + std::countr_zero(left));
  }
  // Its words, as numbers of an archive.
  template <typename Visit>
  void each_word(Visit visit) {
    for (size_t w = 0; w < words_; ++w) visit(bits_[w]);
  }

 private:
  static constexpr size_t kBits = 64;
  [[nodiscard]] static size_t word(int32_t slot) { return static_cast<size_t>(slot) / kBits; }
  [[nodiscard]] static uint64_t bit(int32_t slot) { return uint64_t{1} << (static_cast<size_t>(slot) % kBits); }

  size_t words_;
  std::array<uint64_t, kMost / kBits> bits_{};
};

}  // namespace autocomp::timing
