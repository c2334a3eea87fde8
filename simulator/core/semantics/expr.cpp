#include "semantics/expr.hpp"

#include <stdexcept>

#include "arithmetic/special.hpp"

namespace autocomp {
namespace {

using enum ExprOp;

// Operators of integers alone that cannot fail.
int64_t apply(const Expr& e, int64_t a, int64_t b) {
  switch (e.op) {
    case Add: return scalar::add(a, b);
    case Sub: return scalar::sub(a, b);
    case Mul: return scalar::mul(a, b);
    case Min: return std::min(a, b);
    case Max: return std::max(a, b);
    case And: return a & b;
    case Or: return a | b;
    case Xor: return a ^ b;
    case Shl: return scalar::shl(a, b);
    case Shr: return scalar::shr(a, b);
    case Not: return ~a;
    case LogicalNot: return a == 0 ? 1 : 0;
    case Saturate: return scalar::saturate(a, e.imm);
    case SaturateU: return scalar::saturate_unsigned(a, e.imm);
    case Wrap: return scalar::wrap(a, e.imm);
    case WrapU: return scalar::wrap_unsigned(a, e.imm);
    case RoundingShift: return scalar::rounding_shift(a, b);
    case SquareRoot: return scalar::square_root(a);
    default: throw std::logic_error("not an operator of integers");
  }
}

int64_t divide(ExprOp op, int64_t a, int64_t b) {
  return op == Div ? scalar::div(a, b) : op == Mod ? scalar::mod(a, b) : scalar::ceil_div(a, b);
}

float apply(ExprOp op, float a, float b) {
  switch (op) {
    case FAdd: return scalar::canonical(a + b);
    case FSub: return scalar::canonical(a - b);
    case FMul: return scalar::canonical(a * b);
    case FDiv: return scalar::canonical(a / b);
    case FMin: return scalar::fmin(a, b);
    case FMax: return scalar::fmax(a, b);
    default: throw std::logic_error("not an operator of floats");
  }
}

template <typename T>
int64_t ordered(ExprOp op, T a, T b) {
  switch (op) {
    case Eq: return a == b;
    case Ne: return a != b;
    case Lt: return a < b;
    case Le: return a <= b;
    case Gt: return a > b;
    case Ge: return a >= b;
    default: throw std::logic_error("not a comparison");
  }
}

}  // namespace

Evaluator::Evaluator(const CompiledMachine& machine, std::vector<LocalStore>& memories,
                     std::vector<TensorStore>& tensors, Budget limits)
    : budget(std::move(limits)),
      machine_(machine),
      memories_(memories),
      tensors_(tensors),
      values_(machine.exprs().size()) {
  const Machine& tables = machine.machine();
  for (size_t i = 0; i < tables.state_initial.size(); ++i)
    state.push_back(tables.state_types[i] == ValueType::Int ? int_value(static_cast<int64_t>(tables.state_initial[i]))
                                                            : float_value(static_cast<float>(tables.state_initial[i])));
  for (size_t i = 0; i < values_.size(); ++i) {
    const Expr& e = tables.exprs[i];
    if (e.op == ConstFloat)
      values_[i] = float_value(e.fimm);
    else
      values_[i] = int_value(e.op == ConstInt ? e.imm : 0);
  }
}

void Evaluator::begin(int32_t instruction, const Value* arguments) {
  plan_ = &machine_.plan(instruction);
  arguments_ = arguments;
  refresh();
}

bool Evaluator::run(const std::vector<int32_t>& tape) {
  const Expr* exprs = machine_.exprs().data();
  Value* v = values_.data();
  for (const int32_t node : tape) {
    const Expr& e = exprs[node];
    Value& out = v[node];
    switch (e.op) {
      case Argument: out = arguments_[e.imm]; break;
      case State: {
        const int64_t index = e.a < 0 ? 0 : v[e.a].i;
        if (index < 0 || index >= machine_.field_size(e.imm)) return false;
        out = state[at(e.imm + index)];
        break;
      }
      case Loop: out.i = loops[at(e.imm)]; break;
      case Read: {
        LocalStore& memory = memories_[at(e.imm)];
        if (!memory.contains(v[e.a].i, v[e.b].i)) return false;
        out = load_element(memory.at(v[e.a].i, v[e.b].i), memory.dtype);
        break;
      }
      case ReadDram: return false;
      case Position: out.i = positions[at(e.imm >> 8)][at(e.imm & 255)]; break;
      case Done: out.i = done[at(e.imm)] ? 1 : 0; break;
      case Add: out.i = scalar::add(v[e.a].i, v[e.b].i); break;
      case Sub: out.i = scalar::sub(v[e.a].i, v[e.b].i); break;
      case Mul: out.i = scalar::mul(v[e.a].i, v[e.b].i); break;
      case WrapU: out.i = scalar::wrap_unsigned(v[e.a].i, e.imm); break;
      case LogicalNot: out.i = v[e.a].i == 0; break;
      case And: out.i = v[e.a].i & v[e.b].i; break;
      case Shr: out.i = scalar::shr(v[e.a].i, v[e.b].i); break;
      case Div:
      case Mod:
      case CeilDiv:
        if (v[e.b].i == 0 || (e.op == CeilDiv && v[e.b].i < 0)) return false;
        out.i = divide(e.op, v[e.a].i, v[e.b].i);
        break;
      case Eq:
      case Ne:
      case Lt:
      case Le:
      case Gt:
      case Ge:
        out.i =
            exprs[e.a].type == ValueType::Int ? ordered(e.op, v[e.a].i, v[e.b].i) : ordered(e.op, v[e.a].f, v[e.b].f);
        break;
      case LogicalAnd: out.i = v[e.a].i != 0 && v[e.b].i != 0; break;
      case LogicalOr: out.i = v[e.a].i != 0 || v[e.b].i != 0; break;
      case Select: out = v[e.a].i != 0 ? v[e.b] : v[e.c]; break;
      case Extent: out.i = extent(tensors_, v[e.a].i); break;
      case Neg:
        if (e.type == ValueType::Int)
          out.i = scalar::neg(v[e.a].i);
        else
          out.f = -v[e.a].f;
        break;
      case FAdd:
      case FSub:
      case FMul:
      case FDiv:
      case FMin:
      case FMax: out.f = apply(e.op, v[e.a].f, v[e.b].f); break;
      case Fma: out.f = scalar::canonical(std::fma(v[e.a].f, v[e.b].f, v[e.c].f)); break;
      case ToFloat: out.f = static_cast<float>(v[e.a].i); break;
      case BitsToFloat: out.f = scalar::bits_to_float(v[e.a].i); break;
      case RoundToInt: out.i = scalar::round_to_int(v[e.a].f); break;
      case FloatToBits: out.i = scalar::float_to_bits(v[e.a].f); break;
      case Special: out.f = special(static_cast<SpecialFunction>(e.imm), v[e.a].f); break;
      case RoundTo: out.f = round_to(static_cast<DType>(e.imm), v[e.a].f); break;
      default: out.i = apply(e, v[e.a].i, e.b < 0 ? 0 : v[e.b].i); break;
    }
  }
  return true;
}

int64_t Evaluator::state_slot(int64_t slot, int32_t index) {
  if (index < 0) return slot;
  const int64_t i = integer(index);
  const int64_t size = machine_.field_size(slot);
  if (i < 0 || i >= size)
    throw Fault{"requirement", "configuration register " + machine_.machine().state_names[at(slot)] +
                                   " has indices 0.." + std::to_string(size - 1) + ", not " + std::to_string(i)};
  return slot + i;
}

int64_t Evaluator::compare(const Expr& e) {
  if (machine_.exprs()[at(e.a)].type == ValueType::Int) return ordered(e.op, integer(e.a), integer(e.b));
  return ordered(e.op, real(e.a), real(e.b));
}

Value Evaluator::read(const Expr& e) {
  if (e.op == ReadDram) {
    const auto dtype = static_cast<DType>(e.imm);
    return load_element(resolve(tensors_, integer(e.a), integer(e.b), size_of(dtype), "a read"), dtype);
  }
  LocalStore& memory = memories_[at(e.imm)];
  const int64_t row = integer(e.a);
  const int64_t col = integer(e.b);
  if (!memory.contains(row, col))
    throw Fault{"bounds", "a read of " + machine_.machine().memories[at(e.imm)].name + "[" + std::to_string(row) +
                              "][" + std::to_string(col) + "] is outside its " + std::to_string(memory.rows) +
                              " rows of " + std::to_string(memory.cols) + " elements"};
  return load_element(memory.at(row, col), memory.dtype);
}

void Evaluator::check_depth() const {
  if (depth >= kMaxLoops) throw Fault{"requirement", "loops and sums nest too deeply"};
}

Value Evaluator::reduce(const Expr& e, int32_t node) {
  const int64_t count = integer(e.a);
  check_depth();
  int64_t total = e.op == Largest ? scalar::kMin : 0;
  float real_total = e.op == FmaChain ? real(e.c) : e.op == Largest ? -std::numeric_limits<float>::infinity() : 0.0F;
  const Expr& body = machine_.exprs()[at(e.b)];
  const int level = depth++;
  for (int64_t k = 0; k < count; ++k) {
    budget.spend();
    loops[at(level)] = k;
    if (e.op == FmaChain)
      real_total = scalar::canonical(std::fma(real(body.a), real(body.b), real_total));
    else if (e.op == Largest && e.type == ValueType::Float)
      real_total = scalar::fmax(real_total, real(e.b));
    else if (e.op == Largest)
      total = std::max(total, integer(e.b));
    else if (e.type == ValueType::Int)
      total = scalar::add(total, integer(e.b));
    else
      real_total = scalar::canonical(real_total + real(e.b));
  }
  depth = level;
  if (machine_.multiplies(node) && count > 0) multiply_accumulates += count;
  return e.type == ValueType::Int ? int_value(total) : float_value(real_total);
}

int64_t Evaluator::compute_integer(int32_t node) {
  const Expr& e = machine_.exprs()[at(node)];
  switch (e.op) {
    case ConstInt: return e.imm;
    case Argument: return arguments_[e.imm].i;
    case State: return state[at(state_slot(e.imm, e.a))].i;
    case Loop: return loops[at(e.imm)];
    case Position: return positions[at(e.imm >> 8)][at(e.imm & 255)];
    case Done: return done[at(e.imm)] ? 1 : 0;
    case Div:
    case Mod:
    case CeilDiv: {
      const int64_t a = integer(e.a);
      const int64_t b = integer(e.b);
      if (b == 0) throw Fault{"division", "division by zero in the instruction's semantics"};
      if (e.op == CeilDiv && b < 0) throw Fault{"division", "ceil_div by a negative number"};
      return divide(e.op, a, b);
    }
    case Eq:
    case Ne:
    case Lt:
    case Le:
    case Gt:
    case Ge: return compare(e);
    case LogicalAnd: return integer(e.a) != 0 && integer(e.b) != 0;
    case LogicalOr: return integer(e.a) != 0 || integer(e.b) != 0;
    case Extent: return extent(tensors_, integer(e.a));
    case Neg: return scalar::neg(integer(e.a));
    case Select: return integer(e.a) != 0 ? integer(e.b) : integer(e.c);
    case RoundToInt: return scalar::round_to_int(real(e.a));
    case FloatToBits: return scalar::float_to_bits(real(e.a));
    case Read:
    case ReadDram: return read(e).i;
    case Sum:
    case Largest: return reduce(e, node).i;
    default: {
      const int64_t a = integer(e.a);
      return apply(e, a, e.b < 0 ? 0 : integer(e.b));
    }
  }
}

float Evaluator::compute_real(int32_t node) {
  const Expr& e = machine_.exprs()[at(node)];
  switch (e.op) {
    case ConstFloat: return e.fimm;
    case Argument: return arguments_[e.imm].f;
    case State: return state[at(state_slot(e.imm, e.a))].f;
    case Neg: return -real(e.a);
    case Select: return integer(e.a) != 0 ? real(e.b) : real(e.c);
    case Fma: {
      const float a = real(e.a);
      const float b = real(e.b);
      return scalar::canonical(std::fma(a, b, real(e.c)));
    }
    case ToFloat: return static_cast<float>(integer(e.a));
    case BitsToFloat: return scalar::bits_to_float(integer(e.a));
    case Read:
    case ReadDram: return read(e).f;
    case Special: return special(static_cast<SpecialFunction>(e.imm), real(e.a));
    case RoundTo: return round_to(static_cast<DType>(e.imm), real(e.a));
    case Sum:
    case Largest:
    case FmaChain: return reduce(e, node).f;
    default: {
      const float a = real(e.a);
      return apply(e.op, a, real(e.b));
    }
  }
}

}  // namespace autocomp
