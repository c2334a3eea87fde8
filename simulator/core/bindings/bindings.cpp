// The Python face of the native core.
#include "bindings/bindings.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "tables/names.hpp"
#include "timing/schema.hpp"
#include "timing/timing.hpp"

namespace {

// {"numbers": {(place, key): (default, least)}, "kinds": [...], "roles": [...], "causes": [...]}
nanobind::dict timing_schema() {
  const autocomp::timing::Schema schema = autocomp::timing::schema();
  nanobind::dict numbers;
  for (const auto& n : schema.numbers)
    numbers[nanobind::make_tuple(n.place, n.key)] = nanobind::make_tuple(n.fallback, n.low);
  nanobind::dict found;
  found["numbers"] = numbers;
  found["kinds"] = schema.kinds;
  found["roles"] = schema.roles;
  nanobind::list causes;
  for (int c = 0; c < static_cast<int>(autocomp::Cause::Count); ++c)
    causes.append(autocomp::name_of(static_cast<autocomp::Cause>(c)));
  found["causes"] = causes;
  return found;
}

}  // namespace

NB_MODULE(_core, m) {
  m.doc() = "Native core of the simulator";
  m.def("operator_names", &autocomp::operator_names, "Operators of expressions, in their order in the tables");
  m.def("code_names", &autocomp::code_names, "Bytecodes of programs, in their order");
  m.def("timing_schema", &timing_schema, "What descriptions may say about time: numbers by place and key, and words");
  autocomp::bind_machine(m);
  autocomp::bind_program(m);
  autocomp::bind_simulation(m);
}
