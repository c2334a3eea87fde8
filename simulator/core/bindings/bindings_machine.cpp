#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <stdexcept>

#include "bindings/bindings.hpp"
#include "semantics/compiled.hpp"
#include "tables/builder.hpp"
#include "tables/names.hpp"

namespace nb = nanobind;

namespace autocomp {
namespace {

using Indices = std::vector<int32_t>;

Access access_from(const nb::dict& fields) {
  Access access;
  for (const auto& [key, value] : fields) {
    const auto name = nb::cast<std::string>(key);
    if (name == "memory")
      access.memory = nb::cast<int32_t>(value);
    else if (name == "write")
      access.write = nb::cast<bool>(value);
    else if (name == "guard")
      access.guard = nb::cast<int32_t>(value);
    else if (name == "pointer")
      access.pointer = nb::cast<int32_t>(value);
    else if (name == "base")
      access.base = nb::cast<int32_t>(value);
    else if (name == "first_col")
      access.first_col = nb::cast<int32_t>(value);
    else if (name == "cols")
      access.cols = nb::cast<int32_t>(value);
    else if (name == "bytes")
      access.bytes = nb::cast<int32_t>(value);
    else if (name == "parameter")
      access.parameter = nb::cast<int32_t>(value);
    else if (name == "point")
      access.point = nb::cast<int32_t>(value);
    else if (name == "loops")
      access.loops = nb::cast<std::vector<int32_t>>(value);
    else if (name == "point_bytes")
      access.point_bytes = nb::cast<int64_t>(value);
    else if (name == "accumulate_read")
      access.accumulate_read = nb::cast<bool>(value);
    else if (name == "tracked")
      access.tracked = nb::cast<bool>(value);
    else if (name == "dims")
      for (const auto& [count, stride] : nb::cast<std::vector<std::pair<int32_t, int32_t>>>(value))
        access.dims.push_back({count, stride});
    else
      throw std::invalid_argument("access: unknown field '" + name + "'");
  }
  return access;
}

int32_t add_memory(MachineBuilder& b, const std::string& name, const std::string& kind, int64_t rows, int64_t cols,
                   const std::string& dtype, int64_t banks, int32_t shown) {
  return b.memory({name, memory_kind_from(kind), rows, cols, dtype_from(dtype), banks, shown});
}

int32_t add_expr(MachineBuilder& b, const std::string& op, int32_t a, int32_t second, int32_t c, int64_t imm,
                 double fimm, bool is_float) {
  Expr expr{expr_op_from(op),        is_float ? ValueType::Float : ValueType::Int, a, second, c, imm,
            static_cast<float>(fimm)};
  return b.expr(expr);
}

int32_t add_instruction(MachineBuilder& b, const std::string& name, int32_t unit,
                        const std::vector<std::pair<std::string, bool>>& parameters, const Indices& body,
                        const nb::list& accesses, const std::vector<std::pair<std::string, int32_t>>& properties,
                        const Indices& pointers) {
  Instruction instruction;
  instruction.name = name;
  instruction.unit = unit;
  instruction.body = body;
  instruction.pointers = pointers;
  for (const auto& [parameter, is_float] : parameters) {
    instruction.parameters.push_back(parameter);
    instruction.parameter_types.push_back(is_float ? ValueType::Float : ValueType::Int);
  }
  for (const auto& item : accesses) instruction.accesses.push_back(access_from(nb::cast<nb::dict>(item)));
  for (const auto& [key, value] : properties) instruction.properties.push_back({key, value});
  return b.instruction(std::move(instruction));
}

int32_t add_unit(MachineBuilder& b, const std::string& name, const nb::dict& settings, const nb::dict& choices) {
  Unit unit{.name = name};
  for (const auto& [key, value] : settings)
    unit.settings.emplace_back(nb::cast<std::string>(key), nb::cast<int64_t>(value));
  for (const auto& [key, value] : choices)
    unit.choices.emplace_back(nb::cast<std::string>(key), nb::cast<std::string>(value));
  return b.unit(std::move(unit));
}

void add_setting(MachineBuilder& b, const std::string& key, const nb::object& value) {
  if (nb::isinstance<nb::str>(value))
    b.choice(key, nb::cast<std::string>(value));
  else
    b.setting(key, nb::cast<int64_t>(value));
}

}  // namespace

void bind_machine(nb::module_& m) {
  using namespace nb::literals;
  nb::class_<CompiledMachine>(m, "Machine", "Frozen tables; safe to share between threads.");
  nb::class_<MachineBuilder>(m, "MachineBuilder")
      .def(nb::init<>())
      .def("memory", &add_memory, "name"_a, "kind"_a, "rows"_a, "cols"_a, "dtype"_a, "banks"_a = 1, "shown"_a = -1)
      .def("state", &MachineBuilder::state, "name"_a, "initial"_a, "is_float"_a = false)
      .def("expr", &add_expr, "op"_a, "a"_a = -1, "b"_a = -1, "c"_a = -1, "imm"_a = 0, "fimm"_a = 0.0,
           "is_float"_a = false)
      .def(
          "require",
          [](MachineBuilder& b, int32_t condition, const std::string& message) {
            return b.statement({.kind = StatementKind::Require, .a = condition, .message = message});
          },
          "condition"_a, "message"_a)
      .def(
          "store",
          [](MachineBuilder& b, int32_t memory, int32_t row, int32_t col, int32_t value) {
            return b.statement({.kind = StatementKind::Store, .memory = memory, .a = row, .b = col, .c = value});
          },
          "memory"_a, "row"_a, "col"_a, "value"_a)
      .def(
          "store_dram",
          [](MachineBuilder& b, int32_t pointer, int32_t offset, int32_t value, const std::string& dtype) {
            return b.statement({.kind = StatementKind::StoreDram,
                                .a = pointer,
                                .b = offset,
                                .c = value,
                                .imm = static_cast<int64_t>(dtype_from(dtype))});
          },
          "pointer"_a, "offset"_a, "value"_a, "dtype"_a)
      .def(
          "set_state",
          [](MachineBuilder& b, int32_t slot, int32_t index, int32_t value) {
            return b.statement({.kind = StatementKind::SetState, .a = index, .c = value, .imm = slot});
          },
          "slot"_a, "index"_a, "value"_a)
      .def(
          "loop",
          [](MachineBuilder& b, int32_t count, const Indices& body, int32_t step, bool ordered) {
            return b.statement({.kind = StatementKind::Loop, .a = count, .b = step, .imm = ordered, .body = body});
          },
          "count"_a, "body"_a, "step"_a = -1, "ordered"_a = false)
      .def(
          "emit",
          [](MachineBuilder& b, int32_t instruction, const Indices& arguments, const Indices& awaits) {
            return b.statement(
                {.kind = StatementKind::Emit, .imm = instruction, .arguments = arguments, .awaits = awaits});
          },
          "instruction"_a, "arguments"_a, "awaits"_a)
      .def(
          "stream",
          [](MachineBuilder& b, int32_t instruction, const std::string& name, int64_t priority, const Indices& after,
             const Indices& body) { b.stream(instruction, {name, priority, after, body}); },
          "instruction"_a, "name"_a, "priority"_a, "after"_a, "body"_a)
      .def(
          "when",
          [](MachineBuilder& b, int32_t condition, const Indices& body, const Indices& otherwise) {
            return b.statement({.kind = StatementKind::When, .a = condition, .body = body, .otherwise = otherwise});
          },
          "condition"_a, "body"_a, "otherwise"_a = Indices{})
      .def("unit", &add_unit, "name"_a, "settings"_a, "choices"_a)
      .def("instruction", &add_instruction, "name"_a, "unit"_a, "parameters"_a, "body"_a, "accesses"_a, "properties"_a,
           "pointers"_a = Indices{})
      .def("home", &MachineBuilder::home, "instruction"_a, "pointer"_a, "memory"_a)
      .def("word", &MachineBuilder::word, "instruction"_a, "key"_a, "word"_a)
      .def("setting", &add_setting, "key"_a, "value"_a)
      .def("build", [](const MachineBuilder& b) { return std::make_shared<CompiledMachine>(b.build()); });
}

}  // namespace autocomp
