// States of the engine that it has been in, and how it went on from there. Kernels are loops, so that a state comes
// again: then, with the same commands to come, the same happens as before. States are compared in full.
#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "timing/archive.hpp"
#include "timing/log.hpp"
#include "timing/vocabulary.hpp"

namespace autocomp::timing {

class Memo {
 public:
  struct State;
  struct Transition {
    std::vector<int32_t> commands;  // ids from the host's next command on, up to its next one in the state it leads to
    State* to = nullptr;
    int64_t cycles = 0;
    Log::Part log;
    std::vector<int64_t> passed;  // what Context::passed grew by

    [[nodiscard]] int64_t issued() const { return static_cast<int64_t>(commands.size()) - 1; }
  };
  struct State {
    const Archive::Words* words = nullptr;
    int64_t reach = 0;  // the oldest operation that it needs, in commands before the host's next
    std::vector<Transition> transitions;
  };

  // The state that is equal to this one; nullptr: it is not worth remembering another.
  [[nodiscard]] State* state(const Archive::Words& words, int64_t reach);
  // What follows on a state with these commands to come, or nullptr.
  [[nodiscard]] const Transition* find(const State& state, std::span<const int32_t> commands);
  void connect(State& from, Transition transition);
  // Whether states come again often enough to look for them.
  [[nodiscard]] bool pays() const { return connected_ < kPatience + kWorth * found_; }

 private:
  static constexpr int64_t kPatience = 512, kWorth = 4;
  std::unordered_map<Archive::Words, State, WordsHash> states_;
  int64_t found_ = 0, connected_ = 0;
};

}  // namespace autocomp::timing
