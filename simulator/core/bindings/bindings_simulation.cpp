#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <functional>
#include <stdexcept>

#include "bindings/bindings.hpp"
#include "run/simulation.hpp"
#include "semantics/compiled.hpp"

namespace nb = nanobind;

namespace autocomp {
namespace {

using TensorArray = nb::ndarray<nb::c_contig, nb::device::cpu>;

Options options_from(const nb::dict& fields) {
  Options options;
  std::string code;
  for (const auto& [key, value] : fields) {
    const auto name = nb::cast<std::string>(key);
    if (name == "timing")
      options.timing = nb::cast<bool>(value);
    else if (name == "discipline")
      options.discipline = nb::cast<bool>(value);
    else if (name == "record_commands")
      options.record_commands = nb::cast<bool>(value);
    else if (name == "record_detail")
      options.record_detail = nb::cast<bool>(value);
    else if (name == "record_trace")
      options.record_trace = nb::cast<bool>(value);
    else if (name == "machine_code")
      code = nb::cast<std::string>(value);
    else if (name == "memoise")
      options.memoise = nb::cast<bool>(value);
    else if (name == "generic")
      options.generic = nb::cast<bool>(value);
    else if (name == "requirements")
      options.requirements = nb::cast<bool>(value);
    else if (name == "max_cycles")
      options.max_cycles = nb::cast<int64_t>(value);
    else if (name == "max_steps")
      options.max_steps = nb::cast<int64_t>(value);
    else if (name == "max_commands")
      options.max_commands = nb::cast<int64_t>(value);
    else if (name == "max_bytes")
      options.max_bytes = nb::cast<int64_t>(value);
    else if (name == "window")
      options.window = nb::cast<size_t>(value);
    else if (name == "seed")
      options.seed = nb::cast<uint64_t>(value);
    else if (name == "host_scale")
      options.host_scale = nb::cast<double>(value);
    else if (name == "outputs")
      options.outputs = nb::cast<std::vector<int32_t>>(value);
    else if (name == "inputs")
      options.inputs = nb::cast<std::vector<int32_t>>(value);
    else if (name == "clock")
      options.clock = nb::cast<std::vector<int64_t>>(value);
    else if (name == "host_data")
      options.host_data = nb::cast<bool>(value);
    else if (name == "settings")
      for (const auto& [setting, number] : nb::cast<nb::dict>(value))
        options.settings.emplace_back(nb::cast<std::string>(setting), nb::cast<int64_t>(number));
    else
      throw std::invalid_argument("unknown option '" + name + "'");
  }
  if (!(options.host_scale >= 0.0 && options.host_scale <= 1e6))
    throw std::invalid_argument("option host_scale: expected a number in 0..1e6");
  options.machine_code = machine_code(code, this_processor());
  if (options.window < 1) throw std::invalid_argument("option window: expected at least 1");
  if (options.max_commands < 1) throw std::invalid_argument("option max_commands: expected at least 1");
  if (options.max_bytes < 1) throw std::invalid_argument("option max_bytes: expected at least 1");
  if (options.max_steps < 1) throw std::invalid_argument("option max_steps: expected at least 1");
  return options;
}

// One number of each record.
template <typename T, typename Record, typename Get>
nb::object column_of(const std::vector<Record>& records, Get get) {
  std::vector<T> values;
  values.reserve(records.size());
  for (const Record& record : records) values.push_back(static_cast<T>(get(record)));
  return array_of(std::move(values));
}

nb::dict spans_to_python(const std::vector<UnitSpan>& spans) {
  nb::dict out;
  out["start"] = column_of<int64_t>(spans, [](const UnitSpan& s) { return s.start; });
  out["unit"] = column_of<int32_t>(spans, [](const UnitSpan& s) { return s.unit; });
  out["cause"] = column_of<int32_t>(spans, [](const UnitSpan& s) { return s.cause; });
  return out;
}

nb::dict accesses_to_python(const std::vector<AccessRecord>& accesses) {
  const auto points = [](const AccessRecord& r) {
    int64_t n = 1;
    for (int d = 0; d < r.access.dims; ++d) n = scalar::mul(n, r.access.count[d]);
    return n;
  };
  nb::dict out;
  out["command"] = column_of<int64_t>(accesses, [](const AccessRecord& r) { return r.command; });
  out["memory"] = column_of<int32_t>(accesses, [](const AccessRecord& r) { return r.access.memory; });
  out["write"] = column_of<int8_t>(accesses, [](const AccessRecord& r) { return r.access.write; });
  out["parameter"] = column_of<int32_t>(accesses, [](const AccessRecord& r) { return r.access.parameter; });
  out["tensor"] = column_of<int32_t>(accesses, [](const AccessRecord& r) { return r.access.tensor; });
  out["first"] = column_of<int64_t>(accesses, [](const AccessRecord& r) { return r.access.first(); });
  out["last"] = column_of<int64_t>(accesses, [](const AccessRecord& r) { return r.access.last(); });
  out["points"] = column_of<int64_t>(accesses, points);
  out["bytes"] =
      column_of<int64_t>(accesses, [&](const AccessRecord& r) { return scalar::mul(points(r), r.access.bytes); });
  return out;
}

nb::dict commands_to_python(const Machine& machine, const SimulationResult& result) {
  nb::dict out;
  const auto column = [&]<typename T>(T, auto get) { return column_of<T>(result.timing.commands, get); };
  out["instruction"] = column(int32_t{}, [](const CommandTiming& c) { return c.instruction; });
  out["unit"] = column(
      int32_t{}, [&](const CommandTiming& c) { return machine.instructions[static_cast<size_t>(c.instruction)].unit; });
  out["line"] = column(int32_t{}, [](const CommandTiming& c) { return c.line; });
  out["offered"] = column(int64_t{}, [](const CommandTiming& c) { return c.offered; });
  out["accepted"] = column(int64_t{}, [](const CommandTiming& c) { return c.accepted; });
  out["allocated"] = column(int64_t{}, [](const CommandTiming& c) { return c.allocated; });
  out["issued"] = column(int64_t{}, [](const CommandTiming& c) { return c.issued; });
  out["started"] = column(int64_t{}, [](const CommandTiming& c) { return c.started; });
  out["completed"] = column(int64_t{}, [](const CommandTiming& c) { return c.completed; });
  out["wait_cycles"] = column(int64_t{}, [](const CommandTiming& c) { return c.wait_cycles; });
  out["cause"] = column(int32_t{}, [](const CommandTiming& c) { return static_cast<int32_t>(c.wait); });
  out["release"] = column(int32_t{}, [](const CommandTiming& c) { return static_cast<int32_t>(c.release); });
  out["sender"] = column(int32_t{}, [](const CommandTiming& c) { return c.sender; });
  out["released_by"] = column(int64_t{}, [](const CommandTiming& c) { return c.released_by; });
  return out;
}

nb::dict timing_to_python(const Machine& machine, const SimulationResult& result) {
  const TimingResult& timing = result.timing;
  nb::dict out;
  out["cycles"] = timing.cycles;
  out["segment_cycles"] = timing.segment_cycles;
  nb::list causes;
  for (int c = 0; c < static_cast<int>(Cause::Count); ++c) causes.append(name_of(static_cast<Cause>(c)));
  out["cause_names"] = causes;
  nb::list units;
  for (size_t u = 0; u < timing.unit_cycles.size(); ++u)
    units.append(nb::make_tuple(machine.units.at(u).name, timing.unit_cycles[u]));
  out["units"] = units;
  out["notes"] = timing.notes;
  out["spans"] = timing.spans.empty() ? nb::object(nb::none()) : nb::object(spans_to_python(timing.spans));
  if (timing.commands.empty())
    out["commands"] = nb::none();
  else
    out["commands"] = commands_to_python(machine, result);
  return out;
}

nb::dict to_python(const Machine& machine, SimulationResult result, const Options& options) {
  nb::dict out;
  if (result.failed)
    out["error"] = nb::make_tuple(result.error.kind, result.error.message, result.error.line);
  else
    out["error"] = nb::none();
  out["steps"] = result.steps;
  out["command_count"] = result.command_count;
  if (result.timed)
    out["timing"] = timing_to_python(machine, result);
  else
    out["timing"] = nb::none();
  out["notes"] = result.notes;
  out["accesses"] = result.accesses.empty() ? nb::object(nb::none()) : nb::object(accesses_to_python(result.accesses));
  nb::list violations;
  for (const auto& v : result.violations) {
    const nb::object other = v.other_line < 0 ? nb::object(nb::none()) : nb::cast(v.other_line);
    violations.append(nb::make_tuple(v.kind, v.message, v.line, other, v.count));
  }
  out["violations"] = violations;
  nb::list memory;
  for (const auto& m : result.memory) memory.append(nb::make_tuple(m.memory, m.rows, m.rows_touched, m.rows_live_peak));
  out["memory"] = memory;
  out["dram_bytes_read"] = result.dram_bytes_read;
  out["dram_bytes_written"] = result.dram_bytes_written;
  out["multiply_accumulates"] = result.multiply_accumulates;
  nb::list work;
  for (size_t u = 0; u < result.work.size(); ++u) {
    const UnitWork& unit = result.work[u];
    const std::string name = u == 0 ? "" : machine.units.at(u - 1).name;
    nb::list traffic;
    for (size_t m = 0; m < unit.traffic.size(); ++m)
      if (const Traffic& t = unit.traffic[m]; t.read != 0 || t.written != 0)
        traffic.append(nb::make_tuple(machine.memories[m].name, t.read, t.written));
    work.append(nb::make_tuple(name, unit.commands, unit.multiply_accumulates, traffic));
  }
  out["work"] = work;
  out["stream"] = result.stream;
  out["printed"] = result.printed;
  out["not_printed"] = result.not_printed;
  out["clock_readings"] = result.clock_readings;
  out["exit_code"] = result.exit_code;
  out["seconds"] = result.seconds;
  if (options.record_trace)
    out["trace"] = nb::cast(std::move(result.trace));
  else
    out["trace"] = nb::none();
  return out;
}

// Lets Python's signal handlers run now and then, so that Ctrl-C ends a simulation; only the main thread has any.
std::function<void()> signal_poll() {
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kInterval{50};
  return [next = Clock::now() + kInterval]() mutable {
    if (Clock::now() < next) return;
    next = Clock::now() + kInterval;
    const nb::gil_scoped_acquire held;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
  };
}

std::vector<TensorView> views_of(const std::vector<TensorArray>& tensors) {
  std::vector<TensorView> views;
  for (const auto& tensor : tensors)
    views.push_back({static_cast<uint8_t*>(tensor.data()), static_cast<int64_t>(tensor.nbytes())});
  return views;
}

nb::dict run_python(const CompiledMachine& machine, const Program& program, const std::vector<TensorArray>& tensors,
                    const std::vector<TensorArray>& before, const nb::dict& fields) {
  Options options = options_from(fields);
  options.poll = signal_poll();
  const std::vector<TensorView> views = views_of(tensors), earlier = views_of(before);
  SimulationResult result;
  {
    const nb::gil_scoped_release released;
    result = run(machine, program, views, earlier, options);
  }
  return to_python(machine.machine(), std::move(result), options);
}

nb::dict replay_python(const CompiledMachine& machine, const Trace& trace, const nb::dict& fields) {
  Options options = options_from(fields);
  options.poll = signal_poll();
  SimulationResult result;
  {
    const nb::gil_scoped_release released;
    result = replay(machine, trace, options);
  }
  return to_python(machine.machine(), std::move(result), options);
}

}  // namespace

void bind_simulation(nb::module_& m) {
  using namespace nb::literals;
  m.def("run", &run_python, "machine"_a, "program"_a, "tensors"_a, "before"_a, "options"_a,
        "Runs a program on its parameter tensors, which are written in place; first on those of `before`, if there are "
        "any.");
  m.def(
      "choose_machine_code",
      [](const std::string& wanted, bool avx2, bool avx512) {
        const Processor processor{avx2, avx512};
        return kMachineCodeNames[static_cast<size_t>(machine_code(wanted, processor))];
      },
      "wanted"_a, "avx2"_a, "avx512"_a, "The machine code that a processor with these runs; wanted: its name or ''.");
  m.def(
      "machine_codes",
      [] {
        std::vector<std::string> names;
        for (const MachineCode code : usable(this_processor()))
          names.emplace_back(kMachineCodeNames[static_cast<size_t>(code)]);
        return names;
      },
      "Machine codes that this processor can run, the fastest last.");
  m.def("replay", &replay_python, "machine"_a, "trace"_a, "options"_a, "Times a trace; no data.");
}

}  // namespace autocomp
