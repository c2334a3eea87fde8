// A unit that executes one command after the other, each for as long as it says.
#pragma once

#include "timing/engine.hpp"

namespace autocomp::timing {

class Serial {
 public:
  Serial(Context& context, int32_t unit)
      : context_(context), settings_(context.settings.units[static_cast<size_t>(unit)]), cause_(context.now) {}
  void issue(int32_t slot) { queue_.push({context_.now + settings_.start, slot}); }
  [[nodiscard]] bool accepts() const { return queue_.size() < static_cast<size_t>(settings_.queue); }
  void step();
  void schedule();
  void archive(Archive& archive) {
    archive.ring(queue_, [&](Item& item) {
      archive.cycle(item.ready);
      archive.slot(item.slot);
    });
    archive.cycle(busy_until_);
    archive.cycle(held_from_);
  }
  [[nodiscard]] Cause cause() const { return cause_ != Cause::Idle ? cause_ : Cause::Pipeline; }
  [[nodiscard]] bool active() const { return !queue_.empty() || busy_until_ > context_.now; }

 private:
  struct Item {
    int64_t ready = 0;
    int32_t slot = -1;
  };
  Context& context_;
  const UnitSettings& settings_;
  Ring<Item> queue_;
  [[nodiscard]] int64_t served(const Command& command) const;

  int64_t busy_until_ = 0;  // the unit takes its next command then
  int64_t held_from_ = 0;   // until then it waits for local memories
  Deed cause_;
};

}  // namespace autocomp::timing
