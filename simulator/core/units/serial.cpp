#include "units/serial.hpp"

#include <algorithm>

namespace autocomp::timing {

// When local memories of limited bandwidth have served all that the command reads and writes, those before it first.
int64_t Serial::served(const Command& command) const {
  int64_t last = context_.now;
  for (size_t i = 0; i < command.demand_count; ++i) {
    const Demand& demand = command.demands[i];
    int64_t& free = context_.bandwidth_free[static_cast<size_t>(demand.memory)];
    const int64_t rate = context_.settings.memories[static_cast<size_t>(demand.memory)].bandwidth;
    free = std::max(free, context_.now) + (demand.bytes + rate - 1) / rate;
    last = std::max(last, free);
  }
  return last;
}

void Serial::step() {
  if (busy_until_ > context_.now) {
    cause_ = context_.now < held_from_ ? Cause::Busy : Cause::BankConflict;
    return;
  }
  if (queue_.empty() || queue_.front().ready > context_.now) return;
  const int32_t slot = queue_.front().slot;
  const Command& command = context_.command(slot);
  queue_.pop();
  context_.may_issue = true;
  context_.start(slot);
  cause_ = Cause::Busy;
  held_from_ = context_.now + std::max<int64_t>(1, command.value(Key::Busy));
  busy_until_ = std::max(held_from_, served(command));
  context_.complete(slot, busy_until_ + command.value(Key::Latency));
}

void Serial::schedule() {
  context_.at(held_from_);
  context_.at(busy_until_);
  if (!queue_.empty()) context_.at(queue_.front().ready);
}

}  // namespace autocomp::timing
