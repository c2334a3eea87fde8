// Bytecode on a shipped machine: what the program check lets through must stay within its memories and its steps.
#include <stdexcept>

#include "machines.hpp"
#include "runs.hpp"
#include "tables/names.hpp"

namespace autocomp::fuzz {
namespace {

Tensor read_tensor(Input& input, size_t number, bool parameter) {
  Tensor tensor{.name = "t" + std::to_string(number), .dtype = static_cast<DType>(input.choice(dtype_names().size()))};
  for (uint64_t left = input.choice(4); left > 0; --left) tensor.shape.push_back(1 + input.byte() % 40);
  tensor.parameter = parameter;
  return tensor;
}

// Mostly operands that pass the check; `raw` ones need not.
Bytecode read_bytecode(Input& input, const Machine& machine, bool raw) {
  Bytecode b;
  b.code = static_cast<Code>(input.choice(static_cast<uint64_t>(Code::Count) + (raw ? 1 : 0)));
  b.a = input.byte();
  b.b = input.byte();
  b.c = input.byte();
  b.imm = raw ? input.number() : read_argument(input);
  if (raw) return b;
  b.a %= 32;
  b.b %= 32;
  b.c %= 32;
  const auto bits = static_cast<uint64_t>(b.imm);
  if (b.code == Code::Issue && !machine.instructions.empty())
    b.imm = static_cast<int64_t>(bits % machine.instructions.size());
  if (b.code == Code::HostCall || b.code == Code::Assigned) b.imm = static_cast<int64_t>(bits % 2);
  if (b.code == Code::Extend) b.imm = static_cast<int64_t>(bits % 8);
  if (b.code == Code::Load || b.code == Code::Store) b.c %= 10;
  return b;
}

Program read_program(Input& input, const Machine& machine) {
  const bool raw = input.choice(16) == 0;
  Program program{.frame_size = 64, .stack_size = raw ? input.index() : 160};
  const uint64_t tensors = input.choice(4), parameters = input.choice(4);
  for (uint64_t t = 0; t < tensors; ++t) program.tensors.push_back(read_tensor(input, t, t < parameters));
  program.messages = {"x has no value", "y has no value"};
  while (input.more() && program.code.size() < 400) program.code.push_back(read_bytecode(input, machine, raw));
  program.code.push_back({});  // Halt
  const auto size = static_cast<uint64_t>(program.code.size());
  for (Bytecode& b : program.code)
    if (!raw && b.code == Code::Undefine && parameters < tensors)
      b.imm = static_cast<int64_t>(parameters + static_cast<uint64_t>(b.imm) % (tensors - parameters));
    else if (!raw && (b.code == Code::Jump || b.code == Code::JumpIfZero || b.code == Code::JumpIfNotZero ||
                      b.code == Code::Call))
      b.imm = static_cast<int64_t>(static_cast<uint64_t>(b.imm) % size);
  for (size_t line = 0; line < size; ++line) program.lines.push_back(static_cast<int32_t>(line));
  return program;
}

}  // namespace
}  // namespace autocomp::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace autocomp;
  fuzz::Input input(data, size);
  const auto& machines = fuzz::shipped_machines();
  const CompiledMachine& machine = *machines[input.choice(machines.size())];
  const Options options = fuzz::read_options(input);
  try {
    const Program program = fuzz::read_program(input, machine.machine());
    program.validate(machine.machine());
    fuzz::run_program(machine, program, options);
  } catch (const std::invalid_argument&) {  // refused at the boundary
  }
  return 0;
}
