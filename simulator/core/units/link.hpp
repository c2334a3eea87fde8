// The way of units that stream through buffers to main memory and back. Requests of all units share it, a beat a cycle:
// units take turns, a request of several beats at a stretch. Responses come back in order, a beat a cycle, through a
// buffer of all units and one of each; a unit whose buffer is full holds up those behind it.
#pragma once

#include <vector>

#include "units/fifo.hpp"
#include "units/translation.hpp"

namespace autocomp::timing {

// A request for part of a row of main memory, or that it was written.
struct Request {
  int32_t slot = -1;                 // the command
  int64_t row = 0;                   // the DRAM row
  int64_t position = 0, useful = 0;  // bytes [position, position + useful) of it …
  int64_t skip = 0;                  // … which follow `skip` other bytes
  int64_t bytes = 0;                 // of the request

  void archive(Archive& archive) {
    archive.slot(slot);
    archive.values(row, position, useful, skip, bytes);
  }
};

class Link {
 public:
  explicit Link(const Settings& settings);

  // Whether the unit's buffer takes a beat of a request in this cycle.
  [[nodiscard]] bool room(int32_t unit, int64_t now) const { return asks_[place(unit)].room(now); }
  // A beat of a request enters the unit's buffer. The last one brings `responses` beats back.
  void ask(int32_t unit, const Request& request, bool last, int64_t responses, int64_t now);
  [[nodiscard]] bool asks(int32_t unit) const { return !asks_[place(unit)].empty(); }
  // One beat leaves for main memory, if any may.
  void send(Context& context);

  // The beat of a response that has reached the unit.
  [[nodiscard]] const Request* arrived(int32_t unit, int64_t now) const { return beats_[place(unit)].head(now); }
  void take(int32_t unit, int64_t now) {
    beats_[place(unit)].pop(now);
    --arrived_;
  }
  // Beats move towards the units. Call after the units have taken theirs.
  void receive(Context& context);

  [[nodiscard]] Translation& translation() { return translation_; }
  // The unit's number there.
  [[nodiscard]] size_t client(int32_t unit) const { return asks_.size() - 1 - place(unit); }

  [[nodiscard]] bool quiet() const { return waiting_ == 0 && responses_.empty() && shared_.empty() && arrived_ == 0; }
  void schedule(Context& context) const;
  void archive(Archive& archive);

 private:
  struct Ask {
    Request request;
    bool last = true;
    int64_t responses = 1;
  };
  struct Response {
    int64_t ready = 0;  // its first beat
    int64_t beats = 1;  // left
    int32_t place = 0;
    Request request;
  };
  struct Beat {
    int32_t place = 0;
    Request request;
  };
  [[nodiscard]] size_t place(int32_t unit) const { return static_cast<size_t>(places_[static_cast<size_t>(unit)]); }

  const Settings& settings_;
  std::vector<int32_t> places_;  // of each unit, among those that stream
  std::vector<Fifo<Ask>> asks_;
  uint64_t served_ = ~uint64_t{0};  // units from the last served one on, whose turn is over
  int32_t sending_ = -1;            // the unit whose request has beats left
  int64_t waiting_ = 0;             // beats of requests
  Ring<Response> responses_;        // on their way through main memory
  int64_t free_ = 0;                // first cycle in which main memory can send another beat
  Fifo<Beat> shared_;
  std::vector<Fifo<Request>> beats_;
  int64_t arrived_ = 0;  // beats in the units' buffers
  Translation translation_;
};

}  // namespace autocomp::timing
