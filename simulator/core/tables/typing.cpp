#include "tables/typing.hpp"

#include <algorithm>
#include <stdexcept>

#include "tables/names.hpp"

namespace autocomp {
namespace {

using enum ExprOp;

// Operand types of an operator: 'i' integer, 'f' float, '*' either, '=' the same as the operand before.
const char* operands_of(ExprOp op) {
  switch (op) {
    case ConstInt:
    case ConstFloat:
    case Argument:
    case State:
    case Loop:
    case Position:
    case Done: return "";
    case Add:
    case Sub:
    case Mul:
    case Div:
    case Mod:
    case CeilDiv:
    case Min:
    case Max:
    case And:
    case Or:
    case Xor:
    case Shl:
    case Shr:
    case LogicalAnd:
    case LogicalOr:
    case RoundingShift:
    case Read:
    case ReadDram: return "ii";
    case Eq:
    case Ne:
    case Lt:
    case Le:
    case Gt:
    case Ge: return "*=";
    case Neg: return "*";
    case Not:
    case LogicalNot:
    case Extent:
    case ToFloat:
    case BitsToFloat:
    case Saturate:
    case SaturateU:
    case Wrap:
    case WrapU: return "i";
    case Select: return "i*=";
    case FAdd:
    case FSub:
    case FMul:
    case FDiv:
    case FMin:
    case FMax: return "ff";
    case Fma: return "fff";
    case RoundToInt:
    case FloatToBits:
    case Special:
    case RoundTo: return "f";
    case Largest: return "i*";
    case SquareRoot: return "i";
    case Sum: return "i*";
    case FmaChain: return "iff";
  }
  throw std::invalid_argument("unknown operator");
}

}  // namespace

bool binds_variable(ExprOp op) { return op == Sum || op == Largest || op == FmaChain; }

ValueType value_type_of(DType dtype) { return is_float(dtype) ? ValueType::Float : ValueType::Int; }

ValueType infer_type(const Machine& machine, const Expr& expr) {
  const auto type_at = [&](int32_t node) { return machine.exprs.at(static_cast<size_t>(node)).type; };
  switch (expr.op) {
    case Argument: return expr.type;
    case State: return machine.state_types.at(static_cast<size_t>(expr.imm));
    case Neg: return type_at(expr.a);
    case Select:
    case Sum:
    case Largest: return type_at(expr.b);
    case Read: return value_type_of(machine.memories.at(static_cast<size_t>(expr.imm)).dtype);
    case ReadDram: return value_type_of(static_cast<DType>(expr.imm));
    case ConstFloat:
    case FAdd:
    case FSub:
    case FMul:
    case FDiv:
    case FMin:
    case FMax:
    case Fma:
    case ToFloat:
    case BitsToFloat:
    case Special:
    case RoundTo:
    case FmaChain: return ValueType::Float;
    default: return ValueType::Int;
  }
}

ExprFacts check_expr(const Machine& machine, size_t index, const std::vector<ExprFacts>& facts) {
  const Expr& e = machine.exprs[index];
  const std::string where = "expression " + std::to_string(index) + " (" + name_of(e.op) + ")";
  const auto fail = [&](const std::string& message) { throw std::invalid_argument(where + ": " + message); };
  const std::string wanted = operands_of(e.op);
  const int32_t operands[3] = {e.a, e.b, e.c};
  ExprFacts result;
  const auto grow = [&](int32_t node) {
    const ExprFacts& f = facts[static_cast<size_t>(node)];
    result.depth = std::max(result.depth, f.depth + 1);
    result.terms += f.terms;
  };
  const auto absorb = [&](int32_t node) {
    const ExprFacts& f = facts[static_cast<size_t>(node)];
    grow(node);
    result.loops = std::max(result.loops, f.loops);
    result.arguments = std::max(result.arguments, f.arguments);
    result.reads = result.reads || f.reads;
    result.awaits = result.awaits || f.awaits;
    result.sums = result.sums || f.sums;
  };
  ValueType before = ValueType::Int;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const std::string label = std::string("operand ") + static_cast<char>('a' + i);
    if (operands[i] < 0 || static_cast<size_t>(operands[i]) >= index)
      fail(label + " = " + std::to_string(operands[i]) + " is not an earlier expression");
    const ValueType type = machine.exprs[static_cast<size_t>(operands[i])].type;
    if ((wanted[i] == 'i' && type != ValueType::Int) || (wanted[i] == 'f' && type != ValueType::Float))
      fail(label + " must be " + (wanted[i] == 'i' ? "an integer" : "a float"));
    if (wanted[i] == '=' && type != before) fail(label + " must have the type of the operand before it");
    before = type;
    if (binds_variable(e.op)) {
      // A body's own variable is the next one, so what is left over belongs to the loops around.
      if (i == 1) {
        ExprFacts inner = facts[static_cast<size_t>(operands[i])];
        result.loops = std::max(result.loops, inner.loops - 1);
        result.arguments = std::max(result.arguments, inner.arguments);
        result.reads = result.reads || inner.reads;
        grow(operands[i]);
        result.awaits = result.awaits || inner.awaits;
        continue;
      }
    }
    absorb(operands[i]);
  }
  result.sums = result.sums || e.op == Sum || e.op == Largest || e.op == FmaChain;
  switch (e.op) {
    case Argument:
      if (e.imm < 0 || e.imm >= 64) fail("parameter " + std::to_string(e.imm) + " is out of range");
      result.arguments = static_cast<int>(e.imm) + 1;
      break;
    case State:
      if (e.imm < 0 || static_cast<size_t>(e.imm) >= machine.state_types.size())
        fail("state slot " + std::to_string(e.imm) + " does not exist");
      if (e.a >= 0) {
        if (static_cast<size_t>(e.a) >= index) fail("the index is not an earlier expression");
        if (machine.exprs[static_cast<size_t>(e.a)].type != ValueType::Int) fail("the index must be an integer");
        absorb(e.a);
      }
      break;
    case Loop:
      if (e.imm < 0 || e.imm >= kMaxLoops) fail("depth " + std::to_string(e.imm) + " is out of range");
      result.loops = static_cast<int>(e.imm) + 1;
      break;
    case Position:
      if (e.imm < 0 || e.imm >> 8 >= kMaxStreams || (e.imm & 255) >= kMaxLoops) fail("there is no such loop variable");
      result.awaits = true;
      break;
    case Done:
      if (e.imm < 0 || e.imm >= kMaxStreams) fail("stream " + std::to_string(e.imm) + " is out of range");
      result.awaits = true;
      break;
    case Saturate:
    case SaturateU:
    case Wrap:
    case WrapU:
      if (e.imm < 1 || e.imm > 64) fail("a width of " + std::to_string(e.imm) + " bits is not in 1..64");
      break;
    case Read:
      if (e.imm < 0 || static_cast<size_t>(e.imm) >= machine.memories.size() ||
          machine.memories[static_cast<size_t>(e.imm)].kind == MemoryKind::Dram)
        fail("memory " + std::to_string(e.imm) + " is not a local memory or register");
      result.reads = true;
      break;
    case ReadDram:
      if (e.imm < 0 || e.imm > static_cast<int64_t>(kLastDType)) fail("unknown element type " + std::to_string(e.imm));
      result.reads = true;
      break;
    case FmaChain:
      if (machine.exprs[static_cast<size_t>(e.b)].op != FMul) fail("operand b must be an FMul");
      break;
    case Special:
      if (e.imm < 0 || e.imm > static_cast<int64_t>(kLastSpecial)) fail("unknown function " + std::to_string(e.imm));
      break;
    case RoundTo:
      if (e.imm < 0 || e.imm > static_cast<int64_t>(kLastDType) || !is_float(static_cast<DType>(e.imm)))
        fail("element type " + std::to_string(e.imm) + " is not one of floats");
      break;
    default: break;
  }
  if (result.depth > kMaxDepth) fail("expressions nest more than " + std::to_string(kMaxDepth) + " deep");
  if (result.terms > kMaxTerms) fail("more than " + std::to_string(kMaxTerms) + " terms when written out");
  if (infer_type(machine, e) != e.type) fail("its type does not follow from its operands");
  return result;
}

}  // namespace autocomp
