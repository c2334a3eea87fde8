// Expansion of one command into streams of commands, and the conditions under which those may leave.
#pragma once

#include <vector>

#include "semantics/expr.hpp"
#include "semantics/operation.hpp"

namespace autocomp {

// Evaluates what the statements of streams say: it sees arguments, state, loop variables and positions, but no data.
class StreamEvaluator {
 public:
  StreamEvaluator(const CompiledMachine& machine, std::vector<TensorStore>& tensors)
      : machine_(machine), evaluator_(machine, memories_, tensors, {0, {}}) {}

  // The arguments must outlive the evaluations.
  void begin(const std::vector<Value>& arguments, const std::vector<Value>& state);
  // Where a stream stands: before this command of it, or at its end.
  void place(size_t stream, const StreamCommand* next);
  void set_done(size_t stream, bool done) { evaluator_.done[stream] = done; }

  // Do all awaits of a command hold? One that cannot be evaluated does not.
  [[nodiscard]] bool may_leave(const StreamCommand& command);

  // Makes the values of a statement's expressions available. Throws Fault.
  void evaluate(int32_t statement, const std::array<int32_t, kMaxLoops>& position);
  [[nodiscard]] Value value(int32_t node) const;

 private:
  void set_loops(const std::array<int32_t, kMaxLoops>& position);

  const CompiledMachine& machine_;
  std::vector<LocalStore> memories_;
  Evaluator evaluator_;
};

// Lists the commands of an expansion, and merges its streams as an expander with room for every command would.
class Expander {
 public:
  Expander(const CompiledMachine& machine, std::vector<TensorStore>& tensors, Budget budget)
      : machine_(machine), evaluator_(machine, tensors), budget_(std::move(budget)) {}

  // Starts an expansion of `instruction`. Throws Fault when it is too large or cannot be evaluated.
  [[nodiscard]] Expansion begin(int32_t instruction, const Value* arguments, const std::vector<Value>& state);
  // The next command to leave, or nullptr at the end. Throws Fault when the streams wait for each other.
  [[nodiscard]] StreamCommand* next(Expansion& expansion);
  // Arguments of a command.
  void arguments(const StreamCommand& command, std::vector<Value>& out);

 private:
  void list(const std::vector<int32_t>& body, int depth, StreamCommand& at, std::vector<StreamCommand>& out);

  const CompiledMachine& machine_;
  StreamEvaluator evaluator_;
  std::vector<size_t> order_;  // streams by priority
  std::vector<size_t> left_;   // commands of each stream that have left
  size_t size_ = 0;            // commands listed
  Budget budget_;              // of rounds of loops and commands
};

}  // namespace autocomp
