#include "semantics/functional.hpp"

namespace autocomp {
namespace {

constexpr size_t kMaxPending = size_t{1} << 23;  // writes of a nest are kept until all of its reads are done

}  // namespace

Executor::Executor(const CompiledMachine& machine, Evaluator& evaluator, std::vector<LocalStore>& memories,
                   std::vector<TensorStore>& tensors, bool generic, MachineCode code)
    : machine_(machine),
      evaluator_(evaluator),
      memories_(memories),
      tensors_(tensors),
      generic_(generic),
      engine_(form_engine(code)) {}

void Executor::execute(int32_t instruction) {
  pending_.clear();
  parallel_ = 0;
  sequence(machine_.machine().instructions[static_cast<size_t>(instruction)].body);
}

void Executor::execute_alone(int32_t instruction, const Value* arguments, int32_t index) {
  pending_.clear();
  parallel_ = 0;
  evaluator_.begin(instruction, arguments);
  statement(index);
  commit();
}

void Executor::sequence(const std::vector<int32_t>& body) {
  for (const int32_t index : body) {
    statement(index);
    if (parallel_ == 0) commit();
  }
}

void Executor::statement(int32_t index) {
  const Statement& s = machine_.machine().statements[static_cast<size_t>(index)];
  switch (s.kind) {
    case StatementKind::Require:
      if (evaluator_.integer(s.a) == 0) throw Fault{"requirement", s.message};
      break;
    case StatementKind::Store:
    case StatementKind::StoreDram:
    case StatementKind::SetState: evaluate_store(index); break;
    case StatementKind::When: sequence(evaluator_.integer(s.a) != 0 ? s.body : s.otherwise); break;
    case StatementKind::Loop: {
      const bool ordered = s.imm != 0;
      if (!ordered && run_nest(index)) break;
      const int64_t count = evaluator_.integer(s.a);
      const int level = evaluator_.depth++;
      parallel_ += ordered ? 0 : 1;
      for (int64_t i = 0; i < count; ++i) {
        evaluator_.budget.spend();
        evaluator_.loops[static_cast<size_t>(level)] = i;
        sequence(s.body);
      }
      evaluator_.depth = level;
      parallel_ -= ordered ? 0 : 1;
      break;
    }
    case StatementKind::Emit: break;  // only in streams, which are expanded
  }
}

bool Executor::run_form(const Form& form) {
  FormContext context{evaluator_.values(), memories_, tensors_, scratch_, evaluator_.multiply_accumulates};
  return engine_(form, context);
}

bool Executor::run_nest(int32_t statement) {
  const Form* form = machine_.form_of(statement);
  if (form == nullptr) return false;
  const NestPlan& nest = machine_.nest(statement);
  if (!generic_) {
    evaluator_.enter(nest.form_tape);
    if (evaluator_.tape_valid() && run_form(*form)) return true;
  }
  evaluator_.enter(nest.body_tape);
  return false;
}

void Executor::evaluate_store(int32_t index) {
  const Statement& s = machine_.machine().statements[static_cast<size_t>(index)];
  if (pending_.size() >= kMaxPending)
    throw Fault{"bounds", "one statement writes more than " + std::to_string(kMaxPending) + " elements"};
  const Value value = evaluator_.value(s.c);
  evaluator_.multiply_accumulates += machine_.products(s.c);
  if (s.kind == StatementKind::SetState) {
    pending_.push_back(
        {s.kind, DType::I64, nullptr, evaluator_.state_slot(s.imm, s.a), machine_.read_later(index), value});
    return;
  }
  if (s.kind == StatementKind::StoreDram) {
    const auto dtype = static_cast<DType>(s.imm);
    uint8_t* at = resolve(tensors_, evaluator_.integer(s.a), evaluator_.integer(s.b), size_of(dtype), "a write");
    pending_.push_back({s.kind, dtype, at, 0, false, value});
    return;
  }
  LocalStore& memory = memories_[static_cast<size_t>(s.memory)];
  const int64_t row = evaluator_.integer(s.a);
  const int64_t col = evaluator_.integer(s.b);
  if (!memory.contains(row, col))
    throw Fault{"bounds", "a write of " + machine_.machine().memories[static_cast<size_t>(s.memory)].name + "[" +
                              std::to_string(row) + "][" + std::to_string(col) + "] is outside its " +
                              std::to_string(memory.rows) + " rows of " + std::to_string(memory.cols) + " elements"};
  pending_.push_back({s.kind, memory.dtype, memory.at(row, col), 0, false, value});
}

void Executor::commit() {
  bool state_changed = false;
  for (const auto& p : pending_) {
    if (p.kind == StatementKind::SetState) {
      evaluator_.state[static_cast<size_t>(p.slot)] = p.value;
      state_changed = state_changed || p.read_later;
    } else {
      store_element(p.at, p.dtype, p.value);
    }
  }
  pending_.clear();
  if (state_changed) evaluator_.refresh();
}

const std::string* Executor::configure(int32_t instruction) {
  failed_ = nullptr;
  pending_.clear();
  configure(machine_.machine().instructions[static_cast<size_t>(instruction)].body);
  return failed_;
}

void Executor::configure(const std::vector<int32_t>& body) {
  for (const int32_t index : body) {
    const Statement& s = machine_.machine().statements[static_cast<size_t>(index)];
    // Without data, what depends on the contents of memories cannot be told.
    if (machine_.reads_memory(s.kind == StatementKind::SetState ? s.c : s.a)) continue;
    if (s.kind == StatementKind::Require && failed_ == nullptr && evaluator_.integer(s.a) == 0) failed_ = &s.message;
    if (s.kind == StatementKind::SetState) evaluate_store(index);
    if (s.kind == StatementKind::When) configure(evaluator_.integer(s.a) != 0 ? s.body : s.otherwise);
    commit();
  }
}

}  // namespace autocomp
