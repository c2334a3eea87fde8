#include "run/session.hpp"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <utility>

namespace autocomp {
namespace {

constexpr int64_t kTensorAlignment = 4096;
constexpr int64_t kIterationsPerStep = 16;  // of interpreted semantics, for each step that a run may take
constexpr int64_t kMostSteps = int64_t{1} << 48;
constexpr int64_t kCommandsPerPoll = 256;
constexpr size_t kMostPrinted = size_t{1} << 20;  // words of messages and their arguments

Budget budget(const Options& options) {
  return {std::min(options.max_steps, kMostSteps) * kIterationsPerStep, options.poll};
}

std::vector<LocalStore> make_memories(const Machine& machine, uint64_t seed, bool with_data) {
  std::vector<LocalStore> stores;
  for (size_t i = 0; i < machine.memories.size(); ++i) {
    const Memory& memory = machine.memories[i];
    LocalStore store;
    if (memory.kind != MemoryKind::Dram) {
      store = {memory.rows, memory.cols, size_of(memory.dtype), memory.dtype, {}, nullptr};
      if (with_data && memory.shown < 0) fill_local(store, seed == 0 ? 0 : seed + i);
      if (memory.shown >= 0) store.data = stores[at(memory.shown)].data;
    }
    stores.push_back(std::move(store));
  }
  return stores;
}

std::string number_text(int64_t value) {
  if (value >= -0xFFFF && value <= 0xFFFF) return std::to_string(value);
  char text[32];
  std::snprintf(text, sizeof(text), "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

void set(std::vector<std::pair<std::string, int64_t>>& settings, const std::string& key, int64_t value) {
  const auto known = std::find_if(settings.begin(), settings.end(), [&](const auto& old) { return old.first == key; });
  if (known != settings.end())
    known->second = value;
  else
    settings.emplace_back(key, value);
}

// "unit.key" is a setting of that unit, any other key one of the machine.
Machine with_settings(Machine machine, const std::vector<std::pair<std::string, int64_t>>& overrides) {
  for (const auto& [key, value] : overrides) {
    const size_t dot = key.find('.');
    const auto unit = std::find_if(machine.units.begin(), machine.units.end(),
                                   [&, name = key.substr(0, dot)](const Unit& u) { return u.name == name; });
    if (dot != std::string::npos && unit != machine.units.end())
      set(unit->settings, key.substr(dot + 1), value);
    else
      set(machine.settings, key, value);
  }
  return machine;
}

std::vector<int64_t> addresses(const std::vector<TensorStore>& tensors) {
  std::vector<int64_t> result;
  int64_t next = kTensorAlignment;
  for (const auto& tensor : tensors) {
    result.push_back(next);
    next += (tensor.bytes + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment;
  }
  return result;
}

}  // namespace

Session::Session(const CompiledMachine& machine, const Options& options, std::vector<TensorStore> tensors,
                 bool with_data)
    : machine_(machine),
      options_(options),
      memories_(make_memories(machine.machine(), options.seed, with_data)),
      tensors_(std::move(tensors)),
      evaluator_(machine, memories_, tensors_, budget(options)),
      executor_(machine, evaluator_, memories_, tensors_, options.generic, options.machine_code),
      plans_(machine, evaluator_, executor_, memories_, tensors_, options.machine_code),
      expander_(machine, tensors_, budget(options)),
      places_(options.seed),
      values_(64),
      enough_(options.window) {
  const Machine& tables = machine.machine();
  result.work.resize(tables.units.size() + 1, UnitWork{.traffic = std::vector<Traffic>(tables.memories.size())});
  if (options.discipline && with_data) discipline_ = std::make_unique<Discipline>(machine, tensors_, options);
  if (options.timing)
    timing_ = std::make_unique<TimingRun>(
        machine, options.settings.empty() ? machine.machine() : with_settings(machine.machine(), options.settings),
        TimingOptions{options.record_commands, options.record_detail, options.memoise, options.max_cycles,
                      addresses(tensors_), options.poll},
        operations_);
}

int64_t Session::host_cycles(int64_t cycles) const {
  return options_.host_scale == 1.0 ? cycles : static_cast<int64_t>(static_cast<double>(cycles) * options_.host_scale);
}

std::string Session::call_text(int32_t instruction, const Value* arguments) const {
  const Instruction& table = machine_.machine().instructions[static_cast<size_t>(instruction)];
  std::string text = table.name + "(";
  for (size_t i = 0; i < table.parameters.size(); ++i) {
    text += (i == 0 ? "" : ", ") + table.parameters[i] + " = ";
    if (table.parameter_types[i] == ValueType::Float) {
      char number[32];
      std::snprintf(number, sizeof(number), "%g", static_cast<double>(arguments[i].f));
      text += number;
    } else {
      const std::string pointer = describe_pointer(tensors_, arguments[i].i);
      const bool is_pointer = arguments[i].i != 0 && pointer != std::to_string(arguments[i].i);
      const bool address = std::ranges::count(table.pointers, static_cast<int32_t>(i)) != 0 && arguments[i].i != 0;
      text += is_pointer ? pointer : address ? "?" : number_text(arguments[i].i);
    }
  }
  return text + ")";
}

void Session::command(int32_t instruction, const int64_t* arguments, int32_t line, int64_t host) {
  const Instruction& table = machine_.machine().instructions[static_cast<size_t>(instruction)];
  for (size_t i = 0; i < table.parameter_types.size(); ++i)
    values_[i] = table.parameter_types[i] == ValueType::Int
                     ? int_value(arguments[i])
                     : float_value(static_cast<float>(std::bit_cast<double>(arguments[i])));
  for (const int32_t p : table.pointers) values_[at(p)] = int_value(places_.shown(arguments[p]));
  hash_command(instruction, arguments);
  const int64_t cycles = host_cycles(host);
  if (options_.record_trace) result.trace.append(instruction, values_.data(), table.parameters.size(), cycles, line);
  if (table.streams.empty()) return execute(instruction, line, cycles);
  expand(instruction, values_.data(), [&](int32_t i, int64_t c) { execute(i, line, c); }, cycles);
}

// Of the command whose arguments are in values_; `arguments` has its floats in full. Streams with the same hash are the
// same, but for a chance of 2^-64.
void Session::hash_command(int32_t instruction, const int64_t* arguments) {
  const auto add = [this](uint64_t word) {
    result.stream = (result.stream ^ word) * 0x9E3779B97F4A7C15U;
    result.stream ^= result.stream >> 32;
  };
  add(static_cast<uint64_t>(instruction));
  const auto& types = machine_.machine().instructions[at(instruction)].parameter_types;
  for (size_t i = 0; i < types.size(); ++i)
    add(static_cast<uint64_t>(types[i] == ValueType::Int ? values_[i].i : arguments[i]));
}

void Session::execute(int32_t instruction, int32_t line, int64_t cycles) {
  try {
    if (options_.generic || !run_plan(instruction, line, cycles)) {
      evaluator_.begin(instruction, values_.data());
      if (!evaluator_.tape_valid()) check_requirements(instruction);
      decode(machine_, evaluator_, instruction, line, cycles, operations_);
      executor_.execute(instruction);
      (void)clip_last(machine_, operations_);
      count_last();
    }
  } catch (const Fault& fault) {
    throw Fault{fault.kind, call_text(instruction, values_.data()) + ": " + fault.message};
  }
  note_sender();
  if (discipline_) discipline_->command(operations_);
  observe();
}

void Session::note_sender() {
  operations_.operations.back().sender = sender_;
  operations_.operations.back().stream = stream_;
}

template <typename Issue>
void Session::expand(int32_t instruction, const Value* arguments, Issue issue, int64_t cycles) {
  const Instruction& table = machine_.machine().instructions[at(instruction)];
  const std::vector<Value> given(arguments, arguments + table.parameters.size());
  const std::vector<Value> before = evaluator_.state;
  expanding_ = true;
  issue(instruction, cycles);
  sender_ = table.unit;
  const int64_t number = operations_.count() - 1;
  try {
    Expansion expansion = expander_.begin(instruction, given.data(), before);
    expansion.operation = number;
    while (StreamCommand* command = expander_.next(expansion)) {
      expander_.arguments(*command, values_);
      command->operation = operations_.count();
      stream_ = command->stream;
      issue(static_cast<int32_t>(machine_.machine().statements[at(command->statement)].imm), 0);
    }
    sender_ = stream_ = -1;
    expanding_ = false;
    if (timing_) operations_.expansions.push_back(std::move(expansion));
  } catch (const Fault& fault) {
    throw Fault{fault.kind, call_text(instruction, given.data()) + ": " + fault.message};
  }
}

// Lets timing go on once there is enough to do, with whole expansions, and forgets what no observer needs any more.
void Session::observe() {
  if (options_.record_detail) {
    const Operation& operation = operations_.operations.back();
    for (uint32_t a = 0; a < operation.access_count; ++a)
      if (const AccessInstance& access = operations_.accesses_of(operation)[a]; !access.tracked)
        result.accesses.push_back({result.command_count, access});
  }
  if (++result.command_count % kCommandsPerPoll == 0) evaluator_.budget.poll();  // commands can take long
  if (!timing_) {
    operations_.forget(operations_.count());
  } else if (!expanding_ && operations_.operations.size() >= enough_) {
    timing_->advance();
    if (timing_->failure()) throw fault_of(*timing_->failure());
    const size_t kept = operations_.operations.size();
    enough_ = kept + std::max(options_.window, kept / 8);
  }
}

bool Session::run_plan(int32_t instruction, int32_t line, int64_t cycles) {
  Operation operation;
  operation.instruction = instruction;
  operation.line = line;
  operation.host_cycles = cycles;
  const bool detailed = options_.timing || discipline_ != nullptr;
  const auto* traffic = plans_.run(instruction, values_.data(), operation, detailed, operations_);
  if (traffic == nullptr) return false;
  count(instruction, *traffic);
  return true;
}

// A requirement that fails says more than what goes wrong because of it.
void Session::check_requirements(int32_t instruction) {
  for (const int32_t index : machine_.machine().instructions[static_cast<size_t>(instruction)].body) {
    const Statement& s = machine_.machine().statements[static_cast<size_t>(index)];
    if (s.kind != StatementKind::Require) break;
    if (evaluator_.integer(s.a) == 0) throw Fault{"requirement", s.message};
  }
}

void Session::replay(int32_t instruction, const Value* arguments, int32_t line, int64_t host) {
  const int64_t cycles = host_cycles(host);
  if (machine_.machine().instructions[at(instruction)].streams.empty())
    return record(instruction, arguments, line, cycles);
  std::copy_n(arguments, machine_.machine().instructions[at(instruction)].parameters.size(), values_.begin());
  expand(instruction, values_.data(), [&](int32_t i, int64_t c) { record(i, values_.data(), line, c); }, cycles);
}

void Session::record(int32_t instruction, const Value* arguments, int32_t line, int64_t host_cycles) {
  const size_t parameters = machine_.machine().instructions[at(instruction)].parameters.size();
  if (options_.record_trace) result.trace.append(instruction, arguments, parameters, host_cycles, line);
  evaluator_.begin(instruction, arguments);
  decode(machine_, evaluator_, instruction, line, host_cycles, operations_);
  const std::string* failed = executor_.configure(instruction);
  const std::string outside = clip_last(machine_, operations_);
  const std::string where = "command " + std::to_string(result.command_count) + ", ";
  if (failed != nullptr && options_.requirements && result.notes.size() < 20)
    result.notes.push_back(where + call_text(instruction, arguments) + ": " + *failed);
  if (!outside.empty()) throw Fault{"bounds", where + call_text(instruction, arguments) + ": " + outside};
  count_last();
  note_sender();
  observe();
}

void Session::host_access(int64_t tensor, int64_t offset, int64_t bytes, bool write, int32_t line) {
  if (discipline_) discipline_->host_access(tensor, offset, bytes, write, line);
}

void Session::undefine(int64_t tensor) {
  if (discipline_) discipline_->undefine(tensor);
}

void Session::print(int64_t message, const int64_t* arguments, int64_t count) {
  if (result.printed.size() + static_cast<size_t>(count) + 2 > kMostPrinted) {
    ++result.not_printed;
    return;
  }
  result.printed.push_back(message);
  result.printed.push_back(count);
  result.printed.insert(result.printed.end(), arguments, arguments + count);
}

int64_t Session::clock() {
  const size_t reading = result.clock_readings.size();
  if (reading < kMostPrinted) result.clock_readings.push_back(result.command_count);
  return reading < options_.clock.size() ? options_.clock[reading]
                                         : result.command_count + static_cast<int64_t>(reading);
}

void Session::take_over(const Session& used) {
  for (size_t i = 0; i < memories_.size(); ++i)  // in place: views show the bytes where they are
    std::copy(used.memories_[i].bytes.begin(), used.memories_[i].bytes.end(), memories_[i].bytes.begin());
  evaluator_.state = used.evaluator_.state;
}

void Session::fail(const Fault& fault, int32_t line) {
  result.failed = true;
  result.error = {fault.kind, fault.message, fault.line != 0 ? fault.line : line};
}

void Session::returned(int64_t tail_cycles) {
  if (discipline_) discipline_->returned();
  finish(tail_cycles);
}

void Session::finish(int64_t tail_cycles) {
  if (discipline_) discipline_->finish(result);
  if (!timing_) return;
  result.timing = timing_->finish(host_cycles(tail_cycles));
  result.timed = true;
  if (result.timing.failure) fail(fault_of(*result.timing.failure), 0);
}

Fault Session::fault_of(const TimingFailure& failure) const {
  std::string message = failure.message;
  if (failure.instruction >= 0)
    message += "; the oldest command under way is " +
               machine_.machine().instructions[static_cast<size_t>(failure.instruction)].name;
  return {failure.kind, message, failure.line};
}

void Session::count_last() {
  const Operation& operation = operations_.operations.back();
  std::vector<Traffic> traffic;
  for (uint32_t i = 0; i < operation.access_count; ++i)
    count_access(operations_.accesses[operation.first_access + i], traffic);
  count(operation.instruction, traffic);
}

void Session::count(int32_t instruction, const std::vector<Traffic>& traffic) {
  const Instruction& table = machine_.machine().instructions[at(instruction)];
  const size_t unit = at(table.unit + 1);
  UnitWork& work = result.work[unit];
  // Of tensors in several memories those of the first pointer's are counted.
  const int32_t home = table.homes.empty() || table.homes.front().first != table.pointers.front()
                           ? machine_.dram()
                           : table.homes.front().second;
  for (const Traffic& t : traffic) {
    const bool tensors = t.memory == machine_.dram();
    Traffic& total = work.traffic[at(tensors ? home : t.memory)];
    total.read = scalar::add(total.read, t.read);
    total.written = scalar::add(total.written, t.written);
    if (!tensors) continue;
    result.dram_bytes_read = scalar::add(result.dram_bytes_read, t.read);
    result.dram_bytes_written = scalar::add(result.dram_bytes_written, t.written);
  }
  ++work.commands;
  work.multiply_accumulates +=
      evaluator_.multiply_accumulates - std::exchange(counted_, evaluator_.multiply_accumulates);
  result.multiply_accumulates = evaluator_.multiply_accumulates;
}

}  // namespace autocomp
