#include "semantics/plan_cache.hpp"

#include <algorithm>

#include "semantics/decode.hpp"

namespace autocomp {
namespace {

constexpr size_t kSlots = 256;
constexpr int64_t kPatience = 512;  // plans made before hits must have paid for them
constexpr int64_t kSaneBase = int64_t{1} << 40;

size_t at(int64_t index) { return static_cast<size_t>(index); }

uint64_t hash(const std::vector<int64_t>& key) {
  uint64_t sum = 0;
  uint64_t factor = 0x9E3779B97F4A7C15U;
  for (const int64_t value : key) {
    sum += (scalar::u(value) + 0x632BE59BD9B4E019U) * factor;
    factor += 0xBF58476D1CE4E5B8U;  // stays odd
  }
  sum ^= sum >> 32;
  return sum * 0x94D049BB133111EBU;
}

bool sets_for_later(const CompiledMachine& machine, int32_t statement) {
  const Statement& s = machine.machine().statements[at(statement)];
  if (s.kind == StatementKind::SetState && machine.read_later(statement)) return true;
  const auto any = [&](const std::vector<int32_t>& body) {
    return std::any_of(body.begin(), body.end(), [&](int32_t child) { return sets_for_later(machine, child); });
  };
  return any(s.body) || any(s.otherwise);
}

}  // namespace

const PlanCache::Traffic* PlanCache::run(int32_t instruction, const Value* arguments, Operation operation,
                                         bool detailed, OperationList& list) {
  if (tables_.empty()) tables_.resize(machine_.machine().instructions.size());
  Table& table = tables_[at(instruction)];
  if (!table.known) {
    table.known = true;
    table.key = key_of(machine_, instruction);
    table.slots.resize(kSlots);
  }
  if (!table.key.usable || !evaluator_.begin_with(table.key.tape, arguments)) return nullptr;
  gather(table.key);
  Plan* plan = find(table, instruction, arguments);
  if (plan == nullptr || !plan->usable || !evaluator_.also(plan->tape)) return nullptr;

  operation.plan = plan->number;
  operation.first_access = static_cast<uint32_t>(list.accesses.size());
  operation.first_property = static_cast<uint32_t>(list.properties.size());
  if (detailed) {
    if (!append_accesses(*plan, list)) return nullptr;
    list.properties.insert(list.properties.end(), plan->properties.begin(), plan->properties.end());
  } else {
    AccessInstance unused;
    for (const auto& access : plan->accesses)
      if (!place(access, unused)) return nullptr;
  }
  operation.access_count = static_cast<uint32_t>(list.accesses.size()) - operation.first_access;
  list.operations.push_back(operation);

  for (const Step& step : plan->steps) {
    if (step.slot >= 0)
      evaluator_.state[at(step.slot)] = step.node < 0 ? step.constant : evaluator_.values()[step.node];
    else if (step.block < 0 || !run_block(plan->blocks[at(step.block)], evaluator_.values(), memories_, tensors_,
                                          evaluator_.multiply_accumulates))
      executor_.execute_alone(instruction, arguments, step.statement);
  }
  return &plan->traffic;
}

void PlanCache::gather(const PlanKey& key) {
  present_.resize(key.atoms.size());
  for (size_t i = 0; i < key.atoms.size(); ++i) {
    const KeyAtom& atom = key.atoms[i];
    const Value value = atom.kind == KeyAtom::Kind::Argument ? evaluator_.arguments()[atom.index]
                        : atom.kind == KeyAtom::Kind::State  ? evaluator_.state[at(atom.index)]
                                                             : evaluator_.values()[atom.index];
    present_[i] = atom.is_float ? scalar::float_to_bits(value.f) : value.i;
  }
}

PlanCache::Plan* PlanCache::find(Table& table, int32_t instruction, const Value* arguments) {
  std::unique_ptr<Plan>& slot = table.slots[at(static_cast<int64_t>(hash(present_) >> 56))];
  if (slot && slot->key == present_) {
    ++table.hits;
    return slot.get();
  }
  // Keys that hardly ever come again are not worth their plans.
  if (++table.misses > kPatience + table.hits / 8) return nullptr;
  slot = make(table.key, instruction, arguments);
  return slot.get();
}

std::unique_ptr<PlanCache::Plan> PlanCache::make(const PlanKey& key, int32_t instruction, const Value* arguments) {
  auto plan = std::make_unique<Plan>();
  plan->key = present_;
  plan->number = made_++;
  evaluator_.begin(instruction, arguments);
  if (!evaluator_.tape_valid()) return plan;
  const Instruction& table = machine_.machine().instructions[at(instruction)];
  for (const auto& access : table.accesses)
    if (!plan_access(key, access, *plan)) return plan;
  for (const auto& property : table.properties) plan->properties.push_back(evaluator_.integer(property.value));
  if (!plan_steps(key, table.body, *plan)) return plan;
  finish(key, *plan);
  plan->usable = true;
  return plan;
}

bool PlanCache::never(const PlanKey& key, int32_t guard) {
  if (guard < 0) return false;
  if (key.covered[at(guard)] != 0) return evaluator_.integer(guard) == 0;
  const Expr& e = machine_.exprs()[at(guard)];
  return e.op == ExprOp::LogicalAnd && (never(key, e.a) || never(key, e.b));
}

bool PlanCache::plan_access(const PlanKey& key, const Access& access, Plan& plan) {
  const auto covered = [&](int32_t node) { return node < 0 || key.covered[at(node)] != 0; };
  if (never(key, access.guard)) return true;
  if (!covered(access.guard)) return false;
  for (const auto& dim : access.dims)
    if (!covered(dim.count) || !covered(dim.stride)) return false;
  if (!covered(access.first_col) || !covered(access.cols) || !covered(access.bytes)) return false;
  PlannedAccess planned;
  if (!instantiate(machine_, evaluator_, access, planned.access)) {
    // Without a tensor there is no access, which depends on the pointer; all else follows from the key.
    return access.pointer < 0 || split_pointer(evaluator_.integer(access.pointer)).tensor >= 0;
  }
  planned.base = sum_of(machine_, key, evaluator_.values(), access.base);
  planned.pointer = access.pointer;
  AccessInstance& instance = planned.access;
  instance.base = 0;
  instance.tensor = -1;
  const Memory& memory = machine_.machine().memories[at(access.memory)];
  if (memory.kind == MemoryKind::Dram) {
    int64_t bytes = instance.bytes;
    for (int d = 0; d < instance.dims; ++d) bytes = scalar::mul(bytes, instance.count[d]);
    int64_t& total = instance.write ? plan.traffic.written : plan.traffic.read;
    total = scalar::add(total, bytes);
  } else {
    clip_columns(memory, instance);
  }
  planned.low = instance.first();
  planned.high = instance.last();
  planned.limit = memory.kind == MemoryKind::Dram ? -1 : memory.rows;
  plan.accesses.push_back(std::move(planned));
  return true;
}

bool PlanCache::plan_steps(const PlanKey& key, const std::vector<int32_t>& body, Plan& plan) {
  const auto covered = [&](int32_t node) { return node < 0 || key.covered[at(node)] != 0; };
  for (const int32_t index : body) {
    const Statement& s = machine_.machine().statements[at(index)];
    Step step;
    step.statement = index;
    if (s.kind == StatementKind::Require && covered(s.a)) {
      if (evaluator_.integer(s.a) == 0) return false;
      continue;
    }
    if (s.kind == StatementKind::When && covered(s.a)) {
      if (!plan_steps(key, evaluator_.integer(s.a) != 0 ? s.body : s.otherwise, plan)) return false;
      continue;
    }
    // What a later statement of this command reads would have to be computed anew.
    if (sets_for_later(machine_, index)) return false;
    if (s.kind == StatementKind::SetState && covered(s.a) && machine_.ahead(s.c)) {
      step.slot = evaluator_.state_slot(s.imm, s.a);
      if (covered(s.c))
        step.constant = evaluator_.value(s.c);
      else
        step.node = s.c;
    }
    if (s.kind == StatementKind::Loop) {
      if (const Form* form = machine_.form_of(index)) {
        evaluator_.enter(machine_.nest(index).form_tape);
        if (!evaluator_.tape_valid()) return false;
        if (auto block = block_form(machine_, key, evaluator_.values(), *form, multiply_)) {
          step.block = static_cast<int32_t>(plan.blocks.size());
          plan.blocks.push_back(std::move(*block));
        }
      }
    }
    plan.steps.push_back(step);
  }
  return true;
}

void PlanCache::finish(const PlanKey& key, Plan& plan) const {
  std::vector<uint8_t> needed(machine_.exprs().size());
  const auto need = [&](int32_t node) {
    if (node >= 0) needed[at(node)] = 1;
  };
  for (const auto& access : plan.accesses) {
    need(access.pointer);
    for (const int32_t node : access.base.terms) need(node);
  }
  for (const auto& step : plan.steps) need(step.node);
  for (const auto& block : plan.blocks) visit_terms(block, need);
  plan.tape = machine_.tape_for(needed);
  std::erase_if(plan.tape, [&](int32_t node) {  // computed for the key already
    return std::find(key.tape.begin(), key.tape.end(), node) != key.tape.end();
  });
}

// False: outside its memory, or no tensor's.
bool PlanCache::place(const PlannedAccess& planned, AccessInstance& access) const {
  int64_t base = planned.base.at(evaluator_.values());
  if (base < -kSaneBase || base > kSaneBase) return false;
  if (planned.limit >= 0) {
    access.base = base;
    return base + planned.low >= 0 && base + planned.high <= planned.limit;
  }
  const Pointer pointer = split_pointer(evaluator_.values()[planned.pointer].i);
  access.tensor = static_cast<int32_t>(pointer.tensor);
  access.base = base + pointer.offset;
  return pointer.tensor >= 0;
}

bool PlanCache::append_accesses(const Plan& plan, OperationList& list) const {
  const size_t before = list.accesses.size();
  for (const auto& planned : plan.accesses) {
    list.accesses.push_back(planned.access);
    if (!place(planned, list.accesses.back())) {
      list.accesses.resize(before);
      return false;
    }
  }
  return true;
}

}  // namespace autocomp
