// The state of the mechanisms as numbers, saved and loaded by the same list of fields. Cycles are relative to the
// present one and commands to the host's next one, so that equal numbers mean: the same commands take the same time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "timing/ring.hpp"
#include "timing/slot_set.hpp"

namespace autocomp::timing {

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

// Slots of a pool are alike. A state calls them by the age of their commands, whichever slots these have.
struct SlotNames {
  std::vector<int32_t> names;  // by slot
  std::vector<int32_t> slots;  // by name
};

class Archive {
 public:
  using Words = std::vector<int64_t>;
  // `records`: the cycles of each command are recorded, so that all of them count.
  [[nodiscard]] static Archive saving(Words& words, SlotNames names, int64_t now, int64_t next, bool records) {
    words.clear();
    return {&words, nullptr, std::move(names), now, next, records};
  }
  // Commands get the slots by whose numbers the state calls them.
  [[nodiscard]] static Archive loading(const Words& words, int64_t now, int64_t next, bool records) {
    return {nullptr, &words, {}, now, next, records};
  }

  template <typename T>
  void value(T& field) {
    if (saves())
      to_->push_back(static_cast<int64_t>(field));
    else
      field = static_cast<T>((*from_)[at_++]);
  }
  template <typename... T>
  void values(T&... fields) {
    (value(fields), ...);
  }
  // A cycle, or kNever. Cycles before the one `horizon` cycles ago are as good as that one.
  void cycle(int64_t& field, int64_t horizon = 0) { relative(field, now_, -horizon); }
  void exact_cycle(int64_t& field) { relative(field, now_, std::numeric_limits<int64_t>::min()); }
  // A cycle that has to be exact for records; negative: none yet.
  void stamp(int64_t& field, int64_t horizon = 0) {
    int64_t shown = field < 0 ? kNever : field;
    relative(shown, now_, records_ ? std::numeric_limits<int64_t>::min() : -horizon);
    field = shown == kNever ? -1 : shown;
  }
  // The number of a command; negative: none.
  void number(int64_t& field) {
    int64_t shown = field < 0 ? kNever : field;
    relative(shown, next_, std::numeric_limits<int64_t>::min());
    field = shown == kNever ? -1 : shown;
  }
  // Negative: none.
  void slot(int32_t& field) {
    if (saves())
      to_->push_back(field < 0 ? -1 : names_.names[static_cast<size_t>(field)]);
    else
      value(field);
  }
  void slots(SlotSet& set) {
    SlotSet shown = set;
    if (saves()) {
      shown.clear();
      set.each([&](int32_t slot) { shown.add(names_.names[static_cast<size_t>(slot)]); });
    }
    shown.each_word([this](uint64_t& word) { value(word); });
    if (!saves()) set = shown;
  }
  [[nodiscard]] int32_t slot_called(int32_t name) const {
    return saves() ? names_.slots[static_cast<size_t>(name)] : name;
  }
  template <typename T, typename Visit>
  void ring(Ring<T>& items, Visit visit) {
    size_t count = items.size();
    value(count);
    if (!saves()) items.resize(count);
    for (size_t i = 0; i < count; ++i) visit(items[i]);
  }
  template <typename T>
  void ring(Ring<T>& items) {
    ring(items, [this](T& item) { value(item); });
  }
  void cycles(Ring<int64_t>& items, int64_t horizon = 0) {
    ring(items, [&](int64_t& item) { cycle(item, horizon); });
  }
  [[nodiscard]] bool saves() const { return to_ != nullptr; }
  [[nodiscard]] bool records() const { return records_; }
  [[nodiscard]] int64_t now() const { return now_; }

 private:
  Archive(Words* to, const Words* from, SlotNames names, int64_t now, int64_t next, bool records)
      : to_(to), from_(from), names_(std::move(names)), now_(now), next_(next), records_(records) {}

  void relative(int64_t& field, int64_t origin, int64_t least) {
    if (saves()) {
      to_->push_back(field == kNever ? kNever : std::max(field - origin, least));
    } else {
      const int64_t distance = (*from_)[at_++];
      field = distance == kNever ? kNever : origin + distance;
    }
  }

  Words* to_;
  const Words* from_;
  SlotNames names_;
  size_t at_ = 0;
  int64_t now_, next_;
  bool records_;
};

}  // namespace autocomp::timing
