#include "units/array.hpp"

#include <algorithm>

namespace autocomp::timing {
namespace {

constexpr int64_t kMostPasses = 64;

}  // namespace

Array::Array(Context& context, int32_t unit)
    : context_(context), settings_(context.settings.units[static_cast<size_t>(unit)]), cause_(context.now) {}

void Array::push_item(int32_t slot, bool silent, int64_t visible) {
  if (!queue_.empty()) visible = std::max(visible, queue_.back().visible + 1);
  queue_.push({visible, slot, silent});
}

void Array::issue(int32_t slot) {
  const Command& command = context_.command(slot);
  const int64_t visible = context_.now + settings_.start;
  wake_ = context_.now;
  if (command.role == Role::Multiply && command.value(Key::Passes) > 1 && !queue_.empty() &&
      context_.command(queue_.back().slot).role == Role::Preload) {
    // The pair runs several times; only the last pass counts.
    const int32_t preload = queue_.back().slot;
    queue_.back().visible = std::max(queue_.back().visible, visible);
    queue_.back().silent = true;
    const int64_t passes = std::min<int64_t>(command.value(Key::Passes), kMostPasses);
    for (int64_t pass = 1; pass < passes; ++pass) {
      push_item(slot, true, visible);
      push_item(preload, pass + 1 < passes, visible);
    }
  }
  push_item(slot, false, visible);
}

void Array::write_results() {
  while (!results_.empty() && results_.front().cycle <= context_.now) {
    Result& result = results_.front();
    // Results are written before anything else in a cycle asks for a port.
    if (result.row >= 0 && !result.writing)
      (void)context_.ports.write(result.memory, result.row, result.accumulate, context_.now, result.count);
    result.writing = true;
    if (context_.now < result.cycle + result.count - 1) return;
    context_.progress = true;
    wake_ = context_.now;
    if (result.last) {
      context_.complete(result.owner, context_.now);
      for (Tag& tag : tags_)
        if (tag.owner == result.owner && tag.released == kNever) tag.released = context_.now;
    }
    results_.pop();
  }
}

bool Array::tagged(const Command& command) const {
  for (const Tag& tag : tags_)
    if (tag.released >= context_.now)
      for (size_t i = 0; i < command.read_count; ++i)
        if (command.reads[i].memory == tag.memory && command.reads[i].base == tag.base) return true;
  return false;
}

void Array::add_operands(const Command& command, bool early, bool reversed) {
  const auto mask = static_cast<uint64_t>(command.value(Key::Early));
  for (size_t i = 0; i < command.read_count; ++i) {
    const AccessInstance* access = &command.reads[i];
    const bool is_early = access->parameter >= 0 && ((mask >> access->parameter) & 1) != 0;
    if (is_early == early) operands_.push_back({access, points(*access), reversed});
  }
}

// Of the running operation: the multiply's, those that the next multiply reads early, and the preload's.
void Array::collect_operands() {
  operands_.clear();
  if (multiply_ >= 0) add_operands(context_.command(multiply_), false, false);
  if (early_ >= 0) add_operands(context_.command(early_), true, false);
  if (preload_ >= 0) add_operands(context_.command(preload_), false, true);
}

void Array::begin(bool multiply, bool preload) {
  const size_t next = multiply ? 1 : 0;
  multiply_ = multiply ? queue_[0].slot : -1;
  preload_ = preload ? queue_[next].slot : -1;
  const bool paired = preload && next + 1 < queue_.size() && role(next + 1) == Role::Multiply;
  early_ = paired ? queue_[next + 1].slot : -1;
  collect_operands();
  rows_ = settings_.min_rows;
  emits_ = deferred_;
  deferred_ = Target{};
  if (multiply) {
    silent_multiply_ = queue_[0].silent;
    const Command& command = context_.command(multiply_);
    if (!settings_.owner_preload && !silent_multiply_ && command.write)
      loaded_ = target(&*command.write, multiply_, command.accumulate);
    rows_ = std::max(rows_, command.value(Key::Rows));
    context_.start(multiply_);
  }
  if (preload) {
    silent_preload_ = queue_[next].silent;
    const Command& command = context_.command(preload_);
    rows_ = std::max(rows_, command.value(Key::Rows));
    context_.start(preload_);
    if (command.result && !silent_preload_)
      tags_.push_back({command.result->memory, preload_, command.result->base, kNever});
  }
  row_ = 0;
  pending_ = (uint64_t{1} << operands_.size()) - 1;
  running_ = true;
}

void Array::flush() {
  const bool follows = last_step_ >= 0 && context_.now == last_step_ + 1;
  flush_end_ = follows ? last_step_ + settings_.flush_first : context_.now + settings_.flush_period;
  flushing_ = true;
  wake_ = context_.now + 1;
  context_.progress = true;
  if (deferred_.owner < 0) return;
  const Target target = deferred_;
  deferred_ = Target{};
  const Command& owner = context_.command(target.owner);
  const int64_t rows = std::max<int64_t>({settings_.min_rows, owner.value(Key::Rows), 1});
  for (int64_t i = 0; i < rows; ++i) {
    const int64_t index = rows - 1 - i;
    results_.push({context_.now + i + settings_.latency, index < target.points ? row_at(*target.access, index) : -1, 1,
                   target.access != nullptr ? target.access->memory : -1, target.owner, target.accumulate,
                   i + 1 == rows});
  }
}

void Array::configure() {
  const int32_t slot = queue_[0].slot;
  const bool drain = context_.command(slot).value(Key::Drain) != 0;
  if (drain && in_progress()) {
    flush();
    return;
  }
  context_.start(slot);
  context_.complete(slot, context_.now);
  queue_.pop();
  context_.may_issue = true;
  wake_ = context_.now + 1;
  cause_ = Cause::Busy;
}

void Array::decide() {
  wait_ = Cause::Idle;
  if (flushing_) {
    if (flush_end_ > context_.now) {
      wait_ = Cause::Drain;
      return;
    }
    flushing_ = false;
  }
  while (!leaving_.empty() && leaving_.front() <= context_.now) leaving_.pop();
  if (leaving_.size() >= static_cast<size_t>(settings_.operations)) {
    wait_ = Cause::Pipeline;
    return;
  }
  std::erase_if(tags_, [&](const Tag& tag) { return tag.released < context_.now; });
  if (visible(0)) {
    const Role head = role(0);
    if (head == Role::Configure) {
      configure();
      if (flushing_) wait_ = Cause::Drain;
      return;
    }
    if (head == Role::Preload && visible(1)) {
      if (!tagged(context_.command(queue_[0].slot)) && !tagged(context_.command(queue_[1].slot))) {
        begin(false, true);
        return;
      }
      wait_ = Cause::ReadAfterWrite;
    } else if (head == Role::Preload) {
      wait_ = Cause::Pairing;
    } else {
      const auto ahead = static_cast<size_t>(settings_.lookahead);
      const bool overlap = visible(1) && role(1) == Role::Preload && visible(ahead - 1) &&
                           !tagged(context_.command(queue_[1].slot)) &&
                           (ahead < 3 || !tagged(context_.command(queue_[2].slot)));
      begin(true, overlap);
      return;
    }
  }
  if (deferring_ && in_progress()) {
    flush();
    wait_ = Cause::Drain;
  }
}

Array::Target Array::target(const AccessInstance* access, int32_t owner, bool accumulate) const {
  return {access, access != nullptr ? points(*access) : 0, owner, accumulate};
}

bool Array::emits_own() {
  return multiply_ >= 0 && !silent_multiply_ && loaded_.owner >= 0 &&
         context_.command(multiply_).value(Key::Deferred) == 0;
}

void Array::emit(const Target& target, int64_t index, int64_t count) {
  results_.push({context_.now + settings_.latency, index < target.points ? row_at(*target.access, index) : -1, count,
                 target.access != nullptr ? target.access->memory : -1, target.owner, target.accumulate,
                 row_ + count == rows_});
}

// Results of the next `count` rows, of which this cycle's is the first.
void Array::emit(int64_t count) {
  if (emits_.owner >= 0) emit(emits_, rows_ - 1 - row_, count);
  if (emits_own()) emit(loaded_, row_, count);
}

// How many of the next rows, at most `rows`, are all within an access and one bank of it, or all without.
int64_t Array::alike(const AccessInstance* access, int64_t points, int64_t index, bool reversed, int64_t rows) {
  if (index >= points) return reversed ? std::min(rows, index - points + 1) : rows;
  if (access->dims > 1) return 1;
  if (!reversed) rows = std::min(rows, points - index);
  const int64_t last = reversed ? index - (rows - 1) : index + (rows - 1);
  return context_.ports.same_bank(access->memory, row_at(*access, index), row_at(*access, last)) ? rows : 1;
}

// Books the ports of all operands for the next rows, or none.
bool Array::book(int64_t rows) {
  for (size_t i = 0; i < operands_.size(); ++i) {
    const Operand& operand = operands_[i];
    const int64_t index = operand_index(operand);
    if (index >= operand.points) continue;
    const AccessInstance& access = *operand.access;
    if (context_.ports.book(access.memory, row_at(access, index), context_.now, rows)) continue;
    release(i);
    return false;
  }
  return true;
}

void Array::release(size_t operands) {
  for (size_t i = 0; i < operands; ++i) {
    const int64_t index = operand_index(operands_[i]);
    const AccessInstance& access = *operands_[i].access;
    if (index < operands_[i].points) context_.ports.release(access.memory, row_at(access, index), context_.now);
  }
}

// Steps through as many rows at once as stay alike, until a write interrupts. Their results must not leave before the
// last of them is stepped, so that they can be taken back.
bool Array::start_run() {
  int64_t rows = std::min(rows_ - row_, settings_.latency);
  if (!context_.one_array || rows < 2) return false;
  const bool own = emits_own();
  if (own && emits_.owner >= 0) return false;
  if (emits_.owner >= 0) rows = alike(emits_.access, emits_.points, rows_ - 1 - row_, true, rows);
  if (own) rows = alike(loaded_.access, loaded_.points, row_, false, rows);
  for (const Operand& operand : operands_)
    rows = alike(operand.access, operand.points, operand_index(operand), operand.reversed, rows);
  if (rows < 2 || !book(rows)) return false;
  emit(rows);
  run_start_ = context_.now;
  run_end_ = context_.now + rows;
  context_.progress = true;
  return true;
}

// Ends the run with the row before this cycle's when a write has interrupted it.
void Array::continue_run() {
  if (context_.ports.interrupted()) {
    const int64_t done = context_.now - run_start_;
    release(operands_.size());
    if (emits_.owner >= 0 || emits_own()) {
      results_.back().count = done;
      results_.back().last = false;
    }
    run_end_ = context_.now;
    row_ += done;
    step_row();
    return;
  }
  cause_ = Cause::Busy;
  if (context_.now + 1 == run_end_) advance(run_end_ - run_start_);
}

void Array::advance(int64_t count) {
  context_.progress = true;
  cause_ = Cause::Busy;
  row_ += count;
  if (row_ == rows_) finish();
}

void Array::step_row() {
  const uint64_t all = (uint64_t{1} << operands_.size()) - 1;
  if (pending_ == all && start_run()) {
    cause_ = Cause::Busy;
    return;
  }
  for (uint64_t left = pending_; left != 0; left &= left - 1) {
    const auto i = static_cast<size_t>(std::countr_zero(left));
    const Operand& operand = operands_[i];
    const int64_t index = operand_index(operand);
    if (index >= operand.points ||
        context_.ports.read(operand.access->memory, row_at(*operand.access, index), context_.now)) {
      pending_ &= ~(uint64_t{1} << i);
      context_.progress = true;
    }
  }
  if (pending_ != 0) {
    cause_ = Cause::BankConflict;
    return;
  }
  emit(1);
  pending_ = all;
  advance(1);
}

void Array::finish() {
  running_ = false;
  wake_ = context_.now + 1;
  last_step_ = context_.now;
  leaving_.push(context_.now + settings_.operation_exit);
  if (multiply_ >= 0) {
    if (!silent_multiply_) {
      if (loaded_.owner >= 0 && context_.command(multiply_).value(Key::Deferred) != 0) deferred_ = loaded_;
      deferring_ = context_.command(multiply_).value(Key::Deferred) != 0;
      if (loaded_.owner != multiply_) context_.complete(multiply_, context_.now + 1);
      loaded_ = Target{};
    }
    queue_.pop();
    context_.may_issue = true;
  }
  if (preload_ >= 0) {
    const Command& command = context_.command(preload_);
    if (!silent_preload_) {
      if (loaded_.owner >= 0) context_.complete(loaded_.owner, context_.now + 1);  // its multiply never came
      loaded_ = Target{};
      if (command.result)
        loaded_ = target(&*command.result, preload_, command.accumulate);
      else
        context_.complete(preload_, context_.now + 1);
    }
    queue_.pop();
    context_.may_issue = true;
  }
}

void Array::step() {
  if (!running_) {
    wake_ = kNever;
    decide();
  }
  if (!running_) {
    wake_ = std::min(wake_, next_decision());
    return;
  }
  if (run_end_ > context_.now)
    continue_run();
  else
    step_row();
}

void Array::schedule() {
  if (!results_.empty()) {
    context_.at(results_.front().cycle);
    context_.at(results_.front().cycle + results_.front().count - 1);
  }
  context_.at(run_end_ - 1);
  context_.at(next_decision());
}

// The first cycle from the next on in which an array that waits may find something else, if nothing reaches it before.
int64_t Array::next_decision() {
  int64_t next = kNever;
  const auto at = [&](int64_t cycle) {
    if (cycle > context_.now) next = std::min(next, cycle);
  };
  if (flushing_) at(flush_end_);
  if (!leaving_.empty()) at(leaving_.front());
  for (size_t i = 0; i < std::min<size_t>(queue_.size(), static_cast<size_t>(settings_.lookahead)); ++i)
    at(queue_[i].visible);
  for (const Tag& tag : tags_)
    if (tag.released != kNever) at(tag.released + 1);
  return next;
}

Cause Array::cause() const {
  if (cause_ != Cause::Idle) return cause_;
  if (wait_ != Cause::Idle) return wait_;
  if (!queue_.empty()) return Cause::Pairing;
  return Cause::Pipeline;
}

}  // namespace autocomp::timing
