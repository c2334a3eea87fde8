// Forms on any processor.
#include <algorithm>
#include <limits>
#include <type_traits>

#include "semantics/form_engine.hpp"
#include "semantics/special.hpp"

namespace autocomp::plain {
namespace {
#include "semantics/lane_operators.inc"

#include "semantics/form_engine.inc"
}  // namespace

bool run(const Form& form, FormContext& context) { return run_form(form, context); }

}  // namespace autocomp::plain
