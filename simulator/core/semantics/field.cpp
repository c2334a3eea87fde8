#include "semantics/field.hpp"

#include <algorithm>
#include <bit>

namespace autocomp {
namespace {

using enum ExprOp;

const Expr& at(const CompiledMachine& machine, int32_t node) { return machine.exprs()[static_cast<size_t>(node)]; }

bool is_constant(const CompiledMachine& machine, int32_t node) { return node >= 0 && at(machine, node).op == ConstInt; }

// (node & mask), where a shift below may fill in copies of the sign only above the mask.
std::optional<Field> masked(const CompiledMachine& machine, int32_t node, uint64_t mask) {
  const Expr& e = at(machine, node);
  const bool shifts = e.op == Shr && is_constant(machine, e.b);
  const int64_t count = shifts ? at(machine, e.b).imm : 0;
  if (count < 0 || count > 63 || mask << count >> count != mask) return std::nullopt;
  auto field = field_of(machine, shifts ? e.a : node);
  if (!field || field->is_float || field->shift + count > 63) return std::nullopt;
  field->shift += static_cast<int32_t>(count);
  field->mask = field->mask >> count & mask;
  return field;
}

}  // namespace

std::optional<Field> field_of(const CompiledMachine& machine, int32_t node) {
  const Expr& e = at(machine, node);
  const bool is_float = e.type == ValueType::Float;
  switch (e.op) {
    case Argument: return Field{Field::Source::Argument, is_float, static_cast<int32_t>(e.imm)};
    case State:
      if (e.a >= 0) return std::nullopt;
      return Field{Field::Source::State, is_float, static_cast<int32_t>(e.imm)};
    case WrapU:
      if (e.imm >= 64) return field_of(machine, e.a);
      return masked(machine, e.a, (uint64_t{1} << e.imm) - 1);
    case And:
      if (is_constant(machine, e.b)) return masked(machine, e.a, scalar::u(at(machine, e.b).imm));
      if (is_constant(machine, e.a)) return masked(machine, e.b, scalar::u(at(machine, e.a).imm));
      return std::nullopt;
    default: return std::nullopt;
  }
}

Field field_or_node(const CompiledMachine& machine, int32_t node) {
  if (const auto field = field_of(machine, node)) return *field;
  return {Field::Source::Node, at(machine, node).type == ValueType::Float, node};
}

FieldSum sum_of(const CompiledMachine& machine, const std::vector<uint8_t>& covered, const Value* values,
                int32_t node) {
  if (node < 0) return {};
  const auto is_covered = [&](int32_t n) { return covered[static_cast<size_t>(n)] != 0; };
  if (is_covered(node)) return {values[node].i, {}};
  const Expr& e = at(machine, node);
  const auto scaled = [&](int32_t n, int64_t factor) {
    FieldSum sum = sum_of(machine, covered, values, n);
    sum.constant = scalar::mul(sum.constant, factor);
    for (auto& term : sum.terms) term.factor = scalar::mul(term.factor, factor);
    return sum;
  };
  if (e.op == Add || e.op == Sub) {
    FieldSum sum = sum_of(machine, covered, values, e.a);
    const FieldSum more = scaled(e.b, e.op == Add ? 1 : -1);
    sum.constant = scalar::add(sum.constant, more.constant);
    sum.terms.insert(sum.terms.end(), more.terms.begin(), more.terms.end());
    return sum;
  }
  if (e.op == Mul && is_covered(e.b)) return scaled(e.a, values[e.b].i);
  if (e.op == Mul && is_covered(e.a)) return scaled(e.b, values[e.a].i);
  return {0, {{field_or_node(machine, node)}}};
}

void Guard::require(const Sources& sources, const Field& field) {
  const uint64_t mask = field.mask << field.shift;
  const uint64_t value = sources.word(field) & mask;
  const auto widen = [&](auto& check) {
    check.mask |= mask;
    check.value |= value;
  };
  if (field.is_float) {
    for (Check& check : reals_)
      if (check.field.source == field.source && check.field.index == field.index) return widen(check);
    reals_.push_back({field, mask, value});
    return;
  }
  std::vector<Word>& words = integers_[static_cast<size_t>(field.source)];
  for (Word& word : words)
    if (word.index == field.index) return widen(word);
  words.push_back({field.index, mask, value});
}

void Guard::require_truth(const Sources& sources, const Field& field) {
  if (sources.bits(field) == 0) return require(sources, field);
  unequal_.push_back({field, 0, 0});
}

void Guard::require(const CompiledMachine& machine, const Sources& sources, const Value* values, int32_t node) {
  if (node < 0) return;
  const Expr& e = at(machine, node);
  if (e.op == ConstInt || e.op == ConstFloat) return;
  if (const auto field = field_of(machine, node)) return require(sources, *field);
  if ((e.op == Eq || e.op == Ne) && (is_constant(machine, e.a) || is_constant(machine, e.b))) {
    const bool left = is_constant(machine, e.a);
    const auto field = field_of(machine, left ? e.b : e.a);
    const uint64_t constant = scalar::u(at(machine, left ? e.a : e.b).imm);
    if (field && sources.bits(*field) != constant) return unequal_.push_back({*field, 0, constant});
  }
  // What the node is computed from decides its value.
  for (const int32_t child : {e.a, e.b, e.c}) require(machine, sources, values, child);
  if (e.op == State) {
    const auto slot = static_cast<int32_t>(e.imm + values[e.a].i);
    require(sources, {Field::Source::State, e.type == ValueType::Float, slot});
  }
}

}  // namespace autocomp
