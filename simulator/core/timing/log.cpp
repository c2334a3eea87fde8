#include "timing/log.hpp"

#include <algorithm>

namespace autocomp::timing {
namespace {

void shift(CommandTiming& times, int64_t cycles) {
  for (int64_t* cycle :
       {&times.offered, &times.accepted, &times.allocated, &times.issued, &times.started, &times.completed})
    *cycle += cycles;
}

}  // namespace

void Log::announce(const OperationList& operations) {
  if (!records_) return;
  for (auto i = static_cast<int64_t>(commands_.size()); i < operations.count(); ++i) {
    const Operation& operation = operations.at(i);
    commands_.push_back({.instruction = operation.instruction, .line = operation.line, .sender = operation.sender});
  }
}

void Log::settle(size_t unit, int64_t now) {
  UnitSpan& span = present_[unit];
  if (span.cause != Cause::Count) cycles_[unit][static_cast<size_t>(span.cause)] += now - span.start;
  span.start = now;
}

void Log::change(size_t unit, Cause cause, int64_t now) {
  settle(unit, now);
  present_[unit] = {now, static_cast<int32_t>(unit), cause};
  if (spans_wanted_) spans_.push_back(present_[unit]);
}

void Log::begin_part(int64_t now, int64_t next) {
  for (size_t u = 0; u < present_.size(); ++u) settle(u, now);
  cycles_before_ = cycles_;
  spans_before_ = spans_.size();
  fences_before_ = fences_.size();
  changed_.clear();
  part_start_ = now;
  part_next_ = next;
}

Log::Part Log::part(int64_t now) {
  for (size_t u = 0; u < present_.size(); ++u) settle(u, now);
  Part part;
  part.cycles = cycles_;
  for (size_t u = 0; u < cycles_.size(); ++u)
    for (size_t c = 0; c < cycles_[u].size(); ++c) part.cycles[u][c] -= cycles_before_[u][c];
  for (size_t i = spans_before_; i < spans_.size(); ++i) {
    part.spans.push_back(spans_[i]);
    part.spans.back().start -= part_start_;
  }
  for (size_t i = fences_before_; i < fences_.size(); ++i) part.fences.push_back(fences_[i] - part_start_);
  for (const int64_t number : changed_) {
    CommandTiming times = commands_[static_cast<size_t>(number)];
    shift(times, -part_start_);
    times.released_by = times.released_by < 0 ? kNever : times.released_by - part_next_;
    part.commands.emplace_back(number - part_next_, times);
  }
  return part;
}

void Log::append(const Part& part, int64_t now, int64_t next) {
  for (size_t u = 0; u < cycles_.size(); ++u)
    for (size_t c = 0; c < cycles_[u].size(); ++c) cycles_[u][c] += part.cycles[u][c];
  for (UnitSpan span : part.spans) {
    span.start += now;
    spans_.push_back(span);
  }
  for (const int64_t cycle : part.fences) fences_.push_back(cycle + now);
  for (const auto& [number, times] : part.commands) {
    CommandTiming& kept = commands_[static_cast<size_t>(number + next)];
    const int32_t line = kept.line;
    kept = times;
    kept.line = line;
    shift(kept, now);
    kept.released_by = times.released_by == kNever ? -1 : times.released_by + next;
  }
}

void Log::archive(Archive& archive) {
  bool open = segment_open();
  archive.value(open);
  for (UnitSpan& span : present_) {
    archive.value(span.cause);
    if (!archive.saves()) span.start = archive.now();
  }
}

void Log::finish(int64_t now, int64_t tail, bool complete, TimingResult& result) {
  if (complete) {
    close_segment(now);
    for (size_t i = 0; i + 1 < fences_.size(); i += 2) result.segment_cycles.push_back(fences_[i + 1] - fences_[i]);
  }
  for (size_t u = 0; u < cycles_.size(); ++u) {
    settle(u, now);
    cycles_[u][static_cast<size_t>(Cause::Host)] += tail;
    result.unit_cycles.emplace_back(cycles_[u].begin(), cycles_[u].end());
  }
  result.spans = std::move(spans_);
  result.commands = std::move(commands_);
  result.cycles = now + tail;
}

}  // namespace autocomp::timing
