// Fields: bits of an argument or of a configuration register, read where they stand. Most of what decides about a
// command and most of its addresses are fields and sums of them, for which no expression has to be evaluated.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "arithmetic/scalar.hpp"
#include "semantics/compiled.hpp"

namespace autocomp {

struct Field {
  enum class Source : uint8_t { Argument, State, Node };
  Source source = Source::Node;
  bool is_float = false;
  int32_t index = -1;  // of the argument, the state slot or the node
  int32_t shift = 0;
  uint64_t mask = ~uint64_t{0};  // of the bits shifted down

  friend bool operator==(const Field&, const Field&) = default;
};

// The present values, by Field::Source.
struct Sources {
  std::array<const Value*, 3> values{};

  [[nodiscard]] const Value& value(const Field& field) const {
    return values[static_cast<size_t>(field.source)][field.index];
  }
  [[nodiscard]] uint64_t word(const Field& field) const {
    return field.is_float ? std::bit_cast<uint32_t>(value(field).f) : scalar::u(value(field).i);
  }
  [[nodiscard]] uint64_t bits(const Field& field) const { return word(field) >> field.shift & field.mask; }
};

// Nothing where the node is not a field of a single argument or register.
[[nodiscard]] std::optional<Field> field_of(const CompiledMachine& machine, int32_t node);
// The same, with the node itself as the last resort, which then has to be evaluated ahead.
[[nodiscard]] Field field_or_node(const CompiledMachine& machine, int32_t node);

// constant + the sum of factor * field
struct FieldSum {
  struct Term {
    Field field;
    int64_t factor = 1;

    friend bool operator==(const Term&, const Term&) = default;
  };
  int64_t constant = 0;
  std::vector<Term> terms;

  [[nodiscard]] int64_t at(const Sources& sources) const {
    uint64_t total = scalar::u(constant);
    for (const Term& term : terms) total += scalar::u(term.factor) * sources.bits(term.field);
    return scalar::s(total);
  }

  friend bool operator==(const FieldSum&, const FieldSum&) = default;
};

// The sum of `node`, where the nodes that are `covered` have the present `values`; -1 is zero.
[[nodiscard]] FieldSum sum_of(const CompiledMachine& machine, const std::vector<uint8_t>& covered, const Value* values,
                              int32_t node);

// Whether fields are as they once were.
class Guard {
 public:
  // From now on the guard only holds where `node` has the value that it has with `sources`. Its nodes must be ones that
  // are evaluated ahead; `values` are theirs.
  void require(const CompiledMachine& machine, const Sources& sources, const Value* values, int32_t node);
  void require(const Sources& sources, const Field& field);
  // From now on the guard only holds where the field is zero, or is not, as now.
  void require_truth(const Sources& sources, const Field& field);

  [[nodiscard]] bool holds(const Sources& sources) const {
    uint64_t difference = 0;
    for (size_t s = 0; s < integers_.size(); ++s)
      for (const Word& word : integers_[s])
        difference |= (scalar::u(sources.values[s][word.index].i) & word.mask) ^ word.value;
    for (const Check& check : reals_) difference |= (sources.word(check.field) & check.mask) ^ check.value;
    if (difference != 0) return false;
    for (const Check& check : unequal_)
      if (sources.bits(check.field) == check.value) return false;
    return true;
  }

 private:
  struct Check {
    Field field;
    uint64_t mask = 0;  // of the whole word
    uint64_t value = 0;
  };

  struct Word {
    int32_t index = -1;
    uint64_t mask = 0, value = 0;
  };

  std::array<std::vector<Word>, 3> integers_;  // by source, at most one of each index
  std::vector<Check> reals_;                   // likewise
  std::vector<Check> unequal_;                 // fields
};

}  // namespace autocomp
