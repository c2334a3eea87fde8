#include "units/transfer_out.hpp"

#include <algorithm>

namespace autocomp::timing {
namespace {

int64_t rows_of(const Command& command) { return command.dram && command.read_count > 0 ? points(*command.dram) : 0; }

// Local rows that make one row of main memory: blocks side by side, or a window of which one comes out.
int64_t reads_per_row(const Command& command) {
  const int64_t window = command.value(Key::Window);
  if (window > 1) return window;
  const int64_t rows = rows_of(command);
  return rows > 0 ? std::max<int64_t>(1, points(command.reads[0]) / rows) : 1;
}

void archive_lines(Archive& archive, Lines& lines) {
  size_t count = lines.states.size();
  archive.values(lines.per_row, count);
  lines.states.resize(count);
  for (uint8_t& state : lines.states) archive.value(state);
}

}  // namespace

TransferOut::TransferOut(Context& context, int32_t unit)
    : context_(context),
      settings_(context.settings.units[static_cast<size_t>(unit)]),
      unit_(unit),
      request_slots_(settings_.requests),
      cause_(context.now) {
  last_acknowledge_ = -settings_.idle_delay - 1;
}

void TransferOut::issue(int32_t slot) {
  const Command& command = context_.command(slot);
  Job job;
  if (command.dram) job.target = *command.dram;
  job.home = command.home;
  job.lines = command.lines;
  job.scaled = command.value(Key::Scaled) != 0;
  job.rows = rows_of(command);
  job.reads_per_row = reads_per_row(command);
  jobs_.push(job);
  queue_.push(slot);
  if (queue_.size() == 1) next_step_ = std::max(next_step_, context_.now + settings_.start);
}

void TransferOut::acknowledge(Channel& channel) {
  request_slots_.release(context_.now + settings_.recovery);
  --unacknowledged_;
  last_acknowledge_ = context_.now;
  channel.pop(0);
  context_.progress = true;
  cause_ = Cause::Busy;
}

void TransferOut::write(MainMemory& memory) {
  if (!sending_) return;
  Job& job = jobs_.front();
  if (!request_slots_.free(context_.now) || !memory.request(job.home, context_.now)) {
    cause_ = Cause::Bus;
    return;
  }
  context_.progress = true;
  cause_ = Cause::Busy;
  if (beats_left_ == 0) {
    const int64_t begin = row_at(job.target, job.row), address = begin + sent_;
    const Piece piece = best_request(address, job.target.bytes - sent_, settings_.request_min, settings_.request_max);
    const int64_t bus = context_.settings.drams[job.home].beat();
    request_slots_.take();
    ++unacknowledged_;
    sent_ += piece.useful;
    beats_left_ = (piece.bytes + bus - 1) / bus;
    last_ = piece.useful;
  }
  if (--beats_left_ > 0) return;
  const int64_t begin = row_at(job.target, job.row);
  memory.respond(job.home, job.lines, {job.row, begin, begin + sent_ - last_, last_, true},
                 {.unit = unit_, .acknowledge = true}, context_.now);
  if (sent_ < job.target.bytes) return;
  sending_ = false;
  if (++job.row == job.rows) jobs_.pop();
}

void TransferOut::collect() {
  while (!jobs_.empty() && jobs_.front().rows == 0) {
    jobs_.pop();
    context_.progress = true;
  }
  if (sending_ || after_.empty() || after_.front().ready > context_.now) return;
  Job& job = jobs_.front();
  after_.pop();
  leaving_.push(context_.now + settings_.read_recovery);
  context_.progress = true;
  cause_ = Cause::Busy;
  if (++job.collected < job.reads_per_row) return;
  job.collected = 0;
  sending_ = true;
  sent_ = 0;
}

void TransferOut::scale() {
  if (before_.empty() || before_.front().ready > context_.now) return;
  const Row row = before_.front();
  if (row.scaled && after_.size() >= static_cast<size_t>(settings_.scale_window)) return;
  before_.pop();
  const int64_t ready = context_.now + (row.scaled ? settings_.scale_latency : 1);
  after_.push({after_.empty() ? ready : std::max(ready, after_.back().ready), row.scaled});
  context_.progress = true;
}

void TransferOut::read() {
  if (queue_.empty() || next_step_ > context_.now) return;
  const int32_t slot = queue_.front();
  Command& command = context_.command(slot);
  const int64_t total = rows_of(command) * reads_per_row(command);
  if (total > 0) {
    while (!leaving_.empty() && leaving_.front() <= context_.now) leaving_.pop();
    const size_t held = before_.size() + after_.size() + leaving_.size();
    if (held >= static_cast<size_t>(std::max<int64_t>(1, command.value(Key::ReadAhead)))) return;
    const AccessInstance& source = command.reads[0];
    const int64_t row = row_at(source, std::min(next_read_, points(source) - 1));
    if (!context_.ports.read(source.memory, row, context_.now)) {
      if (cause_ != Cause::Busy) cause_ = Cause::BankConflict;
      return;
    }
    before_.push({context_.now + command.value(Key::Latency), command.value(Key::Scaled) != 0});
  }
  if (next_read_ == 0) {
    context_.start(slot);
    command_start_ = context_.now;
  }
  cause_ = Cause::Busy;
  context_.progress = true;
  next_step_ = context_.now + 1;
  if (++next_read_ < total) return;
  context_.complete(slot, context_.now + 1);
  next_read_ = 0;
  next_step_ = std::max(next_step_, command_start_ + settings_.command_steps);
  queue_.pop();
  context_.may_issue = true;
  if (!queue_.empty())
    next_step_ = std::max(next_step_, context_.command(queue_.front()).times.issued + settings_.start);
}

void TransferOut::step(MainMemory& memory) {
  write(memory);
  collect();
  scale();
  read();
}

void TransferOut::schedule() {
  if (!before_.empty()) context_.at(before_.front().ready);
  if (!after_.empty()) context_.at(after_.front().ready);
  if (!leaving_.empty()) context_.at(leaving_.front());
  if (!queue_.empty()) context_.at(next_step_);
  request_slots_.schedule(context_);
  context_.at(last_acknowledge_ + settings_.idle_delay);
}

void TransferOut::archive(Archive& archive) {
  archive.ring(queue_, [&](int32_t& slot) { archive.slot(slot); });
  archive.value(next_read_);
  archive.cycle(next_step_);
  archive.cycle(command_start_, settings_.command_steps);
  for (Ring<Row>* rows : {&before_, &after_})
    archive.ring(*rows, [&](Row& row) {
      archive.cycle(row.ready);
      archive.value(row.scaled);
    });
  archive.cycles(leaving_);
  archive.ring(jobs_, [&](Job& job) {
    AccessInstance& target = job.target;
    archive.values(target.dims, target.base, target.bytes);
    for (int d = 0; d < target.dims; ++d) archive.values(target.count[d], target.stride[d]);
    archive.values(job.rows, job.reads_per_row, job.scaled, job.row, job.collected, job.home);
    archive_lines(archive, job.lines);
  });
  archive.values(sending_, sent_, last_, beats_left_);
  request_slots_.archive(archive);
  archive.value(unacknowledged_);
  archive.cycle(last_acknowledge_, settings_.idle_delay);
}

Cause TransferOut::cause() const {
  if (cause_ != Cause::Idle) return cause_;
  return unacknowledged_ > 0 ? Cause::MemoryLatency : Cause::Pipeline;
}

}  // namespace autocomp::timing
