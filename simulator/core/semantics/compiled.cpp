#include "semantics/compiled.hpp"

#include <algorithm>

namespace autocomp {
namespace {

// "ld[1].stride" -> "ld[].stride": slots of one field differ in the bracketed index only.
std::string field_name(const std::string& slot) {
  const size_t open = slot.find('[');
  const size_t close = slot.find(']');
  if (open == std::string::npos || close == std::string::npos || close < open) return slot;
  return slot.substr(0, open + 1) + slot.substr(close);
}

// Marks every node below `root`, itself included.
void mark(const std::vector<Expr>& exprs, int32_t root, std::vector<uint8_t>& seen) {
  if (root < 0 || seen[static_cast<size_t>(root)] != 0) return;
  seen[static_cast<size_t>(root)] = 1;
  const Expr& e = exprs[static_cast<size_t>(root)];
  mark(exprs, e.a, seen);
  mark(exprs, e.b, seen);
  mark(exprs, e.c, seen);
}

}  // namespace

CompiledMachine::CompiledMachine(Machine machine) : machine_(std::move(machine)) {
  analyse_exprs();
  recognise_forms();
  analyse_exprs();  // the forms' derived expressions as well
  analyse_state();
  nests_.resize(machine_.statements.size());
  read_later_.resize(machine_.statements.size());
  stream_plans_.resize(machine_.statements.size());
  for (size_t i = 0; i < machine_.instructions.size(); ++i) plan_instruction(i);
  for (size_t i = 0; i < machine_.memories.size(); ++i)
    if (dram_ < 0 && machine_.memories[i].kind == MemoryKind::Dram) dram_ = static_cast<int32_t>(i);
}

void CompiledMachine::analyse_exprs() {
  const auto& exprs = machine_.exprs;
  facts_.resize(exprs.size());
  ahead_.resize(exprs.size());
  multiplies_.resize(exprs.size());
  products_.resize(exprs.size());
  for (size_t i = 0; i < exprs.size(); ++i) {
    facts_[i] = check_expr(machine_, i, facts_);
    const Expr& e = exprs[i];
    const bool binds = binds_variable(e.op);
    const auto child_ahead = [&](int32_t node) { return node < 0 || ahead_[static_cast<size_t>(node)] != 0; };
    ahead_[i] = facts_[i].loops == 0 && !facts_[i].reads && !facts_[i].awaits && !binds && child_ahead(e.a) &&
                child_ahead(e.b) && child_ahead(e.c);
    if (e.op == ExprOp::Sum) {
      const Expr* body = &exprs[static_cast<size_t>(e.b)];
      if (body->op == ExprOp::Select) body = &exprs[static_cast<size_t>(body->b)];
      multiplies_[i] = body->op == ExprOp::Mul || body->op == ExprOp::FMul;
    }
    if (e.op == ExprOp::FmaChain) multiplies_[i] = 1;
    products_[i] = count_products(e);
  }
}

int64_t CompiledMachine::count_products(const Expr& e) const {
  using enum ExprOp;
  if (e.op == Read || e.op == ReadDram || binds_variable(e.op)) return 0;
  const auto below = [&](int32_t node) { return node < 0 ? 0 : products_[static_cast<size_t>(node)]; };
  if (e.op == Select) return scalar::add(below(e.a), std::max(below(e.b), below(e.c)));
  const bool product = (e.op == Mul || e.op == FMul || e.op == Fma) && reads_memory(e.a) && reads_memory(e.b);
  return scalar::add(scalar::add(below(e.a), below(e.b)), scalar::add(below(e.c), product ? 1 : 0));
}

void CompiledMachine::analyse_state() {
  const auto& names = machine_.state_names;
  field_sizes_.resize(names.size(), 1);
  for (size_t i = 0; i < names.size(); ++i) {
    size_t end = i + 1;
    while (end < names.size() && field_name(names[end]) == field_name(names[i])) ++end;
    field_sizes_[i] = static_cast<int64_t>(end - i);
  }
}

// Nests are recognised where an instruction enters them; loops inside loops belong to their nest.
void CompiledMachine::recognise_forms() {
  form_of_.assign(machine_.statements.size(), -1);
  std::vector<uint8_t> inner(machine_.statements.size());
  outer_.assign(machine_.statements.size(), 0);
  for (size_t i = machine_.statements.size(); i-- > 0;) {  // what holds a statement stands behind it
    const Statement& s = machine_.statements[i];
    const bool ordered = s.kind == StatementKind::Loop && s.imm != 0;
    for (const auto* list : {&s.body, &s.otherwise})
      for (const int32_t child : *list) {
        outer_[static_cast<size_t>(child)] = outer_[i] + (ordered ? 1 : 0);
        if (s.kind == StatementKind::Loop && !ordered) inner[static_cast<size_t>(child)] = 1;
      }
  }
  const std::vector<uint8_t> ahead = ahead_;
  const size_t known = ahead.size();
  for (size_t i = 0; i < machine_.statements.size(); ++i) {
    const Statement& s = machine_.statements[i];
    if (s.kind != StatementKind::Loop || s.imm != 0 || inner[i] != 0 || s.b >= 0) continue;
    Form form;
    std::vector<uint8_t> at_entry = ahead;
    for (size_t n = 0; outer_[i] > 0 && n < known; ++n) at_entry[n] = known_at_entry(n, outer_[i]);
    if (!recognise(machine_, machine_.exprs, at_entry, static_cast<int32_t>(i), outer_[i], form)) continue;
    form.products = products(form.value);
    form_of_[i] = static_cast<int32_t>(forms_.size());
    forms_.push_back(std::move(form));
  }
}

// In ordered loops, their variables and the memories are known when a nest is entered.
bool CompiledMachine::known_at_entry(size_t node, int outer) const {
  const Expr& e = machine_.exprs[node];
  const auto operand = [&](int32_t n) { return n < 0 || known_at_entry(static_cast<size_t>(n), outer); };
  if (ahead_[node] != 0) return true;
  if (facts_[node].loops > outer || facts_[node].awaits || facts_[node].sums) return false;
  return operand(e.a) && operand(e.b) && operand(e.c);
}

// Everything a statement evaluates, except what belongs to recognised nests.
void CompiledMachine::mark_statement(int32_t index, std::vector<uint8_t>& seen) const {
  const Statement& s = machine_.statements[static_cast<size_t>(index)];
  if (form_of(index) != nullptr) return;
  for (const int32_t node : {s.a, s.b, s.c}) mark(machine_.exprs, node, seen);
  for (const int32_t child : s.body) mark_statement(child, seen);
  for (const int32_t child : s.otherwise) mark_statement(child, seen);
}

std::vector<int32_t> CompiledMachine::tape_of(const std::vector<uint8_t>& seen) const {
  std::vector<int32_t> tape;
  for (size_t i = 0; i < seen.size(); ++i) {
    const ExprOp op = machine_.exprs[i].op;
    if (seen[i] != 0 && ahead_[i] != 0 && op != ExprOp::ConstInt && op != ExprOp::ConstFloat)
      tape.push_back(static_cast<int32_t>(i));
  }
  return tape;
}

std::vector<int32_t> CompiledMachine::tape_for(const std::vector<uint8_t>& roots) const {
  std::vector<uint8_t> seen(roots.size());
  for (size_t i = 0; i < roots.size(); ++i)
    if (roots[i] != 0) mark(machine_.exprs, static_cast<int32_t>(i), seen);
  return tape_of(seen);
}

void CompiledMachine::plan_nests(int32_t index, const std::vector<uint8_t>& in_tape) {
  const Statement& s = machine_.statements[static_cast<size_t>(index)];
  if (const Form* form = form_of(index)) {
    const auto beyond = [&](std::vector<uint8_t> seen, std::vector<int32_t>& tape) {
      for (size_t i = 0; i < seen.size(); ++i) seen[i] = seen[i] != 0 && in_tape[i] == 0;
      for (const int32_t node : tape) seen[static_cast<size_t>(node)] = 1;  // of another instruction with this nest
      tape = tape_of(seen);
    };
    std::vector<uint8_t> of_form(machine_.exprs.size());
    visit_nodes(*form, [&](int32_t node) { mark(machine_.exprs, node, of_form); });
    std::vector<uint8_t> of_body(machine_.exprs.size());
    mark(machine_.exprs, s.a, of_body);
    for (const int32_t child : s.body) mark_statement(child, of_body);
    if (outer_[static_cast<size_t>(index)] > 0)
      nests_[static_cast<size_t>(index)].form_tape = whole_tape_of(of_form);
    else
      beyond(std::move(of_form), nests_[static_cast<size_t>(index)].form_tape);
    beyond(std::move(of_body), nests_[static_cast<size_t>(index)].body_tape);
    return;
  }
  for (const int32_t child : s.body) plan_nests(child, in_tape);
  for (const int32_t child : s.otherwise) plan_nests(child, in_tape);
}

void CompiledMachine::find_later_reads(const std::vector<int32_t>& body) {
  const std::vector<int32_t> order = [&] {  // every statement, in program order
    std::vector<int32_t> list;
    const auto walk = [&](const auto& self, const std::vector<int32_t>& statements) -> void {
      for (const int32_t s : statements) {
        list.push_back(s);
        self(self, machine_.statements[static_cast<size_t>(s)].body);
        self(self, machine_.statements[static_cast<size_t>(s)].otherwise);
      }
    };
    walk(walk, body);
    return list;
  }();
  std::vector<uint8_t> later(machine_.exprs.size());
  for (size_t i = order.size(); i-- > 0;) {
    const Statement& s = machine_.statements[static_cast<size_t>(order[i])];
    if (s.kind == StatementKind::SetState) {
      for (size_t n = 0; n < later.size(); ++n) {
        const Expr& e = machine_.exprs[n];
        if (later[n] == 0 || e.op != ExprOp::State) continue;
        if (e.imm < s.imm + field_size(s.imm) && s.imm < e.imm + field_size(e.imm))
          read_later_[static_cast<size_t>(order[i])] = 1;
      }
    }
    for (const int32_t node : {s.a, s.b, s.c}) mark(machine_.exprs, node, later);
  }
}

void CompiledMachine::plan_instruction(size_t index) {
  const Instruction& instruction = machine_.instructions[index];
  std::vector<uint8_t> seen(machine_.exprs.size());
  for (const int32_t s : instruction.body) mark_statement(s, seen);
  for (const auto& access : instruction.accesses) {
    for (const int32_t node : {access.guard, access.pointer, access.base, access.first_col, access.cols, access.bytes})
      mark(machine_.exprs, node, seen);
    mark(machine_.exprs, access.point, seen);
    for (const int32_t node : access.loops) mark(machine_.exprs, node, seen);
    for (const auto& dim : access.dims) {
      mark(machine_.exprs, dim.count, seen);
      mark(machine_.exprs, dim.stride, seen);
    }
  }
  for (const auto& property : instruction.properties) mark(machine_.exprs, property.value, seen);
  plans_.push_back({tape_of(seen)});
  for (const int32_t s : instruction.body) plan_nests(s, seen);
  find_later_reads(instruction.body);
  for (const CommandStream& stream : instruction.streams) plan_stream(stream.body);
}

std::vector<int32_t> CompiledMachine::whole_tape(const std::vector<int32_t>& roots) const {
  std::vector<uint8_t> seen(machine_.exprs.size());
  for (const int32_t root : roots) mark(machine_.exprs, root, seen);
  return whole_tape_of(seen);
}

std::vector<int32_t> CompiledMachine::whole_tape_of(const std::vector<uint8_t>& seen) const {
  std::vector<int32_t> tape;
  for (size_t i = 0; i < seen.size(); ++i) {
    const ExprOp op = machine_.exprs[i].op;
    if (seen[i] != 0 && op != ExprOp::ConstInt && op != ExprOp::ConstFloat) tape.push_back(static_cast<int32_t>(i));
  }
  return tape;
}

void CompiledMachine::plan_stream(const std::vector<int32_t>& body) {
  for (const int32_t index : body) {
    const Statement& s = machine_.statements[static_cast<size_t>(index)];
    StreamPlan& plan = stream_plans_[static_cast<size_t>(index)];
    plan.values = s.kind == StatementKind::Emit ? whole_tape(s.arguments) : whole_tape({s.a, s.b});
    plan.awaits = whole_tape(s.awaits);
    plan_stream(s.body);
    plan_stream(s.otherwise);
  }
}

}  // namespace autocomp
