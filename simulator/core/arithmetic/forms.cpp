#include "arithmetic/forms.hpp"

#include <utility>

#include "arithmetic/form_ranges.hpp"

namespace autocomp {
namespace {

using enum ExprOp;

constexpr int64_t kMostDivided = int64_t{1} << 24;  // divisors of loop variables beyond are not recognised

class Recogniser {
 public:
  Recogniser(const Machine& machine, std::vector<Expr>& exprs, const std::vector<uint8_t>& ahead, int outer, Form& form)
      : machine_(machine), exprs_(exprs), ahead_(ahead), outer_(outer), form_(form) {}

  bool nest(int32_t index) {
    const Statement* s = &statement(index);
    while (s->kind == StatementKind::Loop) {
      if (form_.depth == kFormDepth || !is_ahead(s->a) || s->body.size() != 1) return false;
      form_.counts[static_cast<size_t>(form_.depth++)] = s->a;
      s = &statement(s->body[0]);
    }
    while (s->kind == StatementKind::When) {
      if (!s->otherwise.empty() || s->body.size() != 1 || !box(s->a, form_.guard)) return false;
      s = &statement(s->body[0]);
    }
    if (form_.depth == 0) return false;
    variables_ = form_.depth;
    if (s->kind == StatementKind::Store) {
      form_.target.memory = s->memory;
      form_.target.dtype = machine_.memories[static_cast<size_t>(s->memory)].dtype;
      if (!affine(s->a, form_.target.row) || !affine(s->b, form_.target.col)) return false;
    } else if (s->kind == StatementKind::StoreDram) {
      form_.target.dtype = static_cast<DType>(s->imm);
      form_.target.pointer = s->a;
      if (!is_ahead(s->a) || !affine(s->b, form_.target.col)) return false;
    } else {
      return false;
    }
    if (form_.target.dtype == DType::F64 || lane(s->c) < 0) return false;
    form_.value = s->c;
    decide_lane_width(exprs_, form_);
    return true;
  }

 private:
  [[nodiscard]] const Statement& statement(int32_t index) const {
    return machine_.statements[static_cast<size_t>(index)];
  }
  [[nodiscard]] Expr at(int32_t node) const { return exprs_[static_cast<size_t>(node)]; }
  [[nodiscard]] bool is_ahead(int32_t node) const {
    return static_cast<size_t>(node) >= ahead_.size() || ahead_[static_cast<size_t>(node)] != 0;
  }

  // The nest's number of a loop variable; -1 for one that is not of the nest.
  [[nodiscard]] int variable(const Expr& loop) const {
    const int64_t number = loop.imm - outer_;
    return number >= 0 && number < variables_ ? static_cast<int>(number) : -1;
  }

  // --- derived expressions, with zeros and ones folded away; -1 is zero

  int32_t append(ExprOp op, int32_t a, int32_t b, int32_t c = -1, int64_t imm = 0) {
    for (size_t i = ahead_.size(); i < exprs_.size(); ++i) {
      const Expr& e = exprs_[i];
      if (e.op == op && e.a == a && e.b == b && e.c == c && e.imm == imm) return static_cast<int32_t>(i);
    }
    exprs_.push_back({op, ValueType::Int, a, b, c, imm, 0.0F});
    return static_cast<int32_t>(exprs_.size()) - 1;
  }
  int32_t constant(int64_t value) { return value == 0 ? -1 : append(ConstInt, -1, -1, -1, value); }
  int32_t solid(int32_t node) { return node >= 0 ? node : append(ConstInt, -1, -1, -1, 0); }
  int32_t add(int32_t a, int32_t b) { return a < 0 ? b : b < 0 ? a : append(Add, a, b); }
  int32_t sub(int32_t a, int32_t b) { return b < 0 ? a : append(Sub, solid(a), b); }
  int32_t mul(int32_t a, int32_t b) {
    if (a < 0 || b < 0) return -1;
    if (at(a).op == ConstInt && at(a).imm == 1) return b;
    if (at(b).op == ConstInt && at(b).imm == 1) return a;
    return append(Mul, a, b);
  }
  int32_t choose(int32_t condition, int32_t a, int32_t b) {
    return a == b ? a : append(Select, condition, solid(a), solid(b));
  }
  int32_t least(int32_t a, int32_t b) { return a < 0 ? b : b < 0 ? a : append(Min, a, b); }

  // --- addresses

  template <typename Combine>
  static Affine combine(const Affine& x, const Affine& y, Combine f) {
    Affine out;
    out.base = f(x.base, y.base);
    for (size_t d = 0; d < kFormDepth; ++d) out.coef[d] = f(x.coef[d], y.coef[d]);
    for (size_t q = 0; q < kQuotients; ++q) out.quotient[q] = f(x.quotient[q], y.quotient[q]);
    return out;
  }

  static bool constant_in_loops(const Affine& x) {
    for (const int32_t c : x.coef)
      if (c >= 0) return false;
    return x.quotient == kNoQuotients;
  }

  struct Digits {  // v % high / low of a loop variable of the nest; high 0: v / low
    int variable = -1;
    int64_t low = 1, high = 0;
  };

  bool digits(int32_t node, Digits& out) {
    const Expr e = at(node);
    if (e.op == Loop) {
      out.variable = variable(e);
      return out.variable >= 0;
    }
    if ((e.op != Div && e.op != Mod) || !digits(e.a, out)) return false;
    const Expr k = at(e.b);
    if (k.op != ConstInt || k.imm < 1 || k.imm > kMostDivided / out.low) return false;
    const int64_t bound = out.low * k.imm;
    if (out.high > 0 && out.high % bound != 0) return e.op == Mod && bound % out.high == 0;
    (e.op == Div ? out.low : out.high) = bound;
    return true;
  }

  // v % high / low as v / low - (high / low) * (v / high).
  bool quotients(int32_t node, Affine& out) {
    Digits d;
    if (!digits(node, d) || !quotient(d.variable, d.low, 1, out)) return false;
    return d.high == 0 || quotient(d.variable, d.high, -(d.high / d.low), out);
  }

  bool quotient(int variable, int64_t divisor, int64_t factor, Affine& out) {
    if (divisor == 1) {
      out.coef[static_cast<size_t>(variable)] = constant(factor);
      return true;
    }
    size_t number = form_.quotients.size();
    for (size_t q = 0; q < form_.quotients.size(); ++q) {
      const Quotient& known = form_.quotients[q];
      if (known.variable != variable) continue;
      if (known.divisor % divisor != 0 && divisor % known.divisor != 0) return false;
      if (known.divisor == divisor) number = q;
    }
    if (number == kQuotients) return false;
    if (number == form_.quotients.size()) form_.quotients.push_back({variable, divisor});
    out.quotient[number] = constant(factor);
    return true;
  }

  bool affine(int32_t node, Affine& out) {
    if (is_ahead(node)) {
      out.base = at(node).op == ConstInt && at(node).imm == 0 ? -1 : node;
      return true;
    }
    const Expr e = at(node);
    Affine x;
    Affine y;
    switch (e.op) {
      case Loop:
        if (variable(e) < 0) return false;
        out.coef[static_cast<size_t>(variable(e))] = constant(1);
        return true;
      case Add:
        if (!affine(e.a, x) || !affine(e.b, y)) return false;
        out = combine(x, y, [this](int32_t a, int32_t b) { return add(a, b); });
        return true;
      case Sub:
        if (!affine(e.a, x) || !affine(e.b, y)) return false;
        out = combine(x, y, [this](int32_t a, int32_t b) { return sub(a, b); });
        return true;
      case Mul: {
        if (!affine(e.a, x) || !affine(e.b, y)) return false;
        if (!constant_in_loops(y)) std::swap(x, y);
        if (!constant_in_loops(y)) return false;
        const int32_t factor = y.base;
        out = combine(x, x, [this, factor](int32_t a, int32_t) { return mul(a, factor); });
        return true;
      }
      case Select:
        if (!is_ahead(e.a) || !affine(e.b, x) || !affine(e.c, y)) return false;
        out = combine(x, y, [this, &e](int32_t a, int32_t b) { return choose(e.a, a, b); });
        return true;
      case Div:
      case Mod: return quotients(node, out);
      default: return false;
    }
  }

  // --- guards

  bool box(int32_t node, Box& out) {
    if (is_ahead(node)) {
      out.condition = out.condition < 0 ? append(Ne, node, solid(-1)) : append(LogicalAnd, out.condition, node);
      return true;
    }
    Expr e = at(node);
    if (e.op == LogicalAnd) return box(e.a, out) && box(e.b, out);
    if (e.op == Gt || e.op == Ge) {
      std::swap(e.a, e.b);
      e.op = e.op == Gt ? Lt : Le;
    }
    if ((e.op != Lt && e.op != Le) || at(e.a).op != Loop || variable(at(e.a)) < 0 || !is_ahead(e.b)) return false;
    int32_t limit = e.b;
    if (e.op == Le) limit = append(Add, append(Min, limit, constant(int64_t{1} << 40)), constant(1));
    int32_t& upper = out.upper[static_cast<size_t>(variable(at(e.a)))];
    upper = least(upper, limit);
    return true;
  }

  // --- values

  int32_t push(LaneNode lane) {
    for (const int32_t child : {lane.a, lane.b, lane.c})
      if (child >= 0) lane.variables |= form_.lanes[static_cast<size_t>(child)].variables;
    form_.lanes.push_back(lane);
    return static_cast<int32_t>(form_.lanes.size()) - 1;
  }

  [[nodiscard]] uint8_t variables_of(const Affine& a) const {
    uint8_t mask = 0;
    for (int d = 0; d < kFormDepth; ++d)
      if (a.coef[static_cast<size_t>(d)] >= 0) mask |= static_cast<uint8_t>(1 << d);
    for (size_t q = 0; q < form_.quotients.size(); ++q)
      if (a.quotient[q] >= 0) mask |= static_cast<uint8_t>(1 << form_.quotients[q].variable);
    return mask;
  }

  int32_t load(const Expr& e) {
    Place place;
    if (e.op == Read) {
      place.memory = static_cast<int32_t>(e.imm);
      place.dtype = machine_.memories[static_cast<size_t>(e.imm)].dtype;
      if (!affine(e.a, place.row)) return -1;
    } else {
      place.dtype = static_cast<DType>(e.imm);
      place.pointer = e.a;
      if (!is_ahead(e.a)) return -1;
    }
    if (place.dtype == DType::F64 || !affine(e.b, place.col)) return -1;
    form_.places.push_back(place);
    LaneNode lane{.kind = LaneKind::Load, .type = e.type, .place = static_cast<int32_t>(form_.places.size()) - 1};
    lane.variables = variables_of(place.row) | variables_of(place.col);
    return push(lane);
  }

  int32_t index(const Expr& e) {
    if (variable(e) < 0) return -1;
    LaneNode lane{.kind = LaneKind::Index, .depth = variable(e)};
    lane.variables = static_cast<uint8_t>(1 << lane.depth);
    return push(lane);
  }

  int32_t select(const Expr& e) {
    LaneNode lane{.type = e.type};
    if (is_ahead(e.a)) {
      lane.kind = LaneKind::Choose;
      lane.node = e.a;
    } else if (box(e.a, lane.box)) {
      lane.kind = LaneKind::Cut;
      for (int d = 0; d < kFormDepth; ++d)
        if (lane.box.upper[static_cast<size_t>(d)] >= 0) lane.variables |= static_cast<uint8_t>(1 << d);
    } else {
      lane.kind = LaneKind::Operator;
      lane.op = Select;
      if ((lane.a = this->lane(e.a)) < 0) return -1;
    }
    if ((lane.b = this->lane(e.b)) < 0 || (lane.c = this->lane(e.c)) < 0) return -1;
    return push(lane);
  }

  int32_t sum(const Expr& e) {
    const Form before = form_;
    if (const int32_t index = product(e); index >= 0) return index;
    form_ = before;
    return reduction(e);
  }

  // A sum of products of what depends on the outer loops, the rows, alone and what depends on the others alone.
  int32_t product(const Expr& e) {
    const Expr body = at(e.b);
    const bool chain = e.op == FmaChain;
    const ExprOp times = e.type == ValueType::Float ? FMul : Mul;
    const bool nested = form_.depth > 1 && form_.depth < kFormDepth && variables_ == form_.depth;
    if (!nested || e.op == Largest || body.op != times || !is_ahead(e.a)) return -1;
    LaneNode lane{.kind = LaneKind::Product, .type = e.type, .op = e.op, .node = e.a, .depth = variables_};
    if (chain && (lane.c = this->lane(e.c)) < 0) return -1;
    ++variables_;
    lane.a = this->lane(body.a);
    lane.b = lane.a < 0 ? -1 : this->lane(body.b);
    --variables_;
    if (lane.a < 0 || lane.b < 0) return -1;
    if ((lane.rows = rows_of(lane.a, lane.b)) == 0) {
      std::swap(lane.a, lane.b);
      lane.rows = rows_of(lane.a, lane.b);
    }
    return lane.rows == 0 ? -1 : push_reduction(lane);
  }

  // The outer loops up to the last one that the left factor depends on, at least one. 0: the right factor depends on
  // them too, or no loop is left for it.
  [[nodiscard]] int32_t rows_of(int32_t left, int32_t right) const {
    const auto uses = [&](int32_t child, int d) {
      return (form_.lanes[static_cast<size_t>(child)].variables >> d & 1) != 0;
    };
    int rows = 1;
    for (int d = 1; d < form_.depth; ++d)
      if (uses(left, d)) rows = d + 1;
    for (int d = 0; d < rows; ++d)
      if (uses(right, d)) return 0;
    return rows < form_.depth ? rows : 0;
  }

  int32_t reduction(const Expr& e) {
    const Expr body = at(e.b);
    if (variables_ == kFormDepth || !is_ahead(e.a)) return -1;
    LaneNode lane{.kind = LaneKind::Reduction, .type = e.type, .op = e.op, .node = e.a, .depth = variables_};
    const Expr inside = body.op == Select ? at(body.b) : body;
    lane.imm = e.op == FmaChain || (e.op == Sum && (inside.op == Mul || inside.op == FMul));
    if (e.op == FmaChain && (lane.c = this->lane(e.c)) < 0) return -1;
    ++variables_;
    lane.a = this->lane(e.op == FmaChain ? body.a : e.b);
    if (e.op == FmaChain && lane.a >= 0 && (lane.b = this->lane(body.b)) < 0) lane.a = -1;
    --variables_;
    return lane.a < 0 ? -1 : push_reduction(lane);
  }

  int32_t push_reduction(const LaneNode& lane) {
    const int32_t index = push(lane);
    form_.lanes.back().variables &= static_cast<uint8_t>(~(1 << lane.depth));
    return index;
  }

  int32_t lane(int32_t node) {
    const Expr e = at(node);
    if (is_ahead(node)) return push({.kind = LaneKind::Scalar, .type = e.type, .node = node});
    switch (e.op) {
      case Read:
      case ReadDram: return load(e);
      case Loop: return index(e);
      case Select: return select(e);
      case Div:
      case Mod:
        if (at(e.b).op != ConstInt || at(e.b).imm == 0) return -1;
        break;
      case Sum:
      case Largest:
      case FmaChain: return sum(e);
      case Add:
      case Sub:
      case Mul:
      case Min:
      case Max:
      case And:
      case Or:
      case Xor:
      case Neg:
      case Not:
      case Saturate:
      case SaturateU:
      case Wrap:
      case WrapU:
      case RoundingShift:
      case Shl:
      case Shr:
      case LogicalAnd:
      case LogicalOr:
      case LogicalNot:
      case Eq:
      case Ne:
      case Lt:
      case Le:
      case Gt:
      case Ge:
      case FAdd:
      case FSub:
      case FMul:
      case FDiv:
      case Fma:
      case Special:
      case RoundTo:
      case BitsToFloat:
      case FMin:
      case FMax:
      case ToFloat:
      case RoundToInt:
      case FloatToBits: break;
      default: return -1;
    }
    LaneNode result{.kind = LaneKind::Operator, .type = e.type, .op = e.op, .imm = e.imm};
    if (e.op >= Eq && e.op <= Ge && at(e.a).type == ValueType::Float) result.imm = kFloatOperands;
    if ((result.a = lane(e.a)) < 0) return -1;
    if (e.b >= 0 && (result.b = lane(e.b)) < 0) return -1;
    if (e.c >= 0 && (result.c = lane(e.c)) < 0) return -1;
    return push(result);
  }

  const Machine& machine_;
  std::vector<Expr>& exprs_;
  const std::vector<uint8_t>& ahead_;  // nodes behind its end are derived ones, which all are
  const int outer_;                    // ordered loops around, whose variables count first
  Form& form_;
  int variables_ = 0;
};

}  // namespace

bool recognise(const Machine& machine, std::vector<Expr>& exprs, const std::vector<uint8_t>& ahead, int32_t statement,
               int outer, Form& form) {
  const size_t before = exprs.size();
  if (Recogniser(machine, exprs, ahead, outer, form).nest(statement)) return true;
  exprs.resize(before);
  return false;
}

}  // namespace autocomp
