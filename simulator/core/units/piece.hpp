// How units cut rows of main memory into requests.
#pragma once

#include <algorithm>
#include <cstdint>

namespace autocomp::timing {

struct Piece {
  int64_t bytes = 0, skip = 0, useful = 0;  // a request of `bytes`, of which [skip, skip + useful) is wanted
};

// The naturally aligned power-of-two request that covers most of [address, address + length); the smaller on ties.
[[nodiscard]] inline Piece best_request(int64_t address, int64_t length, int64_t smallest, int64_t largest) {
  Piece best;
  for (int64_t bytes = smallest; bytes <= largest; bytes *= 2) {
    const int64_t skip = address & (bytes - 1);
    const int64_t useful = std::min(length, bytes - skip);
    if (useful > best.useful) best = {bytes, skip, useful};
  }
  return best;
}

}  // namespace autocomp::timing
