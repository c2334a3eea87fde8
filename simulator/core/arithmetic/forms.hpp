// Recognised forms: loop nests that run on arrays of elements ("lanes") instead of element by element. A nest of one
// store is recognised when its addresses are affine in the loop variables and its value is built of element loads,
// arithmetic, guards that cut boxes out of the iteration space, and reductions: sums of products that separate into a
// matrix product run as one, any other reduction term by term. Everything else, and every access outside its memory, is
// left to the interpreter.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "arithmetic/machine_code.hpp"
#include "arithmetic/scratch.hpp"
#include "program/store.hpp"

namespace autocomp {

constexpr int kFormDepth = 6;  // loop variables, those of sums included

constexpr int64_t kSane = int64_t{1} << 40;  // addresses and strides beyond are outside every memory
constexpr std::array<int32_t, kFormDepth> kNone{-1, -1, -1, -1, -1, -1};
constexpr int kQuotients = 6;
constexpr std::array<int32_t, kQuotients> kNoQuotients{-1, -1, -1, -1, -1, -1};

// The quotient of a loop variable by a constant. Of one variable, each divisor is a multiple of those below it.
struct Quotient {
  int variable = -1;
  int64_t divisor = 1;
};

// base + sum of coef[d] * v_d + sum of quotient[q] * (v / divisor) for the form's quotients. Digits of a variable are
// sums of these: v % 8 / 4 is v / 4 - 2 * (v / 8). All are expression nodes evaluated ahead; -1 is zero.
struct Affine {
  int32_t base = -1;
  std::array<int32_t, kFormDepth> coef = kNone;
  std::array<int32_t, kQuotients> quotient = kNoQuotients;
};

struct Box {  // v_d < upper[d] for each d, if `condition` is not 0; -1: no such limit
  int32_t condition = -1;
  std::array<int32_t, kFormDepth> upper = kNone;
};

struct Place {          // where elements are loaded from or stored to
  int32_t memory = -1;  // -1: DRAM, through `pointer`
  DType dtype = DType::I8;
  int32_t pointer = -1;
  Affine row, col;  // DRAM: col holds the byte offset
};

enum class LaneKind : uint8_t { Scalar, Index, Load, Operator, Choose, Cut, Product, Reduction };

struct LaneNode {
  LaneKind kind = LaneKind::Scalar;
  ValueType type = ValueType::Int;
  ExprOp op = ExprOp::ConstInt;    // Operator. Reduction: Sum, Largest or FmaChain
  int64_t imm = 0;                 // Operator. Reduction: 1 if its terms are products
  int32_t node = -1;               // Scalar: its value. Choose: the condition. Product, Reduction: the number of terms
  int32_t a = -1, b = -1, c = -1;  // lanes. Choose and Cut: b inside, c outside. Product: a times b, plus c if there.
                                   // Reduction: terms a, or factors a and b on top of c
  int32_t place = -1;              // Load
  int32_t depth = -1;              // Product, Reduction: the sum's variable. Index: the variable
  int32_t rows = 0;                // Product: the outermost loops, over rows; the others are over columns
  Box box;                         // Cut
  uint8_t variables = 0;           // bit d: depends on v_d
};

struct Form {
  int depth = 0;
  std::array<int32_t, kFormDepth> counts = kNone;
  Box guard;
  std::vector<Quotient> quotients;
  Place target;
  int32_t value = -1;    // what is stored
  int64_t products = 0;  // multiplications of two elements for each point, outside of sums
  std::vector<Place> places;
  std::vector<LaneNode> lanes;          // operands first; the last is the value
  bool narrow = false;                  // 32-bit lanes give the same result, provided that
  std::vector<int32_t> narrow_scalars;  // these values fit 32 bits and
  std::vector<int32_t> narrow_counts;   // these are at most kNarrowProducts
};

// The blocks in which a loop variable is counted: 1 and its divisors, the smallest first, in `sizes`. Returns how many.
inline int blocks_of(const Form& form, int variable, std::array<int64_t, kQuotients + 1>& sizes) {
  sizes[0] = 1;
  int count = 1;
  for (const auto& q : form.quotients) {
    if (q.variable != variable) continue;
    int place = count++;
    for (; sizes[static_cast<size_t>(place) - 1] > q.divisor; --place)
      sizes[static_cast<size_t>(place)] = sizes[static_cast<size_t>(place) - 1];
    sizes[static_cast<size_t>(place)] = q.divisor;
  }
  return count;
}

// Calls `widen` with what an address grows by from one value of a digit of `variable` to the next, and with the least
// and the greatest value, for each of its digits that count. The variable runs `count` times from `first` on, the
// beginning of a block of each size. `value` gives the value of a node.
template <typename Integer, typename Value, typename Widen>
void each_digit(const Form& form, const Affine& a, int variable, int64_t first, int64_t count, Value value,
                Widen widen) {
  const int32_t node = a.coef[static_cast<size_t>(variable)];
  bool whole = true;
  for (size_t q = 0; q < form.quotients.size(); ++q)
    whole = whole && (form.quotients[q].variable != variable || a.quotient[q] < 0);
  if (whole) {
    if (node >= 0) widen(static_cast<Integer>(value(node)), first, first + count - 1);
    return;
  }
  std::array<int64_t, kQuotients + 1> sizes;
  const int digits = blocks_of(form, variable, sizes);
  const int64_t last = count - 1;
  for (int i = 0; i < digits; ++i) {
    const int64_t size = sizes[static_cast<size_t>(i)];
    Integer weight = node < 0 ? Integer{0} : static_cast<Integer>(value(node)) * size;
    for (size_t q = 0; q < form.quotients.size(); ++q)
      if (form.quotients[q].variable == variable && form.quotients[q].divisor <= size && a.quotient[q] >= 0)
        weight += static_cast<Integer>(value(a.quotient[q])) * (size / form.quotients[q].divisor);
    if (weight == 0) continue;
    if (i + 1 == digits)
      widen(weight, first / size, first / size + last / size);
    else
      widen(weight, int64_t{0}, std::min(last / size, sizes[static_cast<size_t>(i) + 1] / size - 1));
  }
}

constexpr int64_t kNarrowProducts = 65536;
constexpr int64_t kFloatOperands = 1;  // LaneNode::imm of a comparison of floats

// Tries the nest that starts at `statement`, in `outer` ordered loops. `ahead` marks what is known when the nest is
// entered. May append expressions to `exprs`, which then are as well.
[[nodiscard]] bool recognise(const Machine& machine, std::vector<Expr>& exprs, const std::vector<uint8_t>& ahead,
                             int32_t statement, int outer, Form& form);

// Calls `visit` with every expression node that the form evaluates.
template <typename Visit>
void visit_nodes(const Form& form, Visit visit) {
  const auto box = [&](const Box& b) {
    visit(b.condition);
    for (const int32_t node : b.upper) visit(node);
  };
  const auto affine = [&](const Affine& a) {
    visit(a.base);
    for (const int32_t node : a.coef) visit(node);
    for (const int32_t node : a.quotient) visit(node);
  };
  const auto place = [&](const Place& p) {
    visit(p.pointer);
    affine(p.row);
    affine(p.col);
  };
  for (const int32_t node : form.counts) visit(node);
  box(form.guard);
  place(form.target);
  for (const auto& p : form.places) place(p);
  for (const auto& lane : form.lanes) {
    visit(lane.node);
    box(lane.box);
  }
}

// The same without what gives the addresses: pointers and the bases of rows and columns.
template <typename Visit>
void visit_shape(const Form& form, Visit visit) {
  std::vector<int32_t> bases;
  const auto place = [&](const Place& p) { bases.insert(bases.end(), {p.pointer, p.row.base, p.col.base}); };
  place(form.target);
  for (const auto& p : form.places) place(p);
  visit_nodes(form, [&](int32_t node) {
    for (const int32_t base : bases)
      if (node == base) return;
    visit(node);
  });
}

struct FormContext {
  const Value* values;  // of the tape
  std::vector<LocalStore>& memories;
  std::vector<TensorStore>& tensors;
  Scratch& scratch;
  int64_t& multiply_accumulates;
};

// False: nothing was done, because an access lies outside its memory or the nest is too large.
using FormEngine = bool (*)(const Form& form, FormContext& context);
[[nodiscard]] FormEngine form_engine(MachineCode code);

}  // namespace autocomp
