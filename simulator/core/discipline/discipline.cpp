#include "discipline/discipline.hpp"

#include <algorithm>
#include <bit>

#include "timing/settings.hpp"

namespace autocomp {
namespace {

constexpr size_t kMaxEvents = size_t{1} << 25;
constexpr int32_t kPaths = 3;  // that the writes of a unit may take

// By stream: itself, those that it starts after, and those of its priority, of which the older ones go first.
std::vector<uint32_t> in_turn(const std::vector<CommandStream>& streams) {
  std::vector<uint32_t> masks(streams.size());
  for (size_t s = 0; s < streams.size(); ++s) masks[s] = uint32_t{1} << s;
  for (size_t round = 0; round < streams.size(); ++round)
    for (size_t s = 0; s < streams.size(); ++s)
      for (const int32_t other : streams[s].after) masks[s] |= masks[static_cast<size_t>(other)];
  for (size_t s = 0; s < streams.size(); ++s)
    for (size_t other = 0; other < streams.size(); ++other)
      if (streams[other].priority == streams[s].priority) masks[s] |= uint32_t{1} << other;
  return masks;
}

}  // namespace

Discipline::Role Discipline::role_of(const Instruction& instruction) {
  Role role;
  for (const auto& [key, word] : instruction.words) {
    if (key != "role") continue;
    role.fence = word == "fence";
    role.wait = word == "wait";
    role.signal = word == "signal";
    role.configure = word == "configure";
    role.preload = word == "preload";
    role.multiply = word == "multiply";
  }
  role.expands = !instruction.streams.empty();
  role.in_turn = in_turn(instruction.streams);
  for (size_t p = 0; p < instruction.properties.size(); ++p)
    for (const auto& [key, index] :
         {std::pair{"semaphore", &role.semaphore}, std::pair{"pops", &role.pops}, std::pair{"pushes", &role.pushes},
          std::pair{"path", &role.path}, std::pair{"rows", &role.rows}, std::pair{"block_step", &role.block_step}})
      if (instruction.properties[p].key == key) *index = static_cast<int>(p);
  return role;
}

// `paths`: its commands say which path their writes take.
void Discipline::add_unit(const Unit& unit, bool paths) {
  UnitRules rules{unit_setting(unit, "unordered_writes"), unit_setting(unit, "exact_base_reads"),
                  unit_setting(unit, "exact_base_sums")};
  const timing::UnitSettings settings = timing::resolve_unit(unit);
  rules.preload_owns = settings.owner_preload;
  const timing::KindOfUnit& kind = timing::facts(settings.kind);
  rules.moves_in = kind.moves_in;
  rules.streams = kind.streams;
  rules.passes = kind.passes;
  rules.loops = unit_setting(unit, "loops");
  rules.paths = paths;
  rules.timelines = paths ? kPaths : rules.preload_owns ? 2 : 1;
  rules.first_timeline = rules_.empty() ? 0 : rules_.back().first_timeline + rules_.back().timelines;
  rules_.push_back(rules);
}

Discipline::Discipline(const CompiledMachine& machine, const std::vector<TensorStore>& tensors, const Options& options)
    : machine_(machine),
      tensors_(tensors),
      options_(options),
      host_(static_cast<int32_t>(machine.machine().units.size())),
      tracked_(setting("hazards.tracked", 1) != 0),
      dram_by_clock_(setting("hazards.dram", tracked_ ? 0 : 1) != 0),
      events_(1) {
  const Machine& tables = machine.machine();
  for (const auto& instruction : tables.instructions) roles_.push_back(role_of(instruction));
  for (size_t u = 0; u < tables.units.size(); ++u) {
    bool paths = false;
    for (size_t i = 0; i < roles_.size(); ++i)
      paths = paths || (at(tables.instructions[i].unit) == u && roles_[i].path >= 0);
    add_unit(tables.units[u], paths);
  }
  add_unit(Unit{}, false);
  const size_t timelines = at(rules_.back().first_timeline) + 1;
  clocks_.assign(rules_.size(), Clock(timelines));
  waited_.resize(timelines);
  now_.assign(timelines, 0);
  on_link_.assign(timelines, 0);
  fenced_.assign(timelines, 0);
  numbers_.assign(rules_.size(), 0);
  pairs_.assign(rules_.size(), {});
  overlaps_.resize(rules_.size());
  for (const auto& memory : tables.memories) {
    const size_t rows = memory.kind == MemoryKind::Local ? at(memory.rows) : 0;
    const int64_t words = (memory.cols + kColumnsPerWord - 1) / kColumnsPerWord;
    rows_.push_back({std::vector<Row>(rows),
                     std::vector<int32_t>(rows * timelines),
                     words,
                     std::vector<uint64_t>(rows * at(words)),
                     {}});
    const bool shares = rows > 0 && memory.banks > 1 && setting(memory.name + ".shared_adders", 0) != 0;
    shared_.push_back({shares ? memory.rows / memory.banks : 0, {}, {}});
  }
  for (const auto& tensor : tensors) {
    elements_.emplace_back();
    elements_.back().writer.resize(at(tensor.bytes / size_of(tensor.dtype)));
    elements_.back().reader.resize(timelines);
  }
  for (const int32_t output : options.outputs) undefine(output);
  for (const int32_t input : options.inputs)
    if (input >= 0 && at(input) < elements_.size()) elements_[at(input)].read_only = true;
}

void Discipline::undefine(int64_t tensor) {
  if (tensor < 0 || at(tensor) >= elements_.size()) return;
  elements_[at(tensor)].undefined.assign(elements_[at(tensor)].writer.size(), true);
}

int64_t Discipline::unit_setting(const Unit& unit, const std::string& key) const {
  for (const auto& [name, value] : unit.settings)
    if (name == key) return setting(unit.name + "." + key, value);
  return setting(unit.name + "." + key, 0);
}

int64_t Discipline::setting(const std::string& key, int64_t fallback) const {
  for (const auto& [name, value] : options_.settings)
    if (name == key) return value;
  for (const auto& [name, value] : machine_.machine().settings)
    if (name == key) return value;
  return fallback;
}

void Discipline::add_event(int32_t unit, int32_t path, int32_t instruction, int32_t line) {
  if (events_.size() > kMaxEvents)
    throw Fault{"commands", "the memory discipline follows at most " + std::to_string(kMaxEvents) +
                                " commands and host accesses in one run"};
  const UnitRules& rules = rules_[at(unit)];
  const int32_t timeline = rules.first_timeline + std::clamp(path, 0, rules.timelines - 1);
  events_.push_back({unit, timeline, ++numbers_[at(unit)], ++now_[at(timeline)], instruction, line});
  waited_.resize(events_.size() * now_.size());
  present_ = static_cast<int32_t>(events_.size()) - 1;
}

void Discipline::command(const OperationList& list) {
  const Operation& operation = list.operations.back();
  const int32_t unit = machine_.machine().instructions[at(operation.instruction)].unit;
  const Role& role = roles_[at(operation.instruction)];
  ++commands_;
  host_events_.clear();
  if (role.fence) fence();
  if (operation.sender < 0 && (unit < 0 || rules_[at(unit)].loops == 0)) settled_ = expansions();
  if (unit < 0) return;
  const int64_t path =
      role.path >= 0 ? list.properties[operation.first_property + at(role.path)] : (role.preload ? 1 : 0);
  add_event(unit, static_cast<int32_t>(path), operation.instruction, operation.line);
  if (role.expands) expand(operation.instruction);
  if (operation.sender >= 0) {
    events_.back().expansion = expansions();
    events_.back().stream = operation.stream;
  }
  track(list, operation);
  semaphore(list, operation, role);
  const auto each_access = [&](bool write) {
    for (uint32_t i = 0; i < operation.access_count; ++i) {
      const AccessInstance& access = list.accesses[operation.first_access + i];
      if (access.write != write || access.tracked) continue;
      if (access.memory != machine_.dram()) {
        local(access);
        continue;
      }
      lies_in(operation.instruction, access);
      each_point(access, [&](int64_t byte) { dram(access.tensor, byte, byte + access.bytes, write); });
    }
  };
  each_access(false);
  each_access(true);
  settle();
  moved_beyond(list, operation);
  if (rules_[at(unit)].streams && !role.configure) on_the_link();
  push(list, operation, role);
  keep_clock(present_);
  // A result is complete when all that its multiply waited for is.
  if (const int32_t preload = owner(true); preload != present_) keep_clock(preload);
}

// An expander lets nothing pass but what it takes itself, and takes no more than it has room for.
void Discipline::expand(int32_t instruction) {
  const auto unit_of = [&](int32_t index) { return machine_.machine().instructions[at(index)].unit; };
  const bool same = expansions() > 0 && unit_of(expanders_.back()) == unit_of(instruction);
  const int64_t settled = same ? expansions() + 1 - rules_[at(unit_of(instruction))].loops : expansions();
  settled_ = std::max(settled_, static_cast<int32_t>(settled));
  expanders_.push_back(instruction);
}

// What is complete when the present command and all older ones of its unit are.
Discipline::Clock Discipline::with_older() const {
  Clock clock = clocks_[at(present().unit)];
  const UnitRules& rules = rules_[at(present().unit)];
  for (int32_t t = rules.first_timeline; t < rules.first_timeline + rules.timelines; ++t) clock[at(t)] = now_[at(t)];
  return clock;
}

// Takes note of the rows that the machine tracks for the present command, and of pairs.
void Discipline::track(const OperationList& list, const Operation& operation) {
  Event& now = events_.back();
  now.first_range = static_cast<int32_t>(ranges_.size());
  const AccessInstance* accesses = list.accesses_of(operation);
  for (const AccessInstance* a = accesses; a != accesses + operation.access_count; ++a)
    if (a->tracked) ranges_.push_back({a->memory, a->write, a->first(), a->last()});
  now.ranges = static_cast<int32_t>(ranges_.size()) - now.first_range;
  for (size_t other = 0; other < pairs_.size() && tracked_; ++other) {
    const Pair& pair = pairs_[other];
    const bool states = now.ranges > 0 && pair.preload != 0 && events_[at(pair.preload)].ranges > 0;
    if (other != at(now.unit) && pair.open && states && waits(present_, pair.preload)) early(pair.preload);
  }
  const Role& role = roles_[at(operation.instruction)];
  Pair& pair = pairs_[at(now.unit)];
  if (role.preload && rules_[at(now.unit)].preload_owns)
    pair = {present_, true};
  else if (role.multiply)
    pair.open = false;
  else
    pair = {};
}

// Whose access it is for other units: a result is its preload's.
int32_t Discipline::owner(bool result) const {
  const Event& now = present();
  if (!result || now.instruction < 0 || !roles_[at(now.instruction)].multiply) return present_;
  const int32_t preload = pairs_[at(now.unit)].preload;
  return preload != 0 ? preload : present_;
}

void Discipline::fence() {
  fenced_ = now_;
  for (auto& overlaps : overlaps_) overlaps.clear();
  for (Clock& clock : clocks_) clock = now_;
}

// Takes note of what is complete when an event is.
void Discipline::keep_clock(int32_t event) {
  const Event& e = events_[at(event)];
  const Clock& clock = clocks_[at(e.unit)];
  const auto kept = waited_.begin() + event * std::ssize(clock);
  std::copy(clock.begin(), clock.end(), kept);
  kept[e.timeline] = e.time;
}

void Discipline::join(const int64_t* other) {
  Clock& mine = clocks_[at(present().unit)];
  for (size_t t = 0; t < mine.size(); ++t) mine[t] = std::max(mine[t], other[t]);
}

void Discipline::semaphore(const OperationList& list, const Operation& operation, const Role& role) {
  const auto property = [&](int index) { return list.properties[operation.first_property + at(index)]; };
  if (role.signal && role.semaphore >= 0) {
    clocks_[at(present().unit)] = with_older();
    signals_[property(role.semaphore)].push_back({with_older(), present_});
  }
  if (role.wait && role.semaphore >= 0) take(property(role.semaphore));
  if (role.pops < 0) return;
  for (auto left = static_cast<uint64_t>(property(role.pops)); left != 0; left &= left - 1)
    take(std::countr_zero(left));
}

void Discipline::take(int64_t semaphore) {
  auto& queue = signals_[semaphore];
  if (queue.empty()) return;
  join(queue.front().clock.data());
  queue.pop_front();
}

// What a command adds when it and all older ones of its unit have completed.
void Discipline::push(const OperationList& list, const Operation& operation, const Role& role) {
  if (role.pushes < 0) return;
  const int64_t mask = list.properties[operation.first_property + at(role.pushes)];
  for (auto left = static_cast<uint64_t>(mask); left != 0; left &= left - 1)
    signals_[std::countr_zero(left)].push_back({with_older(), present_});
}

void Discipline::host_access(int64_t tensor, int64_t offset, int64_t bytes, bool write, int32_t line) {
  // Between two commands all that the host does is one moment; an event for each line is enough to name it.
  const auto [known, fresh] = host_events_.try_emplace(line, 0);
  if (fresh) {
    add_event(host_, 0, -1, line);
    known->second = present_;
  }
  present_ = known->second;
  dram(tensor, offset, offset + bytes, write);
  keep_clock(present_);
}

// --- results

std::string Discipline::text(int32_t event) const {
  const Event& e = events_[at(event)];
  const std::string who = e.instruction < 0 ? "the host" : machine_.machine().instructions[at(e.instruction)].name;
  return e.line > 0 ? who + " (line " + std::to_string(e.line) + ")" : who;
}

// Violations of one kind between the same two lines are one.
Discipline::Key Discipline::key_of(const char* kind, int32_t event, int32_t other) const {
  return {kind, events_[at(event)].line, other < 0 ? -1 : events_[at(other)].line};
}

void Discipline::report(const char* kind, const std::string& message, int32_t other) {
  const auto [entry, fresh] = known_.emplace(key_of(kind, present_, other), violations_.size());
  const auto& [name, line, other_line] = entry->first;
  if (fresh) violations_.push_back({name, message, line, other_line, 0});
  ++violations_[entry->second].count;
}

// Stores that are on their way when the program returns: nobody may read an output then, or reuse an array's memory.
void Discipline::returned() {
  signals_left();
  const auto fence = std::find_if(roles_.begin(), roles_.end(), [](const Role& role) { return role.fence; });
  if (fence == roles_.end()) return;  // nothing that a program could wait with
  const std::string& name = machine_.machine().instructions[at(fence - roles_.begin())].name;
  for (size_t t = 0; t < elements_.size(); ++t) {
    const auto& writer = elements_[t].writer;
    const bool read_later = !tensors_[t].parameter || std::ranges::count(options_.outputs, static_cast<int32_t>(t)) > 0;
    for (size_t e = 0; e < writer.size() && read_later; ++e) {
      const Event& store = events_[at(writer[e])];
      if (store.unit < 0 || store.unit == host_ || fenced_[at(store.timeline)] >= store.time) continue;
      if (e > 0 && writer[e] == writer[e - 1]) continue;
      present_ = writer[e];
      const auto byte = static_cast<int64_t>(e) * size_of(tensors_[t].dtype);
      report("unfinished-store",
             text(present_) + " writes " + describe_place(tensors_[t], byte) +
                 ", and nothing waits for it before the kernel returns; end with " + name + "()",
             -1);
    }
  }
}

// Signals that nothing has waited for when the program returns: a wait of the next one would take them for its own.
void Discipline::signals_left() {
  for (const auto& [semaphore, signals] : signals_) {
    if (signals.empty()) continue;
    present_ = signals.front().event;
    report(
        "signal-left",
        text(present_) + " signals semaphore " + std::to_string(semaphore) +
            ", and nothing waits for that before the kernel returns: the next kernel's waits would pass too early; " +
            "wait as often as is signalled",
        -1);
  }
}

void Discipline::finish(SimulationResult& result) const {
  result.violations = violations_;
  for (const int32_t output : options_.outputs) {
    if (output < 0 || at(output) >= elements_.size()) continue;
    const auto& writer = elements_[at(output)].writer;
    const auto first = std::find(writer.begin(), writer.end(), 0);
    if (first == writer.end()) continue;
    const TensorStore& store = tensors_[at(output)];
    result.violations.push_back(
        {"unwritten-output",
         describe_place(store, (first - writer.begin()) * size_of(store.dtype)) + " is never written", 0, -1,
         std::count(writer.begin(), writer.end(), 0)});
  }
  for (size_t m = 0; m < rows_.size(); ++m) {
    const Memory& memory = machine_.machine().memories[m];
    if (memory.kind != MemoryKind::Local || memory.shown >= 0) continue;
    MemoryUse use{memory.name, memory.rows, 0, 0};
    Rows rows = rows_[m];
    for (size_t r = 0; r < rows.row.size(); ++r) {
      const auto reader = rows.reader.begin() + static_cast<int64_t>(r * now_.size());
      const bool read = std::any_of(reader, reader + std::ssize(now_), [](int32_t event) { return event != 0; });
      use.rows_touched += read || rows.row[r].writer != 0 ? 1 : 0;
      close(rows, static_cast<int64_t>(r));
    }
    int64_t alive = 0;
    for (const int32_t change : rows.change) use.rows_live_peak = std::max(use.rows_live_peak, alive += change);
    result.memory.push_back(use);
  }
}

}  // namespace autocomp
