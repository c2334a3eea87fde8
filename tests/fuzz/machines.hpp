// Machines for fuzzing: read from bytes that say which methods of the builder to call, as record.py writes them.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "input.hpp"
#include "semantics/compiled.hpp"

namespace autocomp::fuzz {

// Throws std::invalid_argument where the builder refuses something, and for a memory of more than `most` elements.
[[nodiscard]] std::unique_ptr<CompiledMachine> read_machine(Input& input, int64_t most);

// The shipped machines, from the files that record.py wrote at build time.
[[nodiscard]] const std::vector<std::unique_ptr<CompiledMachine>>& shipped_machines();

}  // namespace autocomp::fuzz
