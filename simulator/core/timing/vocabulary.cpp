#include "timing/vocabulary.hpp"

#include <algorithm>

namespace autocomp::timing {
namespace {

constexpr size_t kMostCommands = 8192;  // kept at a time

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

}  // namespace

int64_t Vocabulary::alignment(const AccessInstance& access) const {
  const auto tensor = static_cast<size_t>(access.tensor);
  const int64_t address = tensor < tensor_addresses_.size() ? tensor_addresses_[tensor] : 0;
  return (address + access.base) & (settings_.alignment - 1);
}

void Vocabulary::add_access(Command& command, const AccessInstance& access, bool owns_writes) const {
  if (access.memory == settings_.dram) {
    if (command.dram) return;
    command.dram = access;
    command.dram->base = alignment(access);
    return;
  }
  add_demand(command, access);
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

// Of memories whose bandwidth is limited; those beyond the fixed number are left out.
void Vocabulary::add_demand(Command& command, const AccessInstance& access) const {
  const MemoryPorts& memory = settings_.memories[static_cast<size_t>(access.memory)];
  if (memory.bandwidth == 0) return;
  size_t i = 0;
  while (i < command.demand_count && command.demands[i].memory != access.memory) ++i;
  if (i == kMaxDemands) return;
  if (i == command.demand_count) command.demands[command.demand_count++] = {access.memory, 0};
  const int64_t bytes = std::min(points(access), kMostPoints) * std::clamp<int64_t>(access.cols, 0, 1 << 16);
  command.demands[i].bytes = std::min(kMostPoints, command.demands[i].bytes + bytes * memory.element);
}

void Vocabulary::decode(const OperationList& list, const Operation& operation, Command& command) const {
  const InstructionTiming& timing = settings_.instructions[static_cast<size_t>(operation.instruction)];
  // Ranges and operands are left as they are: their counts say which of them hold.
  command.id = -1;
  command.role = timing.role;
  command.sender = operation.sender;
  command.host_cycles = operation.host_cycles;
  command.read_count = command.range_count = command.demand_count = 0;
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
  const bool preload_owns = timing.unit >= 0 && settings_.units[static_cast<size_t>(timing.unit)].owner_preload;
  const bool owns_writes = !(preload_owns && timing.role == Role::Multiply);
  const AccessInstance* accesses = list.accesses_of(operation);
  for (uint32_t a = 0; a < operation.access_count; ++a) add_access(command, accesses[a], owns_writes);
  if (operation.partner < 0) return;
  const Operation& multiply = list.at(operation.partner);
  accesses = list.accesses_of(multiply);
  for (uint32_t a = 0; a < multiply.access_count; ++a) {
    const AccessInstance& access = accesses[a];
    if (access.accumulate_read) command.accumulate = true;
    if (!access.write || access.memory == settings_.dram) continue;
    if (!command.result) command.result = access;
    add_range(command, access);
  }
}

// Everything that decode() makes a command of, but for its line.
void Vocabulary::spell(const OperationList& list, const Operation& operation) {
  words_.clear();
  words_.push_back(int64_t{operation.plan} << 32 | static_cast<uint32_t>(operation.sender));
  words_.push_back(operation.host_cycles);
  if (operation.plan < 0) {
    words_.push_back(operation.instruction);
    const int64_t* properties = list.properties_of(operation);
    for (const auto& [key, position] : settings_.instructions[static_cast<size_t>(operation.instruction)].keys)
      words_.push_back(properties[position]);
  }
  spell_accesses(list, operation);
  if (operation.partner < 0) return;
  words_.push_back(list.at(operation.partner).plan);
  spell_accesses(list, list.at(operation.partner));
}

void Vocabulary::spell_accesses(const OperationList& list, const Operation& operation) {
  const AccessInstance* accesses = list.accesses_of(operation);
  if (operation.plan < 0) words_.push_back(operation.access_count);  // which follows from a plan
  for (const AccessInstance* a = accesses; a != accesses + operation.access_count; ++a) {
    words_.push_back(a->memory == settings_.dram ? alignment(*a) : a->base);
    if (operation.plan >= 0) continue;
    words_.push_back(int64_t{a->memory} << 32 | int64_t{a->parameter & 0xFF} << 16 | a->dims << 8 | (a->write ? 1 : 0) |
                     (a->accumulate_read ? 2 : 0));
    words_.push_back(a->bytes);
    words_.push_back(a->cols);
    for (int d = 0; d < a->dims; ++d) {
      words_.push_back(a->count[d]);
      words_.push_back(a->stride[d]);
    }
  }
}

int32_t Vocabulary::id(const OperationList& list, const Operation& operation) {
  // What a command expands to lies outside the operation.
  if (settings_.instructions[static_cast<size_t>(operation.instruction)].role == Role::Expand) return -1;
  spell(list, operation);
  if (ids_.size() == kMostCommands) return ids_.find(words_).value_or(-1);
  const int32_t id = ids_.number(words_);
  if (ids_.size() > commands_.size()) {
    decode(list, operation, commands_.emplace_back());
    commands_.back().id = id;
  }
  return id;
}

}  // namespace autocomp::timing
