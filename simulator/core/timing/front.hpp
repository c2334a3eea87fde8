// The way of a command to its unit: the host issues, a front queue delays, an in-order allocator places it into its
// unit's pool with the hazards it has to wait for, and the arbiter retires it.
#pragma once

#include "timing/engine.hpp"
#include "timing/stream.hpp"

namespace autocomp::timing {

class Front {
 public:
  Front(Context& context, OperationList& operations, std::vector<CommandTiming>* record)
      : context_(context), stream_(context.settings, operations), record_(record) {}

  // Takes note of the operations appended to the list since the last time.
  void supply(bool ended);
  // Whether a cycle goes the same way whatever is appended to the list later.
  [[nodiscard]] bool supplied() const { return stream_.suffices(next_); }
  // Forgets the operations that have gone to their units.
  void forget() { stream_.forget(queue_.empty() ? next_ : queue_.front().operation); }

  // The host has the next command ready or waits in a fence.
  void host(bool machine_idle);
  void allocate();
  void retire();
  void schedule();

  [[nodiscard]] bool host_done() const { return next_ >= count() && queue_.empty(); }
  [[nodiscard]] bool at_fence() const { return fence_; }
  // Only an idle machine lets the host go on: it is in front of a fence or has issued everything.
  [[nodiscard]] bool awaits_idle() const { return queue_.empty() && (next_ >= count() || next_role_ == Role::Fence); }
  [[nodiscard]] int64_t blocked() const { return queue_.empty() ? -1 : queue_.front().operation; }
  // Why a unit without commands has none.
  [[nodiscard]] Cause idle_cause() const {
    if (!queue_.empty()) {
      const bool late = queue_.front().accepted + context_.settings.front_latency > context_.now;
      return late ? Cause::Host : Cause::QueueFull;
    }
    if (fence_) return Cause::Fence;
    return next_ < count() ? Cause::Host : Cause::Idle;
  }
  [[nodiscard]] const std::vector<int64_t>& segments() const { return segments_; }
  void end_segment();
  void immediate(int32_t slot) { immediate_.push(slot); }  // completes at the end of this cycle, without the arbiter

 private:
  struct Entry {
    int64_t offered = 0, accepted = 0;
    int64_t operation = -1;
    int32_t unit = -1;
    Role role = Role::Work;
  };
  [[nodiscard]] int64_t count() const { return stream_.count(); }
  void advance();
  [[nodiscard]] int64_t host_cycles() const;
  void find_hazards(int slot, size_t unit);
  void free_slot(int32_t slot);
  void record(const Command& command);

  Context& context_;
  Stream stream_;
  std::vector<CommandTiming>* record_;
  Ring<Entry> queue_;
  Ring<int32_t> immediate_;
  int64_t next_ = 0;  // next operation of the host
  Role next_role_ = Role::Work;
  int64_t offer_ = 0;     // cycle in which the host has it ready
  bool counted_ = false;  // its host cycles are in offer_
  bool fence_ = false;    // the host waits for the machine to be idle
  int64_t segment_start_ = 0;
  bool segment_open_ = false;
  std::vector<int64_t> segments_;
};

}  // namespace autocomp::timing
