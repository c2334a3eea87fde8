// The Python face of the native core.
#include <nanobind/nanobind.h>

NB_MODULE(_core, m) { m.doc() = "Native core of the simulator"; }
