// Evaluation of expressions: a tape of nodes computed ahead of a command, and the rest on demand. The tape computes
// both sides of conditions; should anything on it fail, the command is evaluated on demand altogether, so that only
// what the semantics ask for can stop a program.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "program/store.hpp"
#include "semantics/budget.hpp"
#include "semantics/compiled.hpp"
#include "semantics/field.hpp"

namespace autocomp {

class Evaluator {
 public:
  Evaluator(const CompiledMachine& machine, std::vector<LocalStore>& memories, std::vector<TensorStore>& tensors,
            Budget budget);

  // Makes `arguments` current and evaluates the instruction's tape with the present state.
  void begin(int32_t instruction, const Value* arguments);
  void refresh() { use_tape_ = run(plan_->tape); }               // evaluates the tape again, after a change of state
  void take(const Value* arguments) { arguments_ = arguments; }  // makes them current
  // Evaluates only `tape`; false: something on it failed.
  [[nodiscard]] bool evaluate(const std::vector<int32_t>& tape) { return run(tape); }
  // Evaluates the tape of a nest on top.
  void enter(const std::vector<int32_t>& tape) { use_tape_ = use_tape_ && run(tape); }

  // Both throw Fault: division by zero, an access outside its memory or tensor.
  [[nodiscard]] int64_t integer(int32_t node) {
    return use_tape_ && machine_.ahead(node) ? values_[static_cast<size_t>(node)].i : compute_integer(node);
  }
  [[nodiscard]] float real(int32_t node) {
    return use_tape_ && machine_.ahead(node) ? values_[static_cast<size_t>(node)].f : compute_real(node);
  }
  [[nodiscard]] Value value(int32_t node) {
    return machine_.exprs()[static_cast<size_t>(node)].type == ValueType::Int ? int_value(integer(node))
                                                                              : float_value(real(node));
  }

  [[nodiscard]] int64_t state_slot(int64_t slot, int32_t index);
  std::vector<Value> state;
  std::array<int64_t, kMaxLoops + 1> loops{};                           // values of the loop variables, outermost first
  std::array<std::array<int64_t, kMaxLoops>, kMaxStreams> positions{};  // of streams, where awaits are evaluated
  std::array<bool, kMaxStreams> done{};
  int depth = 0;
  int64_t multiply_accumulates = 0;
  Budget budget;

  [[nodiscard]] bool tape_valid() const { return use_tape_; }
  // The value of a node that no tape computes next time.
  void settle(int32_t node, Value value) { values_[static_cast<size_t>(node)] = value; }
  [[nodiscard]] const Value* values() const { return values_.data(); }
  [[nodiscard]] Sources sources() const { return {{arguments_, state.data(), values_.data()}}; }

  // Whether memories have contents: a trace is replayed without.
  [[nodiscard]] bool has_data() const {
    return std::any_of(memories_.begin(), memories_.end(), [](const LocalStore& s) { return s.data != nullptr; });
  }

 private:
  [[nodiscard]] int64_t compute_integer(int32_t node);
  [[nodiscard]] float compute_real(int32_t node);
  [[nodiscard]] int64_t compare(const Expr& e);
  [[nodiscard]] Value read(const Expr& e);
  [[nodiscard]] bool run(const std::vector<int32_t>& tape);  // false: something on it failed
  [[nodiscard]] Value reduce(const Expr& e, int32_t node);
  void check_depth() const;

  const CompiledMachine& machine_;
  std::vector<LocalStore>& memories_;
  std::vector<TensorStore>& tensors_;
  const InstructionPlan* plan_ = nullptr;
  const Value* arguments_ = nullptr;
  std::vector<Value> values_;
  bool use_tape_ = true;
};

}  // namespace autocomp
