// A queue in one block of memory that grows when it has to and never shrinks.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace autocomp::timing {

template <typename T>
class Ring {
 public:
  [[nodiscard]] bool empty() const { return head_ == tail_; }
  [[nodiscard]] size_t size() const { return tail_ - head_; }
  [[nodiscard]] T& front() { return slots_[head_ & mask_]; }
  [[nodiscard]] const T& front() const { return slots_[head_ & mask_]; }
  [[nodiscard]] T& back() { return slots_[(tail_ - 1) & mask_]; }
  [[nodiscard]] T& operator[](size_t i) { return slots_[(head_ + i) & mask_]; }
  [[nodiscard]] const T& operator[](size_t i) const { return slots_[(head_ + i) & mask_]; }
  void push(T item) {
    if (size() == slots_.size()) grow();
    slots_[tail_++ & mask_] = std::move(item);
  }
  void pop() { ++head_; }
  // Takes out the item at that place; those before it keep their order.
  void pop_at(size_t place) {
    for (size_t i = place; i > 0; --i) (*this)[i] = std::move((*this)[i - 1]);
    pop();
  }
  // To that many items, of any value.
  void resize(size_t count) {
    while (slots_.size() < count) grow();
    tail_ = head_ + count;
  }

 private:
  void grow() {
    std::vector<T> larger(slots_.size() * 2);
    for (size_t i = 0, n = size(); i < n; ++i) larger[i] = std::move((*this)[i]);
    tail_ = size();
    head_ = 0;
    slots_ = std::move(larger);
    mask_ = slots_.size() - 1;
  }
  std::vector<T> slots_ = std::vector<T>(16);
  size_t mask_ = 15, head_ = 0, tail_ = 0;
};

}  // namespace autocomp::timing
