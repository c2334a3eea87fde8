// Matrix products of bytes with sums of 32 bits, and additions of such sums.
#pragma once

#include <cstdint>

#include "arithmetic/machine_code.hpp"

namespace autocomp {

// out[i][j] = wrap(start[i][j] + sum of left[i][k] * right[k][j]), sums modulo 2^32. Rows are `*_pitch` bytes apart and
// contiguous in themselves; `out` shares no byte with the others.
struct ByteProduct {
  const uint8_t* left = nullptr;  // int8
  const uint8_t* right = nullptr;
  const uint8_t* start = nullptr;  // int8, int32 or none
  uint8_t* out = nullptr;          // int32
  int64_t left_pitch = 0, right_pitch = 0, start_pitch = 0, out_pitch = 0;
  int64_t rows = 0, cols = 0, count = 0;
  bool start_bytes = false;  // `start` holds int8
  int wrap_bits = 32;
};

using MultiplyBytes = void (*)(const ByteProduct& product);
// AVX-512 runs that of AVX2: a product of tiles is limited by its loads.
[[nodiscard]] MultiplyBytes multiply_bytes(MachineCode code);

// to[i] += from[i] modulo 2^32, for `bytes` / 4 elements next to each other; the two share no byte.
using AddWords = void (*)(uint8_t* to, const uint8_t* from, int64_t bytes);
[[nodiscard]] AddWords add_words(MachineCode code);

}  // namespace autocomp
