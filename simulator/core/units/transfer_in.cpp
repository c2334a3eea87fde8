#include "units/transfer_in.hpp"

#include <algorithm>
#include <bit>

namespace autocomp::timing {

TransferIn::TransferIn(Context& context, int32_t unit)
    : context_(context),
      settings_(context.settings.units[static_cast<size_t>(unit)]),
      unit_(unit),
      first_slot_(context.pools[static_cast<size_t>(unit)].first_slot),
      moves_(static_cast<size_t>(settings_.entries)),
      request_slots_(settings_.requests),
      cause_(context.now) {}

void TransferIn::issue(int32_t slot) {
  const Command& command = context_.command(slot);
  Move& m = move(slot);
  m = Move{};
  const int64_t local = command.write ? points(*command.write) : 0;
  m.latency = command.value(Key::Latency);
  if (!command.dram) {
    m.zero = true;
    m.rows = local;
  } else {
    m.rows = points(*command.dram);
    m.row_bytes = command.dram->bytes;
    m.repeats = std::clamp<int64_t>(command.value(Key::Window), 1, std::max<int64_t>(1, local));
    m.blocks = m.repeats > 1 ? 1 : std::max<int64_t>(1, local / std::max<int64_t>(1, m.rows));
    const int64_t wanted = command.value(Key::Rows);  // rows written, when fewer are fetched
    if (m.rows == 1 && wanted > 1) {
      m.blocks = std::max<int64_t>(1, local / wanted);
      m.repeats = local / m.blocks;
    }
    // Blocks are full but for the last, and a full one is a power of two.
    const auto mean = static_cast<uint64_t>((m.row_bytes + m.blocks - 1) / m.blocks);
    m.block_bytes = m.blocks == 1 ? m.row_bytes : static_cast<int64_t>(std::bit_ceil(std::max<uint64_t>(1, mean)));
    m.scaled = command.value(Key::Scaled) != 0;
  }
  queue_.push(slot);
  if (queue_.size() == 1) begin(slot);
}

void TransferIn::begin(int32_t slot) {
  next_row_ = 0;
  next_step_ = std::max(next_step_, context_.command(slot).times.issued + settings_.start);
}

bool TransferIn::ready_for_beat() const {
  // On time, one row is under way for each cycle of the way; more are a backlog.
  if (!writes_.empty()) {
    const int64_t latency = moves_[static_cast<size_t>(writes_.front().slot - first_slot_)].latency;
    if (writes_.size() >= static_cast<size_t>(settings_.write_buffer + latency)) return false;
  }
  return scaler_free_.size() < static_cast<size_t>(settings_.scale_slots) || scaler_free_.front() <= context_.now + 1;
}

void TransferIn::write_block(int32_t slot, int64_t row, int64_t block) {
  Move& m = move(slot);
  for (int64_t repeat = 0; repeat < m.repeats; ++repeat) {
    const int64_t point = (row + repeat) * m.blocks + block;
    ++m.writes_left;
    if (!m.scaled) {
      int64_t ready = context_.now + m.latency;
      if (!writes_.empty()) ready = std::max(ready, writes_.back().ready + 1);
      writes_.push({ready, slot, point});
      continue;
    }
    int64_t entry = context_.now + 1;
    while (!scaler_free_.empty() && scaler_free_.front() < context_.now) scaler_free_.pop();
    if (scaler_free_.size() >= static_cast<size_t>(settings_.scale_slots)) {
      entry = std::max(entry, scaler_free_.front());
      scaler_free_.pop();
    }
    scaler_exit_ = std::max(entry + settings_.scale_latency, scaler_exit_ + settings_.scale_interval);
    scaler_free_.push(scaler_exit_ + settings_.scale_recovery);
    scaled_.push({scaler_exit_, slot, point});
  }
}

void TransferIn::take_beat(Channel& channel, Response& response) {
  const int32_t slot = response.slot;
  const int64_t bus = context_.settings.drams[context_.command(slot).home].beat();
  Move& m = move(slot);
  const int64_t end = response.skip + response.useful;
  const int64_t before = std::clamp<int64_t>(response.taken * bus, response.skip, end);
  ++response.taken;
  const int64_t after = std::clamp<int64_t>(response.taken * bus, response.skip, end);
  // A block is written once the last of its bytes in this response is there.
  const int64_t from = response.position + before - response.skip, to = response.position + after - response.skip;
  const int64_t last = response.position + response.useful;
  for (int64_t block = m.blocks == 1 ? 0 : from / m.block_bytes; block * m.block_bytes < to; ++block)
    if (to >= std::min((block + 1) * m.block_bytes, last) && from < std::min((block + 1) * m.block_bytes, last))
      write_block(slot, response.row, block);
  context_.progress = true;
  cause_ = Cause::Busy;
  if (response.taken < response.beats) return;
  request_slots_.release(context_.now + settings_.recovery);
  --m.open;
  // Beats behind the last useful one are dropped before the next response, which costs a cycle.
  const bool dropped = end <= (response.beats - 1) * bus;
  channel.pop(dropped ? context_.now + 2 : 0);
  finish_if_done(slot);  // its rows may have been written before its last, useless beat came
}

bool TransferIn::write(Ring<Write>& writes) {
  if (writes.empty() || writes.front().ready > context_.now) return false;
  const Write& next = writes.front();
  const Command& command = context_.command(next.slot);
  if (command.write) {
    const int64_t row = row_at(*command.write, next.point);
    if (!context_.ports.write(command.write->memory, row, command.accumulate, context_.now)) {
      if (cause_ != Cause::Busy) cause_ = Cause::BankConflict;
      return false;
    }
  }
  const int32_t slot = next.slot;
  writes.pop();
  --move(slot).writes_left;
  context_.progress = true;
  cause_ = Cause::Busy;
  finish_if_done(slot);
  return true;
}

void TransferIn::finish_if_done(int32_t slot) {
  const Move& m = move(slot);
  if (m.requested < m.rows || m.open > 0 || m.writes_left > 0) return;
  context_.complete(slot, context_.now);
  --in_flight_;
  tracker_free_ = context_.now + 1;
}

void TransferIn::write_rows() {
  if (!scaled_.empty()) write(scaled_);
  if (!writes_.empty()) write(writes_);
  if (!zeros_.empty()) write(zeros_);
}

void TransferIn::step_rows() {
  const int32_t slot = queue_.front();
  Move& m = move(slot);
  if (m.zero ? zeros_.size() > static_cast<size_t>(settings_.zero_latency + settings_.write_buffer)
             : requests_.size() >= static_cast<size_t>(settings_.request_queue))
    return;
  if (next_row_ == 0) {
    const int64_t freed = tracker_free_ > context_.now ? 1 : 0;  // just now: it is taken in the next cycle
    if (in_flight_ + freed >= settings_.in_flight) return;
    ++in_flight_;
    command_start_ = context_.now;
    context_.start(slot);
  }
  if (m.rows > 0) {
    if (m.zero) {
      ++m.writes_left;
      zeros_.push({context_.now + settings_.zero_latency, slot, next_row_});
      ++m.requested;
    } else {
      requests_.push({context_.now + settings_.request_latency, slot, next_row_, 0});
    }
  }
  context_.progress = true;
  next_step_ = context_.now + 1;
  if (++next_row_ < m.rows) return;
  next_step_ = std::max(next_step_, command_start_ + settings_.command_steps);
  queue_.pop();
  context_.may_issue = true;
  if (m.rows == 0) finish_if_done(slot);
  if (!queue_.empty()) begin(queue_.front());
}

void TransferIn::request(MainMemory& memory) {
  if (!queue_.empty() && next_step_ <= context_.now) step_rows();
  if (requests_.empty() || requests_.front().ready > context_.now) return;
  Request& next = requests_.front();
  const Command& command = context_.command(next.slot);
  if (!request_slots_.free(context_.now) || !memory.request(command.home, context_.now)) return;
  Move& m = move(next.slot);
  const int64_t begin = row_at(*command.dram, next.row), address = begin + next.done;
  const Piece piece = best_request(address, m.row_bytes - next.done, settings_.request_min, settings_.request_max);
  const int64_t bus = context_.settings.drams[command.home].beat();
  const auto beats = static_cast<int32_t>((piece.bytes + bus - 1) / bus);
  memory.respond(command.home, command.lines, {next.row, begin, address, piece.useful, false},
                 {0, unit_, next.slot, false, beats, 0, next.row, next.done, piece.useful, piece.skip}, context_.now);
  request_slots_.take();
  ++m.open;
  context_.progress = true;
  next.done += piece.useful;
  if (next.done < m.row_bytes) return;
  ++m.requested;
  requests_.pop();
}

void TransferIn::schedule() {
  if (!scaled_.empty()) context_.at(scaled_.front().ready);
  if (!writes_.empty()) context_.at(writes_.front().ready);
  if (!zeros_.empty()) context_.at(zeros_.front().ready);
  if (!requests_.empty()) context_.at(requests_.front().ready);
  if (!queue_.empty()) context_.at(std::max(next_step_, tracker_free_));
  while (!scaler_free_.empty() && scaler_free_.front() <= context_.now) scaler_free_.pop();
  if (!scaler_free_.empty()) context_.at(scaler_free_.front() - 1);
  request_slots_.schedule(context_);
}

void TransferIn::archive(Archive& archive) {
  context_.each_command(archive, static_cast<size_t>(unit_), [&](int32_t slot) {
    Move& m = move(slot);
    archive.values(m.rows, m.row_bytes, m.block_bytes, m.blocks, m.repeats, m.requested, m.writes_left, m.open,
                   m.latency, m.scaled, m.zero);
  });
  archive.ring(queue_, [&](int32_t& slot) { archive.slot(slot); });
  archive.value(next_row_);
  archive.cycle(next_step_);
  archive.cycle(command_start_, settings_.command_steps);
  archive.ring(requests_, [&](Request& request) {
    archive.cycle(request.ready);
    archive.slot(request.slot);
    archive.values(request.row, request.done);
  });
  for (Ring<Write>* writes : {&writes_, &scaled_, &zeros_})
    archive.ring(*writes, [&](Write& write) {
      archive.cycle(write.ready, 1);
      archive.slot(write.slot);
      archive.value(write.point);
    });
  archive.cycles(scaler_free_, 1);
  archive.cycle(scaler_exit_, settings_.scale_interval);
  request_slots_.archive(archive);
  archive.value(in_flight_);
  archive.cycle(tracker_free_);
}

Cause TransferIn::cause() const {
  if (cause_ != Cause::Idle) return cause_;
  if (!requests_.empty() && requests_.front().ready <= context_.now) return Cause::Bus;
  return Cause::MemoryLatency;
}

}  // namespace autocomp::timing
