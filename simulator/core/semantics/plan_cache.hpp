// Commands by plan: what a command does, worked out once for all commands with an equal key (plan_key.hpp). Running a
// plan computes addresses and moves data; whatever it cannot do is left to the executor, statement by statement.
#pragma once

#include <memory>

#include "semantics/block_form.hpp"
#include "semantics/functional.hpp"
#include "semantics/operation.hpp"

namespace autocomp {

class PlanCache {
 public:
  PlanCache(const CompiledMachine& machine, Evaluator& evaluator, Executor& executor, std::vector<LocalStore>& memories,
            std::vector<TensorStore>& tensors, MachineCode code)
      : machine_(machine),
        evaluator_(evaluator),
        executor_(executor),
        memories_(memories),
        tensors_(tensors),
        multiply_(multiply_bytes(code)) {}

  struct Traffic {
    int64_t read = 0, written = 0;
  };
  // Runs the command and appends its Operation to `list`, with accesses and properties if `detailed`. nullptr: nothing
  // was done, and the command must be decoded and executed without a plan. Otherwise its DRAM traffic. Throws Fault.
  [[nodiscard]] const Traffic* run(int32_t instruction, const Value* arguments, Operation operation, bool detailed,
                                   OperationList& list);

 private:
  struct PlannedAccess {
    AccessInstance access;  // but for base and tensor
    Sum base;
    int32_t pointer = -1;
    int64_t low = 0, high = 0, limit = 0;  // reach around the base; rows of the memory, -1 for DRAM
  };
  struct Step {
    int32_t statement = -1;
    int32_t block = -1;  // a form
    int64_t slot = -1;   // a state slot, which becomes
    int32_t node = -1;   // this node's value, or
    Value constant = int_value(0);
  };
  struct Plan {
    std::vector<int64_t> key;
    bool usable = false;
    int32_t number = -1;        // no other has it
    std::vector<int32_t> tape;  // addresses and latched values
    std::vector<PlannedAccess> accesses;
    std::vector<int64_t> properties;
    std::vector<Step> steps;
    std::vector<BlockForm> blocks;
    Traffic traffic;
  };
  struct Table {  // of one instruction
    bool known = false;
    PlanKey key;
    std::vector<std::unique_ptr<Plan>> slots;
    int64_t hits = 0, misses = 0;
  };

  void gather(const PlanKey& key);
  [[nodiscard]] Plan* find(Table& table, int32_t instruction, const Value* arguments);
  [[nodiscard]] std::unique_ptr<Plan> make(const PlanKey& key, int32_t instruction, const Value* arguments);
  // Does the key alone say that the guard does not hold?
  [[nodiscard]] bool never(const PlanKey& key, int32_t guard);
  [[nodiscard]] bool plan_access(const PlanKey& key, const Access& access, Plan& plan);
  [[nodiscard]] bool plan_steps(const PlanKey& key, const std::vector<int32_t>& body, Plan& plan);
  [[nodiscard]] bool append_accesses(const Plan& plan, OperationList& list) const;
  [[nodiscard]] bool place(const PlannedAccess& planned, AccessInstance& access) const;
  void finish(const PlanKey& key, Plan& plan) const;

  const CompiledMachine& machine_;
  Evaluator& evaluator_;
  Executor& executor_;
  std::vector<LocalStore>& memories_;
  std::vector<TensorStore>& tensors_;
  MultiplyBytes multiply_;
  std::vector<Table> tables_;
  int32_t made_ = 0;              // plans
  std::vector<int64_t> present_;  // the key of the present command
};

}  // namespace autocomp
