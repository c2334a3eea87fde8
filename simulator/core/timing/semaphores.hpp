// The counters that units wait for and signal: by commands of their own, or by flags of any command.
#pragma once

#include <bit>
#include <vector>

#include "timing/archive.hpp"
#include "timing/command.hpp"

namespace autocomp::timing {

class Semaphores {
 public:
  explicit Semaphores(const Settings& settings) : settings_(settings), turns_(settings.units.size()) {}

  [[nodiscard]] static bool concerns(const Command& command) {
    return command.role == Role::Wait || command.role == Role::Signal ||
           (command.value(Key::Pops) | command.value(Key::Pushes)) != 0;
  }

  // Whether the command may issue; `alone`: all older commands of its unit have completed.
  [[nodiscard]] bool open(const Command& command, bool alone) const {
    if (command.role == Role::Wait || command.role == Role::Signal) {
      const int64_t index = command.value(Key::Semaphore);
      if (index < 0 || index >= kCount) return false;  // there is none: the unit waits for ever
      const Semaphore& semaphore = all_[static_cast<size_t>(index)];
      return command.role == Role::Wait ? semaphore.value > 0 : alone && has_room(semaphore);
    }
    bool result = true;
    each(command.value(Key::Pops), [&](size_t i) { result = result && all_[i].value > 0; });
    each(command.value(Key::Pushes), [&](size_t i) { result = result && has_room(all_[i]); });
    return result;
  }

  // The command issues: takes what it waited for, and keeps room for what it adds when it completes.
  void issue(Command& command, size_t unit) {
    if (command.role == Role::Signal) {
      add(command.value(Key::Semaphore), command.operation);
    } else if (command.role == Role::Wait) {
      take(static_cast<size_t>(command.value(Key::Semaphore)), command);
    } else {
      each(command.value(Key::Pops), [&](size_t i) { take(i, command); });
      each(command.value(Key::Pushes), [&](size_t i) { ++all_[i].promised; });
    }
    if (settings_.pushes) turns_[unit].push({command.operation, command.value(Key::Pushes), false});
  }

  // Adds what commands push that have completed with all older ones of their unit.
  void complete(const Command& command, size_t unit) {
    if (!settings_.pushes) return;
    Ring<Turn>& turns = turns_[unit];
    for (size_t i = 0; i < turns.size(); ++i)
      if (turns[i].operation == command.operation) turns[i].done = true;
    for (; !turns.empty() && turns.front().done; turns.pop())
      each(turns.front().pushes, [&](size_t i) {
        --all_[i].promised;
        add(static_cast<int64_t>(i), turns.front().operation);
      });
  }

  void archive(Archive& archive) {
    bool used = used_;
    archive.value(used);
    if (!used) return;
    for (Semaphore& semaphore : all_) {
      archive.values(semaphore.value, semaphore.promised);
      if (archive.records()) archive.number(semaphore.signal);
    }
    for (Ring<Turn>& turns : turns_)
      archive.ring(turns, [&](Turn& turn) {
        archive.number(turn.operation);
        archive.values(turn.pushes, turn.done);
      });
  }

 private:
  static constexpr int64_t kCount = 1024;
  struct Semaphore {
    int64_t value = 0;
    int64_t promised = 0;  // by commands that have issued and not completed
    int64_t signal = -1;   // the last command that signalled
  };
  struct Turn {  // a command of a unit, in the order of issue
    int64_t operation = -1, pushes = 0;
    bool done = false;
  };

  template <typename Visit>
  static void each(int64_t mask, Visit visit) {
    for (auto left = static_cast<uint64_t>(mask); left != 0; left &= left - 1)
      visit(static_cast<size_t>(std::countr_zero(left)));
  }
  [[nodiscard]] bool has_room(const Semaphore& semaphore) const {
    return settings_.semaphore_depth == 0 || semaphore.value + semaphore.promised < settings_.semaphore_depth;
  }
  void add(int64_t index, int64_t operation) {
    used_ = true;
    Semaphore& semaphore = all_[static_cast<size_t>(index)];
    ++semaphore.value;
    semaphore.signal = operation;
  }
  void take(size_t index, Command& command) {
    used_ = true;
    --all_[index].value;
    command.times.released_by = all_[index].signal;
    command.times.release = Cause::Semaphore;
  }

  const Settings& settings_;
  std::vector<Semaphore> all_ = std::vector<Semaphore>(kCount);
  std::vector<Ring<Turn>> turns_;  // by unit; of machines some of whose commands push
  bool used_ = false;
};

}  // namespace autocomp::timing
