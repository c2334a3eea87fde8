// The counters that units wait for and signal.
#pragma once

#include <vector>

#include "timing/archive.hpp"
#include "timing/command.hpp"

namespace autocomp::timing {

class Semaphores {
 public:
  // Whether a wait or a signal may issue now; `alone`: all older commands of its unit have completed. A wait takes 1
  // from its semaphore when it can; a signal adds 1 when it is alone.
  [[nodiscard]] bool pass(Command& command, bool alone) {
    const int64_t index = command.value(Key::Semaphore);
    if (index < 0 || index >= kCount) return false;  // there is none: the unit waits for ever
    Semaphore& semaphore = all_[static_cast<size_t>(index)];
    used_ = true;
    if (command.role == Role::Signal) {
      if (!alone) return false;
      ++semaphore.value;
      semaphore.signal = command.operation;
      return true;
    }
    if (semaphore.value == 0) return false;
    --semaphore.value;
    command.times.released_by = semaphore.signal;
    command.times.release = Cause::Semaphore;
    return true;
  }
  void archive(Archive& archive) {
    bool used = used_;
    archive.value(used);
    if (!used) return;
    for (Semaphore& semaphore : all_) {
      archive.value(semaphore.value);
      if (archive.records()) archive.number(semaphore.signal);
    }
  }

 private:
  static constexpr int64_t kCount = 1024;
  struct Semaphore {
    int64_t value = 0, signal = -1;  // the last command that signalled
  };
  std::vector<Semaphore> all_ = std::vector<Semaphore>(kCount);
  bool used_ = false;
};

}  // namespace autocomp::timing
