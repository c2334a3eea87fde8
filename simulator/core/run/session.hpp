// The moving parts of one simulation: memories, state, and the observers of commands, which run behind the program.
#pragma once

#include <memory>

#include "discipline/discipline.hpp"
#include "program/vm.hpp"
#include "run/simulation.hpp"
#include "semantics/decode.hpp"
#include "semantics/functional.hpp"
#include "semantics/plan_cache.hpp"

namespace autocomp {

class Session final : public CommandSink {
 public:
  Session(const CompiledMachine& machine, const Options& options, std::vector<TensorStore> tensors);

  void command(int32_t instruction, const int64_t* arguments, int32_t line, int64_t steps) override;
  void host_access(int64_t tensor, int64_t offset, int64_t bytes, bool write, int32_t line) override;

  // A command of a trace: configuration and accesses only.
  void replay(int32_t instruction, const Value* arguments, int32_t line, int64_t host_cycles);

  [[nodiscard]] std::vector<TensorStore>& tensors() { return tensors_; }

  // A stop of the program or the trace: there are no findings of the observers.
  void fail(const Fault& fault, int32_t line);
  // Adds the observers' findings to the result. The host goes on for `tail_steps` bytecodes behind the last command.
  void finish(int64_t tail_steps);

  SimulationResult result;

 private:
  // Host cycles that `steps` bytecodes take, by the machine's settings and the options.
  [[nodiscard]] int64_t host_cycles(int64_t steps) const;
  [[nodiscard]] std::string call_text(int32_t instruction, const Value* arguments) const;
  void observe();
  void check_requirements(int32_t instruction);
  [[nodiscard]] bool run_plan(int32_t instruction, int32_t line, int64_t cycles);
  void count_traffic();

  const CompiledMachine& machine_;
  const Options& options_;
  int64_t steps_per_cycle_ = 0;
  std::vector<LocalStore> memories_;
  std::vector<TensorStore> tensors_;
  Evaluator evaluator_;
  Executor executor_;
  PlanCache plans_;
  std::vector<Value> values_;
  OperationList operations_;  // those that an observer still needs, the present one last
  size_t enough_;             // operations kept when timing goes on
  std::unique_ptr<Discipline> discipline_;
  std::unique_ptr<TimingRun> timing_;
};

}  // namespace autocomp
