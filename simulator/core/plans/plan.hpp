// What a command does, worked out for all commands with an equal key (plan_key.hpp): its accesses, its properties and
// the steps that take effect, with every number but addresses and latched values settled.
#pragma once

#include <memory>
#include <utility>

#include "plans/block_form.hpp"
#include "semantics/expr.hpp"
#include "semantics/operation.hpp"

namespace autocomp {

// Where an access of Plan::instances lies.
struct PlannedAccess {
  static constexpr int64_t kFar = int64_t{1} << 50;
  FieldSum base;
  Field pointer;                         // DRAM
  int64_t low = 0, high = 0, limit = 0;  // reach around the base; rows of the memory, -1 for DRAM

  // Rows that are tracked may lie outside of the memory.
  void tracked() {
    low = high = kFar;
    limit = 2 * kFar;
  }
  // Sets base and tensor of the access. False: outside its memory, or no tensor's.
  [[nodiscard]] bool place(const Sources& sources, AccessInstance& out) const;
};

struct PlannedStep {
  enum class Kind : uint8_t { Statement, Form, Block, SetInteger, SetReal, SetConstant };
  Kind kind = Kind::Statement;
  int32_t statement = -1;                          // which is what the step comes from
  const Form* form = nullptr;                      // Form
  std::vector<std::pair<int32_t, Value>> settled;  // Form: its nodes that follow from the key
  size_t block = 0;                                // Block, of those of the plan
  size_t slot = 0;                                 // of the state that is set
  FieldSum integer;
  Field real;
  Value constant = int_value(0);
};

struct Plan {
  int32_t instruction = -1;
  std::vector<uint64_t> key;
  bool usable = false;                    // false: commands with this key are executed without a plan
  int32_t number = -1;                    // no other has it
  Guard guard;                            // holds for commands with this key only
  std::vector<int32_t> tape;              // computes the fields that are nodes
  std::vector<AccessInstance> instances;  // the accesses, but for base and tensor …
  std::vector<PlannedAccess> accesses;    // … which these say
  std::vector<int64_t> properties;
  std::vector<PlannedStep> steps;
  std::vector<BlockForm> blocks;
  std::vector<Traffic> traffic;
};

// The plan for the command that Evaluator::begin made current; no number and no keys yet. Throws Fault.
[[nodiscard]] std::unique_ptr<Plan> make_plan(const CompiledMachine& machine, Evaluator& evaluator, const PlanKey& key,
                                              int32_t instruction, MachineCode code);

}  // namespace autocomp
