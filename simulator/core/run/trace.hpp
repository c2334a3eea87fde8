// Commands without a kernel: instruction indices and their arguments, in issue order.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "arithmetic/scalar.hpp"
#include "tables/machine.hpp"

namespace autocomp {

struct Trace {
  std::vector<int32_t> instructions;
  std::vector<int64_t> host_cycles;      // idle host cycles before each command
  std::vector<uint32_t> first_argument;  // into `arguments`
  std::vector<Value> arguments;          // one per parameter, by its type
  std::vector<int32_t> lines;            // 0 where unknown

  void append(int32_t instruction, const Value* values, size_t count, int64_t cycles, int32_t line) {
    instructions.push_back(instruction);
    host_cycles.push_back(cycles);
    first_argument.push_back(static_cast<uint32_t>(arguments.size()));
    arguments.insert(arguments.end(), values, values + count);
    lines.push_back(line);
  }

  // Throws std::invalid_argument unless command `i` is one of `machine`, which may be another than it was made for.
  void validate(size_t i, const Machine& machine) const {
    const size_t end = i + 1 < first_argument.size() ? first_argument[i + 1] : arguments.size();
    const auto index = static_cast<size_t>(instructions[i]);
    if (index >= machine.instructions.size() ||
        machine.instructions[index].parameters.size() != end - first_argument[i])
      throw std::invalid_argument("command " + std::to_string(i) + " is not one of this machine");
  }
};

}  // namespace autocomp
