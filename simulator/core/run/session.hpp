// The moving parts of one simulation: memories, state, and the observers of commands, which run behind the program.
#pragma once

#include <memory>

#include "discipline/discipline.hpp"
#include "plans/plan_cache.hpp"
#include "program/vm.hpp"
#include "run/simulation.hpp"
#include "semantics/decode.hpp"
#include "semantics/expansion.hpp"
#include "semantics/functional.hpp"

namespace autocomp {

class Session final : public CommandSink {
 public:
  // A session without data follows configuration and accesses only, as a trace does.
  Session(const CompiledMachine& machine, const Options& options, std::vector<TensorStore> tensors, bool with_data);

  void command(int32_t instruction, const int64_t* arguments, int32_t line, int64_t host) override;
  void host_access(int64_t tensor, int64_t offset, int64_t bytes, bool write, int32_t line) override;
  void undefine(int64_t tensor) override;
  void print(int64_t message, const int64_t* arguments, int64_t count) override;
  int64_t clock() override;

  // A command of a trace: configuration and accesses only.
  void replay(int32_t instruction, const Value* arguments, int32_t line, int64_t host_cycles);

  [[nodiscard]] std::vector<TensorStore>& tensors() { return tensors_; }

  // Begins with what another session's machine holds: its memories and its configuration.
  void take_over(const Session& used);

  // A stop of the program or the trace: there are no findings of the observers.
  void fail(const Fault& fault, int32_t line);
  // Adds the observers' findings to the result. The host goes on for `tail_cycles` behind the last command.
  void finish(int64_t tail_cycles);
  void returned(int64_t tail_cycles);  // likewise at the end of a program

  SimulationResult result;

 private:
  // What `cycles` of the host are at the speed that the options ask for.
  [[nodiscard]] int64_t host_cycles(int64_t cycles) const;
  [[nodiscard]] std::string call_text(int32_t instruction, const Value* arguments) const;
  // The command whose arguments are in values_.
  void execute(int32_t instruction, int32_t line, int64_t cycles);
  void hash_command(int32_t instruction, const int64_t* arguments);
  void record(int32_t instruction, const Value* arguments, int32_t line, int64_t host_cycles);
  // Calls issue(instruction, host cycles) for a command and then for those that it expands to, their arguments in
  // values_.
  template <typename Issue>
  void expand(int32_t instruction, const Value* arguments, Issue issue, int64_t cycles);
  void note_sender();
  void observe();
  [[nodiscard]] Fault fault_of(const TimingFailure& failure) const;
  void check_requirements(int32_t instruction);
  [[nodiscard]] bool run_plan(int32_t instruction, int32_t line, int64_t cycles);
  void count_last();
  void count(int32_t instruction, const std::vector<Traffic>& traffic);

  const CompiledMachine& machine_;
  const Options& options_;
  std::vector<LocalStore> memories_;
  std::vector<TensorStore> tensors_;
  Evaluator evaluator_;
  Executor executor_;
  PlanCache plans_;
  Expander expander_;
  const Places places_;
  int64_t counted_ = 0;  // multiply-accumulates
  bool expanding_ = false;
  int32_t sender_ = -1;  // the expander that sends the present command, or -1: the host
  int32_t stream_ = -1;  // … and out of which stream
  std::vector<Value> values_;
  OperationList operations_;  // those that an observer still needs, the present one last
  size_t enough_;             // operations kept when timing goes on
  std::unique_ptr<Discipline> discipline_;
  std::unique_ptr<TimingRun> timing_;
};

}  // namespace autocomp
