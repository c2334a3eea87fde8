#include "timing/memo.hpp"

#include <algorithm>

namespace autocomp::timing {
namespace {

constexpr size_t kMostStates = 4096;

}  // namespace

Memo::State* Memo::state(const Archive::Words& words, int64_t reach) {
  if (const auto known = states_.find(words); known != states_.end()) return &known->second;
  if (states_.size() == kMostStates) return nullptr;
  const auto added = states_.emplace(words, State{}).first;
  added->second.words = &added->first;
  added->second.reach = reach;
  return &added->second;
}

const Memo::Transition* Memo::find(const State& state, std::span<const int32_t> commands) {
  for (const Transition& transition : state.transitions) {
    const std::vector<int32_t>& expected = transition.commands;
    if (expected.size() > commands.size() || !std::equal(expected.begin(), expected.end(), commands.begin())) continue;
    ++found_;
    return &transition;
  }
  return nullptr;
}

void Memo::connect(State& from, Transition transition) {
  ++connected_;
  from.transitions.push_back(std::move(transition));
}

}  // namespace autocomp::timing
