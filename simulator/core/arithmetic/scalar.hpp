// Scalar arithmetic of expressions. Everything that may wrap goes through unsigned integers.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace autocomp {

union Value {  // read only as the ValueType that the expression or parameter has
  int64_t i;
  float f;
};
[[nodiscard]] inline Value int_value(int64_t i) { return Value{.i = i}; }
[[nodiscard]] inline Value float_value(float f) { return Value{.f = f}; }

// Internal linkage, so that a copy compiled for a wider instruction set is never called from elsewhere.
namespace scalar {

constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

[[nodiscard]] static inline uint64_t u(int64_t x) { return static_cast<uint64_t>(x); }
[[nodiscard]] static inline int64_t s(uint64_t x) { return static_cast<int64_t>(x); }

[[nodiscard]] static inline int64_t add(int64_t a, int64_t b) { return s(u(a) + u(b)); }
[[nodiscard]] static inline int64_t sub(int64_t a, int64_t b) { return s(u(a) - u(b)); }
[[nodiscard]] static inline int64_t mul(int64_t a, int64_t b) { return s(u(a) * u(b)); }
[[nodiscard]] static inline int64_t neg(int64_t a) { return s(0 - u(a)); }
[[nodiscard]] static inline int64_t div(int64_t a, int64_t b) { return b == -1 ? neg(a) : a / b; }  // b != 0
[[nodiscard]] static inline int64_t mod(int64_t a, int64_t b) { return b == -1 ? 0 : a % b; }       // b != 0
[[nodiscard]] static inline int64_t ceil_div(int64_t a, int64_t b) {                                // b > 0
  return a / b + (a % b > 0 ? 1 : 0);
}
[[nodiscard]] static inline int64_t shl(int64_t a, int64_t b) { return s(u(a) << (u(b) & 63)); }
[[nodiscard]] static inline int64_t shr(int64_t a, int64_t b) { return a >> (u(b) & 63); }

[[nodiscard]] static inline int64_t saturate(int64_t a, int64_t bits) {
  if (bits >= 64) return a;
  const int64_t high = s((uint64_t{1} << (bits - 1)) - 1);
  return std::clamp(a, -high - 1, high);
}
[[nodiscard]] static inline int64_t saturate_unsigned(int64_t a, int64_t bits) {
  return std::clamp<int64_t>(a, 0, bits >= 63 ? kMax : s((uint64_t{1} << bits) - 1));
}
[[nodiscard]] static inline int64_t wrap(int64_t a, int64_t bits) { return s(u(a) << (64 - bits)) >> (64 - bits); }
[[nodiscard]] static inline int64_t wrap_unsigned(int64_t a, int64_t bits) {
  return s(u(a) << (64 - bits) >> (64 - bits));
}

[[nodiscard]] static inline int64_t rounding_shift(int64_t a, int64_t shift) {
  const uint64_t n = u(shift) & 63;
  if (n == 0) return a;
  const uint64_t half = u(a) >> (n - 1) & 1;
  const bool below = n > 1 && (u(a) & ((uint64_t{1} << (n - 1)) - 1)) != 0;
  const int64_t floor = a >> n;
  return floor + ((half != 0 && (below || (floor & 1) != 0)) ? 1 : 0);
}

[[nodiscard]] static inline int64_t square_root(int64_t a) {
  if (a <= 0) return 0;
  auto root = s(static_cast<uint64_t>(std::sqrt(static_cast<double>(a))));
  while (root > a / root) --root;  // the double may be off by one
  while (root + 1 <= a / (root + 1)) ++root;
  return root;
}

[[nodiscard]] static inline int64_t round_to_int(float x) {
  if (std::isnan(x)) return kMax;
  if (x >= 9223372036854775808.0F) return kMax;
  if (x < -9223372036854775808.0F) return kMin;
  return static_cast<int64_t>(std::nearbyint(x));  // the default rounding mode: ties to even
}
[[nodiscard]] static inline float bits_to_float(int64_t a) { return std::bit_cast<float>(static_cast<uint32_t>(u(a))); }
[[nodiscard]] static inline int64_t float_to_bits(float x) { return std::bit_cast<uint32_t>(x); }

// Results of arithmetic that are not a number have one representation, whatever that of the processor is: IEEE 754's
// default of RISC-V, which HardFloat also gives. A sign that is looked at later is then the same everywhere.
[[nodiscard]] static inline float canonical(float x) { return x == x ? x : std::bit_cast<float>(uint32_t{0x7FC00000}); }

// To binary32, where what is lost makes the last bit odd: rounding that to a narrower format is rounding x to it, once.
[[nodiscard]] static inline float round_to_odd(double x) {
  const auto nearest = static_cast<float>(x);
  if (static_cast<double>(nearest) == x || x != x) return nearest;
  const auto bits = std::bit_cast<uint32_t>(nearest);
  const bool away = std::abs(static_cast<double>(nearest)) > std::abs(x);
  return std::bit_cast<float>((bits - (away ? 1U : 0U)) | 1U);
}

// Floats of fewer bits than binary32. Conversions to them round to nearest, ties to even, and keep the sign; what is
// not a number becomes the positive one of all bits after the sign. Beyond the largest number lies infinity, or, in a
// format without it (E4M3 of the OCP 8-bit floating point specification), what is not a number.
template <int kExponentBits, int kMantissaBits, bool kHasInfinity>
struct NarrowFloat {
  static constexpr int kBias = (1 << (kExponentBits - 1)) - 1;
  static constexpr int kDropped = 23 - kMantissaBits;
  static constexpr uint32_t kExponentMask = (1U << kExponentBits) - 1;
  static constexpr uint32_t kMantissaMask = (1U << kMantissaBits) - 1;
  static constexpr uint32_t kInfinity = kExponentMask << kMantissaBits;
  static constexpr uint32_t kNaN = kHasInfinity ? kInfinity | (1U << (kMantissaBits - 1)) : kInfinity | kMantissaMask;
  static constexpr uint32_t kLargest = kHasInfinity ? kInfinity - 1 : kNaN - 1;

  [[nodiscard]] static uint32_t encode(float x) {
    const auto bits = std::bit_cast<uint32_t>(x);
    const uint32_t magnitude = bits & 0x7FFFFFFFU;
    const uint32_t sign = bits >> 31 << (kExponentBits + kMantissaBits);
    if (magnitude > 0x7F800000U) return kNaN;
    constexpr int kLeast = 128 - kBias;  // exponent field of binary32 of the least normal number
    const int exponent = static_cast<int>(magnitude >> 23);
    uint32_t value = 0;
    if (exponent >= kLeast) {
      const uint32_t rebased = magnitude - (static_cast<uint32_t>(127 - kBias) << 23);
      value = (rebased + (1U << (kDropped - 1)) - 1 + (rebased >> kDropped & 1)) >> kDropped;
    } else {
      const int shift = kDropped + kLeast - std::max(exponent, 1);
      const uint32_t whole = (magnitude & 0x7FFFFFU) | (exponent > 0 ? 0x800000U : 0U);
      if (shift <= 25) value = (whole + (1U << (shift - 1)) - 1 + (whole >> shift & 1)) >> shift;
    }
    if (value > kLargest) value = kHasInfinity ? kInfinity : kNaN;
    return sign | value;
  }

  [[nodiscard]] static float decode(uint32_t code) {
    const uint32_t sign = code >> (kExponentBits + kMantissaBits) << 31;
    const uint32_t magnitude = code & ((kExponentMask << kMantissaBits) | kMantissaMask);
    if (magnitude > kLargest) {
      const bool infinite = kHasInfinity && magnitude == kInfinity;
      return std::bit_cast<float>(infinite ? sign | 0x7F800000U : 0x7FC00000U);
    }
    const uint32_t exponent = magnitude >> kMantissaBits;
    if (exponent == 0) {
      const float value = std::ldexp(static_cast<float>(magnitude), 1 - kBias - kMantissaBits);
      return sign != 0 ? -value : value;
    }
    return std::bit_cast<float>(sign | ((magnitude << kDropped) + (static_cast<uint32_t>(127 - kBias) << 23)));
  }
};
using Binary16 = NarrowFloat<5, 10, true>;
using Bfloat16 = NarrowFloat<8, 7, true>;
using E5M2 = NarrowFloat<5, 2, true>;
using E4M3 = NarrowFloat<4, 3, false>;

// The smaller or larger operand; the other one if one is a NaN; -0 counts as less than +0.
[[nodiscard]] static inline float fmin(float a, float b) {
  if (std::isnan(a)) return b;
  if (std::isnan(b)) return a;
  return a < b || (a == b && std::signbit(a)) ? a : b;
}
[[nodiscard]] static inline float fmax(float a, float b) {
  if (std::isnan(a)) return b;
  if (std::isnan(b)) return a;
  return a > b || (a == b && !std::signbit(a)) ? a : b;
}

}  // namespace scalar
}  // namespace autocomp
