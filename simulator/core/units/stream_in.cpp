#include "units/stream_in.hpp"

#include <algorithm>

namespace autocomp::timing {

StreamIn::StreamIn(Context& context, Link& link, int32_t unit)
    : context_(context),
      link_(link),
      settings_(context.settings.units[static_cast<size_t>(unit)]),
      unit_(unit),
      first_slot_(context.pools[static_cast<size_t>(unit)].first_slot),
      moves_(static_cast<size_t>(settings_.entries)),
      controller_(context, settings_),
      rows_(settings_.request_queue),
      scaler_(settings_.scale_slots, settings_.scale_steps, settings_.scale_latency,
              context.passed[static_cast<size_t>(unit)]),
      direct_(settings_.direct_latency, 0, settings_.direct_latency, context.passed[static_cast<size_t>(unit)]),
      cause_(context.now) {}

void StreamIn::fill(Move& m, const Command& command) {
  m = Move{};
  m.rows = std::max<int64_t>(1, command.value(Key::Rows));
  m.row_bytes = std::max<int64_t>(1, command.value(Key::Bytes));
  m.block_bytes = std::max<int64_t>(1, command.value(Key::Block));
  m.block_step = command.value(Key::BlockStep);
  m.repeats = std::max<int64_t>(1, command.value(Key::Window));
  m.direct = command.value(Key::Path) == 1;
  m.scaled = command.value(Key::Scaled) != 0;
  m.zero = !command.dram;
  m.accumulate = command.accumulate;
  if (command.write) {
    // With repeats the rows written begin further down, unless that is beyond the lowest row.
    m.memory = command.write->memory;
    m.lowest = m.base = command.write->base;
    if (m.repeats > 1) m.base += points(*command.write) - m.rows;
    m.sums = !context_.settings.memories[static_cast<size_t>(m.memory)].shared_port;
  }
  if (command.dram) {
    m.row_bytes = command.dram->bytes;
    if (points(*command.dram) == 1) m.copies = std::exchange(m.rows, 1) - 1;
  }
  m.left = m.rows * m.row_bytes;
  m.page = pages_.newest();
  if (!command.dram) return;
  const AccessInstance& source = *command.dram;
  const int64_t last = row_at(source, points(source) - 1) + source.bytes - 1;
  m.page = pages_.begin(command.page, page_of(last, context_.settings.page));
}

void StreamIn::issue(int32_t slot) {
  if (slot >= 0) fill(move(slot), context_.command(slot));
  controller_.push({slot});
}

// To the reader, or to the writer of zeros. False if there is no room.
bool StreamIn::send_row(int32_t slot, int64_t row) {
  if (!move(slot).zero) {
    if (!rows_.room_through()) return false;
    rows_.push({slot, row, 0}, context_.now);
    return true;
  }
  if (zero_from_ != kNever) return false;
  zero_ = {slot, row, 0};
  zero_from_ = context_.now + 1;
  return true;
}

// --- the reader

// The stages of address translation. A request that finds the buffer full goes through both again.
void StreamIn::look() {
  const int64_t now = context_.now;
  if (!translated_ && !translating_) return;
  Translation& translation = link_.translation();
  const size_t client = link_.client(unit_);
  const bool again = translated_ && (translation.misses(client, now) || !link_.room(unit_, now));
  translation.look(client, first_page_, translating_, now);
  context_.progress = true;
  if (translated_ && !again)
    link_.ask(unit_, second_, true,
              (second_.bytes + context_.settings.drams.front().bus - 1) / context_.settings.drams.front().bus, now);
  std::swap(first_, second_);
  std::swap(first_page_, second_page_);
  translated_ = translating_;
  translating_ = again;
}

// Sends the next request of the row that is read. Whether that was the last.
bool StreamIn::cut() {
  const Move& m = move(reading_.slot);
  const int64_t address = row_at(*context_.command(reading_.slot).dram, reading_.row) + reading_.done;
  const Piece piece = best_request(address, m.row_bytes - reading_.done, settings_.request_min, settings_.request_max);
  first_ = {reading_.slot, reading_.row, reading_.done, piece.useful, piece.skip, piece.bytes};
  first_page_ = m.page + page_of(address, context_.settings.page);
  translating_ = true;
  ++open_;
  context_.progress = true;
  reading_.done += piece.useful;
  return reading_.done == m.row_bytes;
}

void StreamIn::read() {
  const int64_t now = context_.now;
  look();
  bool free = reading_from_ == kNever;
  if (!translating_ && reading_from_ <= now && open_ + (closed_ == now ? 1 : 0) < settings_.requests) free = cut();
  if (!free) return;
  reading_from_ = kNever;
  const Row* row = rows_.head(now);
  if (row == nullptr) return;
  reading_ = *row;
  reading_from_ = now + 1;
  rows_.pop(now);
  context_.progress = true;
}

void StreamIn::request() {
  if (translating_ || translated_ || reading_from_ != kNever || !rows_.empty()) read();
  if (controller_.empty()) return;
  controller_.step([&](int32_t slot) { return move(slot).rows; },
                   [&](const Entry& entry, int64_t row, int64_t) { return send_row(entry.slot, row); });
}

// --- from main memory to local rows

bool StreamIn::pass_on(const LocalRow& row) {
  const Move& m = move(row.slot);
  Scaler& to = m.direct ? direct_ : scaler_;
  if (!to.room()) return false;
  to.push(row, m.scaled, context_.now);
  context_.progress = true;
  return true;
}

// Takes a beat, and sends a local row on as soon as its bytes are there.
void StreamIn::merge() {
  const Request* beat = link_.arrived(unit_, context_.now);
  const Request& request = merger_.request;
  bool free = !merger_.busy, over = false;
  int64_t sent = merger_.sent;
  if (merger_.busy) {
    const Move& m = move(request.slot);
    const int64_t useful = std::clamp<int64_t>(merger_.read - request.skip, 0, request.useful);
    const bool all_read = merger_.read == request.bytes;
    over = all_read && sent == request.useful;
    if (useful > sent && (useful - sent >= m.block_bytes || useful == request.useful)) {
      const int64_t offset = sent == 0 ? request.position % m.block_bytes : 0;
      const int64_t next = std::min(sent + m.block_bytes - offset, request.useful);
      const int64_t block = (request.position + sent) / m.block_bytes;
      const int64_t bytes = next == request.useful ? request.useful : 0;
      if (pass_on({request.slot, request.row, block, bytes, m.copies})) {
        sent = next;
        if (bytes > 0 && all_read) free = over = true;
      }
    }
  }
  if (beat != nullptr && (free || merger_.read < request.bytes)) {
    // Beats after the last useful one end the request only if all was sent on before.
    if (free)
      merger_ = {*beat, true, 0, sent = 0};
    else
      over = merger_.sent == request.useful && request.bytes - merger_.read <= context_.settings.drams.front().bus;
    if (free) over = false;
    merger_.read = std::min(merger_.read + context_.settings.drams.front().bus, request.bytes);
    link_.take(unit_, context_.now);
    context_.progress = true;
    cause_ = Cause::Busy;
    if (merger_.read == request.bytes) {
      --open_;
      closed_ = context_.now;
    }
  }
  merger_.sent = sent;
  if (!over) return;
  merger_.busy = false;
  context_.progress = true;
}

// --- writing

int64_t StreamIn::local_row(const LocalRow& row, int64_t repeat) {
  const Move& m = move(row.slot);
  return m.base + row.row + row.copy + row.block * m.block_step - repeat;
}

bool StreamIn::port(const LocalRow& row, int64_t repeat) {
  const Move& m = move(row.slot);
  if (m.memory < 0) return true;  // it writes no local memory
  if (context_.ports.write_moved(m.memory, local_row(row, repeat), m.accumulate, context_.now)) return true;
  if (cause_ != Cause::Busy) cause_ = Cause::BankConflict;
  return false;
}

void StreamIn::written(const LocalRow& row) {
  cause_ = Cause::Busy;
  if (row.bytes == 0) return;
  Move& m = move(row.slot);
  m.left -= row.bytes;
  if (m.left == 0) controller_.complete(row.slot);
}

// One write, if it is allowed and its port is free. Rows below the lowest are left out, which takes as long.
void StreamIn::step(Repeater& repeater, bool allowed) {
  repeater.open = repeater.from == kNever;
  if (repeater.from > context_.now) return;
  const bool there = local_row(repeater.row, repeater.left) >= move(repeater.row.slot).lowest;
  if (there && !(allowed && port(repeater.row, repeater.left))) return;
  context_.progress = true;
  if (repeater.left-- > 0) return;
  repeater.from = kNever;
  repeater.open = true;
  written(repeater.row);
}

// Only one request may end in a cycle: the repeater's before the direct way's before one of zeros, and whichever ends
// one keeps the others from theirs even where it cannot write.
void StreamIn::write_blocks() {
  const int64_t now = context_.now;
  const std::optional<LocalRow> direct = direct_.head(now);
  bool ends = false, sums = false;
  if (repeater_.from <= now) {
    const Move& m = move(repeater_.row.slot);
    const bool there = local_row(repeater_.row, repeater_.left) >= m.lowest;
    ends = there && repeater_.left == 0 && repeater_.row.bytes > 0;
    sums = there && m.sums;
  }
  step(repeater_, true);
  if (direct && !sums && !ends && port(*direct, 0)) {
    direct_.pop(context_);
    written(*direct);
  }
  step(zeros_, !ends && !(direct && direct->bytes > 0));
}

void StreamIn::zero_row() {
  if (zero_from_ > context_.now || !zeros_.open) return;
  const Move& m = move(zero_.slot);
  const bool last = (zero_.done + 1) * m.block_bytes >= m.row_bytes;
  zeros_ = {{zero_.slot, zero_.row, zero_.done, last ? m.row_bytes : 0, 0}, m.repeats - 1, context_.now + 1, false};
  context_.progress = true;
  ++zero_.done;
  if (last) zero_from_ = kNever;
}

void StreamIn::write_rows() {
  if (writing()) {
    write_blocks();
    if (repeater_.open)
      if (const std::optional<LocalRow> row = scaler_.head(context_.now)) {
        repeater_ = {*row, move(row->slot).repeats - 1, context_.now + 1, false};
        scaler_.pop(context_);
      }
    scaler_.step(context_);
    direct_.step(context_);
    zero_row();
  }
  if (open_ > 0 || merger_.busy) merge();
}

void StreamIn::schedule() {
  controller_.schedule();
  rows_.schedule(context_);
  scaler_.schedule(context_);
  direct_.schedule(context_);
  for (const int64_t cycle : {reading_from_, repeater_.from, zeros_.from, zero_from_})
    if (cycle != kNever) context_.at(cycle);
  // A row that cannot be written waits for writes under way.
  if (repeater_.from <= context_.now || zeros_.from <= context_.now || direct_.head(context_.now))
    context_.at(context_.now + 1);
}

void StreamIn::archive(Archive& archive, Repeater& repeater) {
  archive.cycle(repeater.from);
  if (repeater.from == kNever) return;
  repeater.row.archive(archive);
  archive.value(repeater.left);
}

void StreamIn::archive(Archive& archive, Move& m) {
  pages_.relative(archive, m.page);
  archive.values(m.rows, m.row_bytes, m.block_bytes, m.block_step, m.base, m.lowest, m.copies, m.repeats, m.left,
                 m.memory, m.accumulate, m.sums, m.direct, m.scaled, m.zero);
}

void StreamIn::archive(Archive& archive) {
  pages_.archive(archive);
  link_.translation().archive(archive, link_.client(unit_), pages_.newest());
  context_.each_command(archive, static_cast<size_t>(unit_), [&](int32_t slot) { this->archive(archive, move(slot)); });
  controller_.archive(archive, [&](Entry& entry) { archive.slot(entry.slot); });
  const auto row = [&](Row& row) {
    archive.slot(row.slot);
    archive.values(row.row, row.done);
  };
  rows_.archive(archive, row);
  archive.cycle(reading_from_);
  if (reading_from_ != kNever) row(reading_);
  archive.values(translating_, translated_);
  if (translating_) {
    first_.archive(archive);
    pages_.relative(archive, first_page_);
  }
  if (translated_) {
    second_.archive(archive);
    pages_.relative(archive, second_page_);
  }
  archive.value(open_);
  archive.value(merger_.busy);
  if (merger_.busy) {
    merger_.request.archive(archive);
    archive.values(merger_.read, merger_.sent);
  }
  scaler_.archive(archive);
  direct_.archive(archive);
  this->archive(archive, repeater_);
  this->archive(archive, zeros_);
  archive.cycle(zero_from_);
  if (zero_from_ != kNever) row(zero_);
  if (!archive.saves()) closed_ = -1;
}

Cause StreamIn::cause() const {
  if (cause_ != Cause::Idle) return cause_;
  return open_ > 0 && !link_.asks(unit_) ? Cause::MemoryLatency : Cause::Bus;
}

}  // namespace autocomp::timing
