// Forms on processors with AVX-512; compiled for these where the target can have them.
#include <algorithm>
#include <limits>
#include <type_traits>

#include "arithmetic/form_engine.hpp"
#include "arithmetic/special.hpp"

namespace autocomp::avx512 {
namespace {
#include "arithmetic/lane_operators.inc"

#include "arithmetic/lane_memory.inc"

#include "arithmetic/form_engine.inc"
}  // namespace

bool run(const Form& form, FormContext& context) { return run_form(form, context); }

}  // namespace autocomp::avx512
