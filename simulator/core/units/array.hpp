// A compute array: operations stream operand rows from banks, one row of each operand a step; a preload may overlap
// with the multiply before it; results leave a fixed latency later; flushes push results out before a reconfiguration.
#pragma once

#include <vector>

#include "timing/engine.hpp"

namespace autocomp::timing {

class Array {
 public:
  Array(Context& context, int32_t unit);
  void issue(int32_t slot);
  [[nodiscard]] bool accepts() const { return queue_.size() < static_cast<size_t>(settings_.queue); }
  [[nodiscard]] bool results_due() const { return !results_.empty() && results_.front().cycle <= context_.now; }
  void write_results();
  [[nodiscard]] bool due() const { return running_ || wake_ <= context_.now; }
  void step();
  void schedule();
  void archive(Archive& archive);
  [[nodiscard]] Cause cause() const;
  [[nodiscard]] bool active() const { return running_ || !queue_.empty() || !results_.empty(); }

 private:
  struct Item {  // a command in the queue; a doubled pair appears twice, the first time silently
    int64_t visible = 0;
    int32_t slot = -1;
    bool silent = false;
  };
  struct Operand {
    const AccessInstance* access = nullptr;
    int64_t points = 0;
    bool reversed = false;
  };
  struct Target {  // where results go, and whose they are
    const AccessInstance* access = nullptr;
    int64_t points = 0;
    int32_t owner = -1;
    bool accumulate = false;
  };
  struct Result {                // rows of one bank that leave the array in the cycles from `cycle` on
    int64_t cycle = 0, row = 0;  // the first row; -1: nothing is written
    int64_t count = 1;
    int32_t memory = -1, owner = -1;
    bool accumulate = false, last = false, writing = false;
  };
  struct Tag {  // a result in the array, known by its first row
    int32_t memory = -1, owner = -1;
    int64_t base = 0, released = kNever;
  };
  [[nodiscard]] bool visible(size_t i) const { return i < queue_.size() && queue_[i].visible <= context_.now; }
  [[nodiscard]] Role role(size_t i) { return context_.command(queue_[i].slot).role; }
  [[nodiscard]] bool tagged(const Command& command) const;
  [[nodiscard]] bool in_progress() const { return !results_.empty() || deferred_.owner >= 0; }
  void push_item(int32_t slot, bool silent, int64_t visible);
  void decide();
  [[nodiscard]] int64_t next_decision();
  void configure();
  void begin(bool multiply, bool preload);
  void flush();
  void collect_operands();
  void add_operands(const Command& command, bool early, bool reversed);
  [[nodiscard]] Target target(const AccessInstance* access, int32_t owner, bool accumulate) const;
  void archive(Archive& archive, Target& target);
  [[nodiscard]] int64_t operand_index(const Operand& operand) const {
    return operand.reversed ? rows_ - 1 - row_ : row_;
  }
  // Whether the rows of this operation are results of its own multiply.
  [[nodiscard]] bool emits_own();
  [[nodiscard]] int64_t alike(const AccessInstance* access, int64_t points, int64_t index, bool reversed, int64_t rows);
  [[nodiscard]] bool start_run();
  [[nodiscard]] bool book(int64_t rows);
  void release(size_t operands);
  void continue_run();
  void step_row();
  void emit(int64_t count);
  void emit(const Target& target, int64_t index, int64_t count);
  void advance(int64_t count);
  void finish();

  Context& context_;
  const UnitSettings& settings_;
  Ring<Item> queue_;
  Ring<Result> results_;
  Ring<int64_t> leaving_;  // cycle in which each operation in the array makes room for another
  std::vector<Tag> tags_;
  // the running operation
  bool running_ = false, flushing_ = false;
  int32_t multiply_ = -1, preload_ = -1;  // slots
  int32_t early_ = -1;                    // of the next multiply, whose early operands are read with the preload
  bool silent_multiply_ = false, silent_preload_ = false;
  std::vector<Operand> operands_;
  uint64_t pending_ = 0;  // operands of this step still to be read
  int64_t rows_ = 0, row_ = 0;
  int64_t run_start_ = 0, run_end_ = 0;  // cycles [start, end) of rows that are stepped through without a look at them
  Target emits_;                         // results that leave with this operation
  Target loaded_;                        // result of the next multiply, by the preload before it
  Target deferred_;                      // a finished multiply's result that leaves with the next operation
  bool deferring_ = false;               // the last multiply's results leave with the next operation
  int64_t wake_ = 0;                     // cycle in which an array that waits looks again
  int64_t last_step_ = -1, flush_end_ = -1;
  Deed cause_;
  Cause wait_ = Cause::Idle;
};

}  // namespace autocomp::timing
