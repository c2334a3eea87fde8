// Ports of local memory banks: at most one use of a port in a cycle; who asks first in a cycle wins.
// Uses may be booked for several cycles at once. Results of an array take their port whatever others do; its operands
// come last, so that a write which needs the port ends their booking.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "timing/archive.hpp"
#include "timing/settings.hpp"

namespace autocomp::timing {

class Ports {
 public:
  explicit Ports(const Settings& settings) : memories_(settings.memories), banks_(settings.banks) {}

  [[nodiscard]] bool read(int32_t memory, int64_t row, int64_t now) {
    Bank& bank = at(memory, row);
    if (!open(bank, memory, now)) return false;
    bank.read_until = now + 1;
    return true;
  }

  // For `cycles` cycles from now on. An accumulating write reads the old row in the same cycle.
  [[nodiscard]] bool write(int32_t memory, int64_t row, bool accumulate, int64_t now, int64_t cycles = 1) {
    Bank& bank = at(memory, row);
    const bool reads = accumulate || memories_[static_cast<size_t>(memory)].shared_port;
    if (!memories_[static_cast<size_t>(memory)].contended) return true;
    if (bank.write_until > now || (reads && bank.read_until > now)) return false;
    bank.write_until = now + cycles;
    if (accumulate) bank.read_until = now + cycles;
    if (reads && bank.booked_until > now) {
      bank.booked_until = now;
      interrupted_ = true;
    }
    return true;
  }

  // Books reads for `cycles` cycles from now on, one a cycle, which a write may interrupt.
  [[nodiscard]] bool book(int32_t memory, int64_t row, int64_t now, int64_t cycles) {
    Bank& bank = at(memory, row);
    if (!open(bank, memory, now)) return false;
    bank.booked_until = now + cycles;
    return true;
  }
  void release(int32_t memory, int64_t row, int64_t now) { at(memory, row).booked_until = now; }
  // Whether a write has interrupted a booking since the last time this was asked.
  [[nodiscard]] bool interrupted() { return std::exchange(interrupted_, false); }

  [[nodiscard]] bool same_bank(int32_t memory, int64_t row, int64_t other) {
    return &at(memory, row) == &at(memory, other);
  }

  void archive(Archive& archive) {
    for (Bank& bank : banks_)
      for (int64_t* until : {&bank.read_until, &bank.write_until, &bank.booked_until}) archive.cycle(*until);
    archive.value(interrupted_);
  }

 private:
  struct Bank {  // first cycle in which a port is free again
    int64_t read_until = 0, write_until = 0, booked_until = 0;
  };
  [[nodiscard]] bool open(const Bank& bank, int32_t memory, int64_t now) const {
    const MemoryPorts& ports = memories_[static_cast<size_t>(memory)];
    if (!ports.contended) return true;
    const bool shared = ports.shared_port;
    return bank.read_until <= now && bank.booked_until <= now && !(shared && bank.write_until > now);
  }
  [[nodiscard]] Bank& at(int32_t memory, int64_t row) {
    const MemoryPorts& ports = memories_[static_cast<size_t>(memory)];
    const auto index = ports.first_bank + ports.bank(std::max<int64_t>(0, row));
    return banks_[std::min(index, banks_.size() - 1)];
  }
  std::vector<MemoryPorts> memories_;
  std::vector<Bank> banks_;
  bool interrupted_ = false;
};

}  // namespace autocomp::timing
