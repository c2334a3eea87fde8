// A channel of a memory of tensors: one in-order response beat a cycle comes back, read data and write acknowledgements
// alike. With a cache in front, lines that it lacks are fetched one after the other over the memory's own bus.
#pragma once

#include <algorithm>
#include <bit>

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

// The part of an access that a request is for.
struct Reach {
  int64_t row = 0;                            // index of the row
  int64_t begin = 0, address = 0, bytes = 0;  // addresses of the row and of the part
  bool write = false;
};

class Channel {
 public:
  // First cycle in which the memory can answer a request that leaves now.
  [[nodiscard]] int64_t arrival(const DramSettings& dram, const Lines& lines, const Reach& reach, int64_t now) {
    return dram.cache_lines == 0 ? now + dram.latency : through_cache(dram, lines, reach, now);
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
    archive.cycle(fetched_until_);
  }

 private:
  // Writes are taken by the cache, and need not wait for what they make it fetch.
  [[nodiscard]] int64_t through_cache(const DramSettings& dram, const Lines& lines, const Reach& reach, int64_t now) {
    const int64_t line = dram.cache_line, found = now + dram.cache_latency, first = reach.begin / line;
    int64_t there = found;
    for (int64_t number = reach.address / line; number * line < reach.address + reach.bytes; ++number) {
      if (number * line < reach.address && reach.address > reach.begin) continue;  // an earlier request asked for it
      const auto place = static_cast<size_t>(reach.row * lines.per_row + number - first);
      const uint8_t state = place < lines.states.size() ? lines.states[place] : 0;
      const int64_t moved = std::popcount(state) * ((line + dram.bus - 1) / dram.bus);
      if (moved > 0) fetched_until_ = std::max(fetched_until_, found) + moved;
      if ((state & Lines::kFetched) != 0 && !reach.write) there = std::max(there, fetched_until_ + dram.latency);
    }
    return there;
  }

  Ring<Response> responses_;
  int64_t held_until_ = 0;
  int64_t fetched_until_ = 0;  // the bus behind the cache is taken
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
