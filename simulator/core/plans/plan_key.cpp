#include "plans/plan_key.hpp"

#include <algorithm>

namespace autocomp {
namespace {

using enum ExprOp;

constexpr int64_t kSmallField = 255;  // a field of an argument with few values may be part of a key
constexpr int32_t kNoLeaf = -1, kManyLeaves = -2;

class KeyBuilder {
 public:
  KeyBuilder(const CompiledMachine& machine, int32_t instruction)
      : machine_(machine),
        table_(machine.machine().instructions[static_cast<size_t>(instruction)]),
        chosen_(machine.exprs().size()),
        decided_(machine.exprs().size()),
        address_(table_.parameters.size()) {}

  PlanKey build() {
    find_addresses();
    bool usable = true;
    for (const auto& property : table_.properties) usable = usable && cover(property.value);
    for (const auto& access : table_.accesses) {
      cover_parts(access.guard);
      for (const auto& dim : access.dims) (void)(cover(dim.count) && cover(dim.stride));
      for (const int32_t node : {access.first_col, access.cols, access.bytes}) (void)cover(node);
    }
    for (const int32_t s : table_.body) statement(s);
    PlanKey key;
    key.usable = usable;
    if (usable) finish(key);
    return key;
  }

 private:
  [[nodiscard]] const Expr& at(int32_t node) const { return machine_.exprs()[static_cast<size_t>(node)]; }

  // Parameters that give an address differ from command to command; their values do not belong into a key.
  void find_addresses() {
    const auto mark = [&](int32_t node) {
      if (node >= 0 && at(node).op == Argument) address_[static_cast<size_t>(at(node).imm)] = 1;
    };
    for (const auto& access : table_.accesses) {
      mark(access.pointer);
      if (access.parameter >= 0) address_[static_cast<size_t>(access.parameter)] = 1;
    }
  }

  void statement(int32_t index) {
    const Statement& s = machine_.machine().statements[static_cast<size_t>(index)];
    switch (s.kind) {
      case StatementKind::Require: (void)cover(s.a); break;
      case StatementKind::SetState: (void)cover(s.a); break;
      case StatementKind::When:
        if (!cover(s.a)) break;
        for (const int32_t child : s.body) statement(child);
        for (const int32_t child : s.otherwise) statement(child);
        break;
      case StatementKind::Loop:
        if (const Form* form = machine_.form_of(index)) visit_shape(*form, [&](int32_t node) { (void)cover(node); });
        break;
      default: break;
    }
  }

  // Makes the value of a node follow from the key; false, with the key as it was, where that takes an address.
  bool cover(int32_t node) {
    const size_t before = parts_.size();
    if (descend(node)) return true;
    for (; parts_.size() > before; parts_.pop_back()) mark(parts_.back()) = 0;
    return false;
  }

  // As much of a conjunction as possible: one part that is false decides it.
  void cover_parts(int32_t node) {
    if (cover(node) || at(node).op != LogicalAnd) return;
    cover_parts(at(node).a);
    cover_parts(at(node).b);
  }

  bool descend(int32_t node) {
    if (node < 0 || chosen_[static_cast<size_t>(node)] != 0) return true;
    const Expr& e = at(node);
    if (!machine_.ahead(node)) return false;
    if (e.op == ConstInt || e.op == ConstFloat) return true;
    if (is_small(e) && leaf(node) >= 0) return choose(node);
    if (e.op == Argument) return address_[static_cast<size_t>(e.imm)] == 0 && choose(node);
    if (e.op == State) return descend(e.a) && choose(node);
    if (is_logical(e)) return descend_truth(e.a) && descend_truth(e.b);
    return descend(e.a) && descend(e.b) && descend(e.c);
  }

  // Whether an address is null may be part of a key.
  bool descend_truth(int32_t node) {
    if (descend(node) || decided_[static_cast<size_t>(node)] != 0) return true;
    return at(node).op == Argument && choose(node, true);
  }

  static bool is_logical(const Expr& e) { return e.op == LogicalAnd || e.op == LogicalOr; }

  bool choose(int32_t node, bool truth = false) {
    parts_.push_back({node, truth, {}});
    mark(parts_.back()) = 1;
    return true;
  }

  uint8_t& mark(const KeyPart& part) { return (part.truth ? decided_ : chosen_)[static_cast<size_t>(part.node)]; }

  [[nodiscard]] bool is_small(const Expr& e) const {
    if (e.op >= Eq && e.op <= LogicalOr) return true;
    if (e.op == LogicalNot) return true;
    const auto small = [&](int32_t node) {
      return at(node).op == ConstInt && at(node).imm >= 0 && at(node).imm <= kSmallField;
    };
    return e.op == And && (small(e.a) || small(e.b));
  }

  // The only argument that a node depends on, or kNoLeaf, or kManyLeaves.
  [[nodiscard]] int32_t leaf(int32_t node) const {
    if (node < 0) return kNoLeaf;
    const Expr& e = at(node);
    if (e.op == Argument) return static_cast<int32_t>(e.imm);
    if (e.op == State) return kManyLeaves;
    int32_t found = kNoLeaf;
    for (const int32_t child : {e.a, e.b, e.c}) {
      const int32_t other = leaf(child);
      if (other == kNoLeaf || other == found) continue;
      found = found == kNoLeaf ? other : kManyLeaves;
    }
    return found;
  }

  void finish(PlanKey& key) {
    std::vector<uint8_t> whole(address_.size());  // arguments that are in the key themselves
    for (const KeyPart& part : parts_)
      if (at(part.node).op == Argument && !part.truth) whole[static_cast<size_t>(at(part.node).imm)] = 1;
    std::vector<uint8_t> computed(chosen_.size());
    for (KeyPart part : parts_) {
      const Expr& e = at(part.node);
      const bool is_leaf = e.op == Argument || e.op == State;
      if (!is_leaf && whole[static_cast<size_t>(leaf(part.node))] != 0) continue;
      part.field = field_or_node(machine_, part.node);
      if (part.field.source == Field::Source::Node) computed[static_cast<size_t>(part.node)] = 1;
      key.parts.push_back(part);
    }
    key.tape = machine_.tape_for(computed);
    key.covered.resize(chosen_.size());
    for (size_t i = 0; i < key.covered.size(); ++i) {
      const Expr& e = machine_.exprs()[i];
      const auto operand = [&](int32_t n) { return n < 0 || key.covered[static_cast<size_t>(n)] != 0; };
      const auto condition = [&](int32_t n) { return operand(n) || decided_[static_cast<size_t>(n)] != 0; };
      const bool leaf = e.op == Argument || e.op == State;
      const bool follows =
          is_logical(e) ? condition(e.a) && condition(e.b) : operand(e.a) && operand(e.b) && operand(e.c);
      key.covered[i] = chosen_[i] != 0 || (machine_.ahead(static_cast<int32_t>(i)) && !leaf && follows);
    }
  }

  const CompiledMachine& machine_;
  const Instruction& table_;
  std::vector<uint8_t> chosen_;   // by node: its value is in the key
  std::vector<uint8_t> decided_;  // by node: whether it is zero is
  std::vector<KeyPart> parts_;
  std::vector<uint8_t> address_;  // by parameter
};

}  // namespace

PlanKey key_of(const CompiledMachine& machine, int32_t instruction) { return KeyBuilder(machine, instruction).build(); }

}  // namespace autocomp
