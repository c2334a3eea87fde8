// The memory discipline: any two accesses of one place, one of them a write, must be ordered by the machine.
//
// Each command is an event on a timeline of its unit, on which commands complete in order: a unit has one for each path
// that its writes may take, and one for results, which complete with their preload. The host has a timeline of its own.
// An event happens before another if the machine makes the second wait for the first: through a hazard that it tracks,
// a semaphore, or a fence. A clock per unit (the latest event of every timeline that is complete when the unit issues
// its next command) is joined at each of these. Every local row and every tensor element remembers its last writer and
// readers.
//
// A program returns when all that it stored has arrived: where a machine has a fence, one comes after the last store.
//
// Commands that state the rows by which the machine tracks hazards are ordered by these, whatever they access. A
// command of another unit that comes between a preload and its multiply, and shares rows with it, waits for a result
// that the program wants later.
//
// The machine tracks rows in the order in which commands reach it. An expander works on several expansions at once, so
// that a stream of a later one may send before another stream of an older one has: those two are not ordered.
//
// Banks of a memory may share the adders through which commands add to its rows. Two units that add in different banks
// at the same moment get each other's sums: such commands must be ordered although they share no row. Such banks share
// the choice of a path as well: moves of a unit that take two paths to different banks may write each other's rows.
//
// Settings: <memory>.shared_adders (default 0), hazards.tracked (default 1: local rows order units), hazards.dram
// (default: the opposite; 1: semaphores order DRAM as well, 0: fences only), <unit>.unordered_writes = n (a write of a
// row that one of the n commands before wrote is not ordered behind it), <unit>.exact_base_reads = n (likewise a read,
// unless it starts at the row at which that write started), <unit>.exact_base_sums = n (likewise an addition to it).
// What one command expands to is in order within a unit: it is the machine's own.
#pragma once

#include <deque>
#include <map>
#include <tuple>

#include "program/store.hpp"
#include "run/simulation.hpp"
#include "semantics/compiled.hpp"
#include "semantics/operation.hpp"

namespace autocomp {

constexpr int64_t kColumnsPerWord = 64;  // of a row, whose written columns are bits

// Calls visit(position) for every point of the access: a row, or the first byte of a contiguous piece.
template <typename Visit>
void each_point(const AccessInstance& access, Visit visit) {
  for (int64_t i = 0; i < access.count[0]; ++i)
    for (int64_t j = 0; j < access.count[1]; ++j)
      for (int64_t k = 0; k < access.count[2]; ++k)
        visit(access.base + i * access.stride[0] + j * access.stride[1] + k * access.stride[2]);
}

class Discipline {
 public:
  Discipline(const CompiledMachine& machine, const std::vector<TensorStore>& tensors, const Options& options);

  void command(const OperationList& list);  // the last operation of the list
  void host_access(int64_t tensor, int64_t offset, int64_t bytes, bool write, int32_t line);
  void undefine(int64_t tensor);
  void returned();  // the program, not a trace
  void finish(SimulationResult& result) const;

 private:
  using Clock = std::vector<int64_t>;                     // by timeline: its latest event that is complete
  using Key = std::tuple<std::string, int32_t, int32_t>;  // of a violation: its kind and lines
  struct Event {
    int32_t unit = -1, timeline = -1;
    int64_t number = 0, time = 0;  // in its unit and on its timeline, from 1
    int32_t instruction = -1, line = 0;
    int32_t expansion = 0;                // the one that sent it, from 1 on; 0: the host did
    int32_t stream = -1;                  // … and out of which stream
    int32_t first_range = 0, ranges = 0;  // tracked rows; 0: those that it accesses
  };
  struct Signal {
    Clock clock;
    int32_t event;  // that gave it
  };
  struct Range {  // rows [first, last)
    int32_t memory = -1;
    bool write = false;
    int64_t first = 0, last = 0;
  };
  struct Elements {  // last accesses of a tensor's elements, as indices into events_; 0: none
    std::vector<int32_t> writer;
    std::vector<std::vector<int32_t>> reader;  // by timeline
    std::vector<bool> undefined;               // those that hold nothing of use; empty: there are none
    bool read_only = false;
    int32_t home = -1;  // the memory that it is accessed in, of several; -1: in none yet
  };
  struct Row {                          // of a local memory
    int32_t writer = 0;                 // its last one; 0: none
    int32_t born = -1, last_used = -1;  // live range, in commands; -1: not live
    int64_t base = 0;                   // first row of the access that wrote it
  };
  struct Rows {
    std::vector<Row> row;
    std::vector<int32_t> reader;    // by row and timeline: the last one; 0: none
    int64_t words = 1;              // of `columns`, for each row
    std::vector<uint64_t> columns;  // written ones
    std::vector<int32_t> change;    // live rows, difference by command
  };
  struct Role {
    bool fence = false, wait = false, signal = false, configure = false;
    bool expands = false, preload = false, multiply = false;
    int semaphore = -1, pops = -1, pushes = -1, path = -1, rows = -1, block_step = -1;  // indices of properties
    std::vector<uint32_t> in_turn;  // by stream that it expands to: those that an older expansion has sent by then
  };
  struct UnitRules {
    int64_t unordered_writes = 0, exact_base_reads = 0, exact_base_sums = 0;
    bool paths = false;         // its writes take several
    bool preload_owns = false;  // results belong to the preload
    bool moves_in = false;
    bool streams = false;  // on the link to main memory
    bool passes = false;   // its requests may pass one another while others are on the link
    int64_t loops = 0;     // expansions under way at once; 0: it expands nothing
    int32_t first_timeline = 0, timelines = 1;
  };
  struct Clash {  // two commands of which one writes a row that the other uses
    int32_t earlier = 0, later = 0, memory = -1;
    int64_t row = 0;
    bool was_write = false, write = false;
    bool passes = false;  // in order unless their requests pass one another
    bool banks = false;   // they share no row: both add, or move by two paths, in different banks of one memory
  };
  struct Use {  // of a bank by a timeline: its last event there
    size_t bank = 0, timeline = 0;
    int32_t event = 0;
  };
  struct Shared {                   // by the banks of a memory
    int64_t rows_per_bank = 0;      // 0: they share nothing
    std::vector<Use> added, moved;  // those that add to a bank, those that move to it
  };
  struct Pair {           // of a unit
    int32_t preload = 0;  // the last one, an event; 0: none since the last fence or other command
    bool open = false;    // its multiply has not come
  };

  void add_unit(const Unit& unit, bool paths);
  [[nodiscard]] static Role role_of(const Instruction& instruction);
  void expand(int32_t instruction);
  [[nodiscard]] int32_t expansions() const { return static_cast<int32_t>(expanders_.size()) - 1; }
  [[nodiscard]] int32_t expander_of(int32_t event) const { return expanders_[at(events_[at(event)].expansion)]; }
  void track(const OperationList& list, const Operation& operation);
  void local(const AccessInstance& access);
  void other_banks(const AccessInstance& access, int32_t now, std::vector<Use>& uses);
  void moved_beyond(const OperationList& list, const Operation& operation);
  void initialised(const Rows& rows, int64_t row, int32_t memory);
  void live(Rows& rows, int64_t row, bool write);
  void close(Rows& rows, int64_t row) const;
  void lies_in(int32_t instruction, const AccessInstance& access);
  void dram(int64_t tensor, int64_t first, int64_t last, bool write);
  void dram_contents(Elements& elements, int64_t tensor, int64_t begin, int64_t end, bool write);
  bool conflict_local(int32_t before, bool was_write, int64_t row, const AccessInstance& access, int32_t now);
  [[nodiscard]] bool ordered_in_unit(const Event& earlier, bool was_write, const AccessInstance& access,
                                     bool same_base) const;
  [[nodiscard]] int32_t beside(int32_t earlier) const;
  void on_the_link();
  void settle();
  [[nodiscard]] bool reported(const Clash& clash) const;
  [[nodiscard]] int32_t between(const Clash& clash) const;
  void unordered(const Clash& clash);
  void in_two_banks(const Clash& clash);
  void passed(const Clash& clash, int32_t third);
  [[nodiscard]] bool waits(int32_t event, int32_t before) const;
  [[nodiscard]] bool may_overtake(int32_t event, int32_t before) const;
  void overtaken(int32_t before, int32_t memory, int64_t row);
  void early(int32_t other);
  [[nodiscard]] int32_t owner(bool result) const;
  void conflict_dram(int32_t before, bool was_write, bool write, int64_t tensor, int64_t element);
  void fence();
  void semaphore(const OperationList& list, const Operation& operation, const Role& role);
  void push(const OperationList& list, const Operation& operation, const Role& role);
  void take(int64_t semaphore);
  void signals_left();
  void keep_clock(int32_t event);
  void join(const int64_t* clock);
  [[nodiscard]] bool complete(const Event& event) const {
    return clocks_[static_cast<size_t>(present().unit)][static_cast<size_t>(event.timeline)] >= event.time;
  }
  [[nodiscard]] Clock with_older() const;
  void report(const char* kind, const std::string& message, int32_t other);
  [[nodiscard]] Key key_of(const char* kind, int32_t event, int32_t other) const;
  void add_event(int32_t unit, int32_t path, int32_t instruction, int32_t line);
  [[nodiscard]] int64_t setting(const std::string& key, int64_t fallback) const;
  [[nodiscard]] int64_t unit_setting(const Unit& unit, const std::string& key) const;
  [[nodiscard]] std::string text(int32_t event) const;
  [[nodiscard]] const Event& present() const { return events_[static_cast<size_t>(present_)]; }

  const CompiledMachine& machine_;
  const std::vector<TensorStore>& tensors_;
  const Options& options_;
  int32_t host_;  // behind the units
  bool tracked_;
  bool dram_by_clock_;
  std::vector<Role> roles_;
  std::vector<UnitRules> rules_;  // by unit, and the host's
  std::vector<Event> events_;
  int32_t present_ = 0;                     // the event that is being checked
  std::map<int32_t, int32_t> host_events_;  // by line: those since the last command
  std::vector<int64_t> waited_;             // by event: the clock of what is complete when it is
  std::vector<Clock> clocks_;               // by unit
  Clock now_, fenced_;                      // by timeline: its latest event; the latest one that a fence has waited for
  std::vector<int32_t> on_link_;            // by timeline: its latest event that is on the link; 0: none
  std::vector<int64_t> numbers_;            // by unit: commands so far
  std::map<int64_t, std::deque<Signal>> signals_;  // by semaphore: those that nothing has waited for yet
  std::vector<Rows> rows_;                         // by memory
  std::vector<Shared> shared_;                     // by memory
  std::vector<Elements> elements_;                 // by tensor
  std::vector<uint64_t> columns_;                  // of the access that is checked, by word
  std::vector<int32_t> checked_;                   // … by timeline, and for writers: an event that is in order
  std::vector<Range> ranges_;
  std::vector<Pair> pairs_;                   // by unit
  std::vector<Clash> clashes_;                // of the present command, until all that it waits for is known
  std::vector<std::vector<Clash>> overlaps_;  // by unit: in order as long as no other unit comes to the link
  std::map<Key, size_t> known_;               // violations
  std::vector<Violation> violations_;
  int32_t commands_ = 0;
  std::vector<int32_t> expanders_{-1};  // by expansion: the instruction, from 1 on
  int32_t settled_ = 0;                 // expansions up to this one have sent all that they send
};

}  // namespace autocomp
