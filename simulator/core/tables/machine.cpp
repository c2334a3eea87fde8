#include "tables/machine.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "tables/typing.hpp"

namespace autocomp {
namespace {

constexpr size_t kMaxMemories = 1000;
constexpr int kMaxBlocks = 100;              // statements in each other: execution is recursive
constexpr int64_t kMaxStatements = 1 << 16;  // below one, each counted as often as it is reached

[[noreturn]] void fail(const std::string& message) { throw std::invalid_argument(message); }

// Checks one table after another; every entry may refer only to earlier entries of its own table.
class Validator {
 public:
  explicit Validator(const Machine& machine) : m_(machine), facts_(machine.exprs.size()) {}

  void run() {
    memories();
    if (m_.state_initial.size() != m_.state_types.size() || m_.state_initial.size() != m_.state_names.size())
      fail("state slots: initial values, types and names differ in number");
    for (size_t i = 0; i < m_.state_initial.size(); ++i)
      if (m_.state_types[i] == ValueType::Int && !(std::abs(m_.state_initial[i]) <= 9007199254740992.0))
        fail("state '" + m_.state_names[i] + "': the initial value is not an integer from -2^53 to 2^53");
    for (size_t i = 0; i < m_.exprs.size(); ++i) facts_[i] = check_expr(m_, i, facts_);
    for (size_t i = 0; i < m_.statements.size(); ++i) {
      statement(i);
      extent(i);
    }
    for (const auto& instruction : m_.instructions) this->instruction(instruction);
  }

 private:
  void memories() const {
    int drams = 0;
    for (const auto& memory : m_.memories) {
      const std::string where = "memory '" + memory.name + "': ";
      if (memory.kind == MemoryKind::Dram) {
        ++drams;
        continue;
      }
      if (memory.rows < 1 || memory.cols < 1) fail(where + "rows and columns must be at least 1");
      if (memory.rows > (int64_t{1} << 28) / memory.cols) fail(where + "more than 2^28 elements");
      if (memory.banks < 1 || memory.rows % memory.banks != 0)
        fail(where + std::to_string(memory.rows) + " rows do not divide into " + std::to_string(memory.banks) +
             " banks");
      if (memory.shown >= 0) view(memory, where);
    }
    if (m_.memories.size() > kMaxMemories) fail("more than " + std::to_string(kMaxMemories) + " memories");
    if (drams == 0) fail("a machine has at least one memory of kind dram");
  }

  void view(const Memory& memory, const std::string& where) const {
    if (memory.shown >= static_cast<int32_t>(&memory - m_.memories.data()))
      fail(where + "memory " + std::to_string(memory.shown) + " is not an earlier one");
    const Memory& shown = m_.memories[static_cast<size_t>(memory.shown)];
    if (shown.kind != memory.kind || shown.shown >= 0) fail(where + "it cannot show " + shown.name);
    if (is_narrow_integer(memory.dtype) || is_narrow_integer(shown.dtype))
      fail(where + "elements of fewer bits than a byte have no other view");
    if (memory.rows != shown.rows || memory.cols * size_of(memory.dtype) != shown.cols * size_of(shown.dtype))
      fail(where + "its rows are not those of " + shown.name);
  }

  void typed(int32_t node, ValueType type, const std::string& where) const {
    if (node < 0 || static_cast<size_t>(node) >= m_.exprs.size())
      fail(where + ": expression " + std::to_string(node) + " does not exist");
    if (m_.exprs[static_cast<size_t>(node)].type != type)
      fail(where + ": expected " + (type == ValueType::Int ? "an integer" : "a float"));
  }
  void integer(int32_t node, const std::string& where) const { typed(node, ValueType::Int, where); }

  void body(const std::vector<int32_t>& list, size_t limit, const std::string& where) const {
    for (const int32_t s : list)
      if (s < 0 || static_cast<size_t>(s) >= limit)
        fail(where + ": statement " + std::to_string(s) + " does not exist");
  }

  void statement(size_t index) const {
    const Statement& s = m_.statements[index];
    const std::string where = "statement " + std::to_string(index);
    switch (s.kind) {
      case StatementKind::Require: integer(s.a, where + " (require)"); break;
      case StatementKind::Store: {
        if (s.memory < 0 || static_cast<size_t>(s.memory) >= m_.memories.size())
          fail(where + " (store): memory " + std::to_string(s.memory) + " does not exist");
        const Memory& memory = m_.memories[static_cast<size_t>(s.memory)];
        if (memory.kind == MemoryKind::Dram) fail(where + " (store): use store_dram for '" + memory.name + "'");
        integer(s.a, where + " (store, row)");
        integer(s.b, where + " (store, column)");
        typed(s.c, value_type_of(memory.dtype), where + " (store to '" + memory.name + "', value)");
        break;
      }
      case StatementKind::StoreDram:
        integer(s.a, where + " (store_dram, pointer)");
        integer(s.b, where + " (store_dram, offset)");
        if (s.imm < 0 || s.imm > static_cast<int64_t>(kLastDType))
          fail(where + " (store_dram): unknown element type " + std::to_string(s.imm));
        typed(s.c, value_type_of(static_cast<DType>(s.imm)), where + " (store_dram, value)");
        break;
      case StatementKind::SetState:
        if (s.imm < 0 || static_cast<size_t>(s.imm) >= m_.state_types.size())
          fail(where + " (set_state): slot " + std::to_string(s.imm) + " does not exist");
        if (s.a >= 0) integer(s.a, where + " (set_state, index)");
        typed(s.c, m_.state_types[static_cast<size_t>(s.imm)], where + " (set_state, value)");
        break;
      case StatementKind::Loop:
        integer(s.a, where + " (loop, count)");
        if (s.b >= 0) integer(s.b, where + " (loop, step)");
        if (s.imm != 0 && s.imm != 1) fail(where + " (loop): ordered is 0 or 1");
        body(s.body, index, where + " (loop)");
        break;
      case StatementKind::When:
        integer(s.a, where + " (when, condition)");
        body(s.body, index, where + " (when)");
        body(s.otherwise, index, where + " (when, otherwise)");
        break;
      case StatementKind::Emit: emit(s, where + " (emit)"); break;
    }
  }

  void extent(size_t index) {
    Extent extent;
    const Statement& s = m_.statements[index];
    for (const auto* list : {&s.body, &s.otherwise})
      for (const int32_t child : *list) {
        const Extent& inner = extents_[static_cast<size_t>(child)];
        extent.depth = std::max(extent.depth, inner.depth + 1);
        extent.statements += inner.statements;
        extent.ordered = extent.ordered || inner.ordered;
      }
    const std::string where = "statement " + std::to_string(index);
    if (s.kind == StatementKind::Loop) {
      if (extent.ordered && s.imm == 0) fail(where + ": an ordered loop stands in one that is not");
      extent.ordered = s.imm != 0;
    }
    if (extent.depth > kMaxBlocks) fail(where + ": statements nest more than " + std::to_string(kMaxBlocks) + " deep");
    if (extent.statements > kMaxStatements)
      fail(where + ": more than " + std::to_string(kMaxStatements) + " statements when written out");
    extents_.push_back(extent);
  }

  static void arguments(const ExprFacts& facts, size_t parameters, const std::string& where) {
    if (facts.arguments > static_cast<int>(parameters))
      fail(where + ": argument " + std::to_string(facts.arguments - 1) + " is used, but there are " +
           std::to_string(parameters) + " parameters");
  }

  void emit(const Statement& s, const std::string& where) const {
    if (s.imm < 0 || static_cast<size_t>(s.imm) >= m_.instructions.size())
      fail(where + ": instruction " + std::to_string(s.imm) + " does not exist");
    const Instruction& target = m_.instructions[static_cast<size_t>(s.imm)];
    if (target.unit < 0 || !target.streams.empty())
      fail(where + ": '" + target.name + "' is not a command of a unit, or an expansion itself");
    if (s.arguments.size() != target.parameter_types.size())
      fail(where + ": '" + target.name + "' has " + std::to_string(target.parameter_types.size()) +
           " parameters, not " + std::to_string(s.arguments.size()));
    for (size_t i = 0; i < s.arguments.size(); ++i) {
      typed(s.arguments[i], target.parameter_types[i], where + " argument");
      of_stream(s.arguments[i], where);
    }
    for (const int32_t node : s.awaits) {
      integer(node, where + " await");
      const ExprFacts& facts = facts_[static_cast<size_t>(node)];
      if (facts.reads || facts.sums) fail(where + ": an await can neither read memory nor sum");
    }
  }

  void of_stream(int32_t node, const std::string& where) const {
    const ExprFacts& facts = facts_[static_cast<size_t>(node)];
    if (facts.reads || facts.awaits || facts.sums)
      fail(where + ": only arguments, configuration state and loop variables may be used");
  }

  // An expression of accesses and properties: over arguments and state only.
  void front(int32_t node, size_t parameters, const std::string& where) const {
    integer(node, where);
    const ExprFacts& facts = facts_[static_cast<size_t>(node)];
    arguments(facts, parameters, where);
    if (facts.loops > 0 || facts.reads || facts.awaits)
      fail(where + ": only arguments and configuration state may be used, neither loop variables nor memory");
  }

  void access(const Access& access, size_t parameters, const std::string& where) const {
    if (access.memory < 0 || static_cast<size_t>(access.memory) >= m_.memories.size())
      fail(where + ": memory " + std::to_string(access.memory) + " does not exist");
    const Memory& memory = m_.memories[static_cast<size_t>(access.memory)];
    if (access.guard >= 0) front(access.guard, parameters, where + " guard");
    front(access.base, parameters, where + " base");
    if (access.dims.size() > 3) fail(where + ": more than 3 dimensions");
    for (const auto& dim : access.dims) {
      front(dim.count, parameters, where + " count");
      front(dim.stride, parameters, where + " stride");
    }
    if (access.parameter < -1 || access.parameter >= static_cast<int32_t>(parameters))
      fail(where + ": parameter " + std::to_string(access.parameter) + " does not exist");
    // What the other kind of memory needs may be there too, and is looked at later: it must exist.
    const bool dram = memory.kind == MemoryKind::Dram;
    const auto main = std::ranges::find(m_.memories, MemoryKind::Dram, &Memory::kind);
    if (dram && &memory != &*main) fail(where + ": accesses of tensors name the first memory of kind dram");
    if (dram || access.pointer >= 0) front(access.pointer, parameters, where + " pointer");
    if (dram || access.bytes >= 0) front(access.bytes, parameters, where + " bytes");
    if (!dram || access.first_col >= 0) front(access.first_col, parameters, where + " first_col");
    if (!dram || access.cols >= 0) front(access.cols, parameters, where + " cols");
    if (access.point >= 0 || !access.loops.empty()) points(access, parameters, where + " point");
  }

  void points(const Access& access, size_t parameters, const std::string& where) const {
    if (access.loops.size() > kMaxLoops) fail(where + ": more than " + std::to_string(kMaxLoops) + " loops");
    if (access.point_bytes < 0 || access.point_bytes > 8) fail(where + ": an element has 1 to 8 bytes");
    const auto in_loops = [&](int32_t node, size_t loops) {
      integer(node, where);
      const ExprFacts& facts = facts_[static_cast<size_t>(node)];
      arguments(facts, parameters, where);
      if (facts.loops > static_cast<int>(loops) || facts.awaits)
        fail(where + ": a loop variable is used outside its loop");
    };
    for (size_t i = 0; i < access.loops.size(); ++i) in_loops(access.loops[i], i);
    in_loops(access.point, access.loops.size());
  }

  // Loop variables and arguments used anywhere below statement `s`, entered at loop depth `depth`.
  // A body holds what belongs into it: Emit statements, and no others but loops and choices, in a stream.
  void scope(int32_t s, int depth, size_t parameters, bool in_stream, const std::string& where) const {
    const Statement& statement = m_.statements[static_cast<size_t>(s)];
    if (depth > kMaxLoops) fail(where + ": loops nest deeper than " + std::to_string(kMaxLoops));
    const bool nests = statement.kind == StatementKind::Loop || statement.kind == StatementKind::When;
    if (!nests && in_stream != (statement.kind == StatementKind::Emit))
      fail(where + ": statement " + std::to_string(s) + (in_stream ? " cannot be" : " can only be") + " in a stream");
    std::vector<int32_t> nodes = {statement.a, statement.b, statement.c};
    nodes.insert(nodes.end(), statement.arguments.begin(), statement.arguments.end());
    nodes.insert(nodes.end(), statement.awaits.begin(), statement.awaits.end());
    for (const int32_t node : nodes) {
      if (node < 0) continue;
      const ExprFacts& facts = facts_[static_cast<size_t>(node)];
      if (in_stream && nests) of_stream(node, where);
      if (!in_stream && facts.awaits) fail(where + ": only awaits can ask where a stream stands");
      if (facts.loops > depth)
        fail(where + ": a loop variable of depth " + std::to_string(facts.loops - 1) + " is used outside its loop");
      arguments(facts, parameters, where);
    }
    const int inner = depth + (statement.kind == StatementKind::Loop ? 1 : 0);
    for (const int32_t child : statement.body) scope(child, inner, parameters, in_stream, where);
    for (const int32_t child : statement.otherwise) scope(child, inner, parameters, in_stream, where);
  }

  void instruction(const Instruction& instruction) const {
    const std::string where = "instruction '" + instruction.name + "'";
    if (instruction.unit < -1 || instruction.unit >= static_cast<int32_t>(m_.units.size()))
      fail(where + ": unit " + std::to_string(instruction.unit) + " does not exist");
    if (instruction.parameters.size() != instruction.parameter_types.size())
      fail(where + ": parameter names and types differ in number");
    for (const auto& [p, memory] : instruction.homes)
      if (std::ranges::count(instruction.pointers, p) == 0 || memory < 0 ||
          static_cast<size_t>(memory) >= m_.memories.size() ||
          m_.memories[static_cast<size_t>(memory)].kind != MemoryKind::Dram)
        fail(where + ": parameter " + std::to_string(p) + " is no pointer to a memory of kind dram");
    for (const int32_t p : instruction.pointers)
      if (p < 0 || static_cast<size_t>(p) >= instruction.parameters.size() ||
          instruction.parameter_types[static_cast<size_t>(p)] != ValueType::Int)
        fail(where + ": parameter " + std::to_string(p) + " is not an integer of it");
    body(instruction.body, m_.statements.size(), where);
    for (const int32_t s : instruction.body) scope(s, 0, instruction.parameters.size(), false, where);
    if (instruction.streams.size() > static_cast<size_t>(kMaxStreams)) fail(where + ": too many streams");
    for (const CommandStream& stream : instruction.streams) {
      body(stream.body, m_.statements.size(), where + ", stream '" + stream.name + "'");
      for (const int32_t s : stream.body)
        scope(s, 0, instruction.parameters.size(), true, where + ", stream '" + stream.name + "'");
      for (const int32_t other : stream.after)
        if (other < 0 || static_cast<size_t>(other) >= instruction.streams.size())
          fail(where + ": stream " + std::to_string(other) + " does not exist");
    }
    for (size_t i = 0; i < instruction.accesses.size(); ++i)
      access(instruction.accesses[i], instruction.parameters.size(), where + ", access " + std::to_string(i));
    for (const auto& property : instruction.properties)
      front(property.value, instruction.parameters.size(), where + ", property '" + property.key + "'");
  }

  struct Extent {
    int depth = 1;
    int64_t statements = 1;
    bool ordered = false;  // is or holds an ordered loop
  };

  const Machine& m_;
  std::vector<ExprFacts> facts_;
  std::vector<Extent> extents_;  // of the statements checked so far
};

}  // namespace

int size_of(DType dtype) {
  switch (dtype) {
    case DType::I8:
    case DType::U8:
    case DType::E5M2:
    case DType::E4M3:
    case DType::I4:
    case DType::U4: return 1;
    case DType::I16:
    case DType::U16:
    case DType::F16:
    case DType::BF16: return 2;
    case DType::I32:
    case DType::U32:
    case DType::F32: return 4;
    case DType::I64:
    case DType::U64:
    case DType::F64: return 8;
  }
  throw std::invalid_argument("unknown element type " + std::to_string(static_cast<int>(dtype)));
}

bool is_float(DType dtype) { return dtype >= DType::F32 && dtype <= DType::E4M3; }

bool is_narrow_integer(DType dtype) { return dtype == DType::I4 || dtype == DType::U4; }

void Machine::validate() const { Validator(*this).run(); }

}  // namespace autocomp
