#include "program/places.hpp"

namespace autocomp {

Places::Places(uint64_t seed) {
  if (seed == 0) return;
  factor_ = (seed * 0x9E3779B97F4A7C15U >> 48) | 1;
  for (int bits = 1; bits < 16; bits *= 2) inverse_ *= 2 - factor_ * inverse_;  // Newton's iteration doubles right bits
}

}  // namespace autocomp
