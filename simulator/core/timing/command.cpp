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
    if (command.dram == nullptr) command.dram = &access;
    return;
  }
  if (access.write) {
    if (command.write == nullptr) command.write = &access;
    if (owns_writes) add_range(command, access);
    return;
  }
  if (access.accumulate_read) {
    command.accumulate = true;
    return;
  }
  if (command.read_count < kMaxReads) command.reads[command.read_count++] = &access;
  add_range(command, access);
}

// The multiply that a preload pairs with: the next command of its unit, if it is one.
const Operation* partner(const Settings& settings, const OperationList& list, int32_t index, int32_t unit) {
  for (size_t i = static_cast<size_t>(index) + 1; i < list.operations.size(); ++i) {
    const auto& timing = settings.instructions[static_cast<size_t>(list.operations[i].instruction)];
    if (timing.unit == unit) return timing.role == Role::Multiply ? &list.operations[i] : nullptr;
    if (timing.role == Role::Fence) return nullptr;
  }
  return nullptr;
}

}  // namespace

void decode(const Settings& settings, const OperationList& list, int32_t index, Command& command) {
  const Operation& operation = list.operations[static_cast<size_t>(index)];
  const InstructionTiming& timing = settings.instructions[static_cast<size_t>(operation.instruction)];
  // Ranges and operands are left as they are: their counts say which of them hold.
  command.operation = index;
  command.role = timing.role;
  command.read_count = command.range_count = 0;
  command.write = command.dram = command.result = nullptr;
  command.accumulate = false;
  command.waits_for = 0;
  command.hazard = Cause::ReadAfterWrite;
  command.times = CommandTiming{};
  command.values = kPropertyDefaults;
  for (const auto& [key, position] : timing.keys)
    command.values[static_cast<size_t>(key)] =
        std::clamp(list.properties[operation.first_property + position], -kMostPoints, kMostPoints);
  const bool preload_owns = timing.unit >= 0 && settings.units[static_cast<size_t>(timing.unit)].owner_preload;
  const bool owns_writes = !(preload_owns && timing.role == Role::Multiply);
  for (uint32_t a = 0; a < operation.access_count; ++a)
    add_access(command, settings, list.accesses[operation.first_access + a], owns_writes);
  if (preload_owns && timing.role == Role::Preload) {
    if (const Operation* multiply = partner(settings, list, index, timing.unit)) {
      for (uint32_t a = 0; a < multiply->access_count; ++a) {
        const AccessInstance& access = list.accesses[multiply->first_access + a];
        if (access.accumulate_read) command.accumulate = true;
        if (!access.write || access.memory == settings.dram) continue;
        if (command.result == nullptr) command.result = &access;
        add_range(command, access);
      }
    }
  }
}

}  // namespace autocomp::timing
