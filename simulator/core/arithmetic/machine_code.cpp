#include "arithmetic/machine_code.hpp"

#include <stdexcept>

namespace autocomp {

Processor this_processor() {
#if defined(__x86_64__) && defined(__GNUC__)
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  return {avx2, avx512};
#else
  return {};
#endif
}

std::vector<MachineCode> usable(const Processor& processor) {
  std::vector<MachineCode> codes = {MachineCode::Plain};
  if (processor.avx2) codes.push_back(MachineCode::Avx2);
  if (processor.avx2 && processor.avx512) codes.push_back(MachineCode::Avx512);
  return codes;
}

MachineCode machine_code(const std::string& name, const Processor& processor) {
  const std::vector<MachineCode> codes = usable(processor);
  if (name.empty()) return codes.back();
  std::string names;
  for (const MachineCode code : codes) {
    const std::string known = kMachineCodeNames[static_cast<size_t>(code)];
    if (name == known) return code;
    names += (names.empty() ? "" : ", ") + known;
  }
  throw std::invalid_argument("machine code '" + name + "' cannot run on this processor; it can run " + names);
}

}  // namespace autocomp
