// Execution of instructions' semantics on data.
#pragma once

#include <vector>

#include "semantics/expr.hpp"

namespace autocomp {

class Executor {
 public:
  Executor(const CompiledMachine& machine, Evaluator& evaluator, std::vector<LocalStore>& memories,
           std::vector<TensorStore>& tensors, bool generic, MachineCode code);

  // Executes the body of the instruction that Evaluator::begin made current. Throws Fault.
  void execute(int32_t instruction);

  // Executes one statement of a body, outside all loops, with the present state.
  void execute_alone(int32_t instruction, const Value* arguments, int32_t statement);

  // Runs a form with the values that the evaluator has of its nodes. False: nothing was done.
  [[nodiscard]] bool run_form(const Form& form);

  // Requirements and changes of state only: what a trace without data needs. Returns the message of the first
  // requirement that fails, or nullptr; changes state all the same.
  [[nodiscard]] const std::string* configure(int32_t instruction);

 private:
  struct Pending {
    StatementKind kind;
    DType dtype;
    uint8_t* at;
    int64_t slot;
    bool read_later;
    Value value;
  };

  void sequence(const std::vector<int32_t>& body);
  void statement(int32_t index);
  [[nodiscard]] bool run_nest(int32_t statement);
  void evaluate_store(int32_t index);
  void commit();
  void configure(const std::vector<int32_t>& body);

  const CompiledMachine& machine_;
  Evaluator& evaluator_;
  std::vector<LocalStore>& memories_;
  std::vector<TensorStore>& tensors_;
  bool generic_;
  FormEngine engine_;
  Scratch scratch_;
  std::vector<Pending> pending_;
  int parallel_ = 0;  // loops around whose iterations are not ordered
  const std::string* failed_ = nullptr;
};

}  // namespace autocomp
