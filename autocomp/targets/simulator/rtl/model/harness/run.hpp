// The batched loop: commands in, memory behind, cycles out.
#pragma once

#include <cstdint>

#include "memory.hpp"
#include "model.hpp"

namespace autocomp::rtl {

constexpr int kMostWords = 8;

// Indices of ports by what they do; -1 where the design lacks an optional one. Agrees with `_Roles` in native.py.
struct Roles {
  int32_t clock, busy;
  int32_t command_valid, command_ready, word_count, words[kMostWords];
  int32_t a_valid, a_ready, a_opcode, a_size, a_source, a_address, a_mask, a_data;
  int32_t d_valid, d_ready, d_opcode, d_size, d_source, d_data;
};

struct Commands {         // agrees with `_Commands` in native.py
  const uint64_t* words;  // [count][word_count]
  const int64_t* gaps;    // idle cycles of the host before each
  const uint8_t* fences;  // 1: no command, but a wait until the design is idle
  int64_t count;
};

struct Conditions {  // agrees with `_Conditions` in native.py
  int64_t latency, bandwidth, most_cycles;
};

struct Report {    // agrees with `_Report` in native.py
  int32_t status;  // 0: done, 1: too many cycles, 2: an access that memory refuses, 3: the design stopped itself
  int64_t
      cycles;     // from the first command's offer to the cycle that finds the design idle after the last, both counted
  int64_t steps;  // clock cycles simulated
  int64_t accepted;  // commands
  int64_t segments;  // written to the caller's array
  Strays strays;
  char message[256];
};

// Feeds the commands as fast as the design takes them. A segment ends at a fence, or with the last command, in the
// first cycle in which the design is idle; `segment_cycles` has room for one more than there are fences. The design
// has been reset, and its other inputs are set.
void run(Model& model, const Roles& roles, const Commands& commands, std::span<const Region> regions,
         const Conditions& conditions, Report& report, int64_t* segment_cycles);

}  // namespace autocomp::rtl
