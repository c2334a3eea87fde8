// Spellings of the enumerations, shared by the Python face and by messages.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "program/program.hpp"
#include "tables/machine.hpp"

namespace autocomp {

[[nodiscard]] const std::vector<std::string>& operator_names();  // in the order of ExprOp
[[nodiscard]] const std::vector<std::string>& code_names();      // in the order of Code
[[nodiscard]] const std::vector<std::string>& dtype_names();     // "i8" … in the order of DType

// Each throws std::invalid_argument that lists the accepted spellings.
[[nodiscard]] ExprOp expr_op_from(std::string_view name);
[[nodiscard]] DType dtype_from(std::string_view name);
[[nodiscard]] MemoryKind memory_kind_from(std::string_view name);

[[nodiscard]] const std::string& name_of(ExprOp op);
[[nodiscard]] const std::string& name_of(DType dtype);

}  // namespace autocomp
