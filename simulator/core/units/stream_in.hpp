// A unit that moves rows from main memory into local memory through a chain of buffers. A controller steps through the
// rows of a command; a reader cuts each into aligned requests; a merger puts what comes back together to local rows; a
// scaler multiplies some of them, and a repeater writes each as often as asked for. Some rows take a direct way around
// scaler and repeater, and rows of zeros have a writer of their own.
#pragma once

#include "units/controller.hpp"
#include "units/link.hpp"
#include "units/piece.hpp"
#include "units/scaler.hpp"

namespace autocomp::timing {

class StreamIn {
 public:
  StreamIn(Context& context, Link& link, int32_t unit);
  // A command, or -1: a configuration, which takes a place in the queue as well.
  void issue(int32_t slot);
  [[nodiscard]] bool accepts() const { return controller_.room(); }
  // The stages behind main memory, before anything reads local rows in this cycle.
  void write_rows();
  // The stages up to the requests.
  void request();
  void schedule();
  void archive(Archive& archive);
  [[nodiscard]] bool idle() const { return open_ == 0; }  // no request is outstanding
  [[nodiscard]] Cause cause() const;
  [[nodiscard]] bool active() const { return !controller_.empty() || !rows_.empty() || open_ > 0 || writing(); }

 private:
  struct Move {  // progress of one command, by slot
    int64_t rows = 0, row_bytes = 0;
    int64_t block_bytes = 1, block_step = 0;  // bytes of a local row, and local rows between blocks of columns
    int64_t base = 0, lowest = 0;             // first local row, and the lowest that may be written
    int64_t copies = 0;                       // how many further rows the one row is written to
    int64_t repeats = 1;                      // times that each row is written, one row further down each
    int64_t left = 0;                         // bytes not yet written
    int64_t page = 0;                         // of main memory, on which it begins
    int32_t memory = -1;
    bool accumulate = false, sums = false, direct = false, scaled = false, zero = false;
  };
  struct Entry {
    int32_t slot = -1;
  };
  struct Row {
    int32_t slot = -1;
    int64_t row = 0, done = 0;  // bytes requested; blocks of zeros written
  };
  struct Repeater {
    LocalRow row;
    int64_t left = 0;  // writes after this one
    int64_t from = kNever;
    bool open = false;  // takes a row in this cycle
  };
  struct Merger {
    Request request;
    bool busy = false;
    int64_t read = 0, sent = 0;  // bytes
  };
  [[nodiscard]] Move& move(int32_t slot) { return moves_[static_cast<size_t>(slot - first_slot_)]; }
  [[nodiscard]] bool writing() const {
    return merger_.busy || !scaler_.empty() || !direct_.empty() || repeater_.from != kNever || zeros_.from != kNever ||
           zero_from_ != kNever;
  }
  void fill(Move& move, const Command& command);
  [[nodiscard]] bool send_row(int32_t slot, int64_t row);
  void read();
  void look();
  [[nodiscard]] bool cut();
  void merge();
  [[nodiscard]] bool pass_on(const LocalRow& row);
  void write_blocks();
  void zero_row();
  [[nodiscard]] int64_t local_row(const LocalRow& row, int64_t repeat);
  [[nodiscard]] bool port(const LocalRow& row, int64_t repeat);
  void step(Repeater& repeater, bool allowed);
  void written(const LocalRow& row);
  void archive(Archive& archive, Repeater& repeater);
  void archive(Archive& archive, Move& move);

  Context& context_;
  Link& link_;
  const UnitSettings& settings_;
  int32_t unit_, first_slot_;
  std::vector<Move> moves_;
  Controller<Entry> controller_;
  // the reader
  Fifo<Row> rows_;
  Row reading_;
  int64_t reading_from_ = kNever;
  bool translating_ = false, translated_ = false;  // a request in the two stages of address translation
  Request first_, second_;
  int64_t first_page_ = 0, second_page_ = 0;
  PageNumbers pages_;
  int64_t open_ = 0, closed_ = -1;  // requests outstanding, and the last cycle in which one ended
  // from main memory to local rows
  Merger merger_;
  Scaler scaler_, direct_;
  Repeater repeater_, zeros_;
  Row zero_;
  int64_t zero_from_ = kNever;
  Deed cause_;
};

}  // namespace autocomp::timing
