// A unit that moves rows from main memory into local memory: per-row requests, a bounded number of commands and
// requests in flight, scaling on the way, one local row written a cycle.
#pragma once

#include "units/main_memory.hpp"

namespace autocomp::timing {

class TransferIn {
 public:
  TransferIn(Context& context, int32_t unit);
  void issue(int32_t slot);
  [[nodiscard]] bool accepts() const { return queue_.size() < static_cast<size_t>(settings_.queue); }
  [[nodiscard]] bool ready_for_beat() const;
  void take_beat(Channel& channel, Response& response);
  [[nodiscard]] bool writes_due() const { return due(writes_) || due(scaled_) || due(zeros_); }
  void write_rows();
  [[nodiscard]] bool requests_due() const { return due(requests_) || (!queue_.empty() && next_step_ <= context_.now); }
  void request(MainMemory& memory);
  void schedule();
  void archive(Archive& archive);
  [[nodiscard]] Cause cause() const;
  [[nodiscard]] bool active() const { return in_flight_ > 0 || !queue_.empty(); }

 private:
  struct Move {        // progress of one command, by slot
    int64_t rows = 0;  // rows to be requested
    int64_t row_bytes = 0, block_bytes = 0, blocks = 1;
    int64_t repeats = 1;    // local rows written for each row requested
    int64_t requested = 0;  // rows whose requests have all left
    int64_t writes_left = 0;
    int64_t open = 0;     // requests whose data are not all here
    int64_t latency = 0;  // from a beat to its write
    bool scaled = false, zero = false;
  };
  struct Request {  // a row on its way to the port
    int64_t ready = 0;
    int32_t slot = -1;
    int64_t row = 0, done = 0;  // bytes requested
  };
  struct Write {
    int64_t ready = 0;
    int32_t slot = -1;
    int64_t point = 0;
  };
  template <typename T>
  [[nodiscard]] bool due(const Ring<T>& items) const {
    return !items.empty() && items.front().ready <= context_.now;
  }
  [[nodiscard]] Move& move(int32_t slot) { return moves_[static_cast<size_t>(slot - first_slot_)]; }
  void begin(int32_t slot);
  void step_rows();
  void write_block(int32_t slot, int64_t row, int64_t block);
  bool write(Ring<Write>& writes);
  void finish_if_done(int32_t slot);

  Context& context_;
  const UnitSettings& settings_;
  int32_t unit_, first_slot_;
  std::vector<Move> moves_;
  Ring<int32_t> queue_;    // issued commands whose rows are not all stepped through
  int64_t next_row_ = 0;   // of the first of them
  int64_t next_step_ = 0;  // earliest cycle of the next row's step
  int64_t command_start_ = 0;
  Ring<Request> requests_;
  Ring<Write> writes_, scaled_, zeros_;
  Ring<int64_t> scaler_free_;  // cycle in which each taken slot of the scaler is free again
  int64_t scaler_exit_ = 0;
  RequestSlots request_slots_;
  int64_t in_flight_ = 0;
  int64_t tracker_free_ = 0;
  Deed cause_;
};

}  // namespace autocomp::timing
