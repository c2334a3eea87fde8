// Commands by plan (plan.hpp): finds the plan of a command among those made before, or makes it, and runs it. Running a
// plan computes addresses and moves data; whatever it cannot do is left to the executor, statement by statement.
#pragma once

#include <array>
#include <memory>

#include "plans/plan.hpp"
#include "semantics/functional.hpp"

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
        code_(code) {}

  // Runs the command and appends its Operation to `list`, with accesses and properties if `detailed`. nullptr: nothing
  // was done, and the command must be decoded and executed without a plan. Otherwise its traffic. Throws Fault.
  [[nodiscard]] const std::vector<Traffic>* run(int32_t instruction, const Value* arguments, Operation operation,
                                                bool detailed, OperationList& list);

 private:
  // Programs repeat themselves: behind a command comes mostly what came behind one with the same plan before.
  struct Slot {
    std::unique_ptr<Plan> plan;
    std::array<Slot*, 2> next{};  // the latest first
  };
  struct Table {  // of one instruction
    bool known = false;
    PlanKey key;
    std::vector<Slot> slots;
    int64_t hits = 0, misses = 0;
  };

  [[nodiscard]] const Plan* plan_for(int32_t instruction, const Value* arguments);
  [[nodiscard]] Slot* expected(int32_t instruction) const;
  [[nodiscard]] Slot* find(Table& table, int32_t instruction, const Value* arguments);
  [[nodiscard]] bool append_accesses(const Plan& plan, bool detailed, OperationList& list) const;
  void run_step(const Plan& plan, const PlannedStep& step, const Value* arguments);
  [[nodiscard]] bool run_form(const PlannedStep& step);

  const CompiledMachine& machine_;
  Evaluator& evaluator_;
  Executor& executor_;
  std::vector<LocalStore>& memories_;
  std::vector<TensorStore>& tensors_;
  MachineCode code_;
  std::vector<Table> tables_;
  int32_t made_ = 0;               // plans
  std::vector<uint64_t> present_;  // the key of the present command
  Slot* latest_ = nullptr;
};

}  // namespace autocomp
