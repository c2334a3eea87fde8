// A command and the present state to an Operation: its accesses and timing properties.
#pragma once

#include <string>

#include "expr.hpp"
#include "operation.hpp"

namespace autocomp {

// Call behind Evaluator::begin and before the instruction's effects. Appends to `list`.
void decode(const CompiledMachine& machine, Evaluator& evaluator, int32_t instruction, int32_t line,
            int64_t host_cycles, OperationList& list);

// Cuts every local access of the last operation to its memory. Accesses are derived conservatively, so that one may
// reach further than what the instruction did; returns a message about the first that does, or "".
std::string clip_last(const CompiledMachine& machine, OperationList& list);

}  // namespace autocomp
