// Collects a machine's tables one entry at a time. Equal expressions become one node.
#pragma once

#include <map>
#include <string>
#include <tuple>

#include "tables/machine.hpp"
#include "tables/typing.hpp"

namespace autocomp {

class MachineBuilder {
 public:
  int32_t memory(Memory memory);
  int32_t state(const std::string& name, double initial, bool is_float);
  int32_t expr(Expr expr);  // `type` matters for Argument only; elsewhere it is inferred
  int32_t statement(Statement statement);
  int32_t unit(Unit unit);
  int32_t instruction(Instruction instruction);
  void stream(int32_t instruction, CommandStream stream);
  void home(int32_t instruction, int32_t pointer, int32_t memory);  // tensors that it points to lie in that memory
  void word(int32_t instruction, const std::string& key, const std::string& word);  // a timing property
  void setting(const std::string& key, int64_t value);
  void choice(const std::string& key, const std::string& value);

  [[nodiscard]] const Machine& tables() const { return machine_; }
  [[nodiscard]] Machine build() const;  // validates

 private:
  [[nodiscard]] Instruction& instruction_at(int32_t instruction);

  using Key = std::tuple<int, int, int32_t, int32_t, int32_t, int64_t, uint32_t>;
  Machine machine_;
  std::vector<ExprFacts> facts_;
  std::map<Key, int32_t> known_;
};

}  // namespace autocomp
