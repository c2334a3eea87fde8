// Forms on any processor.
#include <algorithm>
#include <limits>
#include <type_traits>

#include "arithmetic/form_engine.hpp"
#include "arithmetic/special.hpp"

namespace autocomp::plain {
namespace {
#include "arithmetic/lane_operators.inc"

#include "arithmetic/lane_memory.inc"

#include "arithmetic/form_engine.inc"
}  // namespace

bool run(const Form& form, FormContext& context) { return run_form(form, context); }

}  // namespace autocomp::plain
