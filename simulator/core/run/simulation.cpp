#include "run/simulation.hpp"

#include <chrono>
#include <stdexcept>

#include "run/session.hpp"

namespace autocomp {
namespace {

constexpr int64_t kTensorAlignment = 4096;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Machine with_settings(Machine machine, const std::vector<std::pair<std::string, int64_t>>& overrides) {
  for (const auto& [key, value] : overrides) {
    bool known = false;
    for (auto& [name, old] : machine.settings)
      if (name == key) {
        old = value;
        known = true;
      }
    if (!known) machine.settings.emplace_back(key, value);
  }
  return machine;
}

void time(const CompiledMachine& machine, const Options& options, SimulationResult& result) {
  if (!options.timing || result.failed) return;
  const TimingOptions timing{options.record_commands, options.max_cycles};
  result.timing = options.settings.empty()
                      ? simulate_timing(machine.machine(), result.operations, timing)
                      : simulate_timing(with_settings(machine.machine(), options.settings), result.operations, timing);
  result.timed = true;
  if (result.timing.deadlock) {
    result.failed = true;
    result.error = {"deadlock", result.timing.deadlock_message, 0};
  }
}

// Storage of a program's tensors: parameters belong to the caller, arrays of the kernel live here.
struct TensorSpace {
  std::vector<std::vector<uint8_t>> arrays;
  std::vector<TensorStore> stores;
};

TensorSpace lay_out(const Program& program, const std::vector<TensorView>& parameters) {
  TensorSpace space;
  size_t used = 0;
  for (const Tensor& tensor : program.tensors) {
    int64_t bytes = size_of(tensor.dtype);
    for (const int64_t extent : tensor.shape) bytes *= extent;
    uint8_t* data = nullptr;
    if (tensor.parameter) {
      if (used >= parameters.size())
        throw std::invalid_argument("the program has more parameters than the " + std::to_string(parameters.size()) +
                                    " tensors given; missing: " + tensor.name);
      if (parameters[used].bytes != bytes)
        throw std::invalid_argument("tensor '" + tensor.name + "': " + std::to_string(parameters[used].bytes) +
                                    " bytes given, expected " + std::to_string(bytes));
      data = parameters[used++].data;
    } else {
      space.arrays.push_back(tensor.initial);
      space.arrays.back().resize(static_cast<size_t>(bytes));
      data = space.arrays.back().data();
    }
    space.stores.push_back({&tensor.name, tensor.dtype, &tensor.shape, data, bytes});
  }
  if (used != parameters.size())
    throw std::invalid_argument("the program has " + std::to_string(used) + " parameters, not " +
                                std::to_string(parameters.size()));
  return space;
}

std::vector<int64_t> addresses(const std::vector<TensorStore>& tensors) {
  std::vector<int64_t> result;
  int64_t next = kTensorAlignment;
  for (const auto& tensor : tensors) {
    result.push_back(next);
    next += (tensor.bytes + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment;
  }
  return result;
}

}  // namespace

SimulationResult run(const CompiledMachine& machine, const Program& program, const std::vector<TensorView>& tensors,
                     const Options& options) {
  const auto start = std::chrono::steady_clock::now();
  TensorSpace space = lay_out(program, tensors);
  Session session(machine, options, space.stores);
  const ExecutionEnd end = execute(program, session.tensors(), options.max_steps, options.discipline, session);
  if (!end.failed) session.finish();
  SimulationResult result = std::move(session.result);
  result.steps = end.steps;
  if (end.failed) {
    result.failed = true;
    result.error = {end.fault.kind, end.fault.message, end.line};
  }
  result.operations.host_tail_cycles = session.host_cycles(end.tail_cycles);
  result.operations.tensor_addresses = addresses(space.stores);
  time(machine, options, result);
  result.seconds = seconds_since(start);
  return result;
}

SimulationResult replay(const CompiledMachine& machine, const Trace& trace, const Options& options) {
  const auto start = std::chrono::steady_clock::now();
  Session session(machine, options, {});
  size_t i = 0;
  try {
    for (; i < trace.instructions.size(); ++i)
      session.replay(trace.instructions[i], trace.arguments.data() + trace.first_argument[i], trace.lines[i],
                     trace.host_cycles[i]);
  } catch (const Fault& fault) {
    session.result.failed = true;
    session.result.error = {fault.kind, fault.message, trace.lines[i]};
  }
  SimulationResult result = std::move(session.result);
  int32_t tensor_count = 0;
  for (const auto& access : result.operations.accesses) tensor_count = std::max(tensor_count, access.tensor + 1);
  // Tensors of a trace have no known sizes; their addresses are far apart and aligned alike.
  for (int32_t t = 0; t < tensor_count; ++t) result.operations.tensor_addresses.push_back((int64_t{t} + 1) << 40);
  time(machine, options, result);
  result.seconds = seconds_since(start);
  return result;
}

}  // namespace autocomp
