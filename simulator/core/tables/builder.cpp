#include "tables/builder.hpp"

#include <bit>
#include <stdexcept>

namespace autocomp {
namespace {

template <typename T>
int32_t append(std::vector<T>& list, T item) {
  list.push_back(std::move(item));
  return static_cast<int32_t>(list.size()) - 1;
}

template <typename T>
void assign(std::vector<std::pair<std::string, T>>& list, const std::string& key, const T& value) {
  for (auto& [name, old] : list)
    if (name == key) {
      old = value;
      return;
    }
  list.emplace_back(key, value);
}

}  // namespace

int32_t MachineBuilder::memory(Memory memory) { return append(machine_.memories, std::move(memory)); }

int32_t MachineBuilder::state(const std::string& name, double initial, bool is_float) {
  machine_.state_names.push_back(name);
  machine_.state_types.push_back(is_float ? ValueType::Float : ValueType::Int);
  return append(machine_.state_initial, initial);
}

int32_t MachineBuilder::expr(Expr expr) {
  const bool said_float = expr.type == ValueType::Float;
  for (const int32_t operand : {expr.a, expr.b, expr.c})
    if (operand < -1 || operand >= static_cast<int32_t>(machine_.exprs.size()))
      throw std::invalid_argument("expression operand " + std::to_string(operand) + " does not exist; there are " +
                                  std::to_string(machine_.exprs.size()) + " expressions");
  machine_.exprs.push_back(expr);
  try {
    facts_.resize(machine_.exprs.size());
    // A first check without regard to the type makes it safe to infer it from the operands.
    Expr& added = machine_.exprs.back();
    if (added.op == ExprOp::State && (added.imm < 0 || static_cast<size_t>(added.imm) >= machine_.state_types.size()))
      throw std::invalid_argument("state slot " + std::to_string(added.imm) + " does not exist");
    if (added.op == ExprOp::Read && (added.imm < 0 || static_cast<size_t>(added.imm) >= machine_.memories.size()))
      throw std::invalid_argument("memory " + std::to_string(added.imm) + " does not exist");
    if ((added.op == ExprOp::Neg && added.a < 0) ||
        ((added.op == ExprOp::Select || added.op == ExprOp::Sum || added.op == ExprOp::Largest) && added.b < 0))
      throw std::invalid_argument("an operand is missing");
    added.type = infer_type(machine_, added);
    if (said_float && added.type != ValueType::Float)
      throw std::invalid_argument("expression " + std::to_string(machine_.exprs.size() - 1) +
                                  ": said to be a float, but its operands make it an integer");
    facts_.back() = check_expr(machine_, machine_.exprs.size() - 1, facts_);
  } catch (...) {
    machine_.exprs.pop_back();
    facts_.pop_back();
    throw;
  }
  const Expr& added = machine_.exprs.back();
  const Key key{static_cast<int>(added.op),         static_cast<int>(added.type), added.a, added.b, added.c, added.imm,
                std::bit_cast<uint32_t>(added.fimm)};
  const auto [entry, fresh] = known_.emplace(key, static_cast<int32_t>(machine_.exprs.size()) - 1);
  if (!fresh) {
    machine_.exprs.pop_back();
    facts_.pop_back();
  }
  return entry->second;
}

int32_t MachineBuilder::statement(Statement statement) { return append(machine_.statements, std::move(statement)); }
int32_t MachineBuilder::unit(Unit unit) { return append(machine_.units, std::move(unit)); }

int32_t MachineBuilder::instruction(Instruction instruction) {
  if (instruction.parameters.size() > 64) throw std::invalid_argument("more than 64 parameters");
  return append(machine_.instructions, std::move(instruction));
}

Instruction& MachineBuilder::instruction_at(int32_t instruction) {
  if (instruction < 0 || static_cast<size_t>(instruction) >= machine_.instructions.size())
    throw std::invalid_argument("instruction " + std::to_string(instruction) + " does not exist");
  return machine_.instructions[static_cast<size_t>(instruction)];
}

void MachineBuilder::stream(int32_t instruction, CommandStream stream) {
  instruction_at(instruction).streams.push_back(std::move(stream));
}

void MachineBuilder::home(int32_t instruction, int32_t pointer, int32_t memory) {
  instruction_at(instruction).homes.emplace_back(pointer, memory);
}

void MachineBuilder::word(int32_t instruction, const std::string& key, const std::string& word) {
  assign(instruction_at(instruction).words, key, word);
}

void MachineBuilder::setting(const std::string& key, int64_t value) { assign(machine_.settings, key, value); }
void MachineBuilder::choice(const std::string& key, const std::string& value) { assign(machine_.choices, key, value); }

Machine MachineBuilder::build() const {
  machine_.validate();
  return machine_;
}

}  // namespace autocomp
