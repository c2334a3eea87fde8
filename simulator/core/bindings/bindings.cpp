// The Python face of the native core.
#include "bindings/bindings.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "tables/names.hpp"

NB_MODULE(_core, m) {
  m.doc() = "Native core of the simulator";
  m.def("operator_names", &autocomp::operator_names, "Operators of expressions, in their order in the tables");
  m.def("code_names", &autocomp::code_names, "Bytecodes of programs, in their order");
  autocomp::bind_machine(m);
  autocomp::bind_program(m);
  autocomp::bind_simulation(m);
}
