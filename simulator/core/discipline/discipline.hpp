// The memory discipline: any two accesses of one place, one of them a write, must be ordered by the machine.
//
// Each command is an event on the timeline of its unit; the host has a timeline of its own. An event happens before
// another if the machine makes the second wait for the first: through a hazard that it tracks, a semaphore, a fence, or
// the order within one unit. A clock per timeline (the latest event of every other one that it has waited for) is
// joined at each of these. Every local row and every tensor element remembers its last writer and readers.
//
// Settings: hazards.tracked (default 1: local rows order units), hazards.dram (default: the opposite; 1: semaphores
// order DRAM as well, 0: fences only), <unit>.unordered_writes = n (a write of a row that one of the n commands
// before wrote is not ordered behind it), <unit>.exact_base_reads = n (likewise a read, unless it starts at
// the row at which that write started). What one command expands to is in order within a unit: it is the machine's own.
#pragma once

#include <deque>
#include <map>
#include <tuple>

#include "program/store.hpp"
#include "run/simulation.hpp"
#include "semantics/compiled.hpp"
#include "semantics/operation.hpp"

namespace autocomp {

class Discipline {
 public:
  Discipline(const CompiledMachine& machine, const std::vector<TensorStore>& tensors, const Options& options);

  void command(const OperationList& list);  // the last operation of the list
  void host_access(int64_t tensor, int64_t offset, int64_t bytes, bool write, int32_t line);
  void undefine(int64_t tensor);
  void finish(SimulationResult& result) const;

 private:
  struct Event {
    int32_t timeline = -1;
    int64_t time = 0;  // on its timeline, from 1
    int32_t instruction = -1, line = 0;
    int32_t expansion = 0;  // the one that sent it, from 1 on; 0: the host did
  };
  struct Granules {  // last accesses of rows or elements, as indices into events_; 0: none
    std::vector<int32_t> writer;
    std::vector<std::vector<int32_t>> reader;  // by timeline
    std::vector<int64_t> base;                 // first row of the access that wrote a row
    std::vector<bool> undefined;               // elements that hold nothing of use; empty: there are none
    bool read_only = false;
  };
  struct RowUse {
    int64_t words = 1;                     // of `columns`, for each row
    std::vector<uint64_t> columns;         // written ones
    std::vector<int32_t> born, last_used;  // live range, in commands; -1: not live
    std::vector<int32_t> change;           // live rows, difference by command
  };
  struct Role {
    bool fence = false, wait = false, signal = false;
    bool expands = false;
    int semaphore = -1, pops = -1, pushes = -1;  // indices of properties
  };
  struct UnitRules {
    int64_t unordered_writes = 0, exact_base_reads = 0;
  };

  void local(const AccessInstance& access);
  void local_row(int32_t memory, int64_t row, const AccessInstance& access);
  void initialised(int32_t memory, int64_t row, const AccessInstance& access);
  void live(int32_t memory, int64_t row, bool write);
  void close(RowUse& use, size_t row) const;
  void dram(int64_t tensor, int64_t first, int64_t last, bool write);
  void dram_contents(Granules& granules, int64_t tensor, int64_t begin, int64_t end, bool write);
  void conflict_local(int32_t before, bool was_write, int32_t memory, int64_t row, const AccessInstance& access);
  void conflict_dram(int32_t before, bool was_write, bool write, int64_t tensor, int64_t element);
  void fence();
  void semaphore(const OperationList& list, const Operation& operation, const Role& role);
  void push(const OperationList& list, const Operation& operation, const Role& role);
  void take(int64_t semaphore);
  void keep_clock();
  void join(const int64_t* clock);
  void report(const char* kind, const std::string& message, int32_t other);
  void add_event(int32_t timeline, int32_t instruction, int32_t line);
  [[nodiscard]] int64_t setting(const std::string& key, int64_t fallback) const;
  [[nodiscard]] int64_t unit_setting(const Unit& unit, const std::string& key) const;
  [[nodiscard]] std::string text(int32_t event) const;
  [[nodiscard]] const Event& present() const { return events_[static_cast<size_t>(present_)]; }
  [[nodiscard]] std::vector<int64_t>& clock() { return clocks_[static_cast<size_t>(present().timeline)]; }

  const CompiledMachine& machine_;
  const std::vector<TensorStore>& tensors_;
  const Options& options_;
  int32_t host_;  // timeline of the host, behind those of the units
  bool tracked_;
  bool dram_by_clock_;
  std::vector<Role> roles_;
  std::vector<UnitRules> rules_;
  std::vector<Event> events_;
  int32_t present_ = 0;                       // the event that is being checked
  std::map<int32_t, int32_t> host_events_;    // by line: those since the last command
  std::vector<int64_t> waited_;               // by event: the clock it started with
  std::vector<std::vector<int64_t>> clocks_;  // by timeline
  std::vector<int64_t> now_, fenced_;         // by timeline: its latest event; the latest one a fence has waited for
  std::vector<int64_t> completed_;            // by timeline: its latest event that its next one has waited for
  std::map<int64_t, std::deque<std::vector<int64_t>>> signals_;
  std::vector<Granules> rows_, elements_;  // by memory; by tensor
  std::vector<RowUse> uses_;               // by memory
  std::map<std::tuple<std::string, int32_t, int32_t>, size_t> known_;
  std::vector<Violation> violations_;
  int32_t commands_ = 0;
  int32_t expansions_ = 0;
};

}  // namespace autocomp
