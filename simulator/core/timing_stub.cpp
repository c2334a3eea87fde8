// Stands in for the timing engine in builds without it: no cycles, no causes.
#include "timing.hpp"

namespace autocomp {

__attribute__((weak)) const char* name_of(Cause cause) {
  static const char* const names[] = {"Busy", "Idle", "Host", "QueueFull", "ReadAfterWrite", "WriteAfterRead",
                                      "WriteAfterWrite", "Semaphore", "Bus", "MemoryLatency", "BankConflict", "Pairing",
                                      "Drain", "Pipeline", "Fence"};
  return names[static_cast<int>(cause)];
}

__attribute__((weak)) TimingResult simulate_timing(const Machine& machine, const OperationList& list,
                                                   const TimingOptions&) {
  TimingResult result;
  result.unit_cycles.assign(machine.units.size(), std::vector<int64_t>(static_cast<size_t>(Cause::Count)));
  result.notes.push_back("timing is not built in; " + std::to_string(list.operations.size()) + " commands");
  return result;
}

}  // namespace autocomp
