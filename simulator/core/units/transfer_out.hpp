// A unit that moves rows from local memory to main memory: reads through a port, a scaler whose rows wait for the
// writer, a writer that collects a row's blocks and sends them as aligned requests.
#pragma once

#include "units/main_memory.hpp"

namespace autocomp::timing {

class TransferOut {
 public:
  TransferOut(Context& context, int32_t unit);
  void issue(int32_t slot);
  [[nodiscard]] bool accepts() const { return queue_.size() < static_cast<size_t>(settings_.queue); }
  void acknowledge(Channel& channel);
  [[nodiscard]] bool due() const {
    return sending_ || due(before_) || due(after_) || (!queue_.empty() && next_step_ <= context_.now) ||
           (!jobs_.empty() && jobs_.front().rows == 0);
  }
  void step(MainMemory& memory);
  void schedule();
  void archive(Archive& archive);
  [[nodiscard]] bool idle() const {
    return jobs_.empty() && unacknowledged_ == 0 && context_.now >= last_acknowledge_ + settings_.idle_delay;
  }
  [[nodiscard]] Cause cause() const;
  [[nodiscard]] bool active() const { return !idle() || !queue_.empty(); }

 private:
  struct Job {  // what the writer has to send for one command
    AccessInstance target;
    size_t home = 0;  // the memory that it is in
    Lines lines;      // … and what its cache does
    int64_t rows = 0, reads_per_row = 1;
    bool scaled = false;
    int64_t row = 0, collected = 0;  // row in the writer, reads collected of it
  };
  struct Row {
    int64_t ready = 0;
    bool scaled = false;
  };
  [[nodiscard]] bool due(const Ring<Row>& rows) const { return !rows.empty() && rows.front().ready <= context_.now; }
  void write(MainMemory& memory);
  void collect();
  void scale();
  void read();

  Context& context_;
  const UnitSettings& settings_;
  int32_t unit_;
  Ring<int32_t> queue_;    // issued commands that are not all read
  int64_t next_read_ = 0;  // index of the next read of the first of them
  int64_t next_step_ = 0, command_start_ = 0;
  Ring<Row> before_, after_;  // rows read: on their way to the scaler, and from it to the writer
  Ring<int64_t> leaving_;     // cycle in which each row's place that the writer has taken is free again
  Ring<Job> jobs_;
  bool sending_ = false;
  int64_t sent_ = 0;        // bytes of the row that have been requested …
  int64_t last_ = 0;        // … the last of them by the current request
  int64_t beats_left_ = 0;  // of the current request
  RequestSlots request_slots_;
  int64_t unacknowledged_ = 0, last_acknowledge_ = -1;
  Deed cause_;
};

}  // namespace autocomp::timing
