#include "timing/vocabulary.hpp"

#include <algorithm>

namespace autocomp::timing {
namespace {

constexpr size_t kMostCommands = 8192;  // kept at a time
constexpr int64_t kTensorDistance = int64_t{1} << 40;

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

// Tensors without an address lie far apart, and begin on a page.
int64_t Vocabulary::address(const AccessInstance& access) const {
  const auto tensor = static_cast<size_t>(access.tensor);
  return tensor < tensor_addresses_.size() ? tensor_addresses_[tensor] + access.base
                                           : int64_t{access.tensor} * kTensorDistance + access.base;
}

std::optional<std::pair<int64_t, int64_t>> Vocabulary::pages(const OperationList& list,
                                                             const Operation& operation) const {
  const AccessInstance* accesses = list.accesses_of(operation);
  for (const AccessInstance* a = accesses; a != accesses + operation.access_count; ++a) {
    if (a->memory != settings_.dram) continue;
    const int64_t start = address(*a);
    return std::pair(start / settings_.page,
                     (start + row_at(*a, points(*a) - 1) - a->base + a->bytes - 1) / settings_.page);
  }
  return std::nullopt;
}

// `tracks`: the rows that it accesses are those by which the machine tracks hazards.
void Vocabulary::add_access(Command& command, const InstructionTiming& timing, const AccessInstance& access,
                            bool tracks) const {
  if (access.tracked) {
    add_range(command, access);
    return;
  }
  if (access.memory == settings_.dram) {
    if (command.dram) return;
    command.dram = access;
    command.home = timing.home(access.parameter);
    command.dram->base = address(access) & (std::max(settings_.page, settings_.alignment) - 1);
    return;
  }
  add_demand(command, access);
  if (access.write) {
    if (!command.write) command.write = access;
    if (tracks) add_range(command, access);
    return;
  }
  if (access.accumulate_read) {
    command.accumulate = true;
    // A write in place orders sums, but not on renamed rows.
    if (tracks && settings_.memories[static_cast<size_t>(access.memory)].renamed) add_range(command, access);
    return;
  }
  if (command.read_count < kMaxReads) command.reads[command.read_count++] = access;
  if (tracks) add_range(command, access);
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
  command.replaced = 0;
  command.write.reset();
  command.dram.reset();
  command.result.reset();
  command.accumulate = false;
  command.page = operation.page;
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
  const bool derived = std::none_of(accesses, accesses + operation.access_count,
                                    [](const AccessInstance& access) { return access.tracked; });
  for (uint32_t a = 0; a < operation.access_count; ++a)
    add_access(command, timing, accesses[a], derived && (owns_writes || !accesses[a].write));
  if (operation.partner < 0) return;
  const Operation& multiply = list.at(operation.partner);
  accesses = list.accesses_of(multiply);
  for (uint32_t a = 0; a < multiply.access_count; ++a) {
    const AccessInstance& access = accesses[a];
    if (access.accumulate_read) command.accumulate = true;
    if (!access.write || access.memory == settings_.dram || access.tracked) continue;
    if (!command.result) command.result = access;
    if (derived) add_range(command, access);
  }
}

template <typename Put>
void Vocabulary::spell(const OperationList& list, const Operation& operation, const Lines& lines, Put& put) const {
  put(int64_t{operation.plan} << 32 | static_cast<uint32_t>(operation.sender));
  put(static_cast<int64_t>(operation.page));
  put(operation.host_cycles);
  if (operation.plan < 0) {
    put(operation.instruction);
    const int64_t* properties = list.properties_of(operation);
    for (const auto& [key, position] : settings_.instructions[static_cast<size_t>(operation.instruction)].keys)
      put(properties[position]);
  }
  spell_accesses(list, operation, put);
  lines.spell(put);
  if (operation.partner < 0) return;
  const Operation& multiply = list.at(operation.partner);
  put(multiply.plan);
  spell_accesses(list, multiply, put);
}

template <typename Put>
void Vocabulary::spell_accesses(const OperationList& list, const Operation& operation, Put& put) const {
  const AccessInstance *begin = list.accesses_of(operation), *end = begin + operation.access_count;
  if (operation.plan < 0) put(operation.access_count);  // which follows from a plan
  for (const AccessInstance* a = begin; a != end; ++a) {
    if (a->memory != settings_.dram) {
      put(a->base);
    } else {
      put(address(*a) & (settings_.alignment - 1));
      if (settings_.page > 0) spell_pages(*a, put);
    }
    if (operation.plan >= 0) continue;
    put(int64_t{a->memory} << 32 | int64_t{a->parameter & 0xFF} << 16 | a->dims << 8 | (a->write ? 1 : 0) |
        (a->accumulate_read ? 2 : 0) | (a->tracked ? 4 : 0));
    put(a->bytes);
    put(a->cols);
    for (int d = 0; d < a->dims; ++d) {
      put(a->count[d]);
      put(a->stride[d]);
    }
  }
}

// Where an access comes to another page: in front of a row, or how far into it.
template <typename Put>
void Vocabulary::spell_pages(const AccessInstance& access, Put& put) const {
  const int64_t offset = address(access) & (settings_.page - 1), rows = points(access);
  if (offset + row_at(access, rows - 1) - access.base + access.bytes <= settings_.page && access.dims < 2) return;
  int64_t page = 0;
  for (int64_t i = 0; i < rows; ++i) {
    const int64_t start = offset + row_at(access, i) - access.base;
    for (const int64_t byte : {start, start + access.bytes - 1}) {
      const int64_t here = byte / settings_.page;
      if (here == page) continue;
      put(-2 - (i << 20 | here));
      put(std::max<int64_t>(0, here * settings_.page - start));
      page = here;
    }
  }
}

namespace {

// Compares words as they come with others.
class Comparison {
 public:
  explicit Comparison(std::span<const int64_t> others) : at_(others.data()), end_(at_ + others.size()) {}
  void operator()(int64_t word) {
    if (at_ == end_ || *at_ != word)
      same_ = false;
    else
      ++at_;
  }
  [[nodiscard]] bool equal() const { return same_ && at_ == end_; }

 private:
  const int64_t *at_, *end_;
  bool same_ = true;
};

}  // namespace

int32_t Vocabulary::look_up(const OperationList& list, const Operation& operation, const Lines& lines) {
  words_.clear();
  const auto append = [this](int64_t word) { words_.push_back(word); };
  spell(list, operation, lines, append);
  if (ids_.size() == kMostCommands) return ids_.find(words_).value_or(-1);
  const int32_t id = ids_.number(words_);
  if (ids_.size() > next_.size()) next_.push_back(-1);
  return id;
}

// Programs repeat themselves: most often the command is the one that came after the latest the last time.
int32_t Vocabulary::id(const OperationList& list, const Operation& operation, const Lines& lines) {
  // What a command expands to lies outside the operation.
  if (settings_.instructions[static_cast<size_t>(operation.instruction)].role == Role::Expand) return latest_ = -1;
  int32_t id = latest_ < 0 ? -1 : next_[static_cast<size_t>(latest_)];
  if (id >= 0) {
    Comparison known(ids_.spelled(id));
    spell(list, operation, lines, known);
    if (!known.equal()) id = -1;
  }
  if (id < 0) id = look_up(list, operation, lines);
  if (latest_ >= 0) next_[static_cast<size_t>(latest_)] = id;
  return latest_ = id;
}

}  // namespace autocomp::timing
