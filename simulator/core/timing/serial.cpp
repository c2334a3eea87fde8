#include "timing/serial.hpp"

#include <algorithm>

namespace autocomp::timing {

void Serial::step() {
  if (busy_until_ > context_.now) {
    cause_ = Cause::Busy;
    return;
  }
  if (queue_.empty() || queue_.front().ready > context_.now) return;
  const int32_t slot = queue_.front().slot;
  const Command& command = context_.command(slot);
  queue_.pop();
  context_.may_issue = true;
  context_.start(slot);
  cause_ = Cause::Busy;
  const int64_t busy = std::max<int64_t>(1, command.value(Key::Busy));
  busy_until_ = context_.now + busy;
  context_.complete(slot, busy_until_ + command.value(Key::Latency));
}

void Serial::schedule() {
  context_.at(busy_until_);
  if (!queue_.empty()) context_.at(queue_.front().ready);
}

}  // namespace autocomp::timing
