// The Python face is split by subject; each function below registers its part.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <utility>
#include <vector>

namespace autocomp {

// A numpy array that owns the values.
template <typename T>
nanobind::object array_of(std::vector<T> values) {
  auto* owned = new std::vector<T>(std::move(values));
  const nanobind::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nanobind::cast(
      nanobind::ndarray<nanobind::numpy, T, nanobind::ndim<1>>(owned->data(), {owned->size()}, owner));
}

void bind_machine(nanobind::module_& m);
void bind_program(nanobind::module_& m);
void bind_simulation(nanobind::module_& m);

}  // namespace autocomp
