// A machine together with what is worked out once from its tables: which expressions can be evaluated ahead of an
// instruction's loops, and in which order.
#pragma once

#include <vector>

#include "arithmetic/forms.hpp"
#include "tables/machine.hpp"
#include "tables/typing.hpp"

namespace autocomp {

struct InstructionPlan {
  // Nodes without loop variables and memory reads, operands first. Evaluated once per command; a node's value is kept
  // under its own index.
  std::vector<int32_t> tape;
};

// What a recognised nest needs beyond its instruction's tape, evaluated where the nest is entered.
struct NestPlan {
  std::vector<int32_t> form_tape;  // to run the form
  std::vector<int32_t> body_tape;  // to interpret the nest
};

// What a statement of a stream evaluates, operands first.
struct StreamPlan {
  std::vector<int32_t> values;  // Loop: count and step. When: condition. Emit: arguments
  std::vector<int32_t> awaits;  // Emit
};

class CompiledMachine {
 public:
  explicit CompiledMachine(Machine machine);

  [[nodiscard]] const Machine& machine() const { return machine_; }
  [[nodiscard]] const std::vector<Expr>& exprs() const { return machine_.exprs; }
  [[nodiscard]] bool ahead(int32_t node) const { return ahead_[static_cast<size_t>(node)] != 0; }
  [[nodiscard]] bool multiplies(int32_t node) const { return multiplies_[static_cast<size_t>(node)] != 0; }
  // Multiplications of two elements of memories in a value, outside of sums and addresses; the larger side of a choice.
  [[nodiscard]] int64_t products(int32_t node) const { return products_[static_cast<size_t>(node)]; }
  [[nodiscard]] const InstructionPlan& plan(int32_t instruction) const {
    return plans_[static_cast<size_t>(instruction)];
  }
  [[nodiscard]] int64_t field_size(int64_t slot) const { return field_sizes_[static_cast<size_t>(slot)]; }
  // The recognised form of the nest that starts at a statement, or nullptr.
  [[nodiscard]] const Form* form_of(int32_t statement) const {
    const int32_t form = form_of_[static_cast<size_t>(statement)];
    return form < 0 ? nullptr : &forms_[static_cast<size_t>(form)];
  }
  [[nodiscard]] const NestPlan& nest(int32_t statement) const { return nests_[static_cast<size_t>(statement)]; }
  // Does a later statement of the same instruction read the state that this one sets?
  [[nodiscard]] bool read_later(int32_t statement) const { return read_later_[static_cast<size_t>(statement)] != 0; }
  // What computes the marked nodes, without constants.
  [[nodiscard]] std::vector<int32_t> tape_for(const std::vector<uint8_t>& roots) const;
  [[nodiscard]] const StreamPlan& stream_plan(int32_t statement) const {
    return stream_plans_[static_cast<size_t>(statement)];
  }
  [[nodiscard]] size_t form_count() const { return forms_.size(); }
  [[nodiscard]] int32_t dram() const { return dram_; }

  // Whether a node's value depends on the contents of a memory.
  [[nodiscard]] bool reads_memory(int32_t node) const { return node >= 0 && facts_[static_cast<size_t>(node)].reads; }

 private:
  void analyse_exprs();
  [[nodiscard]] int64_t count_products(const Expr& e) const;
  void analyse_state();
  void recognise_forms();
  void mark_statement(int32_t index, std::vector<uint8_t>& seen) const;
  void plan_nests(int32_t index, const std::vector<uint8_t>& in_tape);
  void find_later_reads(const std::vector<int32_t>& body);
  [[nodiscard]] std::vector<int32_t> tape_of(const std::vector<uint8_t>& seen) const;
  void plan_instruction(size_t index);
  void plan_stream(const std::vector<int32_t>& body);
  [[nodiscard]] std::vector<int32_t> whole_tape(const std::vector<int32_t>& roots) const;
  [[nodiscard]] std::vector<int32_t> whole_tape_of(const std::vector<uint8_t>& seen) const;
  [[nodiscard]] bool known_at_entry(size_t node, int outer) const;

  Machine machine_;
  std::vector<ExprFacts> facts_;
  std::vector<uint8_t> ahead_;
  std::vector<uint8_t> multiplies_;   // a Sum of products or an FmaChain
  std::vector<int64_t> products_;     // per node
  std::vector<int64_t> field_sizes_;  // elements of the state field that starts at a slot
  std::vector<Form> forms_;
  std::vector<int32_t> form_of_;     // per statement
  std::vector<int> outer_;           // per statement: ordered loops around it
  std::vector<NestPlan> nests_;      // per statement
  std::vector<uint8_t> read_later_;  // per statement
  std::vector<InstructionPlan> plans_;
  std::vector<StreamPlan> stream_plans_;  // per statement
  int32_t dram_ = -1;
};

}  // namespace autocomp
