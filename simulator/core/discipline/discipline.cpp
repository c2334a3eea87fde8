#include "discipline/discipline.hpp"

#include <algorithm>
#include <bit>

namespace autocomp {
namespace {

constexpr size_t kMaxEvents = size_t{1} << 25;
constexpr int32_t kPaths = 3;  // that the writes of a unit may take

size_t at(int64_t index) { return static_cast<size_t>(index); }

constexpr int64_t kWord = 64;  // columns of a row that one word stands for

// Of the columns [first, first + cols), those of a word.
uint64_t column_mask(int64_t first, int64_t cols, int64_t word) {
  const int64_t low = std::clamp<int64_t>(first - word * kWord, 0, kWord);
  const int64_t high = std::clamp<int64_t>(first + cols - word * kWord, low, kWord);
  const auto below = [](int64_t column) { return column == kWord ? ~uint64_t{0} : (uint64_t{1} << column) - 1; };
  return below(high) & ~below(low);
}

// Calls visit(position) for every point of the access: a row, or the first byte of a contiguous piece.
template <typename Visit>
void each_point(const AccessInstance& access, Visit visit) {
  for (int64_t i = 0; i < access.count[0]; ++i)
    for (int64_t j = 0; j < access.count[1]; ++j)
      for (int64_t k = 0; k < access.count[2]; ++k)
        visit(access.base + i * access.stride[0] + j * access.stride[1] + k * access.stride[2]);
}

}  // namespace

Discipline::Role Discipline::role_of(const Instruction& instruction) {
  Role role;
  for (const auto& [key, word] : instruction.words) {
    if (key != "role") continue;
    role.fence = word == "fence";
    role.wait = word == "wait";
    role.signal = word == "signal";
    role.preload = word == "preload";
    role.multiply = word == "multiply";
  }
  role.expands = !instruction.streams.empty();
  for (size_t p = 0; p < instruction.properties.size(); ++p)
    for (const auto& [key, index] : {std::pair{"semaphore", &role.semaphore}, std::pair{"pops", &role.pops},
                                     std::pair{"pushes", &role.pushes}, std::pair{"path", &role.path}})
      if (instruction.properties[p].key == key) *index = static_cast<int>(p);
  return role;
}

// `paths`: its commands say which path their writes take.
void Discipline::add_unit(const Unit& unit, bool paths) {
  UnitRules rules{unit_setting(unit, "unordered_writes"), unit_setting(unit, "exact_base_reads"),
                  unit_setting(unit, "exact_base_sums")};
  for (const auto& [key, word] : unit.choices)
    if ((key == "kind" && word == "systolic") || (key == "result_owner" && word == "preload"))
      rules.preload_owns = true;
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
  fenced_.assign(timelines, 0);
  numbers_.assign(rules_.size(), 0);
  pairs_.assign(rules_.size(), {});
  for (const auto& memory : tables.memories) {
    const size_t rows = memory.kind == MemoryKind::Local ? at(memory.rows) : 0;
    rows_.emplace_back();
    rows_.back().writer.resize(rows);
    rows_.back().reader.resize(timelines);
    for (auto& reader : rows_.back().reader) reader.resize(rows);
    rows_.back().base.resize(rows);
    const int64_t words = (memory.cols + kWord - 1) / kWord;
    uses_.push_back({words,
                     std::vector<uint64_t>(rows * at(words)),
                     std::vector<int32_t>(rows, -1),
                     std::vector<int32_t>(rows, -1),
                     {}});
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

// What is complete when an event is.
Discipline::Clock Discipline::completed(const Event& event) const {
  Clock clock = clocks_[at(event.unit)];
  clock[at(event.timeline)] = event.time;
  return clock;
}

void Discipline::command(const OperationList& list) {
  const Operation& operation = list.operations.back();
  const int32_t unit = machine_.machine().instructions[at(operation.instruction)].unit;
  const Role& role = roles_[at(operation.instruction)];
  ++commands_;
  host_events_.clear();
  if (role.fence) fence();
  if (unit < 0) return;
  const int64_t path =
      role.path >= 0 ? list.properties[operation.first_property + at(role.path)] : (role.preload ? 1 : 0);
  add_event(unit, static_cast<int32_t>(path), operation.instruction, operation.line);
  if (role.expands) ++expansions_;
  if (operation.sender >= 0) events_.back().expansion = expansions_;
  track(list, operation);
  semaphore(list, operation, role);
  const auto each_access = [&](bool write) {
    for (uint32_t i = 0; i < operation.access_count; ++i) {
      const AccessInstance& access = list.accesses[operation.first_access + i];
      if (access.write != write || access.tracked) continue;
      if (access.memory != machine_.dram())
        local(access);
      else
        each_point(access, [&](int64_t byte) { dram(access.tensor, byte, byte + access.bytes, write); });
    }
  };
  each_access(false);
  each_access(true);
  push(list, operation, role);
  keep_clock(present_);
  // A result is complete when all that its multiply waited for is.
  if (const int32_t preload = owner(true); preload != present_) keep_clock(preload);
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
  for (Clock& clock : clocks_) clock = now_;
}

void Discipline::keep_clock(int32_t event) {
  const Clock clock = completed(events_[at(event)]);
  std::copy(clock.begin(), clock.end(), waited_.begin() + event * static_cast<int64_t>(clock.size()));
}

void Discipline::join(const int64_t* other) {
  Clock& mine = clocks_[at(present().unit)];
  for (size_t t = 0; t < mine.size(); ++t) mine[t] = std::max(mine[t], other[t]);
}

void Discipline::semaphore(const OperationList& list, const Operation& operation, const Role& role) {
  const auto property = [&](int index) { return list.properties[operation.first_property + at(index)]; };
  if (role.signal && role.semaphore >= 0) {
    clocks_[at(present().unit)] = with_older();
    signals_[property(role.semaphore)].push_back(with_older());
  }
  if (role.wait && role.semaphore >= 0) take(property(role.semaphore));
  if (role.pops < 0) return;
  for (auto left = static_cast<uint64_t>(property(role.pops)); left != 0; left &= left - 1)
    take(std::countr_zero(left));
}

void Discipline::take(int64_t semaphore) {
  auto& queue = signals_[semaphore];
  if (queue.empty()) return;
  join(queue.front().data());
  queue.pop_front();
}

// What a command adds when it and all older ones of its unit have completed.
void Discipline::push(const OperationList& list, const Operation& operation, const Role& role) {
  if (role.pushes < 0) return;
  const int64_t mask = list.properties[operation.first_property + at(role.pushes)];
  for (auto left = static_cast<uint64_t>(mask); left != 0; left &= left - 1)
    signals_[std::countr_zero(left)].push_back(with_older());
}

// --- local memory

void Discipline::local(const AccessInstance& access) {
  each_point(access, [&](int64_t row) {
    if (!access.write) initialised(access.memory, row, access);
    local_row(access.memory, row, access);
    live(access.memory, row, access.write);
  });
}

void Discipline::initialised(int32_t memory, int64_t row, const AccessInstance& access) {
  const RowUse& use = uses_[at(memory)];
  int64_t word = 0;
  const auto missing_in = [&](int64_t w) {
    return column_mask(access.first_col, access.cols, w) & ~use.columns[at(row * use.words + w)];
  };
  while (word < use.words && missing_in(word) == 0) ++word;
  if (word == use.words) return;
  report("uninitialised-read",
         text(present_) + " reads " + machine_.machine().memories[at(memory)].name + "[" + std::to_string(row) + "][" +
             std::to_string(word * kWord + std::countr_zero(missing_in(word))) +
             "], which nothing has written; move data there first, or read fewer rows or columns",
         -1);
}

void Discipline::local_row(int32_t memory, int64_t row, const AccessInstance& access) {
  Granules& g = rows_[at(memory)];
  const int32_t now = owner(access.write || access.accumulate_read);
  // Readers first: waiting for a reader of another unit is also waiting for the writer that it waited for.
  if (access.write)
    for (const auto& reader : g.reader)
      if (reader[at(row)] != 0 && reader[at(row)] != now) conflict_local(reader[at(row)], false, memory, row, access);
  if (g.writer[at(row)] != 0 && g.writer[at(row)] != now) conflict_local(g.writer[at(row)], true, memory, row, access);
  if (access.write) {
    g.writer[at(row)] = now;
    g.base[at(row)] = access.base;
    RowUse& use = uses_[at(memory)];
    for (int64_t word = 0; word < use.words; ++word)
      use.columns[at(row * use.words + word)] |= column_mask(access.first_col, access.cols, word);
  } else {
    g.reader[at(events_[at(now)].timeline)][at(row)] = now;
  }
}

// Whether the machine makes a command wait for an older one of another unit.
bool Discipline::waits(int32_t event, int32_t before) const {
  const Event &mine = events_[at(event)], &theirs = events_[at(before)];
  if (mine.ranges == 0 || theirs.ranges == 0) return true;
  for (int32_t i = mine.first_range; i < mine.first_range + mine.ranges; ++i)
    for (int32_t j = theirs.first_range; j < theirs.first_range + theirs.ranges; ++j) {
      const Range &a = ranges_[at(i)], &b = ranges_[at(j)];
      if (a.memory == b.memory && a.first < b.last && b.first < a.last && (a.write || b.write)) return true;
    }
  return false;
}

// Commands of a unit begin in order, and their writes arrive in order if they take the same path.
bool Discipline::ordered_in_unit(const Event& earlier, bool was_write, const AccessInstance& access,
                                 bool same_base) const {
  const Event& now = present();
  if (!was_write || complete(earlier) || (now.expansion > 0 && now.expansion == earlier.expansion)) return true;
  const UnitRules& rules = rules_[at(now.unit)];
  const int64_t distance = now.number - earlier.number;
  if (access.write && events_[at(owner(true))].timeline != earlier.timeline) return false;
  if (access.accumulate_read) return same_base || distance > rules.exact_base_sums;
  if (access.write) return distance > rules.unordered_writes;
  return same_base || distance > rules.exact_base_reads;
}

void Discipline::conflict_local(int32_t before, bool was_write, int32_t memory, int64_t row,
                                const AccessInstance& access) {
  const Event& earlier = events_[at(before)];
  const int32_t who = owner(access.write || access.accumulate_read);
  bool ordered = false;
  if (earlier.unit == present().unit) {
    ordered = ordered_in_unit(earlier, was_write, access, rows_[at(memory)].base[at(row)] == access.base);
  } else {
    ordered = complete(earlier);
    if (!ordered && before > who) return early(before);
    if (!ordered && tracked_ && waits(who, before)) {
      join(waited_.data() + at(before) * now_.size());
      ordered = true;
    }
  }
  if (ordered) return;
  report("unordered-local",
         text(present_) + (access.write ? " writes " : " reads ") + machine_.machine().memories[at(memory)].name +
             " row " + std::to_string(row) + ", which " + text(before) + (was_write ? " writes" : " reads") +
             "; the machine does not make the later one wait" +
             (tracked_ ? ": keep them further apart, or use other rows" : ": synchronise the units with a semaphore"),
         before);
}

// The present command and the other share rows, and one is the preload of a pair that the other is in the midst of.
void Discipline::early(int32_t other) {
  report("unordered-local",
         text(present_) + " shares rows with " + text(other) +
             " across a preload and its multiply: the machine makes the one between them wait until the result is"
             " there; put it before the preload, or after its multiply",
         other);
}

void Discipline::live(int32_t memory, int64_t row, bool write) {
  RowUse& use = uses_[at(memory)];
  if (write && use.born[at(row)] != commands_) {
    close(use, at(row));
    use.born[at(row)] = commands_;
  }
  if (use.born[at(row)] >= 0) use.last_used[at(row)] = commands_;
}

void Discipline::close(RowUse& use, size_t row) const {
  if (use.born[row] < 0) return;
  if (use.change.size() < at(commands_) + 2) use.change.resize(2 * at(commands_) + 2);
  // A row read and overwritten by one command counts once there.
  const bool replaced = use.last_used[row] == commands_ && use.born[row] < commands_;
  ++use.change[at(use.born[row])];
  --use.change[at(use.last_used[row]) + (replaced ? 0 : 1)];
}

// --- DRAM

void Discipline::dram(int64_t tensor, int64_t first, int64_t last, bool write) {
  if (tensor < 0 || at(tensor) >= elements_.size()) return;
  Granules& g = elements_[at(tensor)];
  const int64_t size = size_of(tensors_[at(tensor)].dtype);
  const int64_t begin = std::max<int64_t>(0, first / size);
  const int64_t end = std::min<int64_t>((last + size - 1) / size, static_cast<int64_t>(g.writer.size()));
  const int32_t now = present_;
  int32_t checked = now;
  dram_contents(g, tensor, begin, end, write);
  for (int64_t e = begin; e < end; ++e) {
    const int32_t before = g.writer[at(e)];
    if (before != 0 && before != checked) conflict_dram(before, true, write, tensor, e);
    if (before != 0) checked = before;
  }
  auto& mine = g.reader[at(present().timeline)];
  if (mine.empty() && !write) mine.resize(g.writer.size());
  if (!write) {
    std::fill(mine.begin() + begin, mine.begin() + std::max(begin, end), now);
    return;
  }
  for (const auto& reader : g.reader) {
    checked = now;
    for (int64_t e = begin; e < end && !reader.empty(); ++e) {
      const int32_t before = reader[at(e)];
      if (before != 0 && before != checked) conflict_dram(before, false, write, tensor, e);
      if (before != 0) checked = before;
    }
  }
  std::fill(g.writer.begin() + begin, g.writer.begin() + std::max(begin, end), now);
}

// What may be read and written, whatever the order.
void Discipline::dram_contents(Granules& g, int64_t tensor, int64_t begin, int64_t end, bool write) {
  const TensorStore& store = tensors_[at(tensor)];
  const auto place = [&](int64_t element) { return describe_place(store, element * size_of(store.dtype)); };
  if (write && g.read_only && begin < end)
    report("input-written", text(present_) + " writes " + place(begin) + ", which is an input", -1);
  const bool host_reads = !write && present().unit == host_ && !options_.host_data;
  if (g.undefined.empty() && !host_reads) return;
  for (int64_t e = begin; e < end; ++e) {
    if (!g.undefined.empty() && write) g.undefined[at(e)] = false;
    if (!g.undefined.empty() && g.undefined[at(e)])
      return report("uninitialised-read", text(present_) + " reads " + place(e) + ", which nothing has written", -1);
    const int32_t before = g.writer[at(e)];
    if (host_reads && before != 0 && events_[at(before)].unit != host_)
      return report("host",
                    text(present_) + " reads " + place(e) + ", which " + text(before) +
                        " writes; the host may only control the accelerator",
                    before);
  }
}

void Discipline::conflict_dram(int32_t before, bool was_write, bool write, int64_t tensor, int64_t element) {
  const Event& earlier = events_[at(before)];
  // The host's own accesses are over before it issues a command.
  if (earlier.unit == present().unit || earlier.unit == host_) return;
  bool ordered = fenced_[at(earlier.timeline)] >= earlier.time;
  // A write is on its way to DRAM when its command has completed; a read is over.
  if (!was_write || dram_by_clock_) ordered = ordered || complete(earlier);
  if (ordered) return;
  const TensorStore& store = tensors_[at(tensor)];
  report("unordered-dram",
         text(present_) + (write ? " writes " : " reads ") + describe_place(store, element * size_of(store.dtype)) +
             ", which " + text(before) + (was_write ? " writes" : " reads") +
             " without anything that orders the two; put a fence between them",
         before);
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

void Discipline::report(const char* kind, const std::string& message, int32_t other) {
  const int32_t line = present().line;
  const int32_t other_line = other < 0 ? -1 : events_[at(other)].line;
  const auto [entry, fresh] = known_.emplace(std::tuple{std::string(kind), line, other_line}, violations_.size());
  if (fresh) violations_.push_back({kind, message, line, other_line, 0});
  ++violations_[entry->second].count;
}

// Stores that are on their way when the program returns: nobody may read an output then, or reuse an array's memory.
void Discipline::returned() {
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
  for (size_t m = 0; m < uses_.size(); ++m) {
    const Memory& memory = machine_.machine().memories[m];
    if (memory.kind != MemoryKind::Local || memory.shown >= 0) continue;
    MemoryUse use{memory.name, memory.rows, 0, 0};
    RowUse rows = uses_[m];
    for (size_t r = 0; r < rows.born.size(); ++r) {
      bool touched = rows_[m].writer[r] != 0;
      for (const auto& reader : rows_[m].reader) touched = touched || reader[r] != 0;
      use.rows_touched += touched ? 1 : 0;
      close(rows, r);
    }
    int64_t alive = 0;
    for (const int32_t change : rows.change) use.rows_live_peak = std::max(use.rows_live_peak, alive += change);
    result.memory.push_back(use);
  }
}

}  // namespace autocomp
