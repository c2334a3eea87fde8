// The machine's port to main memory: it takes every request, or one beat of a request a cycle where units share it; one
// in-order response beat a cycle comes back, read data and write acknowledgements alike.
#pragma once

#include "timing/engine.hpp"
#include "units/piece.hpp"

namespace autocomp::timing {

struct Response {
  int64_t valid = 0;  // first cycle in which its first beat is there
  int32_t unit = -1;
  int32_t slot = -1;  // command it belongs to
  bool acknowledge = false;
  int32_t beats = 1, taken = 0;
  int64_t row = 0;                   // index of the DRAM row it belongs to
  int64_t position = 0, useful = 0;  // bytes [position, position + useful) of that row …
  int64_t skip = 0;                  // … which follow `skip` other bytes
};

class Channel {
 public:
  explicit Channel(bool shared_requests) : shared_requests_(shared_requests) {}

  // Whether a beat of a request may leave in this cycle: who asks first does.
  [[nodiscard]] bool request(int64_t now) {
    if (shared_requests_ && requested_ == now) return false;
    requested_ = now;
    return true;
  }
  void respond(const Response& response) { responses_.push(response); }
  [[nodiscard]] Response* front(int64_t now) {
    if (responses_.empty() || responses_.front().valid > now || held_until_ > now) return nullptr;
    return &responses_.front();
  }
  void pop(int64_t held_until) {
    responses_.pop();
    held_until_ = held_until;
  }
  void schedule(Context& context) const {
    if (responses_.empty()) return;
    context.at(responses_.front().valid);
    context.at(held_until_);
  }
  [[nodiscard]] bool waiting(int64_t now) const { return !responses_.empty() && responses_.front().valid > now; }
  void archive(Archive& archive) {
    archive.ring(responses_, [&](Response& response) {
      archive.cycle(response.valid);
      archive.slot(response.slot);
      archive.values(response.unit, response.acknowledge, response.beats, response.taken, response.row,
                     response.position, response.useful, response.skip);
    });
    archive.cycle(held_until_);
  }

 private:
  bool shared_requests_;
  int64_t requested_ = -1;  // the last cycle in which a beat left
  Ring<Response> responses_;
  int64_t held_until_ = 0;
};

// Requests that may be outstanding at a time. A slot is free again some cycles after its last beat.
class RequestSlots {
 public:
  explicit RequestSlots(int64_t limit) : limit_(limit) {}
  [[nodiscard]] bool free(int64_t now) {
    while (!released_.empty() && released_.front() <= now) {
      released_.pop();
      --taken_;
    }
    return taken_ < limit_;
  }
  void take() { ++taken_; }
  void release(int64_t cycle) { released_.push(cycle); }
  void schedule(Context& context) const {
    if (!released_.empty()) context.at(released_.front());
  }
  void archive(Archive& archive) {
    archive.value(taken_);
    archive.cycles(released_);
  }

 private:
  int64_t limit_, taken_ = 0;
  Ring<int64_t> released_;
};

}  // namespace autocomp::timing
