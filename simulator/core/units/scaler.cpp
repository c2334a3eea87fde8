#include "units/scaler.hpp"

#include <algorithm>

namespace autocomp::timing {

// The next copy of the waiting row. A request ends with the last copy.
LocalRow Scaler::copy() const {
  LocalRow row = next_;
  if (row.copy > 0) row.bytes = 0;
  return row;
}

void Scaler::advance() {
  waiting_ = next_.copy > 0;
  --next_.copy;
}

std::optional<LocalRow> Scaler::head(int64_t now) const {
  if (places_ == 0) return waiting_ && next_from_ <= now ? std::optional(copy()) : std::nullopt;
  return rows_.empty() || rows_.front().done > now ? std::nullopt : std::optional(rows_.front().row);
}

void Scaler::pop(Context& context) {
  context.progress = true;
  if (places_ == 0) return advance();
  rows_.pop();
  popped_ = context.now;
}

void Scaler::push(const LocalRow& row, bool scaled, int64_t now) {
  next_ = row;
  scaled_ = scaled;
  next_from_ = now + 1;
  waiting_ = true;
}

// The multipliers' first turn is counted from the first place of all.
void Scaler::take_turn(Context& context) {
  const int64_t first = ((tail_ - passed_) % places_ + places_) % places_;
  turn_ = first * parts_;
  multiplied_ = context.took_turn = true;
}

// A part of a row that is there: the next in turn that needs one.
void Scaler::multiply(Context& context) {
  const int64_t all = parts_ * places_, full = (int64_t{1} << parts_) - 1;
  Row* best = nullptr;
  int64_t best_part = 0, best_distance = all;
  for (size_t i = 0; i < rows_.size(); ++i) {
    Row& row = rows_[i];
    if (row.from > context.now || row.taken == full) continue;
    if (!multiplied_) take_turn(context);
    for (int64_t part = 0; part < parts_; ++part) {
      const int64_t distance = (row.place * parts_ + part - turn_ - 1 + all) % all;
      if ((row.taken >> part & 1) != 0 || distance >= best_distance) continue;
      best = &row;
      best_part = part;
      best_distance = distance;
    }
  }
  if (best == nullptr) return;
  best->taken |= int64_t{1} << best_part;
  turn_ = best->place * parts_ + best_part;
  if (best->taken == full) best->done = context.now + latency_;
  context.progress = true;
}

void Scaler::step(Context& context) {
  const int64_t now = context.now;
  if (parts_ > 0 && !rows_.empty()) multiply(context);
  if (!waiting_ || next_from_ > now) return;
  const size_t taken = rows_.size() + (parts_ > 0 && popped_ == now ? 1 : 0);
  if (taken >= static_cast<size_t>(places_)) return;
  const bool multiplied = parts_ > 0 && scaled_;
  const int64_t done = multiplied ? kNever : now + (parts_ > 0 ? 1 : latency_);
  rows_.push({copy(), now + 1, done, multiplied ? 0 : (int64_t{1} << parts_) - 1, tail_});
  tail_ = (tail_ + 1) % places_;
  if (parts_ > 0 && !multiplied_) ++passed_;
  context.progress = true;
  advance();
}

void Scaler::schedule(Context& context) const {
  if (waiting_) context.at(next_from_);
  if (!rows_.empty() && rows_.front().done != kNever) context.at(rows_.front().done);
}

// Numbers the places anew, from this one on.
void Scaler::turn(int64_t first) {
  if (places_ == 0 || first == 0) return;
  const auto place = [&](int64_t old) { return (old - first + places_) % places_; };
  for (size_t i = 0; i < rows_.size(); ++i) rows_[i].place = place(rows_[i].place);
  tail_ = place(tail_);
  if (multiplied_) turn_ = place(turn_ / parts_) * parts_ + turn_ % parts_;
}

void Scaler::archive(Archive& archive) {
  archive.values(waiting_, scaled_);
  if (waiting_) {
    next_.archive(archive);
    archive.cycle(next_from_);
  }
  if (archive.saves())
    turn(tail_);
  else
    tail_ = 0;
  archive.ring(rows_, [&](Row& row) {
    row.row.archive(archive);
    archive.cycle(row.from);
    archive.cycle(row.done);
    archive.values(row.taken, row.place);
  });
  archive.value(multiplied_);
  if (multiplied_) archive.value(turn_);
  if (!archive.saves()) popped_ = -1;
}

}  // namespace autocomp::timing
