// What the targets share: options from bytes, tensors, and running with small limits.
#pragma once

#include <vector>

#include "input.hpp"
#include "program/program.hpp"
#include "run/simulation.hpp"
#include "run/trace.hpp"

namespace autocomp::fuzz {

[[nodiscard]] Options read_options(Input& input);

// Commands with arguments that are often near what a machine accepts.
[[nodiscard]] Trace read_trace(Input& input, const CompiledMachine& machine);
[[nodiscard]] int64_t read_argument(Input& input);

// Runs `program` on zeroed parameters.
void run_program(const CompiledMachine& machine, const Program& program, const Options& options);

}  // namespace autocomp::fuzz
