// Whether a form's value may be computed in 32-bit lanes.
#pragma once

#include "arithmetic/forms.hpp"

namespace autocomp {

// Sets Form::narrow and its conditions.
void decide_lane_width(const std::vector<Expr>& exprs, Form& form);

}  // namespace autocomp
