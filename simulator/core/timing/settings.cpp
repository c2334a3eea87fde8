#include "timing/settings.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <stdexcept>
#include <string_view>

#include "timing/schema.hpp"
#include "timing/slot_set.hpp"

namespace autocomp::timing {
namespace {

struct Field {
  const char* key;
  int64_t UnitSettings::* member;
  int64_t low;
};

constexpr int64_t kHighest = int64_t{1} << 30;

const std::vector<Field>& unit_fields() {
  using U = UnitSettings;
  static const std::vector<Field> fields = {
      {"entries", &U::entries, 1},
      {"queue", &U::queue, 1},
      {"interlock", &U::interlock, 0},
      {"reorder", &U::reorder, 0},
      {"start", &U::start, 1},
      {"priority", &U::priority, 0},
      {"serial", &U::serial, 0},
      {"instant", &U::instant, 0},
      {"completion", &U::completion, 0},
      {"in_flight", &U::in_flight, 1},
      {"request_latency", &U::request_latency, 0},
      {"request_queue", &U::request_queue, 1},
      {"requests", &U::requests, 1},
      {"recovery", &U::recovery, 0},
      {"request_min", &U::request_min, 1},
      {"request_max", &U::request_max, 1},
      {"command_steps", &U::command_steps, 1},
      {"write_buffer", &U::write_buffer, 1},
      {"zero_latency", &U::zero_latency, 0},
      {"scale_slots", &U::scale_slots, 1},
      {"scale_latency", &U::scale_latency, 0},
      {"scale_interval", &U::scale_interval, 0},
      {"scale_recovery", &U::scale_recovery, 0},
      {"scale_window", &U::scale_window, 1},
      {"read_recovery", &U::read_recovery, 0},
      {"idle_delay", &U::idle_delay, 0},
      {"lookahead", &U::lookahead, 2},
      {"operations", &U::operations, 1},
      {"operation_exit", &U::operation_exit, 0},
      {"min_rows", &U::min_rows, 1},
      {"latency", &U::latency, 0},
      {"flush_first", &U::flush_first, 1},
      {"flush_period", &U::flush_period, 1},
      {"scale_steps", &U::scale_steps, 0},
      {"direct_latency", &U::direct_latency, 0},
      {"read_queue", &U::read_queue, 1},
      {"scale_queue", &U::scale_queue, 1},
      {"scale_input", &U::scale_input, 1},
      {"side", &U::side, 1},
      {"unroll_queue", &U::unroll_queue, 2},
      {"operand_queue", &U::operand_queue, 1},
      {"loops", &U::loops, 1},
      {"stage", &U::stage, 0},
      {"together", &U::together, 0},
  };
  return fields;
}

const std::vector<std::pair<const char*, Role>>& roles() {
  static const std::vector<std::pair<const char*, Role>> roles = {
      {"work", Role::Work},           {"configure", Role::Configure}, {"transfer", Role::Transfer},
      {"preload", Role::Preload},     {"multiply", Role::Multiply},   {"fence", Role::Fence},
      {"immediate", Role::Immediate}, {"forget", Role::Forget},       {"wait", Role::Wait},
      {"signal", Role::Signal}};
  return roles;
}

// A number outside of units: of a memory of a kind, or of a section.
struct Number {
  std::string_view place, key;
  int64_t fallback, low;
};
const std::vector<Number>& numbers() {
  static const Settings machine;
  static const DramSettings dram;
  static const MemoryPorts local;
  static const std::vector<Number> numbers = {{"dram", "bus", dram.bus, 1},
                                              {"dram", "latency", dram.latency, 0},
                                              {"dram", "page", machine.page, 0},
                                              {"dram", "channels", dram.channels, 1},
                                              {"dram", "interleave", dram.interleave, 1},
                                              {"dram", "cache_lines", dram.cache_lines, 0},
                                              {"dram", "cache_line", dram.cache_line, 1},
                                              {"dram", "cache_bus", dram.cache_bus, 1},
                                              {"dram", "cache_latency", dram.cache_latency, 0},
                                              {"local", "read_latency", local.read_latency, 1},
                                              {"local", "held_rows", local.held_rows, 1},
                                              {"local", "bandwidth", local.bandwidth, 0},
                                              {"local", "renamed", local.renamed, 0},
                                              {"local", "contention", local.contended, 0},
                                              {"host", "issue", machine.host_issue, 1},
                                              {"front", "queue", machine.front_queue, 1},
                                              {"front", "latency", machine.front_latency, 0},
                                              {"front", "width", machine.front_width, 1},
                                              {"hazards", "tracked", machine.hazards, 0},
                                              {"semaphores", "depth", machine.semaphore_depth, 0}};
  return numbers;
}

constexpr int64_t kMostPlaces = 62;  // of an expander's pipelines, which are bits of one word

[[noreturn]] void fail(const std::string& where, const std::string& key, const std::string& what) {
  throw std::invalid_argument(where + ": '" + key + "' " + what);
}

int64_t in_range(const std::string& where, const std::string& key, int64_t value, int64_t low) {
  if (value < low || value > kHighest)
    fail(where, key, "is " + std::to_string(value) + "; expected a number from " + std::to_string(low) + " on");
  return value;
}

UnitKind kind_from(const std::string& where, const std::string& word) {
  for (size_t kind = 0; kind < kKinds.size(); ++kind)
    if (word == kKinds[kind].name) return static_cast<UnitKind>(kind);
  fail(where, "kind", "is '" + word + "', which is not a kind of unit");
}

}  // namespace

UnitSettings resolve_unit(const Unit& unit) {
  UnitSettings settings;
  settings.name = unit.name;
  const std::string where = "unit " + unit.name;
  for (const auto& [key, value] : unit.settings) {
    const auto& fields = unit_fields();
    const auto field =
        std::find_if(fields.begin(), fields.end(), [&key = key](const Field& f) { return key == f.key; });
    if (field != fields.end()) settings.*(field->member) = in_range(where, key, value, field->low);
  }
  for (const auto& [key, word] : unit.choices) {
    if (key == "kind") {
      settings.kind = kind_from(where, word);
    } else if (key == "result_owner") {
      if (word != "preload" && word != "multiply") fail(where, key, "is '" + word + "'; expected preload or multiply");
      settings.owner_preload = word == "preload";
    }
  }
  if (facts(settings.kind).owner_preload) settings.owner_preload = true;
  if (facts(settings.kind).role == Role::Expand) {
    settings.entries = 0;  // its commands enter no pool
    if (settings.latency > kMostPlaces)
      fail(where, "latency",
           "is " + std::to_string(settings.latency) + "; expected at most " + std::to_string(kMostPlaces));
  }
  if (!std::has_single_bit(static_cast<uint64_t>(settings.request_min)))
    fail(where, "request_min", "is " + std::to_string(settings.request_min) + "; expected a power of two");
  if (settings.request_max < settings.request_min)
    fail(where, "request_max", "is " + std::to_string(settings.request_max) + ", less than request_min");
  return settings;
}

namespace {

Role role_from(const std::string& where, const std::string& word) {
  for (const auto& [name, role] : roles())
    if (word == name) return role;
  fail(where, "role", "is '" + word + "', which is not a role");
}

// `drams`: by memory, its number among those of tensors.
InstructionTiming resolve_instruction(const Instruction& instruction, const std::vector<UnitSettings>& units,
                                      const std::vector<size_t>& drams) {
  InstructionTiming timing;
  timing.unit = instruction.unit;
  bool asks = false;
  const std::string where = "instruction " + instruction.name;
  if (instruction.unit < 0) {
    timing.role = Role::Immediate;
  } else {
    const KindOfUnit& kind = facts(units.at(static_cast<size_t>(instruction.unit)).kind);
    asks = kind.asks;
    timing.role = kind.role == Role::Expand && instruction.streams.empty() ? Role::Configure : kind.role;
  }
  for (const auto& [pointer, memory] : instruction.homes)
    timing.homes.emplace_back(pointer, drams.at(static_cast<size_t>(memory)));
  for (const auto& [key, word] : instruction.words) {
    if (key == "role") timing.role = role_from(where, word);
  }
  for (size_t i = 0; i < instruction.properties.size(); ++i) {
    const std::string& key = instruction.properties[i].key;
    const auto found = std::find_if(kKeyNames.begin(), kKeyNames.end(), [&](const char* name) { return key == name; });
    if (found == kKeyNames.end()) continue;
    const auto known = static_cast<Key>(found - kKeyNames.begin());
    timing.keys.emplace_back(known, static_cast<uint32_t>(i));
    if (asks && known == Key::Rows) timing.rows_asked = static_cast<int32_t>(i);
    if (asks && known == Key::Stride) timing.stride_asked = static_cast<int32_t>(i);
  }
  return timing;
}

// A number of `numbers()`; `stated` is the name of the memory, or else the place, in front of its key.
int64_t number(const Machine& machine, std::string_view place, std::string_view key, const std::string& stated) {
  const auto known = std::find_if(numbers().begin(), numbers().end(),
                                  [&](const Number& n) { return n.place == place && n.key == key; });
  if (known == numbers().end()) throw std::logic_error("unknown number " + std::string(key));
  const std::string full = stated + "." + std::string(key);
  for (const auto& [name, value] : machine.settings)
    if (name == full) return in_range("settings", full, value, known->low);
  return known->fallback;
}

int64_t number(const Machine& machine, const std::string& section, std::string_view key) {
  return number(machine, section, key, section);
}

// Whether a description states a number.
bool states(const Machine& machine, const std::string& key) {
  return std::any_of(machine.settings.begin(), machine.settings.end(),
                     [&](const auto& setting) { return setting.first == key; });
}

// Whether a choice of two words is the first of them.
bool chosen(const Machine& machine, const std::string& key, const std::string& first, const std::string& second,
            bool fallback) {
  for (const auto& [name, word] : machine.choices) {
    if (name != key) continue;
    if (word != first && word != second)
      fail("settings", key, "is '" + word + "'; expected " + first + " or " + second);
    return word == first;
  }
  return fallback;
}

}  // namespace

namespace {

int64_t power_of_two(const Machine& machine, const std::string& name, const char* key) {
  const int64_t value = number(machine, "dram", key, name);
  if (!std::has_single_bit(static_cast<uint64_t>(value)))
    fail("memory " + name, key, "is " + std::to_string(value) + "; expected a power of two");
  return value;
}

// `largest`: bytes of the largest request.
DramSettings resolve_dram(const Machine& machine, const std::string& name, int64_t largest) {
  DramSettings dram;
  dram.bus = number(machine, "dram", "bus", name);
  dram.latency = number(machine, "dram", "latency", name);
  dram.channels = power_of_two(machine, name, "channels");
  dram.interleave = power_of_two(machine, name, "interleave");
  dram.cache_lines = number(machine, "dram", "cache_lines", name);
  dram.cache_line = power_of_two(machine, name, "cache_line");
  dram.cache_bus = states(machine, name + ".cache_bus") ? number(machine, "dram", "cache_bus", name) : dram.bus;
  dram.cache_latency = number(machine, "dram", "cache_latency", name);
  dram.shared_requests = chosen(machine, name + ".request_port", "shared", "separate", false);
  const int64_t least = dram.cache_lines > 0 ? std::max(largest, dram.cache_line) : largest;
  if (dram.channels > 1 && dram.interleave < least)
    fail("memory " + name, "interleave",
         "is " + std::to_string(dram.interleave) + "; expected at least " + std::to_string(least) +
             ", a request or line: those lie in one channel");
  return dram;
}

}  // namespace

Schema schema() {
  Schema schema;
  const UnitSettings unit;
  for (const Field& field : unit_fields())
    schema.numbers.push_back({"unit", field.key, unit.*(field.member), field.low});
  for (size_t k = 0; k < kKeys; ++k) schema.numbers.push_back({"property", kKeyNames[k], kPropertyDefaults[k], 0});
  for (const Number& n : numbers())
    schema.numbers.push_back({std::string(n.place), std::string(n.key), n.fallback, n.low});
  for (const KindOfUnit& kind : kKinds) schema.kinds.emplace_back(kind.name);
  for (const auto& [name, role] : roles()) schema.roles.emplace_back(name);
  return schema;
}

size_t Settings::slots() const {
  return std::accumulate(units.begin(), units.end(), size_t{0},
                         [](size_t sum, const UnitSettings& unit) { return sum + static_cast<size_t>(unit.entries); });
}

Settings resolve(const Machine& machine) {
  Settings settings;
  for (const Unit& unit : machine.units) settings.units.push_back(resolve_unit(unit));
  for (const UnitSettings& unit : settings.units)
    settings.alignment =
        std::max(settings.alignment, static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(unit.request_max))));
  if (settings.slots() > SlotSet::kMost)
    fail("units", "entries",
         "add up to " + std::to_string(settings.slots()) + "; expected at most " + std::to_string(SlotSet::kMost));
  if (std::ranges::count_if(settings.units, [](const UnitSettings& unit) { return facts(unit.kind).streams; }) > 64)
    fail("units", "kind", "is stream_in or stream_out of more than 64 units");
  std::vector<size_t> numbers(machine.memories.size());  // of memories of tensors
  for (size_t m = 0; m < machine.memories.size(); ++m) {
    const Memory& memory = machine.memories[m];
    MemoryPorts ports;
    if (memory.kind == MemoryKind::Dram) {
      if (settings.drams.empty()) settings.dram = static_cast<int32_t>(m);
      numbers[m] = settings.drams.size();
      settings.drams.push_back(resolve_dram(machine, memory.name, settings.alignment));
    }
    if (memory.kind == MemoryKind::Local) {
      ports.rows = std::max<int64_t>(1, memory.rows);
      ports.read_latency = number(machine, "local", "read_latency", memory.name);
      ports.held_rows = states(machine, memory.name + ".held_rows") ? number(machine, "local", "held_rows", memory.name)
                                                                    : ports.read_latency;
      ports.rows_per_bank = std::max<int64_t>(1, memory.rows / std::max<int64_t>(1, memory.banks));
      const auto per_bank = static_cast<uint64_t>(ports.rows_per_bank);
      if (std::has_single_bit(per_bank)) ports.shift = std::countr_zero(per_bank);
      ports.first_bank = settings.banks;
      ports.banks = static_cast<size_t>((memory.rows + ports.rows_per_bank - 1) / ports.rows_per_bank) + 1;
      settings.banks += ports.banks;
      ports.bandwidth = number(machine, "local", "bandwidth", memory.name);
      ports.element = size_of(memory.dtype);
      ports.renamed = number(machine, "local", "renamed", memory.name) != 0;
      ports.contended = number(machine, "local", "contention", memory.name) != 0;
      ports.shared_port = chosen(machine, memory.name + ".ports", "shared", "separate", true);
    }
    settings.memories.push_back(ports);
  }
  for (const Instruction& instruction : machine.instructions)
    settings.instructions.push_back(resolve_instruction(instruction, settings.units, numbers));
  if (settings.dram >= 0) {
    const std::string& name = machine.memories[static_cast<size_t>(settings.dram)].name;
    settings.page = number(machine, "dram", "page", name);
    if (settings.page != 0 &&
        (!std::has_single_bit(static_cast<uint64_t>(settings.page)) || settings.page < settings.alignment))
      fail("memory " + name, "page",
           "is " + std::to_string(settings.page) + "; expected 0 or a power of two from the largest request on");
  }
  for (const DramSettings& dram : settings.drams) {
    if (dram.channels > 1) settings.alignment = std::max(settings.alignment, dram.channels * dram.interleave);
    if (dram.cache_lines == 0) continue;
    settings.cached = true;
    settings.alignment = std::max(settings.alignment, dram.cache_line);
  }
  settings.host_issue = number(machine, "host", "issue");
  settings.front_queue = number(machine, "front", "queue");
  settings.front_latency = number(machine, "front", "latency");
  settings.front_width = number(machine, "front", "width");
  settings.hazards = number(machine, "hazards", "tracked") != 0;
  settings.semaphore_depth = number(machine, "semaphores", "depth");
  for (const InstructionTiming& instruction : settings.instructions)
    for (const auto& [key, property] : instruction.keys) settings.pushes = settings.pushes || key == Key::Pushes;
  return settings;
}

}  // namespace autocomp::timing
