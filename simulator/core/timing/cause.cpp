#include "timing/timing.hpp"

namespace autocomp {

const char* name_of(Cause cause) {
  switch (cause) {
    case Cause::Busy: return "Busy";
    case Cause::Idle: return "Idle";
    case Cause::Host: return "Host";
    case Cause::QueueFull: return "QueueFull";
    case Cause::ReadAfterWrite: return "ReadAfterWrite";
    case Cause::WriteAfterRead: return "WriteAfterRead";
    case Cause::WriteAfterWrite: return "WriteAfterWrite";
    case Cause::Semaphore: return "Semaphore";
    case Cause::Bus: return "Bus";
    case Cause::MemoryLatency: return "MemoryLatency";
    case Cause::BankConflict: return "BankConflict";
    case Cause::Pairing: return "Pairing";
    case Cause::Drain: return "Drain";
    case Cause::Pipeline: return "Pipeline";
    case Cause::Fence: return "Fence";
    case Cause::Count: break;
  }
  return "Unknown";
}

}  // namespace autocomp
