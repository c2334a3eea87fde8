#include "timing/front.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace autocomp::timing {

Front::Front(Context& context, const TimingOptions& options, OperationList& operations,
             std::vector<Unroller>& unrollers, Log& log)
    : context_(context), stream_(context.settings, options, operations), log_(log) {
  for (Unroller& unroller : unrollers) parts_.push_back({.unroller = &unroller});
  std::ranges::stable_sort(parts_, {}, [](const Part& part) { return part.unroller->settings().stage; });
  parts_.emplace_back();
  int64_t places = 0, stage = 0;
  for (Part& part : parts_) {
    const bool last = part.unroller == nullptr;
    const int64_t end = last ? context.settings.front_latency : part.unroller->settings().stage;
    const int64_t held = last ? context.settings.front_queue : part.unroller->settings().queue;
    part.latency = end - std::exchange(stage, end);
    part.places = std::max<int64_t>(1, held - std::exchange(places, held));
  }
}

void Front::supply(bool ended) {
  stream_.supply(ended);
  if (next_ < count()) next_role_ = stream_.timing(next_).role;
}

void Front::advance() {
  // The host issues the command that expands, not those that an unroller sends.
  do ++next_;
  while (next_ < count() && stream_.operation(next_).sender >= 0);
  counted_ = false;
  if (next_ < count()) next_role_ = stream_.timing(next_).role;
}

// Of the host in front of its next command.
int64_t Front::host_cycles() const { return std::clamp<int64_t>(stream_.operation(next_).host_cycles, 0, kMostPoints); }

void Front::host(bool machine_idle) {
  for (int64_t offered = 1; next_ < count();) {
    if (!counted_) {
      offer_ = std::max(offer_, context_.now) + host_cycles();
      counted_ = true;
    }
    if (next_role_ != Role::Fence) log_.open_segment(context_.now);
    if (offer_ > context_.now) return;
    if (next_role_ == Role::Fence) {
      fence_ = !(machine_idle && queue().empty());
      if (fence_) return;
      log_.close_segment(context_.now);
      log_.command(next_, [&](CommandTiming& times) {
        times.offered = offer_;
        times.accepted = times.allocated = times.issued = times.started = times.completed = context_.now;
        times.wait = Cause::Fence;
        times.wait_cycles = context_.now - offer_;
      });
      advance();
      context_.progress = true;
      continue;
    }
    const int64_t places = unrolling_ ? parts_.front().places : context_.settings.front_queue;
    if (static_cast<int64_t>(queue().size()) >= places) return;
    queue().push({offer_, context_.now, context_.now, next_, stream_.timing(next_).unit, next_role_});
    if (!unrolling_ && is_for_unroller(queue().back())) fall_into_parts();
    context_.progress = true;
    advance();
    offer_ = context_.now + context_.settings.host_issue;
    if (next_ < count()) {
      if (offered++ < context_.settings.front_width && host_cycles() == 0) {
        offer_ = context_.now;
        counted_ = true;
        continue;
      }
      offer_ += host_cycles();
      counted_ = true;
    }
    return;
  }
}

namespace {

bool renames(const Range& range, const Settings& settings) {
  return range.write && settings.memories[static_cast<size_t>(range.memory)].renamed;
}

// Why a command has to wait for an older one of another unit; nothing if it need not.
std::optional<Cause> hazard_between(const Command& command, const Command& old, const Settings& settings) {
  std::optional<Cause> found;
  for (size_t a = 0; a < command.range_count; ++a) {
    const Range& mine = command.ranges[a];
    for (size_t b = 0; b < old.range_count; ++b) {
      const Range& theirs = old.ranges[b];
      if (old.replaced >> b & 1) continue;
      if (mine.memory != theirs.memory || mine.first >= theirs.last || theirs.first >= mine.last) continue;
      if (!mine.write && !theirs.write) continue;
      if (renames(mine, settings)) continue;
      found = !mine.write ? Cause::ReadAfterWrite : theirs.write ? Cause::WriteAfterWrite : Cause::WriteAfterRead;
    }
  }
  return found;
}

bool renames_any(const Command& command, const Settings& settings) {
  const auto* const end = command.ranges.begin() + command.range_count;
  return std::any_of(command.ranges.begin(), end, [&](const Range& range) { return renames(range, settings); });
}

// Later reads of rows that the command writes anew wait for it, and not for the older write of them.
void replace_writes(const Command& command, Command& old, const Settings& settings) {
  for (size_t a = 0; a < command.range_count; ++a) {
    const Range& mine = command.ranges[a];
    if (!renames(mine, settings)) continue;
    for (size_t b = 0; b < old.range_count; ++b) {
      const Range& theirs = old.ranges[b];
      const bool covers = mine.memory == theirs.memory && mine.first <= theirs.first && theirs.last <= mine.last;
      if (theirs.write && covers) old.replaced |= uint32_t{1} << b;
    }
  }
}

}  // namespace

void Front::find_hazards(int32_t slot, size_t unit) {
  Command& command = context_.command(slot);
  SlotSet& waits_for = context_.waits_for[static_cast<size_t>(slot)];
  waits_for.clear();
  if (!context_.settings.hazards || command.range_count == 0) return;
  const bool interlock = context_.settings.units[unit].interlock != 0;
  const bool renaming = renames_any(command, context_.settings);
  int64_t youngest = -1;  // of those it waits for
  context_.occupied.each([&](int32_t other) {
    Command& old = context_.command(other);
    const bool ordered = interlock || !context_.pools[unit].owns(other);
    const std::optional<Cause> hazard = ordered ? hazard_between(command, old, context_.settings) : std::nullopt;
    if (renaming) replace_writes(command, old, context_.settings);
    if (!hazard) return;
    waits_for.add(other);
    if (old.operation > youngest) command.hazard = *hazard;
    youngest = std::max(youngest, old.operation);
  });
}

// --- with unrollers in the front

int64_t Front::oldest() const {
  int64_t number = queue().empty() ? next_ : queue().front().operation;
  for (const Part& part : parts_) {
    for (size_t i = 0; i < part.entries.size(); ++i) number = std::min(number, part.entries[i].operation);
    if (part.unroller != nullptr) number = std::min(number, part.unroller->oldest());
  }
  return number;
}

bool Front::holds_loop() const {
  for (size_t i = 0; i < queue().size(); ++i)
    if (is_for_unroller(queue()[i])) return true;
  return false;
}

// The first loop has come: commands in front of it are as far as the latency and the places of the parts let them.
void Front::fall_into_parts() {
  unrolling_ = true;
  int64_t latency = context_.settings.front_latency;
  for (size_t p = parts_.size() - 1; p > 0; --p) {
    Part& part = parts_[p];
    latency -= part.latency;
    while (queue().size() > 1 && static_cast<int64_t>(part.entries.size()) < part.places &&
           queue().front().accepted + latency <= context_.now) {
      part.entries.push(queue().front());
      part.entries.back().entered = queue().front().accepted + latency;
      queue().pop();
    }
  }
}

// A command that needs no place in a pool has been executed.
void Front::finish(const Entry& entry) {
  context_.progress = true;
  log_.command(entry.operation, [&](CommandTiming& times) {
    times.offered = entry.offered;
    times.accepted = entry.accepted;
    times.allocated = times.issued = times.started = times.completed = context_.now;
  });
}

// The first command of a part goes to the unroller at its end, or past it if no loop is in flight there.
void Front::leave(Part& part, Part& next, bool room) {
  if (part.entries.empty()) return;
  Entry& head = part.entries.front();
  if (head.entered + part.latency > context_.now) return;
  if (head.unit == part.unroller->unit()) {
    if (!part.unroller->free()) return;
    if (head.role == Role::Expand) part.unroller->take(head.operation);
    finish(head);
  } else {
    if (part.unroller->busy() || !room) return;
    next.entries.push(head);
    next.entries.back().entered = context_.now;
  }
  part.entries.pop();
  context_.progress = true;
}

// From the last part to the first, by the room that there was at the beginning of the cycle.
void Front::step_unrollers() {
  const auto room_in = [](const Part& part) { return static_cast<int64_t>(part.entries.size()) < part.places; };
  bool room = room_in(parts_.back());
  bool busy = false;
  for (size_t p = parts_.size() - 1; p-- > 0;) {
    Part &part = parts_[p], &next = parts_[p + 1];
    const bool room_here = room_in(part);
    Unroller& unroller = *part.unroller;
    unroller.begin_cycle();
    if (unroller.busy()) {
      const int64_t operation = unroller.send(room);
      unroller.start_generators();
      if (operation >= 0) {
        const InstructionTiming& timing = stream_.timing(operation);
        next.entries.push({context_.now, context_.now, context_.now, operation, timing.unit, timing.role});
      }
    }
    leave(part, next, room);
    busy = busy || unroller.busy() || !next.entries.empty();
    room = room_here;
  }
  const bool late = !queue().empty() && queue().front().entered + parts_.front().latency <= context_.now;
  unrolling_ = busy || late || holds_loop();
}

void Front::allocate() {
  Ring<Entry>& queue = source();
  if (queue.empty()) return;
  const Entry& head = queue.front();
  if (ready(head) > context_.now) return;
  if (head.role == Role::Immediate || head.role == Role::Forget || head.unit < 0) {
    context_.forgets = head.role == Role::Forget;
    finish(head);
    queue.pop();
    return;
  }
  const auto unit = static_cast<size_t>(head.unit);
  Pool& pool = context_.pools[unit];
  if (pool.live == pool.slots) return;
  int32_t slot = pool.first_slot;
  while (context_.holds(slot)) ++slot;
  Command& command = context_.command(slot);
  stream_.decode(head.operation, command);
  command.times.offered = head.offered;
  command.times.accepted = head.accepted;
  command.times.allocated = context_.now;
  command.times.issued = command.times.started = -1;
  find_hazards(slot, unit);
  if (head.role == Role::Preload || head.role == Role::Multiply) solitary_ = head.role == Role::Preload;
  context_.occupied.add(slot);
  ++pool.live;
  pool.unissued.push(slot);
  context_.may_issue = true;
  queue.pop();
  context_.progress = true;
}

void Front::record(const Command& command) {
  if (!log_.records()) return;
  CommandTiming times = command.times;
  times.completed = context_.now;
  if (times.started < 0) times.started = times.issued;
  const int64_t front = times.allocated - times.accepted - context_.settings.front_latency;
  const int64_t hazard = times.issued - times.allocated - 1;
  const int64_t unit = times.started - times.issued - 1;
  times.wait_cycles = std::max<int64_t>({front, hazard, unit, command.host_cycles, 0});
  if (times.wait_cycles == 0)
    times.wait = Cause::Busy;
  else if (times.wait_cycles == front)
    times.wait = Cause::QueueFull;
  else if (times.wait_cycles == hazard)
    times.wait = command.hazard;
  else if (times.wait_cycles == command.host_cycles)
    times.wait = Cause::Host;
  else
    times.wait = command.dram ? Cause::Bus : Cause::Pairing;
  log_.command(command.operation, [&](CommandTiming& kept) { kept = times; });
}

// For the commands that wait for this one alone.
void Front::note_release(int32_t slot) {
  for (size_t other = 0; other < context_.waits_for.size(); ++other)
    if (const SlotSet& set = context_.waits_for[other]; set.holds(slot) && set.count() == 1) {
      Command& waiting = context_.slots[other];
      const Command& done = context_.command(slot);
      waiting.times.released_by = done.operation;
      waiting.times.release = hazard_between(waiting, done, context_.settings).value_or(waiting.hazard);
    }
}

void Front::free_slot(int32_t slot) {
  record(context_.command(slot));
  const size_t unit = context_.unit_of[static_cast<size_t>(slot)];
  if (context_.command(slot).sender >= 0)
    for (const Part& part : parts_)
      if (part.unroller != nullptr && part.unroller->unit() == context_.command(slot).sender)
        part.unroller->completed(unit);
  context_.semaphores.complete(context_.command(slot), unit);
  context_.occupied.remove(slot);
  --context_.pools[unit].live;
  if (log_.records()) note_release(slot);
  for (SlotSet& waits_for : context_.waits_for) waits_for.remove(slot);
  context_.may_issue = context_.progress = true;
}

void Front::retire() {
  while (!immediate_.empty()) {
    free_slot(immediate_.front());
    immediate_.pop();
  }
  if (context_.completing == 0) return;
  Pool* best = nullptr;
  int64_t priority = kNever;
  for (size_t u = 0; u < context_.pools.size(); ++u) {
    Pool& pool = context_.pools[u];
    if (pool.completing.empty() || pool.completing.front().ready > context_.now) continue;
    if (context_.settings.units[u].priority >= priority) continue;
    best = &pool;
    priority = context_.settings.units[u].priority;
  }
  if (best == nullptr) return;
  Ring<Completion>& waiting = best->completing;
  size_t first = 0;
  for (size_t i = 1; i < waiting.size() && waiting[i].ready <= context_.now; ++i)
    if (waiting[i].tracker < waiting[first].tracker) first = i;
  std::swap(waiting.front(), waiting[first]);
  free_slot(waiting.front().slot);
  waiting.pop();
  --context_.completing;
}

void Front::schedule() {
  if (next_ < count()) context_.at(offer_);
  if (!source().empty()) context_.at(ready(source().front()));
  if (unrolling_)
    for (const Part& part : parts_)
      if (!part.entries.empty()) context_.at(part.entries.front().entered + part.latency);
  for (const Pool& pool : context_.pools)
    if (!pool.completing.empty()) context_.at(pool.completing.front().ready);
}

int64_t Front::oldest_under_way() const {
  int64_t number = oldest();
  context_.occupied.each([&](int32_t slot) { number = std::min(number, context_.command(slot).operation); });
  return number;
}

bool Front::archivable() const {
  bool all = !unrolling_;
  for (const Part& part : parts_) all = all && (part.unroller == nullptr || part.unroller->quiet());
  for (size_t i = 0; i < queue().size(); ++i) all = all && stream_.id(queue()[i].operation) >= 0;
  context_.occupied.each([&](int32_t slot) { all = all && context_.command(slot).id >= 0; });
  return all;
}

void Front::archive(Archive& archive) {
  archive.ring(queue(), [&](Entry& entry) {
    archive.stamp(entry.offered);
    archive.stamp(entry.accepted, context_.settings.front_latency);
    entry.entered = entry.accepted;
    archive.number(entry.operation);
    archive.values(entry.unit, entry.role);
    int32_t id = stream_.id(entry.operation);  // it is still to be decoded
    archive.value(id);
  });
  archive.stamp(offer_);
  archive.values(next_role_, counted_, fence_, solitary_);
  context_.each_command(archive, [&](int32_t slot) {
    Command& command = context_.command(slot);
    int64_t operation = command.operation;
    int32_t id = command.id;
    archive.number(operation);
    archive.value(id);
    if (!archive.saves()) stream_.restore(operation, id, command);
    archive.values(command.hazard, command.replaced);
    CommandTiming& times = command.times;
    for (int64_t* cycle : {&times.offered, &times.accepted, &times.allocated, &times.started}) archive.stamp(*cycle);
    archive.stamp(times.issued, context_.settings.units[context_.unit_of[static_cast<size_t>(slot)]].start);
    if (!archive.records()) return;
    archive.number(times.released_by);
    archive.value(times.release);
  });
}

}  // namespace autocomp::timing
