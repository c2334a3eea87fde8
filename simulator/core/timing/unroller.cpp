#include "timing/unroller.hpp"

#include <algorithm>
#include <numeric>

namespace autocomp::timing {
namespace {

// Cycles between a generator's last command and the loop's place being free: it is seen idle, then completed.
constexpr int64_t kRelease = 2;

size_t at(int64_t index) { return static_cast<size_t>(index); }

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

bool Unroller::may_send(size_t stream) {
  Generator& generator = generators_[stream];
  if (generator.idle || generator.from > context_.now) return false;
  Loop& loop = loop_of(generator);
  const auto& list = loop.expansion->streams[stream];
  if (generator.next >= list.size()) return false;
  const StreamCommand& command = list[generator.next];
  const size_t unit = unit_of(command);
  if (in_flight_[unit] >= context_.settings.units[unit].entries) {
    full_ = true;
    return false;
  }
  if (!generator.known) {
    generator.may_leave = loop.evaluator.may_leave(command);
    generator.known = true;
  }
  return generator.may_leave && has_turn(stream);
}

int64_t Unroller::send() {
  if (loops_.empty()) return -1;
  for (const size_t stream : order_) {
    if (!may_send(stream)) continue;
    Generator& generator = generators_[stream];
    Loop& loop = loop_of(generator);
    const auto& list = loop.expansion->streams[stream];
    const int64_t operation = list[generator.next].operation;
    ++in_flight_[unit_of(list[generator.next])];
    if (++generator.next == list.size()) generator.idle_from = loop.finished[stream] = context_.now + 1;
    moved(stream);
    sent_ = true;
    context_.progress = true;
    return operation;
  }
  return -1;
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
    for (const int64_t finished : loop.finished)
      if (finished != kNever) context_.at(finished + kRelease);
  }
}

}  // namespace autocomp::timing
