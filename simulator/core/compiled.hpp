// A machine together with what is worked out once from its tables.
#pragma once

#include "machine.hpp"

namespace autocomp {

class CompiledMachine {
 public:
  explicit CompiledMachine(Machine machine) : machine_(std::move(machine)) {}
  [[nodiscard]] const Machine& machine() const { return machine_; }

 private:
  Machine machine_;
};

}  // namespace autocomp
