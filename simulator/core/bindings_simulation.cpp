#include "bindings.hpp"

namespace autocomp {
void bind_simulation(nanobind::module_&) {}
}  // namespace autocomp
