// One simulation: a program or a trace on a machine, with its options, to its result. Errors of the program are data.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "arithmetic/machine_code.hpp"
#include "program/program.hpp"
#include "run/trace.hpp"
#include "tables/machine.hpp"
#include "timing/timing.hpp"

namespace autocomp {

struct Options {
  bool timing = true;
  bool discipline = false;
  bool record_commands = false;
  bool record_detail = false;  // what units do from cycle to cycle, and what each command accesses
  bool record_trace = false;
  MachineCode machine_code = MachineCode::Plain;  // of the engines; results do not depend on it
  bool memoise = true;                            // timing goes on as before where everything is as before
  bool generic = false;                           // interpret every instruction, without the recognised forms
  bool requirements = true;                       // a trace's failed requirements are notes, a program's are errors
  int64_t max_cycles = int64_t{1} << 40;
  int64_t max_steps = int64_t{1} << 32;
  int64_t max_commands = int64_t{1} << 40;  // a replay takes no more of its trace
  int64_t max_bytes = int64_t{1} << 32;     // of memory; a run that needs more ends with an error
  size_t window = 1024;                     // commands that timing takes at once; results do not depend on it
  uint64_t seed = 0;                        // initial contents of local memories, where tensors lie; 0: zeros, in order
  double host_scale = 1.0;                  // multiplies the host's cycles between commands
  std::vector<std::pair<std::string, int64_t>> settings;  // overrides: of a unit as "unit.key", or of Machine::settings
  std::vector<int32_t> outputs;  // tensors that are read after the run; every element must be written before it is read
  std::vector<int32_t> inputs;   // tensors that may not be written
  std::vector<int64_t>
      clock;              // what a program reads from the clock, one reading after the other; then a number that grows
  bool host_data = true;  // the kernel's own code may read and write what tensors hold
  std::function<void()> poll;  // called every few thousand steps; may throw to end the run
};

struct ProgramError {
  std::string kind;
  std::string message;
  int32_t line = 0;
};

struct Violation {
  std::string kind;
  std::string message;
  int32_t line = 0;
  int32_t other_line = -1;  // -1: there is no other access
  int64_t count = 0;
};

struct MemoryUse {
  std::string memory;
  int64_t rows = 0, rows_touched = 0, rows_live_peak = 0;
};

struct AccessRecord {
  int64_t command = -1;
  AccessInstance access;
};

struct UnitWork {  // of all commands of a unit
  int64_t commands = 0;
  int64_t multiply_accumulates = 0;
  std::vector<Traffic> traffic;  // by memory
};

struct SimulationResult {
  bool failed = false;
  ProgramError error;
  int64_t steps = 0;
  int64_t command_count = 0;
  bool timed = false;
  TimingResult timing;
  std::vector<std::string> notes;
  std::vector<Violation> violations;
  std::vector<MemoryUse> memory;
  std::vector<AccessRecord> accesses;  // of all commands in order; empty when not asked for
  int64_t dram_bytes_read = 0, dram_bytes_written = 0;
  int64_t multiply_accumulates = 0;
  std::vector<int64_t> printed;         // by a program: number of the message, number of arguments, arguments, …
  int64_t not_printed = 0;              // messages that were too many
  std::vector<int64_t> clock_readings;  // commands before each reading of the clock
  int64_t exit_code = 0;
  std::vector<UnitWork> work;  // of the front end, then of each unit
  uint64_t stream = 0;         // a hash of the commands that the program issued, with their arguments, in order
  double seconds = 0.0;
  Trace trace;
};

struct TensorView {  // a parameter's storage, owned by the caller
  uint8_t* data = nullptr;
  int64_t bytes = 0;
};

class CompiledMachine;  // compiled.hpp

// `tensors` are the program's parameters in order, and are written in place. With `before`, the program first runs on
// these, for its results alone, and the machine is not cleared afterwards.
[[nodiscard]] SimulationResult run(const CompiledMachine& machine, const Program& program,
                                   const std::vector<TensorView>& tensors, const std::vector<TensorView>& before,
                                   const Options& options);
[[nodiscard]] SimulationResult replay(const CompiledMachine& machine, const Trace& trace, const Options& options);

}  // namespace autocomp
