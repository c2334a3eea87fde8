// What has to be equal for two commands of one instruction to do the same at other addresses. Everything that decides
// what a command does (conditions, counts, strides, sizes) follows from a few values, the key; the rest are addresses
// and values to be latched, which are computed anew for each command.
#pragma once

#include <vector>

#include "semantics/field.hpp"

namespace autocomp {

struct PlanKey {
  bool usable = false;           // false: what the instruction does depends on more than a key
  std::vector<int32_t> nodes;    // whose values make up the key
  std::vector<Field> fields;     // the same, as they are read
  std::vector<int32_t> tape;     // computes the fields that are nodes
  std::vector<uint8_t> covered;  // by node: its value follows from the key
};

[[nodiscard]] PlanKey key_of(const CompiledMachine& machine, int32_t instruction);

}  // namespace autocomp
