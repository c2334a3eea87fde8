#include "units/unroller.hpp"

#include <algorithm>
#include <numeric>

namespace autocomp::timing {
namespace {

// Cycles between a generator's last command and the loop's place being free: it is seen idle, then completed.
constexpr int64_t kRelease = 2;

}  // namespace

Unroller::Unroller(Context& context, int32_t unit, const CompiledMachine& machine, const OperationList& operations)
    : context_(context),
      settings_(context.settings.units[at(unit)]),
      unit_(unit),
      machine_(machine),
      operations_(operations),
      generators_(at(kMaxStreams)),
      in_flight_(context.settings.units.size()) {}

// The unit that a command goes to.
size_t Unroller::unit_of(const StreamCommand& command) const {
  const int64_t instruction = machine_.machine().statements[at(command.statement)].imm;
  return at(machine_.machine().instructions[at(instruction)].unit);
}

void Unroller::take(int64_t operation) {
  const Expansion& expansion = operations_.expansion(operation);
  const int32_t instruction = operations_.at(operation).instruction;
  const std::vector<CommandStream>& table = machine_.machine().instructions[at(instruction)].streams;
  Loop& loop = loops_.emplace_back(machine_, no_tensors_, expansion, table, context_.now + 1);
  loop.evaluator.begin(expansion.arguments, expansion.state);
  order_.resize(table.size());
  std::iota(order_.begin(), order_.end(), size_t{0});
  std::stable_sort(order_.begin(), order_.end(),
                   [&](size_t a, size_t b) { return table[a].priority < table[b].priority; });
  for (size_t s = 0; s < table.size(); ++s) moved(s);
  context_.progress = true;
}

// A generator stands elsewhere now: what others wait for may have changed.
void Unroller::moved(size_t stream) {
  const Generator& moving = generators_[stream];
  for (size_t l = 0; l < loops_.size(); ++l) {
    const bool works_on_it = moving.loop == first_ + static_cast<int64_t>(l) && !moving.idle;
    const StreamCommand* next = nullptr;
    if (!moving.idle && moving.loop >= first_) {
      const auto& list = loop_of(moving).expansion->streams[stream];
      if (moving.next < list.size()) next = &list[moving.next];
    }
    loops_[l].evaluator.place(stream, next);
    loops_[l].evaluator.set_done(stream, !works_on_it);
  }
  for (Generator& generator : generators_) generator.known = false;
}

void Unroller::begin_cycle() {
  sent_ = full_ = false;
  for (size_t s = 0; s < generators_.size(); ++s) {
    Generator& generator = generators_[s];
    if (generator.idle || generator.idle_from > context_.now) continue;
    generator.idle = true;
    moved(s);
    context_.progress = true;
  }
  while (!loops_.empty()) {
    const auto& finished = loops_.front().finished;
    const int64_t last =
        finished.empty() ? loops_.front().configured : *std::max_element(finished.begin(), finished.end());
    if (last == kNever || last + kRelease > context_.now) break;
    loops_.pop_front();
    ++first_;
    context_.progress = true;
  }
}

// Among streams of one priority the older loop's go first, even when they have nothing to send at the moment.
bool Unroller::has_turn(size_t stream) const {
  const std::vector<CommandStream>& table = *loops_.front().streams;
  for (size_t s = 0; s < table.size(); ++s) {
    const int64_t loop = generators_[s].loop;
    if (table[s].priority == table[stream].priority && loop >= first_ && loop < generators_[stream].loop) return false;
  }
  return true;
}

// Where loads come together: a stream that another one follows sends nothing of a loop while that other one is at an
// older loop whose commands before it have not all left.
bool Unroller::waits_for_older(size_t stream) const {
  if (settings_.together == 0) return false;
  const int64_t mine = generators_[stream].loop;
  const std::vector<CommandStream>& table = *loops_.front().streams;
  for (size_t s = 0; s < table.size(); ++s) {
    const int64_t loop = generators_[s].loop;
    const auto& after = table[s].after;
    if (loop < first_ || loop >= mine ||
        std::find(after.begin(), after.end(), static_cast<int32_t>(stream)) == after.end())
      continue;
    const Loop& older = loops_[at(loop - first_)];
    if (older.started[s] <= context_.now && std::any_of(after.begin(), after.end(), [&](int32_t other) {
          return older.finished[at(other)] >= context_.now;
        }))
      return true;
  }
  return false;
}

// May its next command enter the pipeline, or leave if there is none?
bool Unroller::may_enter(size_t stream) {
  Generator& generator = generators_[stream];
  if (generator.idle || generator.from > context_.now) return false;
  Loop& loop = loop_of(generator);
  const auto& list = loop.expansion->streams[stream];
  if (generator.next >= list.size()) return false;
  if (!generator.known) {
    generator.may_leave = loop.evaluator.may_leave(list[generator.next]);
    generator.known = true;
  }
  return generator.may_leave && !waits_for_older(stream);
}

bool Unroller::may_leave(size_t stream) {
  const Generator& generator = generators_[stream];
  const bool there = settings_.latency == 0 ? may_enter(stream) : (generator.pipe >> (settings_.latency - 1) & 1) != 0;
  if (!there) return false;
  const auto unit = unit_of(loop_of(generator).expansion->streams[stream][generator.left]);
  if (in_flight_[unit] >= context_.settings.units[unit].entries) {
    full_ = true;
    return false;
  }
  return has_turn(stream);
}

// A command moves on where the place ahead of it is free, or becomes so in this cycle.
void Unroller::move_pipeline(size_t stream, bool enters, bool leaves) {
  Generator& generator = generators_[stream];
  bool free = leaves;
  uint64_t moving = 0;
  for (int64_t place = settings_.latency - 1; place >= 0; --place) {
    const uint64_t bit = uint64_t{1} << place;
    const bool taken = (generator.pipe & bit) != 0;
    if (taken && free) moving |= bit;
    free = free || !taken;
  }
  enters = enters && free;
  if (moving == 0 && !enters && !leaves) return;
  generator.pipe = (((generator.pipe & ~moving) | moving << 1) & ((uint64_t{1} << settings_.latency) - 1)) |
                   (enters && settings_.latency > 0 ? 1 : 0);
  context_.progress = true;
  if (leaves) ++generator.left;
  if (enters) ++generator.next;
  Loop& loop = loop_of(generator);
  if (leaves && generator.left == loop.expansion->streams[stream].size())
    generator.idle_from = loop.finished[stream] = context_.now + 1;
  if (enters) moved(stream);
}

int64_t Unroller::send(bool room) {
  if (loops_.empty()) return -1;
  std::array<bool, kMaxStreams> enters{};
  if (settings_.latency > 0)
    for (const size_t stream : order_) enters[stream] = may_enter(stream);
  size_t leaving = kMaxStreams;
  for (const size_t stream : order_)
    if (room && leaving == kMaxStreams && may_leave(stream)) leaving = stream;
  int64_t operation = -1;
  if (leaving != kMaxStreams) {
    const StreamCommand& command = loop_of(generators_[leaving]).expansion->streams[leaving][generators_[leaving].left];
    operation = command.operation;
    ++in_flight_[unit_of(command)];
    sent_ = true;
    enters[leaving] = enters[leaving] || settings_.latency == 0;
  }
  for (const size_t stream : order_) move_pipeline(stream, enters[stream], stream == leaving);
  return operation;
}

void Unroller::start_generators() {
  for (size_t l = 0; l < loops_.size(); ++l) {
    Loop& loop = loops_[l];
    if (loop.configured > context_.now) continue;
    const std::vector<CommandStream>& table = *loop.streams;
    for (size_t s = 0; s < table.size(); ++s) {
      Generator& generator = generators_[s];
      const int64_t number = first_ + static_cast<int64_t>(l);
      if (!generator.idle || generator.loop >= number || loop.started[s] != kNever) continue;
      const bool ready = std::all_of(table[s].after.begin(), table[s].after.end(),
                                     [&](int32_t other) { return loop.started[at(other)] <= context_.now; });
      if (!ready) continue;
      loop.started[s] = context_.now + 1;
      generator = {.loop = number, .from = context_.now + 1, .idle_from = kNever, .idle = false};
      // Without commands it takes a cycle to see that.
      if (loop.expansion->streams[s].empty()) generator.idle_from = loop.finished[s] = context_.now + 2;
      moved(s);
      context_.progress = true;
    }
  }
}

void Unroller::schedule() {
  if (!busy()) return;  // its generators are idle
  for (const Generator& generator : generators_) {
    if (generator.idle) continue;
    context_.at(generator.from);
    context_.at(generator.idle_from);
  }
  for (const Loop& loop : loops_) {
    context_.at(loop.configured);
    for (const int64_t finished : loop.finished) {
      if (finished == kNever) continue;
      context_.at(finished + 1);
      context_.at(finished + kRelease);
    }
  }
}

}  // namespace autocomp::timing
