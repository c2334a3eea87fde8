#include "machines.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <stdexcept>

#include "tables/builder.hpp"
#include "tables/names.hpp"

namespace autocomp::fuzz {
namespace {

// The order is that of METHODS in record.py.
enum class Method : uint8_t {
  Build,
  Memory,
  State,
  Expr,
  Require,
  Store,
  StoreDram,
  SetState,
  Loop,
  When,
  Unit,
  Instruction,
  Word,
  Setting,
  Choice,
  Emit,
  Stream,
  Count
};

DType dtype(Input& input) { return static_cast<DType>(input.choice(dtype_names().size())); }

std::vector<int32_t> indices(Input& input) {
  std::vector<int32_t> list;
  for (uint64_t left = input.byte(); left > 0 && input.more(); --left) list.push_back(input.index());
  return list;
}

Access access(Input& input) {
  Access access;
  access.memory = input.index();
  access.write = input.flag();
  access.accumulate_read = input.flag();
  access.tracked = input.flag();
  access.guard = input.index();
  access.pointer = input.index();
  access.base = input.index();
  access.first_col = input.index();
  access.cols = input.index();
  access.bytes = input.index();
  access.parameter = input.index();
  access.point = input.index();
  access.point_bytes = input.number();
  access.loops = indices(input);
  for (uint64_t left = input.choice(8); left > 0; --left) {
    const int32_t count = input.index();
    access.dims.push_back({count, input.index()});
  }
  return access;
}

void instruction(Input& input, MachineBuilder& builder) {
  Instruction instruction;
  instruction.name = input.word();
  instruction.unit = input.index();
  for (uint64_t left = input.byte(); left > 0 && input.more(); --left) {
    const uint8_t kind = input.byte();
    const auto position = static_cast<int32_t>(instruction.parameters.size());
    if ((kind & 2) != 0) instruction.pointers.push_back(position);
    instruction.parameters.push_back("p" + std::to_string(position));
    instruction.parameter_types.push_back((kind & 1) != 0 ? ValueType::Float : ValueType::Int);
  }
  instruction.body = indices(input);
  for (uint64_t left = input.byte(); left > 0 && input.more(); --left) instruction.accesses.push_back(access(input));
  for (uint64_t left = input.byte(); left > 0 && input.more(); --left) {
    std::string key = input.word();
    instruction.properties.push_back({std::move(key), input.index()});
  }
  builder.instruction(std::move(instruction));
}

void unit(Input& input, MachineBuilder& builder) {
  Unit unit{.name = input.word()};
  for (uint64_t left = input.byte(); left > 0 && input.more(); --left) {
    std::string key = input.word();
    unit.settings.emplace_back(std::move(key), input.number());
  }
  for (uint64_t left = input.byte(); left > 0 && input.more(); --left) {
    std::string key = input.word();
    unit.choices.emplace_back(std::move(key), input.word());
  }
  builder.unit(std::move(unit));
}

void memory(Input& input, MachineBuilder& builder, int64_t most) {
  Memory memory;
  memory.name = input.word();
  memory.kind = static_cast<MemoryKind>(input.choice(3));
  memory.rows = input.number();
  memory.cols = input.number();
  memory.dtype = dtype(input);
  memory.banks = input.number();
  memory.shown = input.index();
  if (memory.cols > 0 && memory.rows > most / memory.cols) throw std::invalid_argument("a memory too large to fuzz");
  builder.memory(std::move(memory));
}

void expr(Input& input, MachineBuilder& builder) {
  Expr expr;
  expr.op = static_cast<ExprOp>(input.choice(operator_names().size()));
  expr.type = input.flag() ? ValueType::Float : ValueType::Int;
  expr.a = input.index();
  expr.b = input.index();
  expr.c = input.index();
  expr.imm = input.number();
  if (expr.op == ExprOp::ConstFloat) expr.fimm = static_cast<float>(input.real());
  builder.expr(expr);
}

void statement(Method method, Input& input, MachineBuilder& builder) {
  Statement s;
  switch (method) {
    case Method::Require:
      s.kind = StatementKind::Require;
      s.a = input.index();
      s.message = "a requirement";
      break;
    case Method::Store:
      s.kind = StatementKind::Store;
      s.memory = input.index();
      s.a = input.index();
      s.b = input.index();
      s.c = input.index();
      break;
    case Method::StoreDram:
      s.kind = StatementKind::StoreDram;
      s.a = input.index();
      s.b = input.index();
      s.c = input.index();
      s.imm = static_cast<int64_t>(dtype(input));
      break;
    case Method::SetState:
      s.kind = StatementKind::SetState;
      s.imm = input.number();
      s.a = input.index();
      s.c = input.index();
      break;
    case Method::Loop:
      s.kind = StatementKind::Loop;
      s.a = input.index();
      s.body = indices(input);
      s.b = input.index();
      s.imm = input.choice(2);
      break;
    case Method::Emit:
      s.kind = StatementKind::Emit;
      s.imm = input.index();
      s.arguments = indices(input);
      s.awaits = indices(input);
      break;
    default:
      s.kind = StatementKind::When;
      s.a = input.index();
      s.body = indices(input);
      s.otherwise = indices(input);
      break;
  }
  builder.statement(std::move(s));
}

void stream(Input& input, MachineBuilder& builder) {
  const int32_t instruction = input.index();
  CommandStream stream{.name = input.word()};
  stream.priority = input.number();
  stream.after = indices(input);
  stream.body = indices(input);
  builder.stream(instruction, std::move(stream));
}

std::unique_ptr<CompiledMachine> machine_from(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  Input input(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  return read_machine(input, std::numeric_limits<int64_t>::max());
}

}  // namespace

std::unique_ptr<CompiledMachine> read_machine(Input& input, int64_t most) {
  MachineBuilder builder;
  while (input.more()) {
    const auto method = static_cast<Method>(input.choice(static_cast<uint64_t>(Method::Count)));
    if (method == Method::Build) break;
    if (method == Method::Memory) {
      memory(input, builder, most);
    } else if (method == Method::State) {
      const double initial = input.real();
      const std::string name = input.word();
      builder.state(name, initial, input.flag());
    } else if (method == Method::Expr) {
      expr(input, builder);
    } else if (method == Method::Unit) {
      unit(input, builder);
    } else if (method == Method::Instruction) {
      instruction(input, builder);
    } else if (method == Method::Word) {
      const int32_t index = input.index();
      const std::string key = input.word();
      builder.word(index, key, input.word());
    } else if (method == Method::Setting) {
      const std::string key = input.word();
      builder.setting(key, input.number());
    } else if (method == Method::Choice) {
      const std::string key = input.word();
      builder.choice(key, input.word());
    } else if (method == Method::Stream) {
      stream(input, builder);
    } else {
      statement(method, input, builder);
    }
  }
  return std::make_unique<CompiledMachine>(builder.build());
}

const std::vector<std::unique_ptr<CompiledMachine>>& shipped_machines() {
  static const std::vector<std::unique_ptr<CompiledMachine>> machines = [] {
    std::vector<std::filesystem::path> paths;
    for (const auto& entry : std::filesystem::directory_iterator(AUTOCOMP_FUZZ_MACHINES)) paths.push_back(entry.path());
    std::sort(paths.begin(), paths.end());
    if (paths.empty()) throw std::runtime_error("no machines in " AUTOCOMP_FUZZ_MACHINES);
    std::vector<std::unique_ptr<CompiledMachine>> list;
    for (const auto& path : paths) list.push_back(machine_from(path));
    return list;
  }();
  return machines;
}

}  // namespace autocomp::fuzz
