#include "units/array.hpp"

namespace autocomp::timing {

void Array::archive(Archive& archive, Target& target) {
  // Nothing, what the owner writes, or the result of the multiply of a preload.
  int64_t which = 0;
  if (archive.saves() && target.access != nullptr)
    which = context_.command(target.owner).write && target.access == &*context_.command(target.owner).write ? 1 : 2;
  archive.values(which, target.points, target.accumulate);
  archive.slot(target.owner);
  if (archive.saves()) return;
  const Command* owner = target.owner >= 0 ? &context_.command(target.owner) : nullptr;
  target.access = which == 0 ? nullptr : which == 1 ? &*owner->write : &*owner->result;
}

void Array::archive(Archive& archive) {
  archive.ring(queue_, [&](Item& item) {
    archive.cycle(item.visible, 1);
    archive.slot(item.slot);
    archive.value(item.silent);
  });
  archive.ring(results_, [&](Result& result) {
    archive.exact_cycle(result.cycle);
    archive.slot(result.owner);
    archive.values(result.row, result.count, result.memory, result.accumulate, result.last, result.writing);
  });
  archive.cycles(leaving_);
  size_t tags = tags_.size();
  archive.value(tags);
  tags_.resize(tags);
  for (Tag& tag : tags_) {
    archive.slot(tag.owner);
    archive.values(tag.memory, tag.base);
    archive.cycle(tag.released, 1);
  }
  archive.values(running_, flushing_, deferring_, wait_);
  for (int64_t* cycle : {&wake_, &flush_end_}) archive.cycle(*cycle);
  archive.cycle(last_step_, 2);
  archive.cycle(run_end_);
  this->archive(archive, loaded_);
  this->archive(archive, deferred_);
  if (!running_) return;
  archive.slot(multiply_);
  archive.slot(preload_);
  archive.values(early_, silent_multiply_, silent_preload_, pending_, rows_, row_);
  if (run_end_ > archive.now()) archive.exact_cycle(run_start_);
  this->archive(archive, emits_);
  if (!archive.saves()) collect_operands();
}

}  // namespace autocomp::timing
