#include "arithmetic/scratch.hpp"

#include <algorithm>

namespace autocomp {

void* Scratch::take(size_t bytes) {
  if (bytes > kMost) return nullptr;
  bytes = (bytes + kAlign - 1) / kAlign * kAlign;
  while (top_.block < blocks_.size() && top_.used + bytes > blocks_[top_.block].size) top_ = {top_.block + 1, 0};
  if (top_.block == blocks_.size()) {
    const size_t size = std::max(bytes, kBlock);
    if (held_ + size > kMost) return nullptr;
    Block block{std::make_unique_for_overwrite<uint8_t[]>(size + kAlign), size, nullptr};
    const auto address = reinterpret_cast<uintptr_t>(block.bytes.get());
    block.first = block.bytes.get() + (kAlign - address % kAlign) % kAlign;
    blocks_.push_back(std::move(block));
    held_ += size;
  }
  void* at = blocks_[top_.block].first + top_.used;
  top_.used += bytes;
  return at;
}

Scratch::Mark Scratch::mark() const { return top_; }

void Scratch::release(Mark to) { top_ = to; }

}  // namespace autocomp
