#include "plans/plan_cache.hpp"

namespace autocomp {
namespace {

constexpr size_t kSlots = 256;
constexpr int64_t kPatience = 512;  // plans made before hits must have paid for them

uint64_t hash(const std::vector<uint64_t>& key) {
  uint64_t sum = 0;
  uint64_t factor = 0x9E3779B97F4A7C15U;
  for (const uint64_t value : key) {
    sum += (value + 0x632BE59BD9B4E019U) * factor;
    factor += 0xBF58476D1CE4E5B8U;  // stays odd
  }
  sum ^= sum >> 32;
  return sum * 0x94D049BB133111EBU;
}

}  // namespace

const std::vector<Traffic>* PlanCache::run(int32_t instruction, const Value* arguments, Operation operation,
                                           bool detailed, OperationList& list) {
  evaluator_.take(arguments);
  const Plan* plan = plan_for(instruction, arguments);
  if (plan == nullptr || !plan->usable) return nullptr;
  if (!plan->tape.empty() && !evaluator_.evaluate(plan->tape)) return nullptr;

  operation.plan = plan->number;
  operation.first_access = static_cast<uint32_t>(list.accesses.size());
  operation.first_property = static_cast<uint32_t>(list.properties.size());
  if (!append_accesses(*plan, detailed, list)) return nullptr;
  operation.access_count = static_cast<uint32_t>(list.accesses.size()) - operation.first_access;
  list.operations.push_back(operation);
  for (const PlannedStep& step : plan->steps) run_step(*plan, step, arguments);
  return &plan->traffic;
}

const Plan* PlanCache::plan_for(int32_t instruction, const Value* arguments) {
  if (tables_.empty()) tables_.resize(machine_.machine().instructions.size());
  Table& table = tables_[at(instruction)];
  Slot* slot = expected(instruction);
  if (slot != nullptr)
    ++table.hits;
  else
    slot = find(table, instruction, arguments);
  if (slot == nullptr) return nullptr;
  if (latest_ != nullptr && latest_->next[0] != slot) latest_->next = {slot, latest_->next[0]};
  latest_ = slot;
  return slot->plan.get();
}

PlanCache::Slot* PlanCache::expected(int32_t instruction) const {
  if (latest_ == nullptr) return nullptr;
  for (Slot* slot : latest_->next) {
    if (slot == nullptr) break;
    const Plan& plan = *slot->plan;
    if (plan.instruction == instruction && plan.usable && plan.guard.holds(evaluator_.sources())) return slot;
  }
  return nullptr;
}

PlanCache::Slot* PlanCache::find(Table& table, int32_t instruction, const Value* arguments) {
  if (!table.known) {
    table.known = true;
    table.key = key_of(machine_, instruction);
    table.slots.resize(kSlots);
  }
  if (!table.key.usable || !evaluator_.evaluate(table.key.tape)) return nullptr;
  present_.clear();
  for (const KeyPart& part : table.key.parts) present_.push_back(part.at(evaluator_.sources()));
  Slot& slot = table.slots[hash(present_) >> 56];
  if (slot.plan && slot.plan->key == present_) {
    ++table.hits;
    return &slot;
  }
  // Keys that hardly ever come again are not worth their plans.
  if (++table.misses > kPatience + table.hits / 8) return nullptr;
  evaluator_.begin(instruction, arguments);
  slot.plan = make_plan(machine_, evaluator_, table.key, instruction, code_);
  slot.plan->key = present_;
  slot.plan->number = made_++;
  return &slot;
}

// False: one of them lies outside its memory; none is appended.
bool PlanCache::append_accesses(const Plan& plan, bool detailed, OperationList& list) const {
  const size_t before = list.accesses.size();
  if (detailed) list.accesses.insert(list.accesses.end(), plan.instances.begin(), plan.instances.end());
  const Sources sources = evaluator_.sources();
  AccessInstance unused;
  for (size_t i = 0; i < plan.accesses.size(); ++i) {
    if (plan.accesses[i].place(sources, detailed ? list.accesses[before + i] : unused)) continue;
    list.accesses.resize(before);
    return false;
  }
  if (detailed) list.properties.insert(list.properties.end(), plan.properties.begin(), plan.properties.end());
  return true;
}

void PlanCache::run_step(const Plan& plan, const PlannedStep& step, const Value* arguments) {
  using enum PlannedStep::Kind;
  const Sources sources = evaluator_.sources();
  switch (step.kind) {
    case SetInteger: evaluator_.state[step.slot] = int_value(step.integer.at(sources)); return;
    case SetReal: evaluator_.state[step.slot] = sources.value(step.real); return;
    case SetConstant: evaluator_.state[step.slot] = step.constant; return;
    case Block:
      if (run_block(plan.blocks[step.block], sources, memories_, tensors_, evaluator_.multiply_accumulates)) return;
      break;
    case Form:
      if (run_form(step)) return;
      break;
    case Statement: break;
  }
  executor_.execute_alone(plan.instruction, arguments, step.statement);
}

bool PlanCache::run_form(const PlannedStep& step) {
  for (const auto& [node, value] : step.settled) evaluator_.settle(node, value);
  return executor_.run_form(*step.form);
}

}  // namespace autocomp
