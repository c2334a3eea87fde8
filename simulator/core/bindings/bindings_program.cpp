#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <memory>
#include <stdexcept>

#include "bindings/bindings.hpp"
#include "program/program.hpp"
#include "run/trace.hpp"
#include "semantics/compiled.hpp"
#include "tables/names.hpp"

namespace nb = nanobind;

namespace autocomp {
namespace {

using CodeArray = nb::ndarray<const int64_t, nb::shape<-1, 5>, nb::c_contig, nb::device::cpu>;
using LineArray = nb::ndarray<const int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using HostArray = nb::ndarray<const int64_t, nb::shape<-1, 2>, nb::c_contig, nb::device::cpu>;
using CycleArray = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

constexpr int64_t kMostHostCycles = int64_t{1} << 30;

uint16_t operand(int64_t value, size_t row, const char* name) {
  if (value < 0 || value > 0xFFFF)
    throw std::invalid_argument("bytecode " + std::to_string(row) + ": " + name + " = " + std::to_string(value) +
                                " is not in 0..65535");
  return static_cast<uint16_t>(value);
}

int32_t host_cycles(int64_t value, size_t row) {
  if (value < -kMostHostCycles || value > kMostHostCycles)
    throw std::invalid_argument("bytecode " + std::to_string(row) + ": " + std::to_string(value) +
                                " host cycles are not in -2^30..2^30");
  return static_cast<int32_t>(value);
}

Tensor tensor_from(nb::handle item) {
  const auto fields = nb::cast<nb::tuple>(item);
  if (fields.size() != 5)
    throw std::invalid_argument("a tensor is (name, dtype, shape, initial bytes or None, parameter)");
  Tensor tensor{.name = nb::cast<std::string>(fields[0]), .dtype = dtype_from(nb::cast<std::string>(fields[1]))};
  for (const auto& extent : fields[2]) tensor.shape.push_back(nb::cast<int64_t>(extent));
  if (!fields[3].is_none()) {
    const auto initial = nb::cast<nb::bytes>(fields[3]);
    tensor.initial.resize(initial.size());
    if (initial.size() > 0) std::memcpy(tensor.initial.data(), initial.c_str(), initial.size());
  }
  tensor.parameter = nb::cast<bool>(fields[4]);
  return tensor;
}

void init_program(Program* self, const CompiledMachine& machine, const CodeArray& code, const LineArray& lines,
                  const nb::object& tensors, int32_t frame_size, int32_t stack_size,
                  const std::optional<HostArray>& host, const std::vector<std::string>& messages) {
  Program program{.frame_size = frame_size, .stack_size = stack_size};
  program.code.resize(code.shape(0));
  for (size_t i = 0; i < code.shape(0); ++i) {
    const int64_t* row = code.data() + 5 * i;
    program.code[i] = {static_cast<Code>(operand(row[0], i, "code")), operand(row[1], i, "a"), operand(row[2], i, "b"),
                       operand(row[3], i, "c"), row[4]};
  }
  program.lines.assign(lines.data(), lines.data() + lines.shape(0));
  for (const auto& item : tensors) program.tensors.push_back(tensor_from(item));
  if (host)
    for (size_t i = 0; i < host->shape(0); ++i)
      program.host.push_back({host_cycles(host->data()[2 * i], i), host_cycles(host->data()[2 * i + 1], i)});
  program.messages = messages;
  program.validate(machine.machine());
  new (self) Program(std::move(program));
}

nb::list program_parameters(const Program& program) {
  nb::list parameters;
  for (const auto& tensor : program.tensors)
    if (tensor.parameter)
      parameters.append(nb::make_tuple(tensor.name, name_of(tensor.dtype), nb::tuple(nb::cast(tensor.shape))));
  return parameters;
}

Value value_from(nb::handle item, ValueType type) {
  if (type == ValueType::Float) return float_value(nb::cast<float>(nb::float_(item)));
  if (nb::isinstance<nb::int_>(item)) {
    int64_t exact = 0;
    if (nb::try_cast(item, exact)) return int_value(exact);
    return int_value(static_cast<int64_t>(nb::cast<uint64_t>(item)));
  }
  const double number = nb::cast<double>(nb::float_(item));
  if (!(number >= -9223372036854775808.0 && number < 9223372036854775808.0) || number != std::trunc(number))
    throw std::invalid_argument("an integer argument was given the number " + std::to_string(number));
  return int_value(static_cast<int64_t>(number));
}

void init_trace(Trace* self, const CompiledMachine& machine, const LineArray& instructions, const nb::object& arguments,
                const CycleArray& host_cycles, const std::optional<LineArray>& lines) {
  const size_t count = instructions.shape(0);
  if (host_cycles.shape(0) != count || nb::len(arguments) != count || (lines && lines->shape(0) != count))
    throw std::invalid_argument("instructions, arguments, host_cycles and lines differ in length");
  const auto& table = machine.machine().instructions;
  Trace trace;
  std::vector<Value> values;
  size_t i = 0;
  for (const auto& row : arguments) {
    const int32_t index = instructions.data()[i];
    const std::string where = "command " + std::to_string(i);
    if (index < 0 || static_cast<size_t>(index) >= table.size())
      throw std::invalid_argument(where + ": instruction " + std::to_string(index) + " does not exist");
    const Instruction& instruction = table[static_cast<size_t>(index)];
    if (nb::len(row) != instruction.parameters.size())
      throw std::invalid_argument(where + ": " + instruction.name + " takes " +
                                  std::to_string(instruction.parameters.size()) + " arguments, not " +
                                  std::to_string(nb::len(row)));
    if (host_cycles.data()[i] < 0) throw std::invalid_argument(where + ": negative host cycles");
    values.clear();
    for (const auto& item : row) values.push_back(value_from(item, instruction.parameter_types[values.size()]));
    trace.append(index, values.data(), values.size(), host_cycles.data()[i], lines ? lines->data()[i] : 0);
    ++i;
  }
  new (self) Trace(std::move(trace));
}

nb::list trace_commands(const Trace& trace, const CompiledMachine& machine) {
  nb::list rows;
  for (size_t i = 0; i < trace.instructions.size(); ++i) {
    const auto& types = machine.machine().instructions.at(static_cast<size_t>(trace.instructions[i])).parameter_types;
    nb::list arguments;
    for (size_t p = 0; p < types.size(); ++p) {
      const Value& value = trace.arguments[trace.first_argument[i] + p];
      if (types[p] == ValueType::Float)
        arguments.append(nb::float_(static_cast<double>(value.f)));
      else
        arguments.append(nb::int_(value.i));
    }
    rows.append(nb::make_tuple(trace.instructions[i], arguments, trace.host_cycles[i], trace.lines[i]));
  }
  return rows;
}

// All commands at once: instructions, where the arguments of each begin, and the arguments one after another, binary32
// ones as their bits.
nb::tuple trace_columns(const Trace& trace, const CompiledMachine& machine) {
  std::vector<int64_t> arguments(trace.arguments.size());
  std::vector<int64_t> first(trace.first_argument.begin(), trace.first_argument.end());
  for (size_t i = 0; i < trace.instructions.size(); ++i) {
    const auto& types = machine.machine().instructions.at(static_cast<size_t>(trace.instructions[i])).parameter_types;
    for (size_t p = 0; p < types.size(); ++p) {
      const Value& value = trace.arguments[trace.first_argument[i] + p];
      arguments[trace.first_argument[i] + p] =
          types[p] == ValueType::Float ? int64_t{std::bit_cast<uint32_t>(value.f)} : value.i;
    }
  }
  return nb::make_tuple(array_of(std::vector<int32_t>(trace.instructions)), array_of(std::move(first)),
                        array_of(std::move(arguments)), array_of(std::vector<int32_t>(trace.lines)));
}

}  // namespace

void bind_program(nb::module_& m) {
  using namespace nb::literals;
  nb::class_<Program>(m, "Program", "Checked bytecode of one kernel for one machine.")
      .def("__init__", &init_program, "machine"_a, "code"_a, "lines"_a, "tensors"_a, "frame_size"_a, "stack_size"_a,
           "host_cycles"_a = nb::none(), "messages"_a = std::vector<std::string>{})
      .def_prop_ro("parameters", &program_parameters, "(name, dtype, shape) of each parameter tensor, in order");
  nb::class_<Trace>(m, "Trace", "Commands without a kernel.")
      .def("__init__", &init_trace, "machine"_a, "instructions"_a, "arguments"_a, "host_cycles"_a,
           "lines"_a = nb::none())
      .def("commands", &trace_commands, "machine"_a,
           "(instruction, arguments, host cycles, line) of each command, in issue order")
      .def("columns", &trace_columns, "machine"_a,
           "instructions, the place of each command's first argument, arguments (binary32 as bits), lines")
      .def("__len__", [](const Trace& trace) { return trace.instructions.size(); });
}

}  // namespace autocomp
