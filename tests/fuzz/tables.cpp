// A machine's tables: what the builder lets through must run and be timed without leaving its memories.
#include <stdexcept>

#include "machines.hpp"
#include "runs.hpp"

namespace autocomp::fuzz {
namespace {

// Larger memories are legal, and would take the time that inputs are there for.
constexpr int64_t kMostElements = int64_t{1} << 21;

// The commands of a trace as a program with three small tensors.
Program program_of(const Trace& trace, const Machine& machine) {
  Program program{.frame_size = 64, .stack_size = 64};
  for (const char* name : {"a", "b", "c"})
    program.tensors.push_back({.name = name, .dtype = DType::I8, .shape = {64, 16}, .parameter = true});
  for (size_t i = 0; i < trace.instructions.size(); ++i) {
    const auto& types = machine.instructions[static_cast<size_t>(trace.instructions[i])].parameter_types;
    for (size_t p = 0; p < types.size(); ++p) {
      const Value value = trace.arguments[trace.first_argument[i] + p];
      const bool real = types[p] == ValueType::Float;
      program.code.push_back({real ? Code::LoadFloat : Code::LoadInt, static_cast<uint16_t>(p), 0, 0,
                              real ? std::bit_cast<int64_t>(static_cast<double>(value.f)) : value.i});
    }
    program.code.push_back({Code::Issue, 0, 0, 0, trace.instructions[i]});
  }
  program.code.push_back({});  // Halt
  for (size_t line = 0; line < program.code.size(); ++line) program.lines.push_back(static_cast<int32_t>(line));
  return program;
}

}  // namespace
}  // namespace autocomp::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace autocomp;
  fuzz::Input input(data, size);
  try {
    const Options options = fuzz::read_options(input);
    const auto machine = fuzz::read_machine(input, fuzz::kMostElements);
    const Trace trace = fuzz::read_trace(input, *machine);
    const Program program = fuzz::program_of(trace, machine->machine());
    program.validate(machine->machine());
    fuzz::run_program(*machine, program, options);
    (void)replay(*machine, trace, options);
  } catch (const std::invalid_argument&) {  // refused at the boundary
  }
  return 0;
}
