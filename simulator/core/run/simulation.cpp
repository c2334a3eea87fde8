#include "run/simulation.hpp"

#include <algorithm>
#include <chrono>
#include <new>
#include <stdexcept>

#include "run/memory_limit.hpp"
#include "run/session.hpp"

namespace autocomp {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
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
    space.stores.push_back({&tensor.name, tensor.dtype, &tensor.shape, data, bytes, tensor.parameter});
  }
  if (used != parameters.size())
    throw std::invalid_argument("the program has " + std::to_string(used) + " parameters, not " +
                                std::to_string(parameters.size()));
  return space;
}

// What is there of the result of a run that needs too much memory.
SimulationResult out_of_memory(MemoryLimit& limit, const Options& options, int64_t commands, int32_t line) {
  limit.lift();
  SimulationResult result;
  result.command_count = commands;
  result.failed = true;
  result.error = {"memory",
                  "the simulation needs more than " + std::to_string(options.max_bytes >> 20) +
                      " MiB of memory after " + std::to_string(commands) + " commands",
                  line};
  return result;
}

// Runs the program to its end; false: it failed.
bool execute(const Program& program, Session& session, const Options& options, ExecutionEnd& end) {
  const Places places(options.seed);
  execute(program, session.tensors(), {options.max_steps, options.discipline, options.host_data, places, options.poll},
          session, end);
  if (end.failed)
    session.fail(end.fault, end.line);
  else
    session.returned(end.tail_cycles);
  return !end.failed;
}

// Runs the program on other data, and leaves the machine's memories and configuration to `session`.
void use(const CompiledMachine& machine, const Program& program, const std::vector<TensorView>& tensors,
         const Options& options, Session& session) {
  TensorSpace space = lay_out(program, tensors);
  Options results = options;
  results.timing = results.discipline = false;
  Session used(machine, results, space.stores, true);
  ExecutionEnd end;
  if (execute(program, used, results, end)) session.take_over(used);
}

}  // namespace

SimulationResult run(const CompiledMachine& machine, const Program& program, const std::vector<TensorView>& tensors,
                     const std::vector<TensorView>& before, const Options& options) {
  const auto start = std::chrono::steady_clock::now();
  program.validate(machine.machine());  // which may be another machine than the program was made for
  MemoryLimit limit(options.max_bytes);
  int64_t commands = 0;
  ExecutionEnd end;
  SimulationResult result;
  try {
    TensorSpace space = lay_out(program, tensors);
    Session session(machine, options, space.stores, true);
    try {
      if (!before.empty()) use(machine, program, before, options, session);
      execute(program, session, options, end);
    } catch (const std::bad_alloc&) {
      commands = session.result.command_count;
      throw;
    }
    result = std::move(session.result);
  } catch (const std::bad_alloc&) {
    result = out_of_memory(limit, options, commands, end.line);
  }
  result.steps = end.steps;
  result.exit_code = end.exit_code;
  result.seconds = seconds_since(start);
  return result;
}

SimulationResult replay(const CompiledMachine& machine, const Trace& trace, const Options& options) {
  const auto start = std::chrono::steady_clock::now();
  MemoryLimit limit(options.max_bytes);
  const size_t count = std::min(trace.instructions.size(), static_cast<size_t>(options.max_commands));
  size_t i = 0;
  SimulationResult result;
  try {
    Session session(machine, options, {}, false);
    try {
      for (; i < count; ++i) {
        trace.validate(i, machine.machine());
        session.replay(trace.instructions[i], trace.arguments.data() + trace.first_argument[i], trace.lines[i],
                       trace.host_cycles[i]);
      }
    } catch (const Fault& fault) {
      session.fail(fault, trace.lines[i]);
    }
    if (!session.result.failed) session.finish(0);
    result = std::move(session.result);
  } catch (const std::bad_alloc&) {
    const auto commands = static_cast<int64_t>(i);
    result = out_of_memory(limit, options, commands, i < count ? trace.lines[i] : 0);
  }
  result.seconds = seconds_since(start);
  return result;
}

}  // namespace autocomp
