#include "units/systolic.hpp"

namespace autocomp::timing {

void Systolic::Tag::archive(Archive& archive) {
  archive.slot(owner);
  archive.values(memory, base, step, rows, accumulate, reversed, operation);
  archive.cycle(from);
  archive.cycle(until, 1);
}

void Systolic::archive(Archive& archive, Operand& operand) {
  archive.values(operand.memory, operand.base, operand.step, operand.rows, operand.started, operand.next);
  archive.values(operand.bank, operand.row, operand.zeros);
  if (!archive.saves()) operand.bank_last = -1;
}

void Systolic::archive(Archive& archive, Control& control) {
  archive.values(control.fired, control.reads, control.first);
  archive.cycle(control.data);
  for (int32_t& bank : control.bank) archive.value(bank);
}

// Operations are numbered anew, after the last one.
void Systolic::renumber() {
  const auto number = [&](int64_t& old) { old = (old - operation_ + kNumbers) % kNumbers; };
  for (size_t i = 0; i < operations_.size(); ++i) number(operations_[i].tag.operation);
  for (size_t i = 0; i < tags_.size(); ++i) number(tags_[i].operation);
  for (size_t i = 0; i < totals_.size(); ++i) number(totals_[i]);
  for (size_t i = 0; i < leaving_.size(); ++i) number(leaving_[i].operation);
  operation_ = 0;
}

void Systolic::archive(Archive& archive) {
  if (archive.saves()) renumber();
  const auto item = [&](Item& item) {
    archive.slot(item.slot);
    archive.values(item.silent, item.empty);
  };
  arrived_.archive(archive, item);
  queue_.archive(archive, item);
  archive.values(unrolled_, state_, multiplies_, preloads_, deferring_, rows_, wait_);
  if (state_ == State::Running)
    for (Operand& operand : operands_) this->archive(archive, operand);
  archive.ring(operations_, [&](Operation& operation) {
    operation.tag.archive(archive);
    archive.value(operation.rows);
  });
  control_.archive(archive, [&](Control& control) { this->archive(archive, control); });
  for (int32_t& slot : pending_) archive.slot(slot);
  archive.values(there_, entering_, flushing_, entered_, entering_rows_, operation_);
  archive.cycle(pending_from_);
  archive.ring(tags_, [&](Tag& tag) { tag.archive(archive); });
  archive.ring(totals_);
  archive.ring(leaving_, [&](Leaving& leaving) {
    archive.exact_cycle(leaving.cycle);
    archive.values(leaving.count, leaving.operation, leaving.index, leaving.rows);
  });
  if (!archive.saves()) completed_ = left_ = -1;
}

}  // namespace autocomp::timing
