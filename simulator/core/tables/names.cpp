#include "tables/names.hpp"

#include <algorithm>
#include <stdexcept>

namespace autocomp {
namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

size_t position(const std::vector<std::string>& names, std::string_view name, const char* what) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end())
    throw std::invalid_argument("unknown " + std::string(what) + " '" + std::string(name) + "'; expected one of " +
                                joined(names));
  return static_cast<size_t>(found - names.begin());
}

}  // namespace

const std::vector<std::string>& operator_names() {
  static const std::vector<std::string> names = {
      "ConstInt",   "ConstFloat", "Argument",   "State",         "Loop",        "Add",         "Sub",
      "Mul",        "Div",        "Mod",        "CeilDiv",       "Min",         "Max",         "And",
      "Or",         "Xor",        "Shl",        "Shr",           "Eq",          "Ne",          "Lt",
      "Le",         "Gt",         "Ge",         "LogicalAnd",    "LogicalOr",   "Neg",         "Not",
      "LogicalNot", "Select",     "FAdd",       "FSub",          "FMul",        "FDiv",        "FMin",
      "FMax",       "Fma",        "ToFloat",    "RoundToInt",    "BitsToFloat", "FloatToBits", "Saturate",
      "SaturateU",  "Wrap",       "WrapU",      "RoundingShift", "Read",        "ReadDram",    "Extent",
      "Sum",        "Largest",    "SquareRoot", "FmaChain",      "Position",    "Done",        "Special",
      "RoundTo"};
  return names;
}

const std::vector<std::string>& code_names() {
  static const std::vector<std::string> names = {
      "Halt",  "LoadInt",  "LoadFloat",  "Move",          "Add",    "Sub",        "Mul",         "Div",
      "Mod",   "DivU",     "ModU",       "And",           "Or",     "Xor",        "Shl",         "Shr",
      "ShrU",  "Neg",      "BitNot",     "LogicalNot",    "Eq",     "Ne",         "Lt",          "Le",
      "LtU",   "LeU",      "FAdd",       "FSub",          "FMul",   "FDiv",       "FNeg",        "FEq",
      "FNe",   "FLt",      "FLe",        "Extend",        "ToBool", "IntToFloat", "UIntToFloat", "FloatToInt",
      "ToF32", "Jump",     "JumpIfZero", "JumpIfNotZero", "Load",   "Store",      "Call",        "Return",
      "Issue", "HostCall", "Assigned",   "Undefine",      "Service"};
  return names;
}

const std::vector<std::string>& dtype_names() {
  static const std::vector<std::string> names = {"i8",  "u8",  "i16", "u16",  "i32",    "u32",    "i64", "u64",
                                                 "f32", "f64", "f16", "bf16", "f8e5m2", "f8e4m3", "i4",  "u4"};
  return names;
}

ExprOp expr_op_from(std::string_view name) { return static_cast<ExprOp>(position(operator_names(), name, "operator")); }

DType dtype_from(std::string_view name) { return static_cast<DType>(position(dtype_names(), name, "element type")); }

MemoryKind memory_kind_from(std::string_view name) {
  static const std::vector<std::string> names = {"dram", "local", "register"};
  return static_cast<MemoryKind>(position(names, name, "kind of memory"));
}

const std::string& name_of(ExprOp op) { return operator_names().at(static_cast<size_t>(op)); }
const std::string& name_of(DType dtype) { return dtype_names().at(static_cast<size_t>(dtype)); }

}  // namespace autocomp
