// The bytes of a fuzzing input, read as numbers and words. Behind the end everything is 0.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>

namespace autocomp::fuzz {

class Input {
 public:
  Input(const uint8_t* data, size_t size) : at_(data), end_(data + size) {}

  [[nodiscard]] bool more() const { return at_ < end_; }
  uint8_t byte() { return more() ? *at_++ : 0; }
  bool flag() { return (byte() & 1) != 0; }

  // A number in 0..count-1; count > 0.
  uint64_t choice(uint64_t count) { return static_cast<uint64_t>(byte()) % count; }

  // LEB128 with the sign in the lowest bit: small numbers are short, every number of 64 bits can be said.
  int64_t number() {
    uint64_t bits = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const uint8_t next = byte();
      bits |= static_cast<uint64_t>(next & 0x7F) << shift;
      if ((next & 0x80) == 0) break;
    }
    return static_cast<int64_t>((bits >> 1) ^ (0 - (bits & 1)));
  }
  int32_t index() { return static_cast<int32_t>(number()); }
  double real() { return std::bit_cast<double>(number()); }

  std::string word() {
    std::string text;
    for (uint64_t left = byte(); left > 0 && more(); --left) text.push_back(static_cast<char>(byte()));
    return text;
  }

 private:
  const uint8_t* at_;
  const uint8_t* end_;
};

}  // namespace autocomp::fuzz
