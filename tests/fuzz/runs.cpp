#include "runs.hpp"

#include "semantics/compiled.hpp"

namespace autocomp::fuzz {

Options read_options(Input& input) {
  const uint8_t bits = input.byte();
  Options options;
  options.timing = (bits & 1) == 0;
  options.discipline = (bits & 2) != 0;
  options.record_commands = (bits & 4) != 0;
  options.record_trace = (bits & 8) != 0;
  options.generic = (bits & 16) != 0;
  options.requirements = (bits & 32) == 0;
  options.seed = bits >> 6 == 3 ? 1 : 0;
  options.max_cycles = 20'000;
  options.max_steps = 5'000;
  options.outputs = {0};
  return options;
}

int64_t read_argument(Input& input) {
  switch (input.choice(6)) {
    case 0: return static_cast<int64_t>(input.byte());
    case 1: {  // a pointer
      const auto tensor = static_cast<int64_t>(input.choice(4));
      return make_pointer(tensor, input.number());
    }
    case 2: return int64_t{1} << (input.byte() & 63);
    case 3: return static_cast<int64_t>(uint64_t{input.byte()} << (input.byte() & 63));
    case 4: return static_cast<int64_t>(input.byte()) * 16;
    default: return input.number();
  }
}

Trace read_trace(Input& input, const CompiledMachine& machine) {
  const auto& instructions = machine.machine().instructions;
  Trace trace;
  if (instructions.empty()) return trace;
  std::vector<Value> values;
  while (input.more() && trace.instructions.size() < 300) {
    const uint64_t index = input.choice(instructions.size());
    values.clear();
    for (const ValueType type : instructions[index].parameter_types)
      values.push_back(type == ValueType::Int ? int_value(read_argument(input))
                                              : float_value(static_cast<float>(input.real())));
    const int64_t gap = input.flag() ? (input.number() & scalar::kMax) : 0;
    trace.append(static_cast<int32_t>(index), values.data(), values.size(), gap,
                 static_cast<int32_t>(trace.instructions.size()));
  }
  return trace;
}

void run_program(const CompiledMachine& machine, const Program& program, const Options& options) {
  std::vector<std::vector<uint8_t>> storage;
  for (const auto& tensor : program.tensors) {
    if (!tensor.parameter) continue;
    int64_t bytes = size_of(tensor.dtype);
    for (const int64_t extent : tensor.shape) bytes *= extent;
    storage.emplace_back(static_cast<size_t>(bytes));
  }
  std::vector<TensorView> views;
  for (auto& bytes : storage) views.push_back({bytes.data(), static_cast<int64_t>(bytes.size())});
  (void)run(machine, program, views, {}, options);
}

}  // namespace autocomp::fuzz
