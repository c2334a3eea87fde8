#include "semantics/expansion.hpp"

#include <algorithm>
#include <numeric>

namespace autocomp {
namespace {

constexpr size_t kMostCommands = size_t{1} << 18;  // of one expansion
constexpr int64_t kMostRounds = int64_t{1} << 31;  // of one loop

}  // namespace

void StreamEvaluator::begin(const std::vector<Value>& arguments, const std::vector<Value>& state) {
  evaluator_.take(arguments.data());
  evaluator_.state = state;
  for (auto& position : evaluator_.positions) position.fill(0);
  evaluator_.done.fill(true);
}

void StreamEvaluator::place(size_t stream, const StreamCommand* next) {
  for (size_t d = 0; d < at(kMaxLoops); ++d) evaluator_.positions[stream][d] = next == nullptr ? 0 : next->position[d];
  evaluator_.done[stream] = next == nullptr;
}

void StreamEvaluator::set_loops(const std::array<int32_t, kMaxLoops>& position) {
  std::copy(position.begin(), position.end(), evaluator_.loops.begin());
}

bool StreamEvaluator::may_leave(const StreamCommand& command) {
  const Statement& emit = machine_.machine().statements[at(command.statement)];
  if (emit.awaits.empty()) return true;
  set_loops(command.position);
  if (!evaluator_.evaluate(machine_.stream_plan(command.statement).awaits)) return false;
  return std::all_of(emit.awaits.begin(), emit.awaits.end(), [&](int32_t node) { return value(node).i != 0; });
}

void StreamEvaluator::evaluate(int32_t statement, const std::array<int32_t, kMaxLoops>& position) {
  set_loops(position);
  if (!evaluator_.evaluate(machine_.stream_plan(statement).values))
    throw Fault{"division", "division by zero, or a register that does not exist, in what the instruction expands to"};
}

Value StreamEvaluator::value(int32_t node) const { return evaluator_.values()[node]; }

Expansion Expander::begin(int32_t instruction, const Value* arguments, const std::vector<Value>& state) {
  const Instruction& table = machine_.machine().instructions[at(instruction)];
  Expansion expansion;
  expansion.arguments.assign(arguments, arguments + table.parameters.size());
  expansion.state = state;
  evaluator_.begin(expansion.arguments, expansion.state);
  size_ = 0;
  for (const CommandStream& stream : table.streams) {
    StreamCommand start;
    start.stream = static_cast<int32_t>(expansion.streams.size());
    list(stream.body, 0, start, expansion.streams.emplace_back());
  }
  const size_t count = table.streams.size();
  left_.assign(count, 0);
  order_.resize(count);
  std::iota(order_.begin(), order_.end(), size_t{0});
  std::stable_sort(order_.begin(), order_.end(),
                   [&](size_t a, size_t b) { return table.streams[a].priority < table.streams[b].priority; });
  for (size_t s = 0; s < count; ++s)
    evaluator_.place(s, expansion.streams[s].empty() ? nullptr : expansion.streams[s].data());
  return expansion;
}

void Expander::list(const std::vector<int32_t>& body, int depth, StreamCommand& place,
                    std::vector<StreamCommand>& out) {
  for (const int32_t index : body) {
    const Statement& s = machine_.machine().statements[at(index)];
    if (s.kind == StatementKind::Emit) {
      if (++size_ > kMostCommands)
        throw Fault{"limit", "it expands to more than " + std::to_string(kMostCommands) + " commands"};
      place.statement = index;
      out.push_back(place);
      continue;
    }
    evaluator_.evaluate(index, place.position);
    const int64_t first = evaluator_.value(s.a).i;
    if (s.kind == StatementKind::When) {
      list(first != 0 ? s.body : s.otherwise, depth, place, out);
      continue;
    }
    const int64_t step = s.b < 0 ? 1 : evaluator_.value(s.b).i;
    if (step < 1) throw Fault{"requirement", "a loop of its expansion has a step of " + std::to_string(step)};
    if (first > kMostRounds || step > kMostRounds)
      throw Fault{"limit", "a loop of its expansion counts to " + std::to_string(first)};
    for (int64_t i = 0; i < first; i += step) {
      budget_.spend();
      place.position[at(depth)] = static_cast<int32_t>(i);
      list(s.body, depth + 1, place, out);
    }
    place.position[at(depth)] = 0;
  }
}

StreamCommand* Expander::next(Expansion& expansion) {
  bool waiting = false;
  for (const size_t s : order_) {
    std::vector<StreamCommand>& commands = expansion.streams[s];
    if (left_[s] == commands.size()) continue;
    waiting = true;
    budget_.spend();
    StreamCommand& command = commands[left_[s]];
    if (!evaluator_.may_leave(command)) continue;
    ++left_[s];
    evaluator_.place(s, left_[s] == commands.size() ? nullptr : &commands[left_[s]]);
    return &command;
  }
  if (waiting) throw Fault{"deadlock", "the streams of commands that it expands to wait for each other"};
  return nullptr;
}

void Expander::arguments(const StreamCommand& command, std::vector<Value>& out) {
  const Statement& emit = machine_.machine().statements[at(command.statement)];
  evaluator_.evaluate(command.statement, command.position);
  for (size_t i = 0; i < emit.arguments.size(); ++i) out[i] = evaluator_.value(emit.arguments[i]);
}

}  // namespace autocomp
