// Traces on a shipped machine: any arguments, replayed without data.
#include <stdexcept>

#include "machines.hpp"
#include "runs.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace autocomp;
  fuzz::Input input(data, size);
  const auto& machines = fuzz::shipped_machines();
  const CompiledMachine& machine = *machines[input.choice(machines.size())];
  Options options = fuzz::read_options(input);
  while (input.flag() && options.settings.size() < 4) {  // overrides of timing, as an evaluation at another latency
    const auto& settings = machine.machine().settings;
    if (settings.empty()) break;
    const std::string& key = settings[input.choice(settings.size())].first;
    options.settings.emplace_back(key, input.number());
  }
  try {
    const Trace trace = fuzz::read_trace(input, machine);
    (void)replay(machine, trace, options);
  } catch (const std::invalid_argument&) {  // a setting out of range
  }
  return 0;
}
