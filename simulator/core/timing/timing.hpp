// The timing engine: a stream of decoded commands and a machine in, cycles with their causes out.
// Timing never changes results; it sees no data.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "semantics/operation.hpp"
#include "tables/machine.hpp"

namespace autocomp {

// Why a cycle of a unit or a command was not useful. Every stalled cycle has exactly one cause.
enum class Cause : uint8_t {
  Busy,       // not a stall: useful work
  Idle,       // nothing to do: no command had reached the unit
  Host,       // the host had not issued the next command yet
  QueueFull,  // the pool or queue this command needs was full, or an older command blocked the front end
  ReadAfterWrite,
  WriteAfterRead,
  WriteAfterWrite,  // waiting for a hazard on local memory
  Semaphore,        // waiting for an explicit synchronisation
  Bus,              // the memory bus or the limit of outstanding requests
  MemoryLatency,    // waiting for the first data of a request
  BankConflict,     // a port of a local memory bank was taken
  Pairing,          // waiting for the command it executes together with
  Drain,            // waiting for a pipeline to empty before a reconfiguration
  Pipeline,         // results inside a pipeline still on their way
  Fence,            // the host waits for the machine to be idle
  Count
};
[[nodiscard]] const char* name_of(Cause cause);

struct CommandTiming {
  int32_t instruction = -1, line = 0;
  int32_t sender = -1;       // the unit that sent it out of a hardware loop, or -1: the host
  int64_t offered = 0;       // first cycle the host had the command ready
  int64_t accepted = 0;      // cycle the front end took it
  int64_t allocated = 0;     // cycle it entered its unit's pool
  int64_t issued = 0;        // cycle it left the pool for its unit, all hazards resolved
  int64_t started = 0;       // first cycle of its own work (first operand row, first request)
  int64_t completed = 0;     // cycle it freed its pool entry
  Cause wait = Cause::Idle;  // the cause that cost most between accepted and started
  int64_t wait_cycles = 0;
  int64_t released_by = -1;     // the command that it waited for last to issue, -1: none
  Cause release = Cause::Idle;  // … and why: a hazard, or Semaphore
};

// What a unit does from a cycle on, until its next span.
struct UnitSpan {
  int64_t start = 0;
  int32_t unit = -1;
  Cause cause = Cause::Count;  // none yet
};

// Why not all commands were done: they wait for each other for ever, or take more than the cycles allowed.
struct TimingFailure {
  std::string kind;  // deadlock, cycles
  std::string message;
  int32_t instruction = -1, line = 0;  // of the oldest command that is not done; -1: none is under way
};

struct TimingResult {
  int64_t cycles = 0;                             // from the first command offered to machine idle
  std::vector<int64_t> segment_cycles;            // the same for each fence-delimited segment
  std::vector<CommandTiming> commands;            // one per operation; empty when not asked for
  std::vector<std::vector<int64_t>> unit_cycles;  // [unit][Cause]; each row sums to `cycles`
  std::vector<UnitSpan> spans;                    // by start; empty when not asked for
  std::vector<std::string> notes;  // what the machine cannot do as asked (deadlock … is an error instead)
  std::optional<TimingFailure> failure;
};

struct TimingOptions {
  bool record_commands = true;
  bool record_spans = false;
  bool memoise = true;  // go on as before where everything is as before; results do not depend on it
  int64_t max_cycles = int64_t{1} << 40;
  // Byte address of each tensor's first element, for effects of alignment. Tensors without one are of unknown size:
  // they lie far apart and are aligned alike.
  std::vector<int64_t> tensor_addresses;
  std::function<void()> poll;  // called every few hundred thousand steps of the engine; may throw to end it
};

class CompiledMachine;  // compiled.hpp

namespace timing {
class Engine;
}

// Runs behind a program and takes commands from the list as they are appended to it.
class TimingRun {
 public:
  // `machine` is the compiled one with overrides of its settings, such as a memory's latency, applied.
  TimingRun(const CompiledMachine& compiled, const Machine& machine, const TimingOptions& options,
            OperationList& operations);
  ~TimingRun();

  // Goes on as far as the operations there allow whatever follows them, and forgets those it no longer needs.
  void advance();
  // Once there is one, nothing more is timed.
  [[nodiscard]] const std::optional<TimingFailure>& failure() const;
  // There are no more operations; the host goes on for `host_tail_cycles` behind the last.
  [[nodiscard]] TimingResult finish(int64_t host_tail_cycles);

 private:
  std::unique_ptr<timing::Engine> engine_;
};

}  // namespace autocomp
