// A queue between two stages of a pipeline: what enters in a cycle is there from the next one on. Stages are stepped
// from the last to the first, so that an item that leaves in a cycle has left before the stage before asks for room.
#pragma once

#include "timing/archive.hpp"
#include "timing/engine.hpp"
#include "timing/ring.hpp"

namespace autocomp::timing {

template <typename T>
class Fifo {
 public:
  explicit Fifo(int64_t capacity) : capacity_(static_cast<size_t>(capacity)) {}

  [[nodiscard]] bool empty() const { return items_.empty(); }
  [[nodiscard]] size_t size() const { return items_.size(); }
  // The item that is there in this cycle, or nullptr.
  [[nodiscard]] const T* head(int64_t now) const {
    return items_.empty() || items_.front().ready > now ? nullptr : &items_.front().item;
  }
  [[nodiscard]] const T* front() const { return items_.empty() ? nullptr : &items_.front().item; }
  // The item `place` positions after the head, if it is there in this cycle.
  [[nodiscard]] const T* at(size_t place, int64_t now) const {
    return place >= items_.size() || items_[place].ready > now ? nullptr : &items_[place].item;
  }
  // Whether one may enter: the place of an item that leaves is free in the next cycle, or at once if `through`.
  [[nodiscard]] bool room(int64_t now) const { return items_.size() + (popped_ == now ? 1 : 0) < capacity_; }
  [[nodiscard]] bool room_through() const { return items_.size() < capacity_; }
  void push(T item, int64_t now) { items_.push({now + 1, std::move(item)}); }
  void pop(int64_t now) {
    items_.pop();
    popped_ = now;
  }
  void schedule(Context& context) const {
    if (!items_.empty()) context.at(items_.front().ready);
  }
  template <typename Visit>
  void archive(Archive& archive, Visit visit) {
    archive.ring(items_, [&](Entry& entry) {
      archive.cycle(entry.ready);
      visit(entry.item);
    });
    if (!archive.saves()) popped_ = -1;
  }

 private:
  struct Entry {
    int64_t ready = 0;
    T item{};
  };
  size_t capacity_;
  Ring<Entry> items_;
  int64_t popped_ = -1;  // the last cycle in which an item left
};

}  // namespace autocomp::timing
