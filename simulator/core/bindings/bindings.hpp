// The Python face is split by subject; each function below registers its part.
#pragma once

#include <nanobind/nanobind.h>

namespace autocomp {

void bind_machine(nanobind::module_& m);
void bind_program(nanobind::module_& m);
void bind_simulation(nanobind::module_& m);

}  // namespace autocomp
