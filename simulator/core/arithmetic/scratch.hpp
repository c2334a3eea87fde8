// Memory for intermediate values, taken and given back in the manner of a stack; what was taken stays where it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace autocomp {

class Scratch {
 public:
  struct Mark {
    size_t block = 0, used = 0;
  };

  // At least `bytes`, aligned to 64; nullptr where that would be more than kMost in all.
  [[nodiscard]] void* take(size_t bytes);
  [[nodiscard]] Mark mark() const;
  void release(Mark to);

 private:
  static constexpr size_t kMost = size_t{1} << 29;
  static constexpr size_t kBlock = size_t{1} << 20;  // the least that is asked of the system
  static constexpr size_t kAlign = 64;

  struct Block {
    std::unique_ptr<uint8_t[]> bytes;
    size_t size = 0;
    uint8_t* first = nullptr;  // aligned
  };

  std::vector<Block> blocks_;
  Mark top_;
  size_t held_ = 0;
};

}  // namespace autocomp
