// Ports of local memory banks: at most one use of a port in a cycle; who asks first in a cycle wins.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "settings.hpp"

namespace autocomp::timing {

class Ports {
 public:
  explicit Ports(const Settings& settings) : memories_(settings.memories), banks_(settings.banks) {}

  [[nodiscard]] bool read(int32_t memory, int64_t row, int64_t now) {
    Bank& bank = at(memory, row);
    if (bank.read == now || (memories_[static_cast<size_t>(memory)].shared_port && bank.write == now)) return false;
    bank.read = now;
    return true;
  }

  // An accumulating write reads the old row in the same cycle.
  [[nodiscard]] bool write(int32_t memory, int64_t row, bool accumulate, int64_t now) {
    Bank& bank = at(memory, row);
    const bool shared = memories_[static_cast<size_t>(memory)].shared_port;
    if (bank.write == now || ((shared || accumulate) && bank.read == now)) return false;
    bank.write = now;
    if (accumulate) bank.read = now;
    return true;
  }

 private:
  struct Bank {
    int64_t read = -1, write = -1;  // cycle of the last use
  };
  [[nodiscard]] Bank& at(int32_t memory, int64_t row) {
    const MemoryPorts& ports = memories_[static_cast<size_t>(memory)];
    const auto index = ports.first_bank + ports.bank(std::max<int64_t>(0, row));
    return banks_[std::min(index, banks_.size() - 1)];
  }
  std::vector<MemoryPorts> memories_;
  std::vector<Bank> banks_;
};

}  // namespace autocomp::timing
