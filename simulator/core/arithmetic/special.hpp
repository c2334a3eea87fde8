// Functions of floats beyond arithmetic.
#pragma once

#include "tables/machine.hpp"

namespace autocomp {

// The function's value, computed in binary64 and rounded to binary32: off by one unit in the last place at most.
[[nodiscard]] float special(SpecialFunction function, float x);

// The nearest value of a float type, ties to even.
[[nodiscard]] float round_to(DType dtype, float x);

}  // namespace autocomp
