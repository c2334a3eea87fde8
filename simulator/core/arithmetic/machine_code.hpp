// Which machine code the engines run: each exists for several instruction sets, and one is chosen at run time.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace autocomp {

enum class MachineCode : uint8_t { Plain, Avx2, Avx512 };  // the slowest first
constexpr std::array<const char*, 3> kMachineCodeNames = {"plain", "avx2", "avx512"};

struct Processor {      // what it and its operating system can do
  bool avx2 = false;    // and FMA
  bool avx512 = false;  // F, BW, DQ and VL
};
[[nodiscard]] Processor this_processor();

[[nodiscard]] std::vector<MachineCode> usable(const Processor& processor);

// The one of that name; for "" the fastest. Throws std::invalid_argument if the processor cannot run it.
[[nodiscard]] MachineCode machine_code(const std::string& name, const Processor& processor);

}  // namespace autocomp
