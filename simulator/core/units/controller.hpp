// The controller of a unit that streams: it steps through the rows of the commands in its queue, at most one a cycle,
// and keeps a tracker for each command from its first row to its completion.
#pragma once

#include <vector>

#include "units/fifo.hpp"

namespace autocomp::timing {

// `Entry`: what waits in the queue, with the `slot` of a command, or -1: a configuration.
template <typename Entry>
class Controller {
 public:
  Controller(Context& context, const UnitSettings& settings)
      : context_(context), queue_(settings.queue), trackers_(static_cast<size_t>(settings.in_flight)) {}

  [[nodiscard]] bool room() const { return queue_.room(context_.now); }
  [[nodiscard]] bool empty() const { return queue_.empty(); }
  void push(const Entry& entry) { queue_.push(entry, context_.now); }
  void schedule() const { queue_.schedule(context_); }

  // Goes on by a row of the first command, which has count(slot) of them. send(entry, row, rows) sends it on, and
  // returns false if there is no room; of a command without rows it is called once, for the time that it needs.
  template <typename Count, typename Send>
  void step(Count count, Send send) {
    const Entry* head = queue_.head(context_.now);
    if (head == nullptr) return;
    if (head->slot < 0 || single_) return leave();
    const int64_t rows = count(head->slot);
    if (!begun_ && !begin(head->slot, rows)) return;
    if (!send(*head, next_, rows)) return;
    context_.progress = true;
    if (++next_ < rows) return;
    single_ = rows == 1;  // such a command needs a second cycle
    if (!single_) leave();
  }

  // The command completes with the last of its rows for which this is called.
  void row_done(int32_t slot) {
    for (Tracker& tracker : trackers_)
      if (keeps(tracker, slot) && --tracker.left == 0) complete(tracker);
  }

  // All rows of the command are done.
  void complete(int32_t slot) {
    for (const Tracker& tracker : trackers_)
      if (keeps(tracker, slot)) complete(tracker);
  }

  template <typename Visit>
  void archive(Archive& archive, Visit visit) {
    queue_.archive(archive, visit);
    for (Tracker& tracker : trackers_)
      if (!there(tracker)) tracker = {};
    for (Tracker& tracker : trackers_) {
      archive.slot(tracker.slot);
      archive.value(tracker.left);
      archive.number(tracker.operation);
    }
    archive.values(begun_, single_, next_);
  }

 private:
  struct Tracker {  // a command in flight
    int32_t slot = -1;
    int64_t operation = -1, left = 0;  // rows that are not done
  };

  // True until the command has completed: then its slot is free, or of another command.
  [[nodiscard]] bool there(const Tracker& tracker) const {
    return tracker.slot >= 0 && context_.holds(tracker.slot) &&
           context_.command(tracker.slot).operation == tracker.operation;
  }

  [[nodiscard]] bool keeps(const Tracker& tracker, int32_t slot) const {
    return tracker.slot == slot && there(tracker);
  }

  void complete(const Tracker& tracker) {
    context_.complete(tracker.slot, context_.now + 1, static_cast<int32_t>(&tracker - trackers_.data()));
  }

  // Begins the command if a tracker is free.
  [[nodiscard]] bool begin(int32_t slot, int64_t rows) {
    for (Tracker& tracker : trackers_) {
      if (there(tracker)) continue;
      tracker = {slot, context_.command(slot).operation, rows};
      begun_ = true;
      context_.start(slot);
      if (rows <= 0) complete(tracker);
      return true;
    }
    return false;
  }

  void leave() {
    begun_ = single_ = false;
    next_ = 0;
    queue_.pop(context_.now);
    context_.may_issue = context_.progress = true;
  }

  Context& context_;
  Fifo<Entry> queue_;
  std::vector<Tracker> trackers_;
  bool begun_ = false;   // the first command of the queue is tracked
  bool single_ = false;  // its only row has been sent
  int64_t next_ = 0;     // its next row
};

}  // namespace autocomp::timing
