#include "arithmetic/form_ranges.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace autocomp {
namespace {

using enum ExprOp;

struct Range {
  double low, high;
};

constexpr double kTwo31 = 2147483648.0;

std::optional<Range> within(Range r) {
  if (r.low < -kTwo31 || r.high > kTwo31 - 1) return std::nullopt;
  return r;
}

// A lane is either exact (its value fits 32 bits and is computed exactly) or right in its low 32 bits only, which is
// all that a wrap or a narrow store asks for.
class Widths {
 public:
  Widths(const std::vector<Expr>& exprs, Form& form) : exprs_(exprs), form_(form) {}

  bool low(int32_t index) {
    const LaneNode& lane = at(index);
    if (lane.type == ValueType::Float) return real(index);
    switch (lane.kind) {
      case LaneKind::Scalar:
      case LaneKind::Index:
      case LaneKind::Load: return true;
      case LaneKind::Choose:
      case LaneKind::Cut: return low(lane.b) && low(lane.c);
      case LaneKind::Product: return low(lane.a) && low(lane.b);
      case LaneKind::Reduction: return lane.op == Sum && low(lane.a);
      case LaneKind::Operator: break;
    }
    switch (lane.op) {
      case Add:
      case Sub:
      case Mul:
      case And:
      case Or:
      case Xor: return low(lane.a) && low(lane.b);
      case Neg:
      case Not: return low(lane.a);
      case Wrap:
        if (lane.imm >= 32) return low(lane.a);
        break;
      default: break;
    }
    return exact(index).has_value();
  }

 private:
  [[nodiscard]] const LaneNode& at(int32_t index) const { return form_.lanes[static_cast<size_t>(index)]; }

  static std::optional<Range> of(DType dtype) {
    switch (dtype) {
      case DType::I8: return Range{-128, 127};
      case DType::U8: return Range{0, 255};
      case DType::I16: return Range{-32768, 32767};
      case DType::U16: return Range{0, 65535};
      case DType::I4: return Range{-8, 7};
      case DType::U4: return Range{0, 15};
      case DType::I32: return Range{-kTwo31, kTwo31 - 1};
      default: return std::nullopt;
    }
  }

  // Every operand of a float expression is exact.
  bool real(int32_t index) {
    const LaneNode& lane = at(index);
    if (lane.type == ValueType::Int) return exact(index).has_value();
    if (lane.kind == LaneKind::Scalar || lane.kind == LaneKind::Load) return true;
    for (const int32_t child : {lane.a, lane.b, lane.c})
      if (child >= 0 && !real(child)) return false;
    return true;
  }

  std::optional<Range> scalar(const LaneNode& lane) {
    const Expr& e = exprs_[static_cast<size_t>(lane.node)];
    if (e.op == ConstInt) return within({static_cast<double>(e.imm), static_cast<double>(e.imm)});
    form_.narrow_scalars.push_back(lane.node);
    return Range{-kTwo31, kTwo31 - 1};
  }

  std::optional<Range> exact(int32_t index) {
    const LaneNode& lane = at(index);
    if (lane.kind == LaneKind::Scalar) return scalar(lane);
    if (lane.kind == LaneKind::Index) return Range{0, kTwo31 - 1};
    if (lane.kind == LaneKind::Load) return of(form_.places[static_cast<size_t>(lane.place)].dtype);
    if (lane.kind == LaneKind::Operator) return exact_operator(lane);
    if (lane.kind == LaneKind::Product) {
      const auto x = exact(lane.a);
      const auto y = exact(lane.b);
      if (!x || !y) return std::nullopt;
      const double most = std::max(std::abs(x->low), std::abs(x->high)) * std::max(std::abs(y->low), std::abs(y->high));
      form_.narrow_counts.push_back(lane.node);
      return within({-most * kNarrowProducts, most * kNarrowProducts});
    }
    if (lane.kind == LaneKind::Reduction) {
      const auto x = lane.op == Sum ? exact(lane.a) : std::nullopt;
      if (!x) return std::nullopt;
      form_.narrow_counts.push_back(lane.node);
      return within({std::min(x->low, 0.0) * kNarrowProducts, std::max(x->high, 0.0) * kNarrowProducts});
    }
    const auto x = exact(lane.b);
    const auto y = exact(lane.c);
    if (!x || !y) return std::nullopt;
    return Range{std::min(x->low, y->low), std::max(x->high, y->high)};
  }

  std::optional<Range> exact_operator(const LaneNode& lane) {
    const double power = std::ldexp(1.0, static_cast<int>(lane.imm) - 1);
    switch (lane.op) {
      case Wrap:
        if (lane.imm > 32 || !low(lane.a)) return std::nullopt;
        return Range{-power, power - 1};
      case WrapU:
        if (lane.imm > 31 || !low(lane.a)) return std::nullopt;
        return Range{0, 2 * power - 1};
      case Saturate: {
        if (lane.imm > 32) return std::nullopt;
        // Rounding saturates to the lane's width first, which a narrower saturation does not notice.
        const LaneNode& inner = at(lane.a);
        const bool rounds = inner.kind == LaneKind::Operator && inner.op == RoundToInt;
        if (rounds ? !real(inner.a) : !exact(lane.a)) return std::nullopt;
        return Range{-power, power - 1};
      }
      case Not: return low(lane.a) && exact(lane.a) ? std::optional(Range{-kTwo31, kTwo31 - 1}) : std::nullopt;
      case RoundToInt: return std::nullopt;
      case Eq:
      case Ne:
      case Lt:
      case Le:
      case Gt:
      case Ge: return real(lane.a) && real(lane.b) ? std::optional(Range{0, 1}) : std::nullopt;
      default: break;
    }
    const auto x = exact(lane.a);
    if (!x) return std::nullopt;
    if (lane.op == LogicalNot) return Range{0, 1};
    if (lane.op == Neg) return within({-x->high, -x->low});
    if (lane.b < 0) return std::nullopt;
    const auto y = exact(lane.b);
    if (!y) return std::nullopt;
    const double corners[4] = {x->low * y->low, x->low * y->high, x->high * y->low, x->high * y->high};
    switch (lane.op) {
      case Add: return within({x->low + y->low, x->high + y->high});
      case Sub: return within({x->low - y->high, x->high - y->low});
      case Mul: return within({*std::min_element(corners, corners + 4), *std::max_element(corners, corners + 4)});
      case Min: return Range{std::min(x->low, y->low), std::min(x->high, y->high)};
      case Max: return Range{std::max(x->low, y->low), std::max(x->high, y->high)};
      case And:
        if (y->low >= 0) return Range{0, y->high};
        if (x->low >= 0) return Range{0, x->high};
        return Range{-kTwo31, kTwo31 - 1};
      case Or:
      case Xor: return Range{-kTwo31, kTwo31 - 1};
      case LogicalAnd:
      case LogicalOr: return Range{0, 1};
      case Shr: return Range{std::min(x->low, 0.0), std::max(x->high, 0.0)};
      case Div:
        if (y->low <= 0) return std::nullopt;
        return Range{std::min(x->low, 0.0), std::max(x->high, 0.0)};
      case Mod:
        if (y->low <= 0) return std::nullopt;
        return Range{x->low < 0 ? 1 - y->high : 0, y->high - 1};
      case RoundingShift: return Range{std::min(x->low, 0.0), std::max(x->high, 0.0)};
      case Select: {
        const auto z = exact(lane.c);
        return z ? std::optional(Range{std::min(y->low, z->low), std::max(y->high, z->high)}) : std::nullopt;
      }
      default: return std::nullopt;
    }
  }

  const std::vector<Expr>& exprs_;
  Form& form_;
};

}  // namespace

void decide_lane_width(const std::vector<Expr>& exprs, Form& form) {
  const bool wide_target = form.target.dtype == DType::I64 || form.target.dtype == DType::U64;
  form.narrow = !wide_target && Widths(exprs, form).low(static_cast<int32_t>(form.lanes.size()) - 1);
}

}  // namespace autocomp
