#include "plans/plan.hpp"

#include <algorithm>

#include "semantics/decode.hpp"

namespace autocomp {
namespace {

constexpr int64_t kSaneBase = int64_t{1} << 40;

class PlanBuilder {
 public:
  PlanBuilder(const CompiledMachine& machine, Evaluator& evaluator, const PlanKey& key, MachineCode code)
      : machine_(machine), evaluator_(evaluator), key_(key), code_(code), needed_(machine.exprs().size()) {}

  std::unique_ptr<Plan> build(int32_t instruction) {
    plan_->instruction = instruction;
    if (!evaluator_.tape_valid()) return std::move(plan_);
    const Instruction& table = machine_.machine().instructions[at(instruction)];
    for (const auto& access : table.accesses)
      if (!add_access(access)) return std::move(plan_);
    for (const auto& property : table.properties) plan_->properties.push_back(evaluator_.integer(property.value));
    if (!add_steps(table.body)) return std::move(plan_);
    for (const KeyPart& part : key_.parts) {
      if (part.truth)
        plan_->guard.require_truth(evaluator_.sources(), part.field);
      else
        plan_->guard.require(machine_, evaluator_.sources(), evaluator_.values(), part.node);
    }
    plan_->tape = machine_.tape_for(needed_);
    plan_->usable = true;
    return std::move(plan_);
  }

 private:
  [[nodiscard]] bool covered(int32_t node) const { return node < 0 || key_.covered[at(node)] != 0; }
  [[nodiscard]] FieldSum sum(int32_t node) const { return sum_of(machine_, key_.covered, evaluator_.values(), node); }

  void need(const Field& field) {
    if (field.source == Field::Source::Node) needed_[at(field.index)] = 1;
  }
  void need(const FieldSum& sum) {
    for (const auto& term : sum.terms) need(term.field);
  }

  // Does the key alone say that the guard does not hold?
  bool never(int32_t guard) {
    if (guard < 0) return false;
    if (covered(guard)) return evaluator_.integer(guard) == 0;
    const Expr& e = machine_.exprs()[at(guard)];
    return e.op == ExprOp::LogicalAnd && (never(e.a) || never(e.b));
  }

  bool add_access(const Access& access) {
    if (never(access.guard)) return true;
    if (!covered(access.guard) || access.point >= 0) return false;
    for (const auto& dim : access.dims)
      if (!covered(dim.count) || !covered(dim.stride)) return false;
    if (!covered(access.first_col) || !covered(access.cols) || !covered(access.bytes)) return false;
    PlannedAccess planned;
    AccessInstance instance;
    if (!instantiate(machine_, evaluator_, access, instance)) {
      // Without a tensor there is no access, which depends on the pointer; all else follows from the key.
      return access.pointer < 0 || split_pointer(evaluator_.integer(access.pointer)).tensor >= 0;
    }
    planned.base = sum(access.base);
    need(planned.base);
    instance.base = 0;
    instance.tensor = -1;
    const Memory& memory = machine_.machine().memories[at(access.memory)];
    if (memory.kind == MemoryKind::Dram) {
      planned.pointer = field_or_node(machine_, access.pointer);
      need(planned.pointer);
    } else {
      clip_columns(memory, instance);
    }
    count_access(instance, plan_->traffic);
    planned.low = instance.first();
    planned.high = instance.last();
    planned.limit = memory.kind == MemoryKind::Dram ? -1 : memory.rows;
    if (instance.tracked) planned.tracked();
    plan_->instances.push_back(instance);
    plan_->accesses.push_back(std::move(planned));
    return true;
  }

  bool add_steps(const std::vector<int32_t>& body) {
    for (const int32_t index : body) {
      const Statement& s = machine_.machine().statements[at(index)];
      if (s.kind == StatementKind::Require && covered(s.a)) {
        if (evaluator_.integer(s.a) == 0) return false;
        continue;
      }
      if (s.kind == StatementKind::When && covered(s.a)) {
        if (!add_steps(evaluator_.integer(s.a) != 0 ? s.body : s.otherwise)) return false;
        continue;
      }
      // What a later statement of this command reads would have to be computed anew.
      if (sets_for_later(index)) return false;
      PlannedStep step;
      step.statement = index;
      if (s.kind == StatementKind::SetState && covered(s.a) && machine_.ahead(s.c)) set_state(s, step);
      if (s.kind == StatementKind::Loop && !run_nest(index, step)) return false;
      plan_->steps.push_back(std::move(step));
    }
    return true;
  }

  [[nodiscard]] bool sets_for_later(int32_t statement) const {
    const Statement& s = machine_.machine().statements[at(statement)];
    if (s.kind == StatementKind::SetState && machine_.read_later(statement)) return true;
    const auto any = [&](const std::vector<int32_t>& body) {
      return std::any_of(body.begin(), body.end(), [&](int32_t child) { return sets_for_later(child); });
    };
    return any(s.body) || any(s.otherwise);
  }

  void set_state(const Statement& s, PlannedStep& step) {
    using enum PlannedStep::Kind;
    step.slot = at(evaluator_.state_slot(s.imm, s.a));
    if (covered(s.c)) {
      step.kind = SetConstant;
      step.constant = evaluator_.value(s.c);
    } else if (machine_.exprs()[at(s.c)].type == ValueType::Int) {
      step.kind = SetInteger;
      step.integer = sum(s.c);
      need(step.integer);
    } else {
      step.kind = SetReal;
      step.real = field_or_node(machine_, s.c);
      need(step.real);
    }
  }

  // False: the nest cannot be evaluated ahead.
  bool run_nest(int32_t statement, PlannedStep& step) {
    const Form* form = machine_.form_of(statement);
    if (form == nullptr) return true;
    evaluator_.enter(machine_.nest(statement).form_tape);
    if (!evaluator_.tape_valid()) return false;
    if (auto block = block_form(machine_, key_, evaluator_.values(), *form, code_)) {
      step.kind = PlannedStep::Kind::Block;
      step.block = plan_->blocks.size();
      plan_->blocks.push_back(std::move(*block));
      visit_fields(plan_->blocks.back(), [&](const Field& field) { need(field); });
      return true;
    }
    step.kind = PlannedStep::Kind::Form;
    step.form = form;
    visit_nodes(*form, [&](int32_t node) {
      if (node < 0) return;
      if (covered(node))
        step.settled.emplace_back(node, evaluator_.values()[node]);
      else
        needed_[at(node)] = 1;
    });
    return true;
  }

  const CompiledMachine& machine_;
  Evaluator& evaluator_;
  const PlanKey& key_;
  MachineCode code_;
  std::unique_ptr<Plan> plan_ = std::make_unique<Plan>();
  std::vector<uint8_t> needed_;  // by node: the tape computes it
};

}  // namespace

bool PlannedAccess::place(const Sources& sources, AccessInstance& out) const {
  const int64_t first = base.at(sources);
  if (first < -kSaneBase || first > kSaneBase) return false;
  if (limit >= 0) {
    out.base = first;
    return first + low >= 0 && first + high <= limit;
  }
  const Pointer start = split_pointer(scalar::s(sources.bits(pointer)));
  out.tensor = static_cast<int32_t>(start.tensor);
  out.base = first + start.offset;
  return start.tensor >= 0;
}

std::unique_ptr<Plan> make_plan(const CompiledMachine& machine, Evaluator& evaluator, const PlanKey& key,
                                int32_t instruction, MachineCode code) {
  return PlanBuilder(machine, evaluator, key, code).build(instruction);
}

}  // namespace autocomp
