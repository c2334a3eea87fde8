#include "timing/timing.hpp"

#include <utility>

#include "timing/front.hpp"
#include "timing/memo.hpp"
#include "timing/semaphores.hpp"
#include "units/units.hpp"

namespace autocomp {
namespace timing {

constexpr int64_t kRoundsPerPoll = int64_t{1} << 16;

class Engine {
 public:
  Engine(const CompiledMachine& compiled, const Machine& machine, const TimingOptions& options,
         OperationList& operations)
      : settings_(resolve(machine)),
        options_(options),
        operations_(operations),
        log_(machine.units.size(), options),
        context_(settings_),
        units_(context_, compiled, operations),
        front_(context_, options, operations, units_.unrollers(), log_),
        memoises_(options.memoise) {}

  // As far as the operations there allow.
  void advance(bool ended) {
    log_.announce(operations_);
    if (!result_.failure) front_.supply(ended);
    while (!result_.failure && front_.supplied()) {
      if (++rounds_ % kRoundsPerPoll == 0 && options_.poll) options_.poll();
      if (memoises_) {
        if (here_ == nullptr && front_.next() >= place_) arrive();
        if (here_ != nullptr && recall()) continue;
        if (here_ != nullptr && !leave(ended)) break;
      }
      const bool idle = front_.awaits_idle() && units_.idle() && front_.pools_idle();
      if (idle && front_.host_done()) break;
      cycle(idle);
      if (context_.progress) {
        account();
        ++context_.now;
      } else if (!skip()) {
        fail("deadlock", deadlock());
      }
      if (context_.now > options_.max_cycles && !result_.failure)
        fail("cycles", "the commands are not done after " + std::to_string(options_.max_cycles) + " cycles");
    }
    if (result_.failure)
      operations_.forget(operations_.count());
    else
      front_.forget(oldest());
  }

  [[nodiscard]] const std::optional<TimingFailure>& failure() const { return result_.failure; }

  TimingResult finish(int64_t host_tail_cycles) {
    advance(true);
    const int64_t tail = result_.failure ? 0 : std::max<int64_t>(0, host_tail_cycles);
    log_.finish(context_.now, tail, !result_.failure, result_);
    return std::move(result_);
  }

 private:
  void cycle(bool idle) {
    context_.progress = false;
    issue();
    front_.unroll();
    for (int64_t n = 0; n < settings_.front_width; ++n) front_.allocate();
    if (std::exchange(context_.forgets, false)) units_.forget_translations();
    front_.host(idle);
    units_.step();
    for (int64_t n = 0; n < settings_.front_width; ++n) front_.retire();
  }

  // Place of the first command that waits for none, before any that uses semaphores or DRAM; 0 if there is none.
  size_t first_ready(Pool& pool) {
    for (size_t place = 0; place < pool.unissued.size(); ++place) {
      const int32_t slot = pool.unissued[place];
      const Command& command = context_.command(slot);
      const bool synchronises = command.role == Role::Wait || command.role == Role::Signal;
      if (synchronises || Semaphores::concerns(command) || command.dram) break;
      if (context_.waits_for[static_cast<size_t>(slot)].empty()) return place;
    }
    return 0;
  }

  void issue() {
    if (!std::exchange(context_.may_issue, false)) return;
    for (size_t u = 0; u < units_.count(); ++u) {
      Pool& pool = context_.pools[u];
      if (pool.unissued.empty()) continue;
      const size_t place = settings_.units[u].reorder != 0 ? first_ready(pool) : 0;
      const int32_t slot = pool.unissued[place];
      Command& command = context_.command(slot);
      if (!context_.waits_for[static_cast<size_t>(slot)].empty()) continue;
      const bool alone = pool.live <= static_cast<int64_t>(pool.unissued.size());
      if (settings_.units[u].serial != 0 && !alone) continue;
      const bool synchronises = command.role == Role::Wait || command.role == Role::Signal;
      if (Semaphores::concerns(command) && !context_.semaphores.open(command, alone)) continue;
      const KindOfUnit& kind = facts(settings_.units[u].kind);
      const bool configures = command.role == Role::Configure && kind.role != Role::Multiply;
      const bool at_once = synchronises || settings_.units[u].instant != 0 || configures;
      // In units that stream a configuration is complete at once, and waits in the queue all the same.
      const bool queues = configures && settings_.units[u].instant == 0 && kind.streams;
      if ((!at_once || queues) && !units_.with(u, [](auto& unit) { return unit.accepts(); })) continue;
      context_.semaphores.issue(command, u);
      pool.unissued.pop_at(place);
      command.times.issued = context_.now;
      context_.may_issue = context_.progress = true;
      if (!at_once || queues) units_.with(u, [&](auto& unit) { unit.issue(queues ? -1 : slot); });
      if (at_once) front_.immediate(slot);
    }
  }

  // To when something happens next; false if nothing ever does.
  bool skip() {
    context_.timer = kNever;
    front_.schedule();
    units_.schedule();
    if (context_.timer == kNever) return false;
    account();
    context_.now = context_.timer;
    return true;
  }

  // `none`: why a unit without commands has none.
  Cause cause_of(size_t u, Cause none) {
    return units_.with(u, [&](const auto& unit) { return cause_of(unit, context_.pools[u], none); });
  }
  template <typename Unit>
  Cause cause_of(const Unit& unit, const Pool& pool, Cause none) {
    const bool active = unit.active();
    if (!active && pool.live == 0) return none;
    const Cause cause = active ? unit.cause() : Cause::Pipeline;
    if ((active && cause != Cause::Pairing) || pool.unissued.empty()) return cause;
    const int32_t slot = pool.unissued.front();
    const Command& head = context_.command(slot);
    if (head.role == Role::Wait || head.role == Role::Signal) return Cause::Semaphore;
    if (Semaphores::concerns(head) && !context_.semaphores.open(head, false)) return Cause::Semaphore;
    if (!context_.waits_for[static_cast<size_t>(slot)].empty()) return head.hazard;
    return active ? cause : Cause::QueueFull;
  }

  // Takes note of what units do from this cycle on where that is something else than before.
  void account() {
    const Cause none = front_.idle_cause();
    units_.each(
        [&](size_t u, const auto& unit) { log_.unit(u, cause_of(unit, context_.pools[u], none), context_.now); });
  }

  // --- going on as before

  // Where the engine looks whether it has been in its present state before.
  void arrive() {
    here_ = nullptr;
    if (front_.archivable()) {
      Archive saving = Archive::saving(words_, context_.slot_names(), context_.now, front_.next(), log_.records());
      archive(saving);
      here_ = memo_.state(words_, front_.next() - front_.oldest_under_way());
    }
    if (from_ != nullptr && here_ != nullptr && !context_.took_turn) connect();
    from_ = nullptr;
    place_ = std::max(front_.next() + 1, front_.stream().place_behind(front_.next()));
    memoises_ = memo_.pays();
    if (memoises_) return;
    front_.stream().stop_naming();
    here_ = nullptr;
  }

  // Remembers how the engine came here, if that follows from the ids of commands.
  void connect() {
    const std::span<const int32_t> ids = front_.stream().ids(from_next_);
    const auto count = static_cast<size_t>(front_.next() - from_next_) + 1;
    if (count > ids.size() || std::count(ids.begin(), ids.begin() + static_cast<int64_t>(count), -1) > 0) return;
    std::vector<int64_t> passed = context_.passed;
    for (size_t u = 0; u < passed.size(); ++u) passed[u] -= from_passed_[u];
    memo_.connect(*from_, {.commands = {ids.begin(), ids.begin() + static_cast<int64_t>(count)},
                           .to = here_,
                           .cycles = context_.now - from_now_,
                           .log = log_.part(context_.now),
                           .passed = std::move(passed)});
  }

  // Goes on by what is remembered of the present state, if anything is.
  bool recall() {
    const Memo::Transition* transition = memo_.find(*here_, front_.stream().ids(front_.next()));
    if (transition == nullptr || context_.now + transition->cycles > options_.max_cycles) return false;
    log_.append(transition->log, context_.now, front_.next());
    for (size_t u = 0; u < context_.passed.size(); ++u) context_.passed[u] += transition->passed[u];
    context_.now += transition->cycles;
    front_.jump(front_.next() + transition->issued());
    here_ = transition->to;
    behind_ = true;
    return true;
  }

  // The mechanisms step on from a remembered state. False: not yet, what is to come may be remembered as well.
  bool leave(bool ended) {
    const int64_t place = front_.stream().place_behind(front_.next());
    if (place < 0 && !ended) return false;
    if (behind_) {
      Archive loading = Archive::loading(*here_->words, context_.now, front_.next(), log_.records());
      archive(loading);
    }
    behind_ = false;
    from_ = std::exchange(here_, nullptr);
    from_now_ = context_.now;
    from_next_ = front_.next();
    from_passed_ = context_.passed;
    context_.took_turn = false;
    place_ = place < 0 ? kNever : place;
    log_.begin_part(from_now_, from_next_);
    return true;
  }

  // Commands from this one on are still needed.
  [[nodiscard]] int64_t oldest() const {
    if (here_ != nullptr) return front_.next() - here_->reach;
    if (!memoises_) return front_.oldest();
    return from_ == nullptr ? front_.oldest_under_way() : std::min(front_.oldest_under_way(), from_next_);
  }

  void archive(Archive& archive) {
    context_.archive(archive);
    front_.archive(archive);
    units_.archive(archive);
    log_.archive(archive);
    context_.semaphores.archive(archive);
  }

  std::string deadlock();
  void fail(const char* kind, const std::string& message);

  const Settings settings_;
  const TimingOptions options_;
  OperationList& operations_;
  TimingResult result_;
  int64_t rounds_ = 0;
  Log log_;
  Context context_;
  Units units_;
  Front front_;
  // remembered states
  Memo memo_;
  Archive::Words words_;
  bool memoises_;
  Memo::State* here_ = nullptr;           // the present state, where it is known to be one remembered
  bool behind_ = false;                   // the mechanisms stand where they were when recalling began
  Memo::State* from_ = nullptr;           // the last one remembered that was stepped on from …
  int64_t from_now_ = 0, from_next_ = 0;  // … and when
  std::vector<int64_t> from_passed_;      // Context::passed then
  int64_t place_ = 0;                     // the host's command before which to look at the state again
};

// What each unit waits for.
std::string Engine::deadlock() {
  std::string message = "no unit can go on at cycle " + std::to_string(context_.now) + ":";
  for (size_t u = 0; u < units_.count(); ++u) {
    const Pool& pool = context_.pools[u];
    if (pool.live == 0) continue;
    message += " unit " + settings_.units[u].name + " holds " + std::to_string(pool.live) + " command(s)";
    const Cause cause = cause_of(u, front_.idle_cause());
    message += std::string(" and waits (") + name_of(cause) + ")";
    const Command* oldest = nullptr;
    context_.occupied.each([&](int32_t slot) {
      const Command& command = context_.command(slot);
      if (pool.owns(slot) && (oldest == nullptr || command.operation < oldest->operation)) oldest = &command;
    });
    message += ", one of them command " + std::to_string(oldest->operation) + " of line " +
               std::to_string(oldest->times.line) + ";";
  }
  if (front_.blocked() >= 0)
    message += " command " + std::to_string(front_.blocked()) + " has no room in its unit's pool;";
  if (front_.at_fence()) message += " the host waits in a fence;";
  message.pop_back();
  return message;
}

void Engine::fail(const char* kind, const std::string& message) {
  TimingFailure failure{kind, message};
  int64_t oldest = kNever;
  context_.occupied.each([&](int32_t slot) {
    const Command& command = context_.command(slot);
    if (command.operation >= oldest) return;
    oldest = command.operation;
    failure.instruction = command.times.instruction;
    failure.line = command.times.line;
  });
  if (oldest == kNever && front_.blocked() >= 0) {
    const Operation& operation = operations_.at(front_.blocked());
    failure.instruction = operation.instruction;
    failure.line = operation.line;
  }
  result_.failure = std::move(failure);
}

}  // namespace timing

TimingRun::TimingRun(const CompiledMachine& compiled, const Machine& machine, const TimingOptions& options,
                     OperationList& operations)
    : engine_(std::make_unique<timing::Engine>(compiled, machine, options, operations)) {}
TimingRun::~TimingRun() = default;
void TimingRun::advance() { engine_->advance(false); }
const std::optional<TimingFailure>& TimingRun::failure() const { return engine_->failure(); }
TimingResult TimingRun::finish(int64_t host_tail_cycles) { return engine_->finish(host_tail_cycles); }

}  // namespace autocomp
