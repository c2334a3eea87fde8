// A unit that moves rows from local memory to main memory through a chain of buffers. A controller steps through the
// rows of a command, or through the windows of a pooled image; each is read, and waits in one queue after another while
// its data come from the bank or pass the scaler; a writer collects what makes a row of main memory and sends it as
// aligned requests.
#pragma once

#include "units/controller.hpp"
#include "units/link.hpp"
#include "units/piece.hpp"

namespace autocomp::timing {

class StreamOut {
 public:
  StreamOut(Context& context, Link& link, int32_t unit);
  // A command, or -1: a configuration, which takes a place in the queue as well.
  void issue(int32_t slot);
  [[nodiscard]] bool accepts() const { return controller_.room(); }
  [[nodiscard]] bool due() const { return !idle() || !controller_.empty(); }
  // What was read moves on, before anything reads local rows in this cycle …
  void send();
  // … and then the stages up to the reads.
  void read();
  void schedule();
  void archive(Archive& archive);
  // No row is on its way, and all writes were acknowledged.
  [[nodiscard]] bool idle() const { return under_way_ == 0 && !writing_ && open_ == 0; }
  [[nodiscard]] Cause cause() const;
  [[nodiscard]] bool active() const { return due(); }

 private:
  enum class Source : uint8_t { Nothing, Direct, Scaled };  // padding, rows as they are, rows through the scaler
  struct Row {                                              // a local row on its way
    Source source = Source::Nothing;
    int32_t memory = -1, bank = -1;
    int64_t row = 0;
    int64_t from = 0;                // cycle in which its data are there
    int64_t address = 0, bytes = 0;  // of the row of main memory that ends with it; 0 bytes: none
    int64_t page = 0;                // on which that begins
  };
  struct Entry {
    int32_t slot = -1;
    int64_t page = 0;  // of main memory, on which the command begins
  };
  struct Beat {  // of a request
    bool last = false;
    int64_t page = 0;
  };
  [[nodiscard]] int64_t steps(const Command& command) const;
  [[nodiscard]] Row row_of(const Entry& entry, int64_t step) const;
  [[nodiscard]] bool wait(const Entry& entry, int64_t step, int64_t all);
  void dispatch();
  void norm();
  void scale();
  void collect();
  [[nodiscard]] bool data_there(const Row& row) const;
  void write();
  [[nodiscard]] bool look();
  void acknowledge();
  void archive(Archive& archive, Row& row);

  struct Waiting {  // to be read
    Row row;
    int32_t slot = -1;
  };
  Context& context_;
  Link& link_;
  const UnitSettings& settings_;
  int32_t unit_;
  Controller<Entry> controller_;
  // rows on their way
  Fifo<Waiting> read_;
  Fifo<Row> normed_, scaling_, issued_;
  Fifo<Entry> scaler_input_;
  Ring<int64_t> scaled_;  // cycle in which each row leaves the scaler
  size_t under_way_ = 0;  // rows in all of these queues, from the first to the writer
  // the writer
  bool writing_ = false;
  int64_t writing_from_ = 0, address_ = 0, left_ = 0;  // of the row: bytes not yet requested
  int64_t beats_ = 0;                                  // left of the request under way
  int64_t page_ = 0, request_page_ = 0;                // of the address; of the request under way
  bool translating_ = false, translated_ = false, repeated_ = false;
  Beat first_, second_, third_;  // in the two stages of address translation, and held up by one that is repeated
  PageNumbers pages_;
  int64_t open_ = 0;  // requests not acknowledged
  Deed cause_;
};

}  // namespace autocomp::timing
