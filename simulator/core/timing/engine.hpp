// What the mechanisms share in one run: settings, time, ports, and the pools that commands live in.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "timing/archive.hpp"
#include "timing/command.hpp"
#include "timing/ports.hpp"
#include "timing/ring.hpp"
#include "timing/semaphores.hpp"
#include "timing/settings.hpp"
#include "timing/slot_set.hpp"

namespace autocomp::timing {

struct Completion {
  int64_t ready = 0;  // first cycle in which it may complete
  int32_t slot = -1;
  int32_t tracker = 0;  // of those that are ready in a unit, the one in its lowest tracker goes first
};

// What a unit did in a cycle; in any other cycle it did nothing.
class Deed {
 public:
  explicit Deed(const int64_t& now) : now_(now) {}
  Deed& operator=(Cause cause) {
    cause_ = cause;
    cycle_ = now_;
    return *this;
  }
  operator Cause() const { return cycle_ == now_ ? cause_ : Cause::Idle; }  // NOLINT(google-explicit-constructor)

 private:
  const int64_t& now_;
  int64_t cycle_ = -1;
  Cause cause_ = Cause::Idle;
};

// One unit's commands between allocation and completion. Slots are numbered over all units.
struct Pool {
  int32_t first_slot = 0, slots = 0;
  Ring<int32_t> unissued;       // slots in program order
  Ring<Completion> completing;  // waiting for the completion arbiter
  int64_t live = 0;

  [[nodiscard]] bool owns(int32_t slot) const { return slot >= first_slot && slot < first_slot + slots; }
};

class Context {
 public:
  explicit Context(const Settings& settings)
      : settings(settings),
        ports(settings),
        semaphores(settings),
        pools(settings.units.size()),
        slots(settings.slots()),
        waits_for(slots.size(), SlotSet(slots.size())),
        unit_of(slots.size()),
        occupied(slots.size()) {
    int32_t slot = 0;
    for (size_t u = 0; u < pools.size(); ++u) {
      pools[u].first_slot = slot;
      pools[u].slots = static_cast<int32_t>(settings.units[u].entries);
      for (int32_t e = 0; e < pools[u].slots; ++e) unit_of[static_cast<size_t>(slot++)] = u;
    }
    one_array = std::count_if(settings.units.begin(), settings.units.end(),
                              [](const UnitSettings& unit) { return unit.kind == UnitKind::Array; }) == 1;
    bandwidth_free.resize(settings.memories.size());
    passed.resize(settings.units.size());
  }

  [[nodiscard]] bool holds(int32_t slot) const { return occupied.holds(slot); }
  [[nodiscard]] Command& command(int32_t slot) { return slots[static_cast<size_t>(slot)]; }
  void start(int32_t slot) {
    CommandTiming& times = command(slot).times;
    if (times.started < 0) times.started = now;
    progress = true;
  }
  // The command's last step is done; it completes in cycle `ready` or when the arbiter lets it.
  void complete(int32_t slot, int64_t ready, int32_t tracker = 0) {
    const size_t unit = unit_of[static_cast<size_t>(slot)];
    pools[unit].completing.push({ready + settings.units[unit].completion, slot, tracker});
    ++completing;
    progress = true;
  }
  void at(int64_t cycle) {  // something can happen in that cycle at the latest
    if (cycle > now && cycle < timer) timer = cycle;
  }

  void archive(Archive& archive) {
    ports.archive(archive);
    for (Pool& pool : pools) {
      archive.ring(pool.unissued, [&](int32_t& slot) { archive.slot(slot); });
      archive.ring(pool.completing, [&](Completion& completion) {
        archive.cycle(completion.ready);
        archive.slot(completion.slot);
        archive.value(completion.tracker);
      });
      archive.value(pool.live);
    }
    archive.slots(occupied);
    archive.values(completing, may_issue);
    for (size_t m = 0; m < bandwidth_free.size(); ++m)
      if (settings.memories[m].bandwidth != 0) archive.cycle(bandwidth_free[m]);
    each_command(archive, [&](int32_t slot) { archive.slots(waits_for[static_cast<size_t>(slot)]); });
  }
  [[nodiscard]] SlotNames slot_names() const {
    SlotNames found{std::vector<int32_t>(slots.size()), std::vector<int32_t>(slots.size())};
    std::iota(found.slots.begin(), found.slots.end(), 0);
    const auto age = [this](int32_t slot) { return holds(slot) ? slots[static_cast<size_t>(slot)].operation : kNever; };
    for (const Pool& pool : pools) {
      const auto first = found.slots.begin() + pool.first_slot;
      std::sort(first, first + pool.slots,
                [&](int32_t a, int32_t b) { return std::pair(age(a), a) < std::pair(age(b), b); });
    }
    for (size_t name = 0; name < slots.size(); ++name)
      found.names[static_cast<size_t>(found.slots[name])] = static_cast<int32_t>(name);
    return found;
  }
  // Calls visit(slot) for the slots of all commands, or of a unit's, in the order of their names in the archive.
  template <typename Visit>
  void each_command(const Archive& archive, Visit visit) const {
    for (size_t u = 0; u < pools.size(); ++u) each_command(archive, u, visit);
  }
  template <typename Visit>
  void each_command(const Archive& archive, size_t unit, Visit visit) const {
    for (int32_t i = 0; i < pools[unit].slots; ++i)
      if (const int32_t slot = archive.slot_called(pools[unit].first_slot + i); holds(slot)) visit(slot);
  }

  const Settings& settings;
  Ports ports;
  Semaphores semaphores;
  std::vector<Pool> pools;
  std::vector<Command> slots;
  std::vector<SlotSet> waits_for;  // by slot: those whose commands must complete before this one's may issue
  std::vector<size_t> unit_of;
  SlotSet occupied;
  bool one_array = false;               // what it books, no other array can have asked for first
  std::vector<int64_t> bandwidth_free;  // by memory: when it has served what has been asked of it
  // By unit: rows that passed its scaler before any was multiplied. Whose turn it is at the multipliers follows from
  // it then, once; no state holds it.
  std::vector<int64_t> passed;
  bool took_turn = false;  // … and did so, since this was last cleared
  int64_t completing = 0;  // commands that wait for the completion arbiter, of all pools
  int64_t now = 0;
  bool progress = false;   // something changed in this cycle
  bool forgets = false;    // address translations are void from the next cycle on
  bool may_issue = false;  // something has changed that a command may have waited for to issue
  int64_t timer = kNever;  // earliest cycle in which something is known to happen
};

}  // namespace autocomp::timing
