// The engines that run recognised forms, one for each kind of machine code.
#pragma once

#include "arithmetic/forms.hpp"

namespace autocomp {

namespace plain {
bool run(const Form& form, FormContext& context);
}
namespace avx2 {
bool run(const Form& form, FormContext& context);
}
namespace avx512 {
bool run(const Form& form, FormContext& context);
}

}  // namespace autocomp
