// The timing of a machine, resolved from the words and numbers of its description. docs:
// autocomp/targets/simulator/isa/timing.py.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tables/machine.hpp"

namespace autocomp::timing {

// What a command does in its unit.
enum class Role : uint8_t {
  Work,
  Configure,
  Transfer,
  Preload,
  Multiply,
  Fence,
  Immediate,
  Forget,
  Wait,
  Signal,
  Expand
};

// The mechanism that times a unit's commands.
enum class UnitKind : uint8_t { Serial, TransferIn, TransferOut, Array, StreamIn, StreamOut, Systolic, Expander };

// What follows from a unit's kind alone.
struct KindOfUnit {
  const char* name;            // in descriptions
  Role role;                   // of commands that state none
  bool streams = false;        // its way to main memory is the link; a configuration waits in its queue as well
  bool asks = false;           // it asks main memory for the rows that a command states, also beyond the tensor
  bool owner_preload = false;  // a multiply's writes belong to the preload before it
  bool moves_in = false;       // it writes to local memory what it reads from main memory
  bool passes = false;         // a request that finds the link taken may be passed by later ones of the unit
};
constexpr std::array<KindOfUnit, 8> kKinds = {{
    // by UnitKind
    {.name = "serial", .role = Role::Work},
    {.name = "transfer_in", .role = Role::Transfer, .moves_in = true},
    {.name = "transfer_out", .role = Role::Transfer},
    {.name = "array", .role = Role::Multiply},
    {.name = "stream_in", .role = Role::Transfer, .streams = true, .asks = true, .moves_in = true, .passes = true},
    {.name = "stream_out", .role = Role::Transfer, .streams = true},
    {.name = "systolic", .role = Role::Multiply, .owner_preload = true},
    {.name = "expander", .role = Role::Expand},
}};
[[nodiscard]] constexpr const KindOfUnit& facts(UnitKind kind) { return kKinds[static_cast<size_t>(kind)]; }

// Timing properties of a command that are numbers; absent ones have the default of kPropertyDefaults.
enum class Key : uint8_t {
  Busy,
  Latency,
  Rows,
  Passes,
  Early,
  Deferred,
  Drain,
  Scaled,
  Window,
  ReadAhead,
  Semaphore,
  Bytes,
  Block,
  BlockStep,
  Path,
  Stride,
  Lines,
  LineRows,
  LineStep,
  WindowStep,
  ImageRows,
  ImageColumns,
  Above,
  Before,
  LeftRows,
  LeftStep,
  RightRows,
  Pops,
  Pushes,
  Count
};
constexpr size_t kKeys = static_cast<size_t>(Key::Count);
constexpr std::array<const char*, kKeys> kKeyNames = {
    "busy",      "latency",    "rows",       "passes",      "early",      "deferred",      "drain", "scaled",
    "window",    "read_ahead", "semaphore",  "bytes",       "block",      "block_step",    "path",  "stride",
    "lines",     "line_rows",  "line_step",  "window_step", "image_rows", "image_columns", "above", "before",
    "left_rows", "left_step",  "right_rows", "pops",        "pushes"};
constexpr std::array<int64_t, kKeys> kPropertyDefaults = {1, 0, 1, 1, 0, 0, 0, 0, 1, 16, -1, 0, 1, 0, 0,
                                                          0, 0, 0, 0, 0, 0, 0, 0, 0, 0,  1,  0, 0, 0};

struct UnitSettings {
  std::string name;
  UnitKind kind = UnitKind::Serial;
  int64_t instant = 0;         // 1: a command completes as soon as it issues
  int64_t serial = 0;          // 1: a command issues only when all older ones of this unit have completed
  bool owner_preload = false;  // a multiply's writes belong to the preload before it
  int64_t entries = 8;         // commands in the pool, from allocation to completion
  int64_t interlock = 0;       // 1: a command waits for older ones of its own unit whose rows it uses
  int64_t reorder = 0;         // 1: a command need not wait for older ones of its unit that wait for others
  int64_t queue = 8;           // issued commands waiting in front of the unit
  int64_t start = 1;           // cycles from issue to the unit's first own step
  int64_t priority = 0;        // lower completes first
  int64_t completion = 0;      // cycles a completion takes beyond the last step
  // transfers
  int64_t in_flight = 2;        // commands between first request and completion
  int64_t request_latency = 0;  // cycles from a row's step to its request at the memory's port
  int64_t request_queue = 8;    // rows waiting to be requested
  int64_t requests = 16;        // outstanding requests
  int64_t recovery = 0;         // cycles a request's slot stays taken after its last beat or acknowledgement
  int64_t request_min = 16, request_max = 64;  // bytes of a request, powers of two
  int64_t command_steps = 1;                   // fewest cycles between the first steps of two commands
  int64_t write_buffer = 4;                    // rows waiting for a port of local memory before the bus is held up
  int64_t zero_latency = 0;                    // cycles from a step to the write of a row that comes from no memory
  int64_t scale_slots = 1, scale_latency = 0, scale_interval = 1, scale_recovery = 0;  // scaling on the way
  int64_t scale_window = 1;   // rows between the scaler's input and the writer
  int64_t read_recovery = 0;  // cycles from the writer's taking a row until its place may be read into again
  int64_t idle_delay = 0;     // cycles from the last acknowledgement until the unit counts as idle
  // array
  int64_t lookahead = 3;         // commands that must be visible for a multiply to overlap with the next preload
  int64_t operations = 1 << 20;  // operations in the array at a time
  int64_t operation_exit = 0;    // cycles from an operation's last step until it no longer counts as one of them
  int64_t min_rows = 1;          // fewest steps of an operation
  int64_t latency = 1;           // cycles from an operand row to its result row
  int64_t flush_first = 1, flush_period = 1;  // cycles from a last step to the end of the first flush, and of each next
  // streams
  int64_t scale_steps = 0;     // cycles of a row in the multipliers, one row's after the other's
  int64_t direct_latency = 0;  // cycles of a row on the direct way around the scaler
  int64_t read_queue = 2, scale_queue = 6, scale_input = 2;  // rows to be read, on either side of the scaler, and at it
  // systolic
  int64_t side = 1;           // rows of a preloaded operand
  int64_t unroll_queue = 2;   // commands in front of the queue
  int64_t operand_queue = 5;  // cycles of reading whose data have not reached the array
  // expander
  int64_t loops = 1;  // expansions in flight
  int64_t stage = 0;  // cycles from a command's acceptance by the front to the expander
  int64_t together =
      0;  // 1: streams that another one follows send nothing of a loop before all have sent the older one's
};

struct MemoryPorts {
  bool shared_port = true;  // one port for reads and writes; otherwise one of each
  bool contended = true;    // false: a port is never taken
  int64_t bandwidth = 0;    // bytes a cycle that serial units share; 0: no limit
  int64_t element = 1;      // bytes of one
  bool renamed = false;     // a write gets rows of its own: it need not wait for older reads and writes
  int64_t rows = 1, rows_per_bank = 1;
  int64_t read_latency = 1;  // cycles from a read to its data, for units that stream
  int64_t held_rows = 1;     // that were read and wait, for each kind of reader
  int shift = -1;            // its logarithm if it is a power of two
  size_t first_bank = 0, banks = 0;

  [[nodiscard]] size_t bank(int64_t row) const {
    return static_cast<size_t>(shift >= 0 ? row >> shift : row / rows_per_bank);
  }
};

// A memory of tensors, with the channels that its addresses go to in turn, and a cache in front of them.
struct DramSettings {
  int64_t bus = 16;              // bytes a cycle of each channel's way back
  int64_t latency = 0;           // cycles from a request's acceptance to its first beat or acknowledgement
  int64_t channels = 1;          // a power of two
  int64_t interleave = 256;      // bytes after which the next channel follows, a power of two
  int64_t cache_lines = 0;       // that the cache holds; 0: there is none
  int64_t cache_line = 64;       // bytes of one, a power of two
  int64_t cache_bus = 16;        // bytes a cycle of a channel's way back from the cache
  int64_t cache_latency = 0;     // cycles until the first data or acknowledgement, of lines that the cache holds
  bool shared_requests = false;  // one beat of a request leaves in a cycle, of all units together

  [[nodiscard]] int64_t beat() const { return cache_lines > 0 ? cache_bus : bus; }
  [[nodiscard]] size_t channel(int64_t address) const {
    return static_cast<size_t>(address / interleave & (channels - 1));
  }
};

struct InstructionTiming {
  int32_t unit = -1;
  Role role = Role::Work;
  std::vector<std::pair<Key, uint32_t>> keys;  // property and its position among the command's values
  // Positions of the rows that a move in asks main memory for, and of their stride; -1: those that it accesses.
  int32_t rows_asked = -1, stride_asked = -1;
  std::vector<std::pair<int32_t, size_t>> homes;  // pointers to other memories than the first, with their numbers

  // The memory in which a tensor lies that this parameter points to.
  [[nodiscard]] size_t home(int32_t parameter) const {
    for (const auto& [pointer, memory] : homes)
      if (pointer == parameter) return memory;
    return 0;
  }
};

struct Settings {
  // Of the units' pools together.
  [[nodiscard]] size_t slots() const;

  std::vector<UnitSettings> units;
  std::vector<MemoryPorts> memories;
  std::vector<InstructionTiming> instructions;
  size_t banks = 0;
  int32_t dram = -1;                // the memory that accesses of tensors name: the first
  std::vector<DramSettings> drams;  // the first is the one of units that stream
  int64_t alignment = 1;            // bytes, a power of two: addresses that differ by a multiple are requested alike
  bool cached = false;              // a cache stands in front of a memory of tensors
  int64_t page = 0;                 // bytes of a page of address translation, a power of two; 0: none
  int64_t host_issue = 1;           // cycles between two commands of the host at least
  int64_t front_queue = 8, front_latency = 4;
  int64_t front_width = 1;      // commands that are offered, enter pools and complete in a cycle
  bool hazards = true;          // overlapping accesses of different units are ordered
  int64_t semaphore_depth = 0;  // the most that a semaphore holds; 0: any number
  bool pushes = false;          // some commands add to semaphores when they complete
};

// Keys that other parts of the core use are left alone. Throws std::invalid_argument that names the setting, what it
// was and what is possible.
[[nodiscard]] UnitSettings resolve_unit(const Unit& unit);
[[nodiscard]] Settings resolve(const Machine& machine);

}  // namespace autocomp::timing
