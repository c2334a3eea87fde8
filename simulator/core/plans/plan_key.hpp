// What has to be equal for two commands of one instruction to do the same at other addresses. Everything that decides
// what a command does (conditions, counts, strides, sizes) follows from a few values, the key; the rest are addresses
// and values to be latched, which are computed anew for each command.
#pragma once

#include <vector>

#include "semantics/field.hpp"

namespace autocomp {

struct KeyPart {
  int32_t node = -1;
  bool truth = false;  // only whether it is zero
  Field field;         // the same, as it is read

  [[nodiscard]] uint64_t at(const Sources& sources) const {
    const uint64_t bits = sources.bits(field);
    return truth ? static_cast<uint64_t>(bits != 0) : bits;
  }
};

struct PlanKey {
  bool usable = false;  // false: what the instruction does depends on more than a key
  std::vector<KeyPart> parts;
  std::vector<int32_t> tape;     // computes the fields that are nodes
  std::vector<uint8_t> covered;  // by node: its value follows from the key
};

[[nodiscard]] PlanKey key_of(const CompiledMachine& machine, int32_t instruction);

}  // namespace autocomp
