// How much interpreting a run may do, and the caller's chance to end it in between.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "program/store.hpp"

namespace autocomp {

class Budget {
 public:
  Budget(int64_t iterations, std::function<void()> poll)
      : left_(iterations), limit_(iterations), poll_(std::move(poll)) {}

  // One iteration of a loop or a sum of an instruction's semantics. Throws Fault when all are spent.
  void spend() {
    if ((--left_ & kPeriod) == 0) check();
  }
  // May throw what the caller's function throws.
  void poll() const {
    if (poll_) poll_();
  }

 private:
  static constexpr int64_t kPeriod = 0xFFFF;

  void check() const {
    poll();
    if (left_ <= 0)
      throw Fault{"steps", "the semantics of the instructions took " + std::to_string(limit_) +
                               " iterations of loops and sums, as many as one run may take"};
  }

  int64_t left_, limit_;
  std::function<void()> poll_;
};

}  // namespace autocomp
