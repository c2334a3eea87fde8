#include "units/systolic.hpp"

#include <algorithm>
#include <tuple>

namespace autocomp::timing {

Systolic::Systolic(Context& context, int32_t unit)
    : context_(context),
      settings_(context.settings.units[static_cast<size_t>(unit)]),
      arrived_(settings_.unroll_queue),
      queue_(settings_.queue),
      control_(settings_.operand_queue),
      cause_(context.now) {}

// A pair with more than one pass is sent as two: the first time without results and completions, the second time
// without the preloaded operand, which is in the array by then.
void Systolic::unroll() {
  const int64_t now = context_.now;
  const Item* head = arrived_.at(0, now);
  if (head == nullptr || !queue_.room(now)) return;
  const Item* next = arrived_.at(1, now);
  const auto twice = [&](const Item& item) { return context_.command(item.slot).value(Key::Passes) > 1; };
  Item item = *head;
  bool stays = false;
  if (unrolled_ == 0 && role(head) == Role::Preload && twice(*head)) {
    if (next == nullptr) return;
    stays = role(next) == Role::Multiply && twice(*next);
    item.silent = stays;
    unrolled_ = stays ? 1 : 0;
  } else if (unrolled_ == 1) {
    item = {next->slot, true, false};
    stays = true;
    unrolled_ = 2;
  } else if (unrolled_ == 2) {
    item.empty = true;
    unrolled_ = 0;
  }
  queue_.push(item, now);
  context_.progress = true;
  if (stays) return;
  arrived_.pop(now);
  context_.may_issue = true;
}

// --- the controller

// Whether a destination that is looked at is like this.
template <typename Like>
bool Systolic::any_tag(Like like) const {
  for (size_t i = 0; i < tags_.size(); ++i) {
    const Tag& tag = tags_[i];
    if (tag.owner >= 0 && tag.from <= context_.now && tag.until >= context_.now && like(tag)) return true;
  }
  return false;
}

bool Systolic::in_progress() const {
  return any_tag([](const Tag&) { return true; });
}

bool Systolic::tagged(const AccessInstance& access) const {
  return any_tag([&](const Tag& tag) { return tag.memory == access.memory && tag.base == access.base; });
}

// Whether a result in the array begins where an operand of the pair does.
bool Systolic::tagged(const Item& preload, const Item& multiply) {
  for (const Item& item : {preload, multiply}) {
    const Command& command = context_.command(item.slot);
    for (size_t i = 0; i < command.read_count && !item.empty; ++i)
      if (tagged(command.reads[i])) return true;
  }
  return false;
}

void Systolic::configure(int32_t slot) {
  context_.start(slot);
  context_.complete(slot, context_.now);
  queue_.pop(context_.now);
  context_.progress = true;
  cause_ = Cause::Busy;
}

void Systolic::decide() {
  wait_ = Cause::Idle;
  const int64_t now = context_.now;
  const Item* first = queue_.at(0, now);
  const bool progress = in_progress();
  if (first == nullptr) {
    if (progress && deferring_) change(State::Flush);
    return;
  }
  const Item *second = queue_.at(1, now), *third = queue_.at(2, now);
  const Role head = role(first);
  const bool configures = head == Role::Configure;
  if (configures &&
      (context_.command(first->slot).value(Key::Drain) == 0 || !(progress || pending_[0] >= 0 || pending_[1] >= 0)))
    return configure(first->slot);
  if (head == Role::Preload && second != nullptr && !tagged(*first, *second)) return begin(false, true);
  if (head == Role::Multiply) {
    const bool follows = second != nullptr && role(second) == Role::Preload;
    const bool seen = settings_.lookahead < 3 || (third != nullptr && !tagged(*second, *third));
    return begin(true, follows && seen);
  }
  wait_ = configures ? Cause::Drain : second == nullptr ? Cause::Pairing : Cause::ReadAfterWrite;
  if (progress && (deferring_ || configures)) change(State::Flush);
}

Systolic::Tag Systolic::tag_of(const Item& preload) {
  Tag tag;
  const Command& command = context_.command(preload.slot);
  tag.reversed = command.value(Key::Deferred) != 0;
  if (preload.silent || !command.result) return tag;
  const AccessInstance& result = *command.result;
  tag.owner = preload.slot;
  tag.memory = result.memory;
  tag.base = result.base;
  tag.step = result.dims > 0 ? result.stride[0] : 0;
  tag.rows = points(result);
  tag.accumulate = command.accumulate;
  return tag;
}

// Those of the multiply that are read with it, or early: with the preload before it.
void Systolic::add_operands(const Item& multiply, bool early) {
  const Command& command = context_.command(multiply.slot);
  const std::array<int64_t, kPreloaded> rows{command.value(Key::LeftRows), command.value(Key::RightRows)};
  const std::array<int64_t, kPreloaded> step{command.value(Key::LeftStep), 1};
  const auto mask = static_cast<uint64_t>(command.value(Key::Early));
  size_t given = 0;
  for (size_t i = 0; i < kPreloaded; ++i) {
    if (rows[i] <= 0 || given == command.read_count) continue;
    const AccessInstance& access = command.reads[given++];
    if ((access.parameter >= 0 && (mask >> access.parameter & 1) != 0) != early) continue;
    operands_[i] = {.memory = access.memory, .base = access.base, .step = step[i], .rows = rows[i]};
  }
}

void Systolic::add_preloaded(const Item& preload) {
  const Command& command = context_.command(preload.slot);
  if (preload.empty || command.read_count == 0) return;
  const AccessInstance& access = command.reads[0];
  operands_[kPreloaded] = {.memory = access.memory, .base = access.base, .rows = points(access)};
}

void Systolic::begin(bool multiply, bool preload) {
  const int64_t now = context_.now;
  multiplies_ = multiply;
  preloads_ = preload;
  operands_.fill({});
  rows_ = settings_.min_rows;
  Tag tag;
  if (multiply) {
    const Item& item = *queue_.at(0, now);
    add_operands(item, false);
    rows_ = std::max(rows_, context_.command(item.slot).value(Key::Rows));
    deferring_ = context_.command(item.slot).value(Key::Deferred) != 0;
    context_.start(item.slot);
  }
  if (preload) {
    const Item& item = *queue_.at(multiply ? 1 : 0, now);
    if (const Item* next = queue_.at(multiply ? 2 : 1, now); next != nullptr && role(next) == Role::Multiply)
      add_operands(*next, true);
    add_preloaded(item);
    rows_ = std::max(rows_, context_.command(item.slot).value(Key::Rows));
    deferring_ = context_.command(item.slot).value(Key::Deferred) != 0;
    context_.start(item.slot);
    tag = tag_of(item);
  }
  tag.reversed = deferring_;
  for (size_t i = 0; i < kOperands; ++i) place(i);
  operations_.push({tag, rows_});
  change(State::Running);
}

// Where the next row of an operand lies. The preloaded one's last row comes first.
void Systolic::place(size_t operand) {
  Operand& o = operands_[operand];
  if (o.memory < 0) return;
  const int64_t rows = context_.settings.memories[static_cast<size_t>(o.memory)].rows;
  const int64_t index = operand == kPreloaded ? settings_.side - 1 - o.next : o.next;
  o.zeros = index >= o.rows;
  o.row = o.base + index * o.step;
  if (o.row >= rows) o.row %= rows;
  if (o.row >= o.bank_first && o.row < o.bank_last) return;
  o.bank = context_.ports.bank(o.memory, o.row);
  std::tie(o.bank_first, o.bank_last) = context_.ports.rows_of_bank(o.memory, o.row);
}

void Systolic::advance(size_t operand) {
  Operand& o = operands_[operand];
  o.started = true;
  if (++o.next == rows_) o.next = 0;
  place(operand);
}

bool Systolic::shares(size_t operand, size_t other) const {
  const Operand &mine = operands_[operand], &theirs = operands_[other];
  return mine.memory >= 0 && mine.memory == theirs.memory && mine.bank == theirs.bank;
}

// For another operand that has not come as far, or that shares the bank and comes first.
bool Systolic::waits(size_t operand) const {
  const Operand& mine = operands_[operand];
  for (size_t other = 0; other < kOperands; ++other) {
    const Operand& theirs = operands_[other];
    if (other == operand) continue;
    if (mine.started && mine.next == (theirs.next + 1 == rows_ ? 0 : theirs.next + 1)) return true;
    if (other < operand && shares(operand, other) && mine.started == theirs.started && mine.next == theirs.next)
      return true;
  }
  return false;
}

// The operands that wait for no other.
Systolic::Operands Systolic::able() const {
  const Operand &a = operands_[0], &b = operands_[1], &c = operands_[2];
  const bool level = a.next == b.next && b.next == c.next && a.started == b.started && b.started == c.started;
  if (level && rows_ > 1 && !shares(1, 0) && !shares(2, 0) && !shares(2, 1)) return kAll;
  Operands result = 0;
  for (size_t i = 0; i < kOperands; ++i)
    if (!waits(i)) result |= static_cast<Operands>(1U << i);
  return result;
}

void Systolic::read_operands() {
  if (!control_.room_through()) return;
  const int64_t now = context_.now;
  Control control;
  control.first = !(operands_[0].started || operands_[1].started || operands_[2].started);
  control.fired = able();
  bool all = !control.first;
  for (size_t i = 0; i < kOperands; ++i) {
    const auto bit = static_cast<Operands>(1U << i);
    const Operand& operand = operands_[i];
    if ((control.fired & bit) != 0 && !operand.zeros) {
      control.bank[i] = operand.bank;
      if (context_.ports.read(Ports::Reader::Operand, operand.bank, operand.row, now)) {
        control.reads |= bit;
        control.data = now + context_.ports.read_latency(operand.bank);
      } else {
        control.fired ^= bit;
      }
    }
    all = all && (operand.next == 0 || (operand.next == rows_ - 1 && (control.fired & bit) != 0));
  }
  for (size_t i = 0; i < kOperands; ++i)
    if ((control.fired >> i & 1) != 0) advance(i);
  control_.push(control, now);
  cause_ = control.fired != 0 ? Cause::Busy : Cause::BankConflict;
  context_.progress = true;
  if (all) finish();
}

void Systolic::finish() {
  const int64_t now = context_.now;
  for (const bool multiply : {true, false}) {
    if (!(multiply ? multiplies_ : preloads_)) continue;
    const Item& item = *queue_.at(0, now);
    const bool completes = !item.silent && (multiply || !context_.command(item.slot).result);
    if (completes) pending_[multiply || !multiplies_ ? 0 : 1] = item.slot;
    queue_.pop(now);
  }
  pending_from_ = now + 1;
  change(State::Waiting);
}

// A result that completes its owner comes first.
void Systolic::complete() {
  if (completed_ == context_.now || pending_from_ > context_.now) return;
  for (int32_t& slot : pending_) {
    if (slot < 0) continue;
    context_.complete(std::exchange(slot, -1), context_.now);
    return;
  }
}

// --- the array

void Systolic::start(bool flush) {
  operation_ = (operation_ + 1) % kNumbers;
  entering_ = true;
  flushing_ = flush;
  entered_ = 0;
  entering_rows_ = settings_.side;
  context_.progress = true;
  if (flush) return;
  Operation& next = operations_.front();
  entering_rows_ = next.rows;
  next.tag.operation = (operation_ + (next.tag.reversed ? 2 : 1)) % kNumbers;
  next.tag.from = context_.now + 1;
  tags_.push(next.tag);
  totals_.push(operation_);
  operations_.pop();
}

// A row enters if all its operands are there.
bool Systolic::enter() {
  if (!entering_ || !(flushing_ || there_ == kAll)) return false;
  const int64_t cycle = context_.now + settings_.latency;
  if (entered_ > 0 && !leaving_.empty() && leaving_.back().cycle + leaving_.back().count == cycle)
    ++leaving_.back().count;
  else
    leaving_.push({cycle, 1, operation_, entered_, entering_rows_});
  there_ = 0;
  entering_ = ++entered_ < entering_rows_;
  context_.progress = true;
  return true;
}

// The next control word, with the data it waits for.
void Systolic::feed() {
  const int64_t now = context_.now;
  const State state = state_;
  while (!tags_.empty() && tags_.front().until < now) tags_.pop();
  const Operands before = there_;
  const bool entered = enter();
  const bool room = !entering_ && tags_.size() < kMostTags && totals_.size() + (left_ == now ? 1 : 0) < kMostTags;
  bool starts = false;
  if (const Control* head = control_.head(now); head != nullptr) {
    const Operands ready = head->fired & (entered || room ? kAll : ~before);
    const Operands fires = ready & (head->data <= now ? kAll : ~head->reads);
    there_ |= fires;
    const bool over = (!head->first || room) && fires == ready;
    starts = over && head->fired != 0 && room;
    if (over) {
      for (size_t i = 0; i < kOperands; ++i)
        if ((head->reads >> i & 1) != 0) context_.ports.take(Ports::Reader::Operand, head->bank[i]);
      control_.pop(now);
      context_.progress = true;
    }
    if (starts) start(false);
  } else if (state == State::Flush && room) {
    starts = true;
    start(true);
  }
  if (state == State::Flush && starts)
    change(State::Flushing);
  else if (state == State::Flushing && room)
    change(State::Waiting);
}

void Systolic::write_results() {
  if (leaving_.empty() || leaving_.front().cycle > context_.now) return;
  const int64_t now = context_.now;
  Leaving& rows = leaving_.front();
  const int64_t operation = rows.operation, index = rows.index, count = rows.rows;
  Tag* head = nullptr;  // the first that has not ended
  for (size_t i = 0; i < tags_.size() && head == nullptr; ++i)
    if (tags_[i].until == kNever) head = &tags_[i];
  const bool known = head != nullptr && head->operation == operation;
  if (known && head->owner >= 0) {
    const int64_t row = head->reversed ? count - 1 - index : index;
    if (row < head->rows)
      context_.ports.write_result(head->memory, head->base + row * head->step, head->accumulate, now);
  }
  context_.progress = true;
  ++rows.cycle;
  ++rows.index;
  if (--rows.count == 0) leaving_.pop();
  if (index + 1 < count) return;
  if (!totals_.empty() && totals_.front() == operation) {
    totals_.pop();
    left_ = now;
  }
  if (!known) return;
  head->until = now;
  if (head->owner < 0) return;
  context_.complete(head->owner, now);
  completed_ = now;
}

void Systolic::step() {
  const State state = state_;
  feed();
  if (state == State::Waiting) decide();
  if (state_ == State::Running) read_operands();
  if (!arrived_.empty()) unroll();
  complete();
}

void Systolic::schedule() {
  arrived_.schedule(context_);
  queue_.schedule(context_);
  control_.schedule(context_);
  if (const Control* control = control_.front()) context_.at(control->data);
  if (!leaving_.empty()) context_.at(leaving_.front().cycle);
  for (size_t i = 0; i < tags_.size(); ++i) context_.at(tags_[i].from);
}

Cause Systolic::cause() const {
  if (cause_ != Cause::Idle) return cause_;
  if (state_ == State::Flush || state_ == State::Flushing) return Cause::Drain;
  if (wait_ != Cause::Idle) return wait_;
  return Cause::Pipeline;
}

}  // namespace autocomp::timing
