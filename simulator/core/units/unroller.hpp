// A unit that takes commands out of the front and sends the commands of their streams in their place: a hardware loop.
//
// Every stream has a generator that sends at most one command a cycle, through a pipeline of `latency` places. A
// generator works on one loop after the other, and starts on the next one while other streams still finish the loop
// before. What happens in a cycle is decided by how things stood at its beginning, as registers do.
#pragma once

#include <algorithm>
#include <array>
#include <deque>

#include "semantics/expansion.hpp"
#include "timing/engine.hpp"

namespace autocomp::timing {

class Unroller {
 public:
  Unroller(Context& context, int32_t unit, const CompiledMachine& machine, const OperationList& operations);

  // Commands that it does not take wait in front of it while a loop is in flight.
  [[nodiscard]] bool busy() const { return !loops_.empty(); }
  // Nothing is under way that it sent.
  [[nodiscard]] bool quiet() const {
    return !busy() && std::all_of(in_flight_.begin(), in_flight_.end(), [](int64_t count) { return count == 0; });
  }
  // Has it room for another loop, or for the configuration of one?
  [[nodiscard]] bool free() const { return loops_.size() < static_cast<size_t>(settings_.loops); }
  void take(int64_t operation);

  void begin_cycle();
  // Moves the pipelines by a cycle. The operation that leaves in this cycle, -1 if none does or there is no room for
  // it. Commands of a unit are held back while as many of them as its pool has entries have not completed.
  [[nodiscard]] int64_t send(bool room);
  void start_generators();
  void completed(size_t unit) { --in_flight_[unit]; }
  void schedule();
  // Operations from this number on are still needed.
  [[nodiscard]] int64_t oldest() const { return loops_.empty() ? kNever : loops_.front().expansion->operation; }

  [[nodiscard]] const UnitSettings& settings() const { return settings_; }
  [[nodiscard]] int32_t unit() const { return unit_; }
  [[nodiscard]] bool active() const { return busy(); }
  [[nodiscard]] Cause cause() const { return sent_ ? Cause::Busy : full_ ? Cause::QueueFull : Cause::Pipeline; }
  // Its commands enter no pool.
  [[nodiscard]] bool accepts() const { return false; }
  void issue(int32_t) {}

 private:
  struct Loop {
    Loop(const CompiledMachine& machine, std::vector<TensorStore>& tensors, const Expansion& expansion,
         const std::vector<CommandStream>& streams, int64_t configured)
        : evaluator(machine, tensors),
          expansion(&expansion),
          streams(&streams),
          configured(configured),
          started(streams.size(), kNever),
          finished(streams.size(), kNever) {}
    StreamEvaluator evaluator;
    const Expansion* expansion;
    const std::vector<CommandStream>* streams;
    int64_t configured;                      // first cycle in which its generators may start
    std::vector<int64_t> started, finished;  // by stream: first cycle in which that is so
  };
  struct Generator {
    int64_t loop = -1;  // number of the loop that it works on, or worked on last
    size_t next = 0;    // the command that enters its pipeline next
    size_t left = 0;    // the command that leaves it next
    uint64_t pipe = 0;  // places of the pipeline that are taken, the lowest bit next to the generator
    int64_t from = 0;   // first cycle in which it may send
    int64_t idle_from = 0;
    bool idle = true;
    bool known = false, may_leave = false;  // do its next command's awaits hold?
  };
  [[nodiscard]] size_t unit_of(const StreamCommand& command) const;
  [[nodiscard]] Loop& loop_of(const Generator& generator) {
    return loops_[static_cast<size_t>(generator.loop - first_)];
  }
  [[nodiscard]] bool has_turn(size_t stream) const;
  [[nodiscard]] bool waits_for_older(size_t stream) const;
  [[nodiscard]] bool may_enter(size_t stream);
  [[nodiscard]] bool may_leave(size_t stream);
  void move_pipeline(size_t stream, bool enters, bool leaves);
  void moved(size_t stream);

  Context& context_;
  const UnitSettings& settings_;
  int32_t unit_;
  const CompiledMachine& machine_;
  const OperationList& operations_;
  std::vector<TensorStore> no_tensors_;  // awaits see none
  std::deque<Loop> loops_;               // in flight, oldest first
  int64_t first_ = 0;                    // number of the oldest
  std::vector<Generator> generators_;
  std::vector<size_t> order_;       // streams by priority, of the loop taken last
  std::vector<int64_t> in_flight_;  // by unit: commands sent and not completed
  bool sent_ = false, full_ = false;
};

}  // namespace autocomp::timing
