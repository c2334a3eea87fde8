// What a machine's description may say about time: the words and numbers that resolve() reads, for who checks and
// documents descriptions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace autocomp::timing {

// A number: where it is stated (unit, property, dram, local, host, front, semaphores, hazards), its default, its bound.
struct SchemaNumber {
  std::string place, key;
  int64_t fallback = 0;
  int64_t low = 0;
};

struct Schema {
  std::vector<SchemaNumber> numbers;
  std::vector<std::string> kinds;  // of units
  std::vector<std::string> roles;  // of instructions
};

[[nodiscard]] Schema schema();

}  // namespace autocomp::timing
