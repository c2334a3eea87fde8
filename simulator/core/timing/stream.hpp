// The program's commands on their way to the front, in order, while the program goes on.
#pragma once

#include <cstdint>
#include <vector>

#include "semantics/operation.hpp"
#include "timing/command.hpp"
#include "timing/settings.hpp"

namespace autocomp::timing {

class Stream {
 public:
  Stream(const Settings& settings, OperationList& list)
      : settings_(settings), list_(list), open_(settings.units.size(), -1) {}

  // Looks at the operations appended since the last time. `ended`: there will be no more.
  void supply(bool ended);
  // Whether the host, whose next command is `next`, does the same in one cycle whatever is appended later.
  [[nodiscard]] bool suffices(int64_t next) const { return ended_ || next <= last_; }
  [[nodiscard]] int64_t count() const { return seen_; }
  [[nodiscard]] const Operation& operation(int64_t number) const { return list_.at(number); }
  [[nodiscard]] const InstructionTiming& timing(int64_t number) const {
    return settings_.instructions[static_cast<size_t>(list_.at(number).instruction)];
  }
  void decode(int64_t number, Command& command) const;
  void forget(int64_t before) { list_.forget(before); }

 private:
  void pair(int64_t number);

  const Settings& settings_;
  OperationList& list_;
  std::vector<int64_t> open_;  // by unit: a preload behind which no other command of the unit has come yet, or -1
  int64_t seen_ = 0;           // operations looked at
  int64_t last_ = -1;          // the last that is no fence, known with all it needs, and followed by another
  bool ended_ = false;
};

}  // namespace autocomp::timing
