#include "arithmetic/byte_product.hpp"

#include <algorithm>
#include <cstring>

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define AUTOCOMP_AVX2 __attribute__((target("avx2")))
#endif

namespace autocomp {
namespace {

constexpr int64_t kTile = 16;

int32_t load_start(const ByteProduct& p, int64_t i, int64_t j) {
  if (p.start == nullptr) return 0;
  const uint8_t* row = p.start + i * p.start_pitch;
  if (p.start_bytes) return static_cast<int8_t>(row[j]);
  int32_t value = 0;
  std::memcpy(&value, row + j * 4, sizeof(value));
  return value;
}

// The columns from `first` on.
void plain(const ByteProduct& p, int64_t first) {
  const int shift = 32 - p.wrap_bits;
  for (int64_t i = 0; i < p.rows; ++i) {
    const auto* left = reinterpret_cast<const int8_t*>(p.left + i * p.left_pitch);
    for (int64_t j = first; j < p.cols; j += kTile) {
      const int64_t width = std::min(kTile, p.cols - j);
      uint32_t sums[kTile] = {};
      for (int64_t l = 0; l < width; ++l) sums[l] = static_cast<uint32_t>(load_start(p, i, j + l));
      for (int64_t k = 0; k < p.count; ++k) {
        const int32_t x = left[k];
        const auto* right = reinterpret_cast<const int8_t*>(p.right + k * p.right_pitch + j);
        for (int64_t l = 0; l < width; ++l) sums[l] += static_cast<uint32_t>(x * right[l]);
      }
      for (int64_t l = 0; l < width; ++l) {
        const int32_t value = static_cast<int32_t>(sums[l] << shift) >> shift;
        std::memcpy(p.out + i * p.out_pitch + (j + l) * 4, &value, sizeof(value));
      }
    }
  }
}

void portable(const ByteProduct& p) { plain(p, 0); }

// A loop that becomes vector code of the function that it stands in.
[[gnu::always_inline]] inline void add_each(uint8_t* __restrict to, const uint8_t* __restrict from, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += 4) {
    uint32_t a = 0;
    uint32_t b = 0;
    std::memcpy(&a, to + i, sizeof(a));
    std::memcpy(&b, from + i, sizeof(b));
    a += b;
    std::memcpy(to + i, &a, sizeof(a));
  }
}

void add_portable(uint8_t* to, const uint8_t* from, int64_t bytes) { add_each(to, from, bytes); }

#ifdef AUTOCOMP_AVX2
constexpr int64_t kPairs = 32;  // of products held at a time
constexpr int64_t kRows = 4;    // rows that share a load of the right side

AUTOCOMP_AVX2 inline __m128i load16(const uint8_t* at) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at)); }

// Rows 2p and 2p + 1 of sixteen columns side by side, as int16.
AUTOCOMP_AVX2 void interleave(const ByteProduct& p, int64_t k, int64_t pairs, int64_t j, __m256i* to) {
  for (int64_t pair = 0; pair < pairs; ++pair, k += 2) {
    const __m128i even = load16(p.right + k * p.right_pitch + j);
    const __m128i odd = k + 1 < p.count ? load16(p.right + (k + 1) * p.right_pitch + j) : _mm_setzero_si128();
    to[2 * pair] = _mm256_cvtepi8_epi16(_mm_unpacklo_epi8(even, odd));
    to[2 * pair + 1] = _mm256_cvtepi8_epi16(_mm_unpackhi_epi8(even, odd));
  }
}

// Elements k .. k + 2 pairs of a row as int16, zero behind its end.
AUTOCOMP_AVX2 void widen(const ByteProduct& p, int64_t i, int64_t k, int64_t pairs, int16_t* to) {
  const uint8_t* row = p.left + i * p.left_pitch + k;
  const int64_t n = std::min(2 * pairs, p.count - k);
  int64_t l = 0;
  for (; l + 16 <= n; l += 16)
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + l), _mm256_cvtepi8_epi16(load16(row + l)));
  for (; l < n; ++l) to[l] = static_cast<int8_t>(row[l]);
  if (n < 2 * pairs) to[n] = 0;
}

AUTOCOMP_AVX2 void start_row(const ByteProduct& p, int64_t i, int64_t j, __m256i* sums) {
  sums[0] = sums[1] = _mm256_setzero_si256();
  if (p.start == nullptr) return;
  const uint8_t* row = p.start + i * p.start_pitch;
  if (p.start_bytes) {
    const __m128i bytes = load16(row + j);
    sums[0] = _mm256_cvtepi8_epi32(bytes);
    sums[1] = _mm256_cvtepi8_epi32(_mm_srli_si128(bytes, 8));
  } else {
    sums[0] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(row + j * 4));
    sums[1] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(row + j * 4 + 32));
  }
}

template <int64_t kCount>
AUTOCOMP_AVX2 void tile_rows(const ByteProduct& p, int64_t i, int64_t j, const __m256i* first_right) {
  __m256i sums[kCount][2];
  for (int64_t r = 0; r < kCount; ++r) start_row(p, i + r, j, sums[r]);
  __m256i later[2 * kPairs];
  for (int64_t k = 0; k < p.count; k += 2 * kPairs) {
    const int64_t pairs = std::min(kPairs, (p.count - k + 1) / 2);
    const __m256i* right = first_right;
    if (k > 0) {
      interleave(p, k, pairs, j, later);
      right = later;
    }
    int16_t left[kCount][2 * kPairs];
    for (int64_t r = 0; r < kCount; ++r) widen(p, i + r, k, pairs, left[r]);
    for (int64_t pair = 0; pair < pairs; ++pair)
      for (int64_t r = 0; r < kCount; ++r) {
        int32_t both = 0;
        std::memcpy(&both, &left[r][2 * pair], sizeof(both));
        const __m256i x = _mm256_set1_epi32(both);
        sums[r][0] = _mm256_add_epi32(sums[r][0], _mm256_madd_epi16(x, right[2 * pair]));
        sums[r][1] = _mm256_add_epi32(sums[r][1], _mm256_madd_epi16(x, right[2 * pair + 1]));
      }
  }
  const __m128i shift = _mm_cvtsi32_si128(32 - p.wrap_bits);
  for (int64_t r = 0; r < kCount; ++r)
    for (int64_t half = 0; half < 2; ++half)
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(p.out + (i + r) * p.out_pitch + j * 4 + half * 32),
                          _mm256_sra_epi32(_mm256_sll_epi32(sums[r][half], shift), shift));
}

AUTOCOMP_AVX2 void add_wide(uint8_t* to, const uint8_t* from, int64_t bytes) { add_each(to, from, bytes); }

AUTOCOMP_AVX2 void wide(const ByteProduct& product) {
  const ByteProduct p = product;  // which no store can change
  int64_t j = 0;
  __m256i right[2 * kPairs];
  for (; j + kTile <= p.cols; j += kTile) {
    interleave(p, 0, std::min(kPairs, (p.count + 1) / 2), j, right);
    int64_t i = 0;
    for (; i + kRows <= p.rows; i += kRows) tile_rows<kRows>(p, i, j, right);
    for (; i < p.rows; ++i) tile_rows<1>(p, i, j, right);
  }
  if (j < p.cols) plain(p, j);
}
#endif

}  // namespace

MultiplyBytes multiply_bytes([[maybe_unused]] MachineCode code) {
#ifdef AUTOCOMP_AVX2
  if (code != MachineCode::Plain) return &wide;
#endif
  return &portable;
}

AddWords add_words([[maybe_unused]] MachineCode code) {
#ifdef AUTOCOMP_AVX2
  if (code != MachineCode::Plain) return &add_wide;
#endif
  return &add_portable;
}

}  // namespace autocomp
