// The way of a command to its unit: the host issues, a front queue delays, an in-order allocator places it into its
// unit's pool with the hazards it has to wait for, and the arbiter retires it.
#pragma once

#include "timing/engine.hpp"
#include "timing/log.hpp"
#include "timing/stream.hpp"
#include "units/unroller.hpp"

namespace autocomp::timing {

class Front {
 public:
  // The unrollers sit in the front's queue, each at its stage; commands pass through them in order.
  Front(Context& context, const TimingOptions& options, OperationList& operations, std::vector<Unroller>& unrollers,
        Log& log);

  // Takes note of the operations appended to the list since the last time.
  void supply(bool ended);
  // Whether a cycle goes the same way whatever is appended to the list later.
  [[nodiscard]] bool supplied() const { return stream_.suffices(next_); }
  // Forgets the operations before this one.
  void forget(int64_t before) { stream_.forget(before); }
  // The oldest that has not gone to its unit.
  [[nodiscard]] int64_t oldest() const;
  // The oldest that has not completed.
  [[nodiscard]] int64_t oldest_under_way() const;
  [[nodiscard]] int64_t next() const { return next_; }
  [[nodiscard]] Stream& stream() { return stream_; }
  // Whether archive() lists all of the state: no loop is under way, and all commands have ids.
  [[nodiscard]] bool archivable() const;
  // Saves or loads what is in the front, and the commands in the pools; call behind the context's.
  void archive(Archive& archive);
  // The host's next command is this one. All else is loaded later.
  void jump(int64_t next) { next_ = next; }

  // Unrollers take their commands, and send those of their streams.
  void unroll() {
    if (unrolling_) step_unrollers();
  }
  // The host has the next command ready or waits in a fence.
  void host(bool machine_idle);
  void allocate();
  void retire();
  void schedule();

  [[nodiscard]] bool host_done() const { return next_ >= count() && drained(); }
  [[nodiscard]] bool at_fence() const { return fence_; }
  // Only an idle machine lets the host go on: it is in front of a fence or has issued everything.
  [[nodiscard]] bool awaits_idle() const { return drained() && (next_ >= count() || next_role_ == Role::Fence); }
  // No command is in a pool but a preload, alone, whose multiply has not come.
  [[nodiscard]] bool pools_idle() const {
    return context_.occupied.empty() || (solitary_ && context_.occupied.count() == 1);
  }
  [[nodiscard]] int64_t blocked() const { return source().empty() ? -1 : source().front().operation; }
  // Why a unit without commands has none.
  [[nodiscard]] Cause idle_cause() const {
    if (!source().empty()) return ready(source().front()) > context_.now ? Cause::Host : Cause::QueueFull;
    if (unrolling_) return Cause::Idle;
    if (fence_) return Cause::Fence;
    return next_ < count() ? Cause::Host : Cause::Idle;
  }
  void immediate(int32_t slot) { immediate_.push(slot); }  // completes at the end of this cycle, without the arbiter

 private:
  struct Entry {
    int64_t offered = 0, accepted = 0;
    int64_t entered = 0;  // the part of the queue that it is in
    int64_t operation = -1;
    int32_t unit = -1;
    Role role = Role::Work;
  };
  struct Part {  // of the queue
    Ring<Entry> entries;
    Unroller* unroller = nullptr;  // at its end; none: commands are allocated from there
    int64_t places = 0;
    int64_t latency = 0;  // cycles between entering and leaving it
  };
  [[nodiscard]] int64_t count() const { return stream_.count(); }
  // While a loop is in the front, the queue falls into parts; else all that it holds is in the first.
  [[nodiscard]] Ring<Entry>& queue() { return parts_.front().entries; }
  [[nodiscard]] const Ring<Entry>& queue() const { return parts_.front().entries; }
  [[nodiscard]] Ring<Entry>& source() { return (unrolling_ ? parts_.back() : parts_.front()).entries; }
  [[nodiscard]] const Ring<Entry>& source() const { return (unrolling_ ? parts_.back() : parts_.front()).entries; }
  // First cycle in which a command of the source may be allocated.
  [[nodiscard]] int64_t ready(const Entry& entry) const {
    return entry.entered + (unrolling_ ? parts_.back().latency : context_.settings.front_latency);
  }
  [[nodiscard]] bool drained() const { return queue().empty() && !unrolling_; }
  [[nodiscard]] bool is_for_unroller(const Entry& entry) const {
    return entry.unit >= 0 && context_.settings.units[static_cast<size_t>(entry.unit)].kind == UnitKind::Expander;
  }
  [[nodiscard]] bool holds_loop() const;
  void fall_into_parts();
  void step_unrollers();
  void leave(Part& part, Part& next, bool room);
  void finish(const Entry& entry);
  void advance();
  [[nodiscard]] int64_t host_cycles() const;
  void find_hazards(int32_t slot, size_t unit);
  void free_slot(int32_t slot);
  void note_release(int32_t slot);
  void record(const Command& command);

  Context& context_;
  Stream stream_;
  Log& log_;
  std::vector<Part> parts_;
  bool unrolling_ = false;
  bool solitary_ = false;  // of preloads and multiplies a preload came last
  Ring<int32_t> immediate_;
  int64_t next_ = 0;  // next operation of the host
  Role next_role_ = Role::Work;
  int64_t offer_ = 0;     // cycle in which the host has it ready
  bool counted_ = false;  // its host cycles are in offer_
  bool fence_ = false;    // the host waits for the machine to be idle
};

}  // namespace autocomp::timing
