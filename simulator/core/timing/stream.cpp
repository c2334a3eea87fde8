#include "timing/stream.hpp"

#include <algorithm>

namespace autocomp::timing {

// The multiply that a preload pairs with is the next command of its unit, if it is one, before any fence.
void Stream::pair(int64_t number) {
  const InstructionTiming& here = timing(number);
  if (here.unit >= 0) {
    int64_t& open = open_[static_cast<size_t>(here.unit)];
    if (open >= 0 && here.role == Role::Multiply) list_.at(open).partner = number;
    const bool owns = here.role == Role::Preload && settings_.units[static_cast<size_t>(here.unit)].owner_preload;
    open = owns ? number : -1;
  }
  if (here.role == Role::Fence) std::fill(open_.begin(), open_.end(), -1);
}

void Stream::supply(bool ended) {
  ended_ = ended;
  for (; seen_ < list_.count(); ++seen_) pair(seen_);
  int64_t known = seen_;
  for (const int64_t open : open_)
    if (open >= 0) known = std::min(known, open);
  // The host may pass several fences and take the command behind them in one cycle, and looks at the next.
  for (int64_t number = known - 2; number > last_ && number >= list_.first; --number)
    if (timing(number).role != Role::Fence) last_ = number;
}

void Stream::decode(int64_t number, Command& command) const {
  const Operation& operation = list_.at(number);
  const Operation* multiply = operation.partner >= 0 ? &list_.at(operation.partner) : nullptr;
  timing::decode(settings_, list_, operation, multiply, command);
  command.operation = number;
}

}  // namespace autocomp::timing
