// Functions that kernels may call on the host: elementwise, float, row-major.
#pragma once

#include "program/vm.hpp"

namespace autocomp {

// Builtin 0 is add_matrix(a, b, out, rows, cols), 1 is negate_matrix(in, out, rows, cols). Returns the host's steps
// for it. Throws Fault.
[[nodiscard]] int64_t host_call(int64_t builtin, const int64_t* arguments, std::vector<TensorStore>& tensors,
                                const ExecutionOptions& options, CommandSink& sink, int32_t line);

}  // namespace autocomp
