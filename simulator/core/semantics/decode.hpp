// A command and the present state to an Operation: its accesses and timing properties.
#pragma once

#include <string>

#include "semantics/expr.hpp"
#include "semantics/operation.hpp"

namespace autocomp {

// Call behind Evaluator::begin and before the instruction's effects. Appends to `list`.
void decode(const CompiledMachine& machine, Evaluator& evaluator, int32_t instruction, int32_t line,
            int64_t host_cycles, OperationList& list);

// One access of the instruction that Evaluator::begin made current. False: it does not take place.
[[nodiscard]] bool instantiate(const CompiledMachine& machine, Evaluator& evaluator, const Access& access,
                               AccessInstance& out);

// Cuts the columns of a local access to those of its memory.
void clip_columns(const Memory& memory, AccessInstance& access);

// Cuts every local access of the last operation to its memory. Accesses are derived conservatively, so that one may
// reach further than what the instruction did; returns a message about the first that does, or "".
std::string clip_last(const CompiledMachine& machine, OperationList& list);

}  // namespace autocomp
