// Static checks of expression nodes: operand counts, types, and what a node depends on.
#pragma once

#include <vector>

#include "tables/machine.hpp"

namespace autocomp {

constexpr int kMaxLoops = 12;                    // loop variables alive at once, those of Sum included
constexpr int kMaxDepth = 1000;                  // nodes in each other: evaluation is recursive
constexpr int64_t kMaxTerms = int64_t{1} << 20;  // nodes below one, each counted as often as it is reached

// What a node depends on, over its whole subtree.
struct ExprFacts {
  int loops = 0;        // 1 + the deepest loop variable used and not bound below; 0: none
  int arguments = 0;    // 1 + the highest parameter used
  bool reads = false;   // element of a memory
  bool awaits = false;  // where a stream stands
  bool sums = false;    // a loop of its own
  int depth = 1;        // nodes on the longest way down, itself included
  int64_t terms = 1;    // nodes below and itself, each counted as often as it is reached
};

// Whether operand b of the operator has a loop variable of its own.
[[nodiscard]] bool binds_variable(ExprOp op);

[[nodiscard]] ValueType value_type_of(DType dtype);

// The type of node `expr` follows from its operator and operands; only Argument states it.
[[nodiscard]] ValueType infer_type(const Machine& machine, const Expr& expr);

// Checks node `index` against the nodes before it. Throws std::invalid_argument.
ExprFacts check_expr(const Machine& machine, size_t index, const std::vector<ExprFacts>& facts);

}  // namespace autocomp
