// The engines that run recognised forms, one per instruction set.
#pragma once

#include "semantics/forms.hpp"

namespace autocomp {

namespace baseline {
bool run(const Form& form, FormContext& context);
}
namespace wide {
bool run(const Form& form, FormContext& context);
}

}  // namespace autocomp
