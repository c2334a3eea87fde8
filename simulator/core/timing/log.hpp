// What a run leaves behind: the cycles of units by cause, spans, the times of commands, segments between fences.
// Parts of it can be taken out and added again elsewhere, at another cycle and for other commands.
#pragma once

#include <array>
#include <utility>
#include <vector>

#include "timing/archive.hpp"
#include "timing/timing.hpp"

namespace autocomp::timing {

class Log {
 public:
  using UnitCycles = std::array<int64_t, static_cast<size_t>(Cause::Count)>;
  // What was logged in a while; cycles and commands relative to those it began with, kNever for no command.
  struct Part {
    std::vector<UnitCycles> cycles;
    std::vector<UnitSpan> spans;
    std::vector<std::pair<int64_t, CommandTiming>> commands;
    std::vector<int64_t> fences;
  };

  Log(size_t units, const TimingOptions& options)
      : records_(options.record_commands), spans_wanted_(options.record_spans), cycles_(units), present_(units) {}

  [[nodiscard]] bool records() const { return records_; }
  // Which commands there are, before their times are known.
  void announce(const OperationList& operations);
  // Calls change(times) with the times of a command where they are kept.
  template <typename Change>
  void command(int64_t number, Change change) {
    if (!records_) return;
    change(commands_[static_cast<size_t>(number)]);
    changed_.push_back(number);
  }
  // A unit does this from this cycle on.
  void unit(size_t unit, Cause cause, int64_t now) {
    if (cause != present_[unit].cause) change(unit, cause, now);
  }
  [[nodiscard]] bool segment_open() const { return fences_.size() % 2 != 0; }
  void open_segment(int64_t now) {
    if (!segment_open()) fences_.push_back(now);
  }
  void close_segment(int64_t now) {
    if (segment_open()) fences_.push_back(now);
  }

  // A part begins, the one before it is over.
  void begin_part(int64_t now, int64_t next);
  [[nodiscard]] Part part(int64_t now);
  void append(const Part& part, int64_t now, int64_t next);
  void archive(Archive& archive);

  // Everything, at the end: `tail` cycles more of the host's.
  void finish(int64_t now, int64_t tail, bool complete, TimingResult& result);

 private:
  void change(size_t unit, Cause cause, int64_t now);
  // Counts the cycles of a unit's present span up to this one.
  void settle(size_t unit, int64_t now);

  bool records_, spans_wanted_;
  std::vector<UnitCycles> cycles_;
  std::vector<UnitSpan> present_;  // what each unit does; Count: nothing is known yet
  std::vector<UnitSpan> spans_;
  std::vector<CommandTiming> commands_;
  std::vector<int64_t> fences_;  // begin and end of each segment
  // of the present part
  std::vector<int64_t> changed_;  // commands
  std::vector<UnitCycles> cycles_before_;
  size_t spans_before_ = 0, fences_before_ = 0;
  int64_t part_start_ = 0, part_next_ = 0;
};

}  // namespace autocomp::timing
