// A systolic array behind local memory. A controller looks at the first commands of a queue and starts an operation: a
// preload, a multiply, or both at once. Each operand is read a row at a time, at most one row ahead of the others, and
// where two share a bank the later one waits its turn. Control words follow the data through the banks' latency; a row
// enters the array when all its operands are there, and its results leave a fixed time later, for the destination that
// an earlier operation has named. Flushes push results out where no operation follows.
#pragma once

#include <array>
#include <vector>

#include "units/fifo.hpp"

namespace autocomp::timing {

class Systolic {
 public:
  Systolic(Context& context, int32_t unit);
  void issue(int32_t slot) { arrived_.push({slot}, context_.now); }
  [[nodiscard]] bool accepts() const { return arrived_.room(context_.now); }
  // Results are written before anything else in a cycle asks for a port.
  void write_results();
  void step();
  void schedule();
  void archive(Archive& archive);
  [[nodiscard]] Cause cause() const;
  [[nodiscard]] bool active() const {
    return state_ != State::Waiting || !queue_.empty() || !arrived_.empty() || !leaving_.empty() || entering_;
  }

 private:
  static constexpr size_t kOperands = 3;   // the multiply's two, and the preload's
  static constexpr size_t kPreloaded = 2;  // the last of them
  static constexpr int64_t kNumbers = 5;   // by which operations in the array are known, in turns
  static constexpr size_t kMostTags = 6;   // operations whose last row has not left
  using Operands = uint8_t;                // a mask
  static constexpr Operands kAll = (1U << kOperands) - 1;
  enum class State : uint8_t { Waiting, Running, Flush, Flushing };
  struct Item {  // a command in the queues; a pair that runs twice passes twice, the first time silently
    int32_t slot = -1;
    bool silent = false;  // it completes nothing, and has no result
    bool empty = false;   // the preload's operand is absent
  };
  struct Operand {
    int32_t memory = -1;                   // -1: nothing is read
    int64_t base = 0, step = 1, rows = 0;  // rows beyond these are zeros
    bool started = false;
    int64_t next = 0;  // which row
    int64_t row = 0;
    int32_t bank = -1;                       // of that row …
    int64_t bank_first = 0, bank_last = -1;  // … and the rows of the memory in it, which may lie further on
    bool zeros = true;
  };
  struct Tag {  // the destination of results to come
    int32_t owner = -1, memory = -1;
    int64_t base = 0, step = 1, rows = 0;
    bool accumulate = false, reversed = false;
    int64_t operation = 0;             // the number of that whose rows bring them
    int64_t from = 0, until = kNever;  // cycles in which it is looked at

    void archive(Archive& archive);
  };
  struct Operation {  // what the array is told of one
    Tag tag;
    int64_t rows = 0;
  };
  struct Control {                  // a cycle of reading
    Operands fired = 0, reads = 0;  // that went on, and what they have read
    bool first = false;
    std::array<int32_t, kOperands> bank{};
    int64_t data = 0;  // cycle in which it is there
  };
  struct Leaving {  // rows of results, one a cycle
    int64_t cycle = 0, count = 1;
    int64_t operation = 0, index = 0, rows = 0;  // the first of them among all of the operation
  };
  [[nodiscard]] Role role(const Item* item) { return context_.command(item->slot).role; }
  void unroll();
  // The controller
  void decide();
  template <typename Like>
  [[nodiscard]] bool any_tag(Like like) const;
  [[nodiscard]] bool in_progress() const;
  [[nodiscard]] bool tagged(const Item& preload, const Item& multiply);
  [[nodiscard]] bool tagged(const AccessInstance& access) const;
  void configure(int32_t slot);
  void change(State state) {
    state_ = state;
    context_.progress = true;
  }
  void begin(bool multiply, bool preload);
  void add_operands(const Item& multiply, bool early);
  void add_preloaded(const Item& preload);
  [[nodiscard]] Tag tag_of(const Item& preload);
  void read_operands();
  void place(size_t operand);
  void advance(size_t operand);
  [[nodiscard]] bool shares(size_t operand, size_t other) const;
  [[nodiscard]] bool waits(size_t operand) const;
  [[nodiscard]] Operands able() const;
  void finish();
  void complete();
  // The array
  [[nodiscard]] bool enter();
  void feed();
  void start(bool flush);
  void renumber();
  void archive(Archive& archive, Operand& operand);
  void archive(Archive& archive, Control& control);

  Context& context_;
  const UnitSettings& settings_;
  Fifo<Item> arrived_, queue_;
  int64_t unrolled_ = 0;  // how much of the first pair has been sent on that runs twice
  State state_ = State::Waiting;
  bool multiplies_ = false, preloads_ = false;  // the running operation
  bool deferring_ = false;                      // results leave with the operation after the next
  std::array<Operand, kOperands> operands_;
  int64_t rows_ = 0;
  Ring<Operation> operations_;  // that the array has not been told of
  Fifo<Control> control_;
  std::array<int32_t, 2> pending_{-1, -1};  // commands that complete in a cycle in which no result does
  int64_t pending_from_ = 0;
  int64_t completed_ = -1, left_ = -1;  // the last cycles in which a result completed its owner, an operation left
  bool entering_ = false, flushing_ = false;  // an operation's rows enter, or a flush's
  Operands there_ = 0;                        // of the next row
  int64_t entered_ = 0, entering_rows_ = 0, operation_ = 0;
  Ring<Tag> tags_;
  Ring<int64_t> totals_;  // numbers of operations whose last row has not left
  Ring<Leaving> leaving_;
  Deed cause_;
  Cause wait_ = Cause::Idle;
};

}  // namespace autocomp::timing
