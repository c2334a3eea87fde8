#include "semantics/form_engine.hpp"

namespace autocomp {

FormEngine form_engine() {
#if defined(__x86_64__) && defined(__GNUC__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return &wide::run;
#endif
  return &baseline::run;
}

void reserve_scratch(std::vector<uint8_t>& scratch, size_t bytes) {
  if (scratch.size() < bytes) scratch.resize(bytes);
}

}  // namespace autocomp
