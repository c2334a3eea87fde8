#include "program/program.hpp"

#include <algorithm>
#include <stdexcept>

#include "tables/names.hpp"

namespace autocomp {
namespace {

constexpr int64_t kMaxStack = int64_t{1} << 20;
constexpr int64_t kMaxTensors = 32000;
constexpr int64_t kMaxArrays = int64_t{1} << 28;  // bytes
constexpr int64_t kHostCalls = 2;

// Highest register a bytecode touches, counted from its frame.
int64_t last_register(const Bytecode& b, const Machine& machine) {
  switch (b.code) {
    case Code::Halt:
    case Code::Jump:
    case Code::Undefine:
    case Code::Return: return 0;
    case Code::LoadInt:
    case Code::LoadFloat:
    case Code::JumpIfZero:
    case Code::JumpIfNotZero:
    case Code::Assigned:
    case Code::Call: return b.a;
    case Code::Move:
    case Code::Neg:
    case Code::BitNot:
    case Code::LogicalNot:
    case Code::FNeg:
    case Code::Extend:
    case Code::ToBool:
    case Code::IntToFloat:
    case Code::UIntToFloat:
    case Code::FloatToInt:
    case Code::ToF32:
    case Code::Load:
    case Code::Store: return std::max(b.a, b.b);
    case Code::Issue:
      return b.a + static_cast<int64_t>(machine.instructions[static_cast<size_t>(b.imm)].parameters.size()) - 1;
    case Code::HostCall: return b.a + (b.imm == 0 ? 4 : 3);
    case Code::Service: return b.a + std::max<int64_t>(b.b, 1) - 1;
    default: return std::max({b.a, b.b, b.c});
  }
}

// Returns the tensor's bytes.
int64_t check_tensor(const Tensor& tensor) {
  const std::string where = "tensor '" + tensor.name + "': ";
  int64_t bytes = size_of(tensor.dtype);
  for (const int64_t extent : tensor.shape) {
    if (extent < 1) throw std::invalid_argument(where + "an extent of " + std::to_string(extent));
    if (bytes > (int64_t{1} << 34) / extent) throw std::invalid_argument(where + "more than 16 GiB");
    bytes *= extent;
  }
  if (tensor.parameter && !tensor.initial.empty()) throw std::invalid_argument(where + "a parameter has initial bytes");
  if (!tensor.initial.empty() && static_cast<int64_t>(tensor.initial.size()) != bytes)
    throw std::invalid_argument(where + std::to_string(tensor.initial.size()) + " initial bytes, expected " +
                                std::to_string(bytes));
  return bytes;
}

}  // namespace

void Program::validate(const Machine& machine) const {
  if (code.size() != lines.size()) throw std::invalid_argument("bytecode and lines differ in length");
  if (!host.empty() && host.size() != code.size())
    throw std::invalid_argument("bytecode and its host cycles differ in length");
  if (code.empty()) throw std::invalid_argument("a program has at least one bytecode");
  if (stack_size < frame_size || frame_size < 0 || stack_size > kMaxStack)
    throw std::invalid_argument("frame_size " + std::to_string(frame_size) + " and stack_size " +
                                std::to_string(stack_size) + " must satisfy 0 <= frame_size <= stack_size <= 2^20");
  if (static_cast<int64_t>(tensors.size()) > kMaxTensors) throw std::invalid_argument("more than 32000 tensors");
  bool parameters_over = false;
  int64_t arrays = 0;
  for (const auto& tensor : tensors) {
    const int64_t bytes = check_tensor(tensor);
    if (!tensor.parameter) arrays += bytes;
    if (arrays > kMaxArrays)
      throw std::invalid_argument("tensor '" + tensor.name + "': the arrays of the kernel take more than " +
                                  std::to_string(kMaxArrays >> 20) + " MiB together");
    if (tensor.parameter && parameters_over) throw std::invalid_argument("parameters come before other tensors");
    parameters_over = parameters_over || !tensor.parameter;
  }
  const auto size = static_cast<int64_t>(code.size());
  for (int64_t pc = 0; pc < size; ++pc) {
    const Bytecode& b = code[static_cast<size_t>(pc)];
    const auto fail = [&](const std::string& message) {
      const auto index = static_cast<size_t>(b.code);
      const std::string name = index < code_names().size() ? code_names()[index] : std::to_string(index);
      throw std::invalid_argument("bytecode " + std::to_string(pc) + " (" + name + "): " + message);
    };
    if (b.code >= Code::Count) fail("unknown code");
    const bool jumps =
        b.code == Code::Jump || b.code == Code::JumpIfZero || b.code == Code::JumpIfNotZero || b.code == Code::Call;
    if (jumps && (b.imm < 0 || b.imm >= size)) fail("target " + std::to_string(b.imm) + " is outside the program");
    if (b.code == Code::Issue && (b.imm < 0 || b.imm >= static_cast<int64_t>(machine.instructions.size())))
      fail("instruction " + std::to_string(b.imm) + " does not exist");
    if (b.code == Code::HostCall && (b.imm < 0 || b.imm >= kHostCalls))
      fail("builtin " + std::to_string(b.imm) + " does not exist");
    if (b.code == Code::Service && (b.imm < 0 || b.imm >= static_cast<int64_t>(Service::Count)))
      fail("service " + std::to_string(b.imm) + " does not exist");
    if (b.code == Code::Assigned && (b.imm < 0 || b.imm >= static_cast<int64_t>(messages.size())))
      fail("message " + std::to_string(b.imm) + " does not exist");
    if (b.code == Code::Undefine &&
        (b.imm < 0 || b.imm >= static_cast<int64_t>(tensors.size()) || tensors[static_cast<size_t>(b.imm)].parameter))
      fail("tensor " + std::to_string(b.imm) + " is not an array of the kernel");
    if (b.code == Code::Extend && (b.imm < 0 || b.imm > static_cast<int64_t>(DType::U64)))
      fail("element type " + std::to_string(b.imm) + " is not an integer type");
    if ((b.code == Code::Load || b.code == Code::Store) && b.c > static_cast<int64_t>(kLastDType))
      fail("element type " + std::to_string(b.c) + " does not exist");
    if (last_register(b, machine) >= stack_size)
      fail("register " + std::to_string(last_register(b, machine)) + " is outside the stack of " +
           std::to_string(stack_size));
    const bool ends = b.code == Code::Halt || b.code == Code::Jump || b.code == Code::Return;
    if (pc + 1 == size && !ends) fail("the program runs past its end");
  }
}

}  // namespace autocomp
