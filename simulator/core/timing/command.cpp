#include "timing/command.hpp"

#include <algorithm>

namespace autocomp::timing {
namespace {

// Accesses beyond the fixed number widen an earlier range of the same memory: never less is tracked.
void add_range(Command& command, const AccessInstance& access) {
  const Range range{access.memory, access.write, access.first(), access.last()};
  if (command.range_count < kMaxRanges) {
    command.ranges[command.range_count++] = range;
    return;
  }
  Range* best = &command.ranges[kMaxRanges - 1];
  for (Range& old : command.ranges)  // all are in use
    if (old.memory == range.memory) best = &old;
  if (best->memory != range.memory) return;
  best->first = std::min(best->first, range.first);
  best->last = std::max(best->last, range.last);
  best->write = best->write || range.write;
}

void add_access(Command& command, const Settings& settings, const AccessInstance& access, bool owns_writes) {
  if (access.memory == settings.dram) {
    if (!command.dram) command.dram = access;
    return;
  }
  if (access.write) {
    if (!command.write) command.write = access;
    if (owns_writes) add_range(command, access);
    return;
  }
  if (access.accumulate_read) {
    command.accumulate = true;
    return;
  }
  if (command.read_count < kMaxReads) command.reads[command.read_count++] = access;
  add_range(command, access);
}

}  // namespace

void decode(const Settings& settings, const OperationList& list, const Operation& operation, const Operation* multiply,
            Command& command) {
  const InstructionTiming& timing = settings.instructions[static_cast<size_t>(operation.instruction)];
  // Ranges and operands are left as they are: their counts say which of them hold.
  command.role = timing.role;
  command.sender = operation.sender;
  command.read_count = command.range_count = 0;
  command.write.reset();
  command.dram.reset();
  command.result.reset();
  command.accumulate = false;
  command.hazard = Cause::ReadAfterWrite;
  command.times =
      CommandTiming{.instruction = operation.instruction, .line = operation.line, .sender = operation.sender};
  command.values = kPropertyDefaults;
  const int64_t* properties = list.properties_of(operation);
  for (const auto& [key, position] : timing.keys)
    command.values[static_cast<size_t>(key)] = std::clamp(properties[position], -kMostPoints, kMostPoints);
  const bool preload_owns = timing.unit >= 0 && settings.units[static_cast<size_t>(timing.unit)].owner_preload;
  const bool owns_writes = !(preload_owns && timing.role == Role::Multiply);
  const AccessInstance* accesses = list.accesses_of(operation);
  for (uint32_t a = 0; a < operation.access_count; ++a) add_access(command, settings, accesses[a], owns_writes);
  if (multiply == nullptr) return;
  accesses = list.accesses_of(*multiply);
  for (uint32_t a = 0; a < multiply->access_count; ++a) {
    const AccessInstance& access = accesses[a];
    if (access.accumulate_read) command.accumulate = true;
    if (!access.write || access.memory == settings.dram) continue;
    if (!command.result) command.result = access;
    add_range(command, access);
  }
}

}  // namespace autocomp::timing
