// The scaler of rows on their way into local memory: few multipliers, which rows in a few places take turns at, a part
// of a row a cycle; rows that need none pass. Or a multiplier for each element: rows pass one a cycle.
#pragma once

#include "units/fifo.hpp"

namespace autocomp::timing {

// A local row on its way to be written.
struct LocalRow {
  int32_t slot = -1;
  int64_t row = 0, block = 0;  // of the command's DRAM rows, and of the row's blocks of columns
  int64_t bytes = 0;           // 0, or those of the request that ends with this row
  int64_t copy = 0;            // how many rows further on it is written again; the last copy comes first

  void archive(Archive& archive) {
    archive.slot(slot);
    archive.values(row, block, bytes, copy);
  }
};

class Scaler {
 public:
  // `parts`: cycles of a row in the multipliers, one after the other for all rows; 0: rows pass one a cycle. `latency`:
  // from the last of them, or from entering, to leaving.
  // `passed`: counts the rows that enter before any is multiplied.
  Scaler(int64_t places, int64_t parts, int64_t latency, int64_t& passed)
      : places_(places), parts_(parts), latency_(latency), passed_(passed) {}

  // The row that leaves, if one may in this cycle.
  [[nodiscard]] std::optional<LocalRow> head(int64_t now) const;
  void pop(Context& context);
  // Call after pop().
  void step(Context& context);
  // Whether a row may enter in this cycle. Call after step().
  [[nodiscard]] bool room() const { return !waiting_; }
  void push(const LocalRow& row, bool scaled, int64_t now);
  [[nodiscard]] bool empty() const { return !waiting_ && rows_.empty(); }
  void schedule(Context& context) const;
  void archive(Archive& archive);

 private:
  struct Row {
    LocalRow row;
    int64_t from = 0, done = kNever;  // cycles from which it is there, and can leave
    int64_t taken = 0;                // parts that the multipliers have had, as a mask
    int64_t place = 0;
  };
  [[nodiscard]] LocalRow copy() const;
  void advance();
  void multiply(Context& context);
  void take_turn(Context& context);
  void turn(int64_t first);

  int64_t places_, parts_, latency_;
  int64_t& passed_;
  bool waiting_ = false, scaled_ = false;  // a row waits for a place
  LocalRow next_;
  int64_t next_from_ = 0;
  Ring<Row> rows_;
  int64_t popped_ = -1, tail_ = 0;
  bool multiplied_ = false;
  int64_t turn_ = 0;  // of the multipliers, once they have multiplied: place x parts + part
};

}  // namespace autocomp::timing
