// The memory discipline of local memories: the last accesses of each row, and what of it was written.
#include <algorithm>
#include <bit>
#include <utility>

#include "discipline/discipline.hpp"

namespace autocomp {
namespace {

constexpr const char* kUnordered = "unordered-local";
constexpr const char* kBanks = "shared-adders";

// Of the columns [first, first + cols), those of a word.
uint64_t column_mask(int64_t first, int64_t cols, int64_t word) {
  const int64_t low = std::clamp<int64_t>(first - word * kColumnsPerWord, 0, kColumnsPerWord);
  const int64_t high = std::clamp<int64_t>(first + cols - word * kColumnsPerWord, low, kColumnsPerWord);
  const auto below = [](int64_t column) {
    return column == kColumnsPerWord ? ~uint64_t{0} : (uint64_t{1} << column) - 1;
  };
  return below(high) & ~below(low);
}

}  // namespace

void Discipline::local(const AccessInstance& access) {
  Rows& rows = rows_[at(access.memory)];
  const int32_t now = owner(access.write || access.accumulate_read);
  const size_t timelines = now_.size(), mine = at(events_[at(now)].timeline);
  columns_.resize(at(rows.words));
  for (int64_t word = 0; word < rows.words; ++word)
    columns_[at(word)] = column_mask(access.first_col, access.cols, word);
  checked_.assign(timelines + 1, now);
  const auto check = [&](int32_t before, bool was_write, int64_t row, int32_t& checked) {
    if (before == 0 || before == checked || before == now) return;
    if (conflict_local(before, was_write, row, access, now)) checked = before;
  };
  Shared& shared = shared_[at(access.memory)];
  if (shared.rows_per_bank > 0 && access.accumulate_read) other_banks(access, now, shared.added);
  if (shared.rows_per_bank > 0 && access.write && rules_[at(present().unit)].paths)
    other_banks(access, now, shared.moved);
  each_point(access, [&](int64_t index) {
    Row& row = rows.row[at(index)];
    int32_t* const reader = rows.reader.data() + at(index) * timelines;
    if (!access.write) initialised(rows, index, access.memory);
    // Readers first: waiting for a reader of another unit is also waiting for the writer that it waited for.
    for (size_t t = 0; access.write && t < timelines; ++t) check(reader[t], false, index, checked_[t]);
    check(row.writer, true, index, checked_[timelines]);
    if (access.write) {
      row.writer = now;
      row.base = access.base;
      for (size_t word = 0; word < columns_.size(); ++word)
        rows.columns[at(index) * columns_.size() + word] |= columns_[word];
    } else {
      reader[mine] = now;
    }
    live(rows, index, access.write);
  });
}

// Takes note of the banks that an access is in, and of earlier ones in other banks that may be under way.
void Discipline::other_banks(const AccessInstance& access, int32_t now, std::vector<Use>& uses) {
  const int64_t rows = shared_[at(access.memory)].rows_per_bank;
  const size_t mine = at(events_[at(now)].timeline);
  const size_t low = at(access.first() / rows), high = at((access.last() - 1) / rows);
  for (const Use& use : uses) {
    const Event& earlier = events_[at(use.event)];
    if (use.timeline == mine || (low == high && use.bank == low) || complete(earlier)) continue;
    if (access.write && earlier.unit != present().unit) continue;
    clashes_.push_back({use.event, present_, access.memory, access.base, true, access.write, false, true});
  }
  for (size_t bank = low; bank <= high; ++bank) {
    const auto same = [&](const Use& use) { return use.bank == bank && use.timeline == mine; };
    const auto known = std::ranges::find_if(uses, same);
    (known == uses.end() ? uses.emplace_back(Use{bank, mine}) : *known).event = now;
  }
}

// A move may ask for more rows than its source has, such as those of a whole tile. It tracks all of them, and nobody
// knows the contents of those that none of its accesses writes.
void Discipline::moved_beyond(const OperationList& list, const Operation& operation) {
  const Role& role = roles_[at(operation.instruction)];
  if (!rules_[at(present().unit)].moves_in || role.rows < 0) return;
  const auto property = [&](int index) { return list.properties[operation.first_property + at(index)]; };
  const int64_t asked = property(role.rows);
  const int64_t step = role.block_step < 0 ? 0 : property(role.block_step);
  const Event& now = present();
  for (int32_t i = now.first_range; i < now.first_range + now.ranges; ++i) {
    const Range& range = ranges_[at(i)];
    Rows& rows = rows_[at(range.memory)];
    const auto end = std::min(range.last, std::ssize(rows.row));
    for (int64_t block = range.first; range.write && block < end; block = step > 0 ? block + step : end)
      for (int64_t row = block; row < std::min(block + asked, end); ++row) {
        if (row < 0 || rows.row[at(row)].writer == present_) continue;
        std::fill_n(rows.columns.begin() + row * rows.words, rows.words, 0);
      }
  }
}

void Discipline::initialised(const Rows& rows, int64_t row, int32_t memory) {
  const auto written = rows.columns.begin() + row * rows.words;
  int64_t word = 0;
  while (word < rows.words && (columns_[at(word)] & ~written[word]) == 0) ++word;
  if (word == rows.words) return;
  const int column = std::countr_zero(columns_[at(word)] & ~written[word]);
  report("uninitialised-read",
         text(present_) + " reads " + machine_.machine().memories[at(memory)].name + "[" + std::to_string(row) + "][" +
             std::to_string(word * kColumnsPerWord + column) +
             "], which nothing has written; move data there first, or read fewer rows or columns",
         -1);
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

// Whether a command of a later expansion may be sent before one of an older expansion has.
bool Discipline::may_overtake(int32_t event, int32_t before) const {
  const Event &mine = events_[at(event)], &theirs = events_[at(before)];
  if (theirs.expansion <= settled_ || theirs.expansion >= mine.expansion) return false;
  return (roles_[at(expander_of(event))].in_turn[at(mine.stream)] >> theirs.stream & 1) == 0;
}

// Commands of a unit begin in order, and their writes arrive in order if they take the same path.
bool Discipline::ordered_in_unit(const Event& earlier, bool was_write, const AccessInstance& access,
                                 bool same_base) const {
  const Event& now = present();
  if (!was_write || (now.expansion > 0 && now.expansion == earlier.expansion)) return true;
  const UnitRules& rules = rules_[at(now.unit)];
  const int64_t distance = now.number - earlier.number;
  if (access.write && events_[at(owner(true))].timeline != earlier.timeline) return false;
  if (access.accumulate_read) return same_base || distance > rules.exact_base_sums;
  if (access.write) return distance > rules.unordered_writes;
  return same_base || distance > rules.exact_base_reads;
}

// True if the order holds for all rows of the access that the earlier command used, not for this row alone.
bool Discipline::conflict_local(int32_t before, bool was_write, int64_t row, const AccessInstance& access,
                                int32_t now) {
  const Event& earlier = events_[at(before)];
  if (complete(earlier)) return true;
  if (may_overtake(now, before)) {
    overtaken(before, access.memory, row);
    return false;
  }
  const bool own = earlier.unit == present().unit;
  Clash clash{before, present_, access.memory, row, was_write, access.write};
  if (!own) {
    if (before > now) {
      early(before);
      return false;
    }
    if (tracked_ && waits(now, before)) {
      join(waited_.data() + at(before) * now_.size());
      return true;
    }
  } else {
    const bool one_loop = earlier.expansion > 0 && earlier.expansion == present().expansion;
    const bool passes = access.write && was_write && rules_[at(earlier.unit)].passes && !one_loop;
    const bool same_base = rows_[at(access.memory)].row[at(row)].base == access.base;
    const bool any_base = ordered_in_unit(earlier, was_write, access, false);
    if (any_base && !passes) return true;
    clash.passes = passes && (any_base || ordered_in_unit(earlier, was_write, access, same_base));
    if (!passes && same_base && ordered_in_unit(earlier, was_write, access, true)) return false;
  }
  clashes_.push_back(clash);
  return false;
}

bool Discipline::reported(const Clash& clash) const {
  return known_.contains(key_of(clash.banks ? kBanks : kUnordered, clash.later, clash.earlier));
}

// A command of another unit that waits for the earlier one, and for which the later one waits: by tracked rows, which
// may be more than the three share. 0: none.
int32_t Discipline::between(const Clash& clash) const {
  const auto states = [&](int32_t event) { return events_[at(event)].ranges > 0; };
  if (!tracked_ || !states(clash.earlier) || !states(clash.later)) return 0;
  for (int32_t event = clash.later - 1; event > clash.earlier; --event) {
    if (events_[at(event)].unit == events_[at(clash.later)].unit || !states(event)) continue;
    if (!waits(event, clash.earlier) || !waits(clash.later, event)) continue;
    if (!may_overtake(event, clash.earlier) && !may_overtake(clash.later, event)) return event;
  }
  return 0;
}

// A command begins when all that it waits for is complete, whichever of its rows waits for it. Nobody looks for a
// command between two that are not in order elsewhere: a program may have very many of them.
void Discipline::settle() {
  for (const Clash& clash : clashes_) {
    const Event& earlier = events_[at(clash.earlier)];
    if (complete(earlier)) continue;
    const int32_t third = clash.passes ? beside(clash.earlier) : 0;
    if (clash.passes && third == 0) {
      auto& overlaps = overlaps_[at(earlier.unit)];
      if (overlaps.empty() || overlaps.back().earlier != clash.earlier || overlaps.back().later != clash.later)
        overlaps.push_back(clash);
    } else if (const int32_t other = reported(clash) ? 0 : between(clash); other != 0) {
      join(waited_.data() + at(other) * now_.size());
      int64_t& known = clocks_[at(present().unit)][at(earlier.timeline)];
      known = std::max(known, earlier.time);
    } else if (clash.passes) {
      passed(clash, third);
    } else if (clash.banks) {
      in_two_banks(clash);
    } else {
      unordered(clash);
    }
  }
  clashes_.clear();
}

void Discipline::unordered(const Clash& clash) {
  report(kUnordered,
         text(clash.later) + (clash.write ? " writes " : " reads ") +
             machine_.machine().memories[at(clash.memory)].name + " row " + std::to_string(clash.row) + ", which " +
             text(clash.earlier) + (clash.was_write ? " writes" : " reads") +
             "; the machine does not make the later one wait" +
             (tracked_ ? ": keep them further apart, or use other rows" : ": synchronise the units with a semaphore"),
         clash.earlier);
}

void Discipline::in_two_banks(const Clash& clash) {
  const std::string row =
      machine_.machine().memories[at(clash.memory)].name + " row " + std::to_string(clash.row) + " while ";
  report(kBanks,
         clash.write
             ? text(clash.later) + " writes " + row + text(clash.earlier) +
                   " may be writing another bank by another path; the banks choose a path together, so that rows would"
                   " go astray: put a fence between the two, or write one bank"
             : text(clash.later) + " adds to " + row + text(clash.earlier) +
                   " may be adding in another bank; the banks share their adders, so that both sums would be wrong: put"
                   " a fence between the two, add in one bank, or let one of them overwrite",
         clash.earlier);
}

// The last command of another unit on the link that may be under way at the same time as an earlier one; 0: none.
int32_t Discipline::beside(int32_t earlier) const {
  const int64_t* known = waited_.data() + earlier * std::ssize(now_);
  for (int32_t unit = 0; unit < host_; ++unit) {
    const UnitRules& rules = rules_[at(unit)];
    if (unit == events_[at(earlier)].unit || !rules.streams) continue;
    for (int32_t t = rules.first_timeline; t < rules.first_timeline + rules.timelines; ++t)
      if (const int32_t last = on_link_[at(t)]; known[t] < events_[at(last)].time) return last;
  }
  return 0;
}

// The present command comes to the link: overlaps whose earlier command may still be under way are not in order.
void Discipline::on_the_link() {
  on_link_[at(present().timeline)] = present_;
  for (size_t unit = 0; unit < overlaps_.size(); ++unit) {
    if (unit == at(present().unit)) continue;
    for (const Clash& clash : std::exchange(overlaps_[unit], {}))
      if (!complete(events_[at(clash.earlier)]) && (reported(clash) || between(clash) == 0)) passed(clash, present_);
  }
}

void Discipline::passed(const Clash& clash, int32_t third) {
  const int32_t now = std::exchange(present_, clash.later);
  report(kUnordered,
         text(clash.later) + " writes " + machine_.machine().memories[at(clash.memory)].name + " row " +
             std::to_string(clash.row) + ", which " + text(clash.earlier) + " writes; " + text(third) +
             " may be under way too, and requests that wait for the link then pass one another: put a fence between"
             " the two, or use other rows",
         clash.earlier);
  present_ = now;
}

// The present command may reach the machine before an older one does.
void Discipline::overtaken(int32_t before, int32_t memory, int64_t row) {
  const auto stream = [&](int32_t event) {
    return machine_.machine().instructions[at(expander_of(event))].streams[at(events_[at(event)].stream)].name;
  };
  report(kUnordered,
         text(present_) + " and " + text(before) + " share " + machine_.machine().memories[at(memory)].name + " row " +
             std::to_string(row) + ": two loops of the hardware are under way, and the later one's '" +
             stream(present_) + "' does not wait for the older one's '" + stream(before) +
             "'; put a fence between the loops, or use other rows",
         before);
}

// The present command and the other share rows, and one is the preload of a pair that the other is in the midst of.
void Discipline::early(int32_t other) {
  report(kUnordered,
         text(present_) + " shares rows with " + text(other) +
             " across a preload and its multiply: the machine makes the one between them wait until the result is"
             " there; put it before the preload, or after its multiply",
         other);
}

void Discipline::live(Rows& rows, int64_t index, bool write) {
  Row& row = rows.row[at(index)];
  if (write && row.born != commands_) {
    close(rows, index);
    row.born = commands_;
  }
  if (row.born >= 0) row.last_used = commands_;
}

void Discipline::close(Rows& rows, int64_t index) const {
  const Row& row = rows.row[at(index)];
  if (row.born < 0) return;
  if (rows.change.size() < at(commands_) + 2) rows.change.resize(2 * at(commands_) + 2);
  // A row read and overwritten by one command counts once there.
  const bool replaced = row.last_used == commands_ && row.born < commands_;
  ++rows.change[at(row.born)];
  --rows.change[at(row.last_used) + (replaced ? 0 : 1)];
}

}  // namespace autocomp
