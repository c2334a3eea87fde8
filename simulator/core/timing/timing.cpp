#include "timing/timing.hpp"

#include <array>
#include <utility>

#include "timing/array.hpp"
#include "timing/front.hpp"
#include "timing/serial.hpp"
#include "timing/transfer_in.hpp"
#include "timing/transfer_out.hpp"
#include "timing/unroller.hpp"

namespace autocomp {
namespace timing {

constexpr int64_t kSemaphores = 1024;
constexpr int64_t kRoundsPerPoll = int64_t{1} << 16;

class Engine {
 public:
  Engine(const CompiledMachine& compiled, const Machine& machine, const TimingOptions& options,
         OperationList& operations)
      : compiled_(compiled),
        settings_(resolve(machine)),
        options_(options),
        operations_(operations),
        context_(settings_, options.tensor_addresses),
        front_(context_, operations, unrollers_, options.record_commands ? &result_.commands : nullptr),
        channel_(settings_.shared_requests) {
    // Units keep references into the context, and their places: reserve before adding.
    const size_t count = settings_.units.size();
    cycles_.resize(count);
    present_.resize(count);
    ins_.reserve(count);
    outs_.reserve(count);
    arrays_.reserve(count);
    serials_.reserve(count);
    unrollers_.reserve(count);
    for (size_t u = 0; u < count; ++u) add_unit(static_cast<int32_t>(u));
  }

  // As far as the operations there allow.
  void advance(bool ended) {
    if (options_.record_commands) take_down();
    if (!result_.failure) front_.supply(ended);
    while (!result_.failure && front_.supplied()) {
      if (++rounds_ % kRoundsPerPoll == 0 && options_.poll) options_.poll();
      const bool idle = front_.awaits_idle() && machine_idle();
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
      front_.forget();
  }

  [[nodiscard]] const std::optional<TimingFailure>& failure() const { return result_.failure; }

  TimingResult finish(int64_t host_tail_cycles) {
    advance(true);
    int64_t tail = 0;
    if (!result_.failure) {
      front_.end_segment();
      result_.segment_cycles = front_.segments();
      tail = std::max<int64_t>(0, host_tail_cycles);
    }
    for (size_t u = 0; u < places_.size(); ++u) {
      settle(u);
      UnitCycles& row = cycles_[u];
      row[static_cast<size_t>(Cause::Host)] += tail;
      result_.unit_cycles.emplace_back(row.begin(), row.end());
    }
    result_.cycles = context_.now + tail;
    return std::move(result_);
  }

 private:
  void add_unit(int32_t unit) {
    size_t place = 0;
    const UnitKind kind = settings_.units[static_cast<size_t>(unit)].kind;
    switch (kind) {
      case UnitKind::TransferIn:
        place = ins_.size();
        ins_.emplace_back(context_, unit);
        break;
      case UnitKind::TransferOut:
        place = outs_.size();
        outs_.emplace_back(context_, unit);
        break;
      case UnitKind::Array:
        place = arrays_.size();
        arrays_.emplace_back(context_, unit);
        break;
      case UnitKind::Serial:
        place = serials_.size();
        serials_.emplace_back(context_, unit);
        break;
      case UnitKind::Expander:
        place = unrollers_.size();
        unrollers_.emplace_back(context_, unit, compiled_, operations_);
        break;
    }
    places_.push_back({kind, place});
  }

  // Calls `action` with the unit as what it is.
  template <typename Action>
  decltype(auto) with(size_t u, Action&& action) {
    const Place place = places_[u];
    switch (place.kind) {
      case UnitKind::TransferIn: return action(ins_[place.index]);
      case UnitKind::TransferOut: return action(outs_[place.index]);
      case UnitKind::Array: return action(arrays_[place.index]);
      case UnitKind::Expander: return action(unrollers_[place.index]);
      case UnitKind::Serial: break;
    }
    return action(serials_[place.index]);
  }

  // Nothing outstanding anywhere but preloads whose multiply has not come.
  bool machine_idle() {
    uint64_t lone = 0;
    for (const TransferOut& out : outs_)
      if (!out.idle()) return false;
    for (const Array& array : arrays_)
      if (const int32_t slot = array.lone_preload(); slot >= 0) lone |= uint64_t{1} << slot;
    if ((context_.occupied & ~lone) == 0) return true;
    // One that is still on its way to the array counts as well.
    for (size_t u = 0; u < places_.size(); ++u) {
      const Pool& pool = context_.pools[u];
      if (settings_.units[u].kind == UnitKind::Array && pool.live == 1 && pool.unissued.size() == 1 &&
          context_.command(pool.unissued.front()).role == Role::Preload)
        lone |= uint64_t{1} << pool.unissued.front();
    }
    return (context_.occupied & ~lone) == 0;
  }

  void cycle(bool idle) {
    context_.progress = false;
    issue();
    front_.unroll();
    front_.allocate();
    front_.host(idle);
    for (Array& array : arrays_)
      if (array.results_due()) array.write_results();
    respond();
    // Who comes first has the ports: results, moves in, operands, moves out.
    for (TransferIn& in : ins_)
      if (in.writes_due()) in.write_rows();
    for (Array& array : arrays_)
      if (array.due()) array.step();
    for (Serial& serial : serials_) serial.step();
    for (TransferOut& out : outs_)
      if (out.due()) out.step(channel_);
    for (TransferIn& in : ins_)
      if (in.requests_due()) in.request(channel_);
    front_.retire();
  }

  void respond() {
    Response* response = channel_.front(context_.now);
    if (response == nullptr) return;
    const size_t place = places_[static_cast<size_t>(response->unit)].index;
    if (response->acknowledge)
      outs_[place].acknowledge(channel_);
    else if (ins_[place].ready_for_beat())
      ins_[place].take_beat(channel_, *response);
  }

  void issue() {
    if (!std::exchange(context_.may_issue, false)) return;
    for (size_t u = 0; u < places_.size(); ++u) {
      Pool& pool = context_.pools[u];
      if (pool.unissued.empty()) continue;
      const int32_t slot = pool.unissued.front();
      Command& command = context_.command(slot);
      if (context_.waits_for[static_cast<size_t>(slot)] != 0) continue;
      if (settings_.units[u].serial != 0 && pool.live > static_cast<int64_t>(pool.unissued.size())) continue;
      const bool synchronises = command.role == Role::Wait || command.role == Role::Signal;
      if (synchronises && !synchronise(command, pool)) continue;
      const bool at_once = synchronises || settings_.units[u].instant != 0 ||
                           (command.role == Role::Configure && settings_.units[u].kind != UnitKind::Array);
      if (!at_once && !with(u, [](auto& unit) { return unit.accepts(); })) continue;
      pool.unissued.pop();
      command.times.issued = context_.now;
      context_.may_issue = context_.progress = true;
      if (at_once)
        front_.immediate(slot);
      else
        with(u, [slot](auto& unit) { unit.issue(slot); });
    }
  }

  // A wait takes 1 from its semaphore when it can; a signal adds 1 when all older commands of the unit have completed.
  bool synchronise(Command& command, const Pool& pool) {
    const int64_t index = command.value(Key::Semaphore);
    if (index < 0 || index >= kSemaphores) return false;  // there is none: the unit waits for ever
    int64_t& semaphore = semaphores_[static_cast<size_t>(index)];
    if (command.role == Role::Signal) {
      if (pool.live > static_cast<int64_t>(pool.unissued.size())) return false;
      ++semaphore;
      signals_[static_cast<size_t>(index)] = command.operation;
      return true;
    }
    if (semaphore == 0) return false;
    --semaphore;
    command.times.released_by = signals_[static_cast<size_t>(index)];
    command.times.release = Cause::Semaphore;
    return true;
  }

  // To when something happens next; false if nothing ever does.
  bool skip() {
    context_.timer = kNever;
    front_.schedule();
    channel_.schedule(context_);
    for (size_t u = 0; u < places_.size(); ++u) with(u, [](auto& unit) { unit.schedule(); });
    if (context_.timer == kNever) return false;
    account();
    context_.now = context_.timer;
    return true;
  }

  // `none`: why a unit without commands has none.
  Cause cause_of(size_t u, Cause none) {
    return with(u, [&](const auto& unit) { return cause_of(unit, context_.pools[u], none); });
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
    if (context_.waits_for[static_cast<size_t>(slot)] != 0) return head.hazard;
    return active ? cause : Cause::QueueFull;
  }

  // Takes note of what units do from this cycle on where that is something else than before.
  void account() {
    const Cause none = front_.idle_cause();
    for (size_t u = 0; u < places_.size(); ++u) {
      const Cause cause = cause_of(u, none);
      if (cause == present_[u].cause) continue;
      settle(u);
      present_[u] = {context_.now, static_cast<int32_t>(u), cause};
      if (options_.record_spans) result_.spans.push_back(present_[u]);
    }
  }
  // Counts the cycles of a unit's present span up to this one.
  void settle(size_t u) {
    UnitSpan& span = present_[u];
    if (span.cause != Cause::Count) cycles_[u][static_cast<size_t>(span.cause)] += context_.now - span.start;
    span.start = context_.now;
  }
  // Which commands there are, before their times are known.
  void take_down() {
    for (int64_t i = static_cast<int64_t>(result_.commands.size()); i < operations_.count(); ++i) {
      const Operation& operation = operations_.at(i);
      result_.commands.push_back(
          {.instruction = operation.instruction, .line = operation.line, .sender = operation.sender});
    }
  }

  std::string deadlock();
  void fail(const char* kind, const std::string& message);

  const CompiledMachine& compiled_;
  const Settings settings_;
  const TimingOptions options_;
  OperationList& operations_;
  TimingResult result_;
  int64_t rounds_ = 0;
  Context context_;
  std::vector<Unroller> unrollers_;
  Front front_;
  Channel channel_;
  std::vector<int64_t> semaphores_ = std::vector<int64_t>(kSemaphores, 0);
  std::vector<int64_t> signals_ = std::vector<int64_t>(kSemaphores, -1);  // the last signal of each
  std::vector<TransferIn> ins_;
  std::vector<TransferOut> outs_;
  std::vector<Array> arrays_;
  std::vector<Serial> serials_;
  struct Place {
    UnitKind kind = UnitKind::Serial;
    size_t index = 0;  // among the units of its kind
  };
  std::vector<Place> places_;  // of each unit
  using UnitCycles = std::array<int64_t, static_cast<size_t>(Cause::Count)>;
  std::vector<UnitCycles> cycles_;
  std::vector<UnitSpan> present_;  // what each unit does; Count: nothing is known yet
};

// What each unit waits for.
std::string Engine::deadlock() {
  std::string message = "no unit can go on at cycle " + std::to_string(context_.now) + ":";
  for (size_t u = 0; u < places_.size(); ++u) {
    const Pool& pool = context_.pools[u];
    if (pool.live == 0) continue;
    message += " unit " + settings_.units[u].name + " holds " + std::to_string(pool.live) + " command(s)";
    const Cause cause = cause_of(u, front_.idle_cause());
    message += std::string(" and waits (") + name_of(cause) + ")";
    for (uint64_t left = context_.occupied & pool.all; left != 0; left &= left - 1) {
      const Command& command = context_.command(std::countr_zero(left));
      if (left == (context_.occupied & pool.all))
        message += ", one of them command " + std::to_string(command.operation) + " of line " +
                   std::to_string(command.times.line);
    }
    message += ";";
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
  for (uint64_t left = context_.occupied; left != 0; left &= left - 1) {
    const Command& command = context_.command(std::countr_zero(left));
    if (command.operation >= oldest) continue;
    oldest = command.operation;
    failure.instruction = command.times.instruction;
    failure.line = command.times.line;
  }
  if (oldest == kNever && front_.blocked() >= 0) {
    const Operation& operation = operations_.at(front_.blocked());
    failure.instruction = operation.instruction;
    failure.line = operation.line;
  }
  result_.failure = std::move(failure);
}

}  // namespace timing

const char* name_of(Cause cause) {
  switch (cause) {
    case Cause::Busy: return "Busy";
    case Cause::Idle: return "Idle";
    case Cause::Host: return "Host";
    case Cause::QueueFull: return "QueueFull";
    case Cause::ReadAfterWrite: return "ReadAfterWrite";
    case Cause::WriteAfterRead: return "WriteAfterRead";
    case Cause::WriteAfterWrite: return "WriteAfterWrite";
    case Cause::Semaphore: return "Semaphore";
    case Cause::Bus: return "Bus";
    case Cause::MemoryLatency: return "MemoryLatency";
    case Cause::BankConflict: return "BankConflict";
    case Cause::Pairing: return "Pairing";
    case Cause::Drain: return "Drain";
    case Cause::Pipeline: return "Pipeline";
    case Cause::Fence: return "Fence";
    case Cause::Count: break;
  }
  return "Unknown";
}

TimingRun::TimingRun(const CompiledMachine& compiled, const Machine& machine, const TimingOptions& options,
                     OperationList& operations)
    : engine_(std::make_unique<timing::Engine>(compiled, machine, options, operations)) {}
TimingRun::~TimingRun() = default;
void TimingRun::advance() { engine_->advance(false); }
const std::optional<TimingFailure>& TimingRun::failure() const { return engine_->failure(); }
TimingResult TimingRun::finish(int64_t host_tail_cycles) { return engine_->finish(host_tail_cycles); }

}  // namespace autocomp
