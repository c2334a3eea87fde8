// The program's commands on their way to the front, in order, while the program goes on.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "semantics/operation.hpp"
#include "timing/command.hpp"
#include "timing/settings.hpp"
#include "timing/vocabulary.hpp"

namespace autocomp::timing {

class Stream {
 public:
  Stream(const Settings& settings, const TimingOptions& options, OperationList& list)
      : settings_(settings),
        list_(list),
        vocabulary_(settings, options.tensor_addresses),
        naming_(options.memoise),
        open_(settings.units.size(), -1),
        pages_(settings.units.size()),
        sent_pages_(settings.units.size()) {
    for (const DramSettings& dram : settings.drams) caches_.emplace_back(dram.cache_lines, dram.cache_line);
  }

  // Looks at the operations appended since the last time. `ended`: there will be no more.
  void supply(bool ended);
  // Whether the host, whose next command is `next`, does the same in one cycle whatever is appended later.
  [[nodiscard]] bool suffices(int64_t next) const { return ended_ || next <= last_; }
  [[nodiscard]] int64_t count() const { return seen_; }
  [[nodiscard]] const Operation& operation(int64_t number) const { return list_.at(number); }
  [[nodiscard]] const InstructionTiming& timing(int64_t number) const {
    return settings_.instructions[static_cast<size_t>(list_.at(number).instruction)];
  }
  void decode(int64_t number, Command& command);
  void forget(int64_t before);

  // The ids of the commands from `next` on, as far as all they mean is known.
  [[nodiscard]] std::span<const int32_t> ids(int64_t next) const {
    return std::span(ids_).subspan(static_cast<size_t>(std::min(next - list_.first, named())));
  }
  [[nodiscard]] int32_t id(int64_t number) const {
    const int64_t place = number - list_.first;
    return place < named() ? ids_[static_cast<size_t>(place)] : -1;
  }
  // Makes `command` that one, whose id is known.
  void restore(int64_t number, int32_t id, Command& command) const;
  // Where to look at the state next: places that follow from the commands around them, so that they are the same in
  // each turn of a loop. -1: not among the commands known.
  [[nodiscard]] int64_t place_behind(int64_t next) const;
  // Ids are of no use any more.
  void stop_naming() {
    naming_ = false;
    ids_.clear();
  }

 private:
  struct Pages {  // of a unit's accesses of main memory
    int64_t last = -1, before = -1;
  };
  void pair(int64_t number);
  void ask(int64_t number);
  void place(int64_t number, std::vector<Pages>& pages);
  void look_up(int64_t number);
  [[nodiscard]] int32_t name(int64_t number) { return vocabulary_.id(list_, list_.at(number), lines(number)); }
  [[nodiscard]] const Lines& lines(int64_t number) const;
  [[nodiscard]] int64_t named() const { return static_cast<int64_t>(ids_.size()); }

  const Settings& settings_;
  OperationList& list_;
  Vocabulary vocabulary_;
  bool naming_;                // commands get ids
  std::vector<int32_t> ids_;   // of the commands of the list, up to the last known
  std::vector<int64_t> open_;  // by unit: a preload behind which no other command of the unit has come yet, or -1
  std::vector<Pages> pages_, sent_pages_;  // by unit: of the host's commands, and of those that loops send
  std::vector<Cache> caches_;              // in front of each memory of tensors
  std::map<int64_t, Lines> lines_;         // by operation, where a cache does something for it
  int64_t seen_ = 0;                       // operations looked at
  int64_t last_ = -1;  // the last that is not a fence, known with all it needs, and followed by another
  bool ended_ = false;
};

}  // namespace autocomp::timing
