#include "timing.hpp"

#include <memory>
#include <stdexcept>
#include <variant>

#include "timing/array.hpp"
#include "timing/front.hpp"
#include "timing/serial.hpp"
#include "timing/transfer_in.hpp"
#include "timing/transfer_out.hpp"

namespace autocomp {
namespace timing {
namespace {

using UnitState = std::variant<TransferIn, TransferOut, Array, Serial>;

constexpr int64_t kSemaphores = 1024;

UnitState make_unit(Context& context, int32_t unit) {
  switch (context.settings.units[static_cast<size_t>(unit)].kind) {
    case UnitKind::TransferIn: return UnitState(std::in_place_type<TransferIn>, context, unit);
    case UnitKind::TransferOut: return UnitState(std::in_place_type<TransferOut>, context, unit);
    case UnitKind::Array: return UnitState(std::in_place_type<Array>, context, unit);
    case UnitKind::Serial: break;
  }
  return UnitState(std::in_place_type<Serial>, context, unit);
}

class Engine {
 public:
  Engine(const Settings& settings, const OperationList& list, const TimingOptions& options, TimingResult& result)
      : settings_(settings),
        options_(options),
        result_(result),
        context_(settings, list),
        front_(context_, options.record_commands ? &result.commands : nullptr) {
    if (options.record_commands) result.commands.resize(list.operations.size());
    result.unit_cycles.assign(settings.units.size(), std::vector<int64_t>(static_cast<size_t>(Cause::Count), 0));
    units_.reserve(settings.units.size());
    for (size_t u = 0; u < settings.units.size(); ++u)
      units_.push_back(make_unit(context_, static_cast<int32_t>(u)));
  }

  void run() {
    while (true) {
      const bool idle = machine_idle();
      if (idle && front_.host_done()) break;
      cycle(idle);
      if (context_.progress) {
        account(1);
        ++context_.now;
      } else if (!skip()) {
        return;
      }
      if (context_.now > options_.max_cycles) {
        result_.notes.push_back("stopped after " + std::to_string(options_.max_cycles) + " cycles");
        break;
      }
    }
    front_.end_segment();
    result_.segment_cycles = front_.segments();
    const int64_t tail = std::max<int64_t>(0, context_.list.host_tail_cycles);
    account_tail(tail);
    result_.cycles = context_.now + tail;
  }

 private:
  // Nothing outstanding anywhere but preloads whose multiply has not come.
  bool machine_idle() {
    if (!front_.empty()) return false;
    uint64_t lone = 0;
    for (const UnitState& unit : units_) {
      if (const auto* array = std::get_if<Array>(&unit))
        if (const int32_t slot = array->lone_preload(); slot >= 0) lone |= uint64_t{1} << slot;
      if (const auto* out = std::get_if<TransferOut>(&unit))
        if (!out->idle()) return false;
    }
    if ((context_.occupied & ~lone) == 0) return true;
    // One that is still on its way to the array counts as well.
    for (size_t u = 0; u < units_.size(); ++u) {
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
    front_.allocate();
    front_.host(idle);
    for (UnitState& unit : units_) std::visit([](auto& u) { u.begin_cycle(); }, unit);
    for (UnitState& unit : units_)
      if (auto* array = std::get_if<Array>(&unit)) array->write_results();
    respond();
    for (UnitState& unit : units_)
      if (auto* in = std::get_if<TransferIn>(&unit)) in->write_rows();
    for (UnitState& unit : units_) {
      if (auto* array = std::get_if<Array>(&unit)) array->step();
      if (auto* serial = std::get_if<Serial>(&unit)) serial->step();
    }
    for (UnitState& unit : units_)
      if (auto* out = std::get_if<TransferOut>(&unit)) out->step(channel_);
    for (UnitState& unit : units_)
      if (auto* in = std::get_if<TransferIn>(&unit)) in->request(channel_);
    front_.retire();
  }

  void respond() {
    Response* response = channel_.front(context_.now);
    if (response == nullptr) return;
    UnitState& unit = units_[static_cast<size_t>(response->unit)];
    if (response->acknowledge) {
      std::get<TransferOut>(unit).acknowledge(channel_);
    } else if (auto& in = std::get<TransferIn>(unit); in.ready_for_beat()) {
      in.take_beat(channel_, *response);
    }
  }

  void issue() {
    for (size_t u = 0; u < units_.size(); ++u) {
      Pool& pool = context_.pools[u];
      if (pool.unissued.empty()) continue;
      const int32_t slot = pool.unissued.front();
      Command& command = context_.command(slot);
      if (command.waits_for != 0) continue;
      if (settings_.units[u].serial != 0 && pool.live > static_cast<int64_t>(pool.unissued.size())) continue;
      const bool synchronises = command.role == Role::Wait || command.role == Role::Signal;
      if (synchronises && !synchronise(command, pool)) continue;
      const bool at_once =
          synchronises || (command.role == Role::Configure && settings_.units[u].kind != UnitKind::Array);
      if (!at_once && !std::visit([](auto& unit) { return unit.accepts(); }, units_[u])) continue;
      pool.unissued.pop();
      command.times.issued = context_.now;
      context_.progress = true;
      if (at_once)
        front_.immediate(slot);
      else
        std::visit([slot](auto& unit) { unit.issue(slot); }, units_[u]);
    }
  }

  // A wait takes 1 from its semaphore when it can; a signal adds 1 when all older commands of the unit have completed.
  bool synchronise(const Command& command, const Pool& pool) {
    const int64_t index = command.value(Key::Semaphore);
    if (index < 0 || index >= kSemaphores)
      throw std::invalid_argument("semaphore " + std::to_string(index) + " does not exist");
    int64_t& semaphore = semaphores_[static_cast<size_t>(index)];
    if (command.role == Role::Signal) {
      if (pool.live > static_cast<int64_t>(pool.unissued.size())) return false;
      ++semaphore;
      return true;
    }
    if (semaphore == 0) return false;
    --semaphore;
    return true;
  }

  bool skip() {
    context_.timer = kNever;
    front_.schedule();
    channel_.schedule(context_);
    for (UnitState& unit : units_) std::visit([](auto& u) { u.schedule(); }, unit);
    if (context_.timer == kNever) {
      deadlock();
      return false;
    }
    account(context_.timer - context_.now);
    context_.now = context_.timer;
    return true;
  }

  Cause cause_of(size_t u) {
    const bool active = std::visit([](auto& unit) { return unit.active(); }, units_[u]);
    const Cause cause = active ? std::visit([](auto& unit) { return unit.cause(); }, units_[u]) : Cause::Idle;
    if (active && cause != Cause::Pairing) return cause;
    const Pool& pool = context_.pools[u];
    if (!pool.unissued.empty()) {
      const Command& head = context_.command(pool.unissued.front());
      if (head.role == Role::Wait || head.role == Role::Signal) return Cause::Semaphore;
      if (head.waits_for != 0) return head.hazard;
      return active ? cause : Cause::QueueFull;
    }
    if (active) return cause;
    return pool.live > 0 ? Cause::Pipeline : front_.idle_cause();
  }

  void account(int64_t cycles) {
    for (size_t u = 0; u < units_.size(); ++u) result_.unit_cycles[u][static_cast<size_t>(cause_of(u))] += cycles;
  }
  void account_tail(int64_t cycles) {
    for (auto& row : result_.unit_cycles) row[static_cast<size_t>(Cause::Host)] += cycles;
  }

  void deadlock();

  const Settings& settings_;
  const TimingOptions& options_;
  TimingResult& result_;
  Context context_;
  Front front_;
  Channel channel_;
  std::vector<int64_t> semaphores_ = std::vector<int64_t>(kSemaphores, 0);
  std::vector<UnitState> units_;
};

void Engine::deadlock() {
  result_.deadlock = true;
  std::string message = "no unit can go on at cycle " + std::to_string(context_.now) + ":";
  for (size_t u = 0; u < units_.size(); ++u) {
    const Pool& pool = context_.pools[u];
    if (pool.live == 0) continue;
    message += " unit " + settings_.units[u].name + " holds " + std::to_string(pool.live) + " command(s)";
    const Cause cause = cause_of(u);
    message += std::string(" and waits (") + name_of(cause) + ")";
    for (uint64_t left = context_.occupied & pool.all; left != 0; left &= left - 1) {
      const Command& command = context_.command(std::countr_zero(left));
      if (left == (context_.occupied & pool.all))
        message += ", one of them command " + std::to_string(command.operation) + " of line " +
                   std::to_string(context_.list.operations[static_cast<size_t>(command.operation)].line);
    }
    message += ";";
  }
  if (front_.blocked() >= 0)
    message += " command " + std::to_string(front_.blocked()) + " has no room in its unit's pool;";
  if (front_.at_fence()) message += " the host waits in a fence;";
  message.back() = '.';
  result_.deadlock_message = message;
  result_.cycles = context_.now;
}

}  // namespace
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

TimingResult simulate_timing(const Machine& machine, const OperationList& list, const TimingOptions& options) {
  const timing::Settings settings = timing::resolve(machine);
  TimingResult result;
  timing::Engine engine(settings, list, options, result);
  engine.run();
  return result;
}

}  // namespace autocomp
