#include "units/stream_out.hpp"

#include <algorithm>

namespace autocomp::timing {

StreamOut::StreamOut(Context& context, Link& link, int32_t unit)
    : context_(context),
      link_(link),
      settings_(context.settings.units[static_cast<size_t>(unit)]),
      unit_(unit),
      controller_(context, settings_),
      read_(settings_.read_queue),
      normed_(settings_.scale_queue),
      scaling_(settings_.scale_queue),
      issued_(settings_.scale_window),
      scaler_input_(settings_.scale_input),
      cause_(context.now) {}

void StreamOut::issue(int32_t slot) {
  Entry entry{slot, pages_.newest()};
  if (slot >= 0 && context_.command(slot).dram) {
    const Command& command = context_.command(slot);
    const AccessInstance& target = *command.dram;
    const int64_t last = row_at(target, points(target) - 1) + target.bytes - 1;
    entry.page = pages_.begin(command.page, page_of(last, context_.settings.page));
  }
  controller_.push(entry);
}

// --- the rows of a command

namespace {

int64_t blocks(const Command& command) {
  const int64_t block = std::max<int64_t>(1, command.value(Key::Block));
  return std::max<int64_t>(1, (command.dram->bytes + block - 1) / block);
}

}  // namespace

// Local rows to be read, those of padding included.
int64_t StreamOut::steps(const Command& command) const {
  const int64_t window = command.value(Key::Window);
  if (!command.dram) return 0;
  if (window > 0) return command.value(Key::Lines) * command.value(Key::LineRows) * window * window;
  return command.value(Key::Rows) * blocks(command);
}

StreamOut::Row StreamOut::row_of(const Entry& entry, int64_t step) const {
  const Command& command = context_.command(entry.slot);
  Row row;
  if (command.read_count > 0) {
    row.source = command.value(Key::Scaled) != 0 ? Source::Scaled : Source::Direct;
    row.memory = command.reads[0].memory;
    row.row = command.reads[0].base;
  }
  const int64_t window = command.value(Key::Window), stride = command.value(Key::Stride);
  int64_t outer = 0;
  bool last = false;
  if (window > 0) {
    const int64_t within = step % (window * window), out = step / (window * window);
    const int64_t line = out / command.value(Key::LineRows), column = out % command.value(Key::LineRows);
    const int64_t y = line * command.value(Key::WindowStep) + within / window - command.value(Key::Above);
    const int64_t x = column * command.value(Key::WindowStep) + within % window - command.value(Key::Before);
    const int64_t width = command.value(Key::ImageColumns);
    if (y < 0 || x < 0 || y >= command.value(Key::ImageRows) || x >= width) row.source = Source::Nothing;
    row.row += y * width + x;
    outer = line * command.value(Key::LineStep) + column;
    last = within == window * window - 1;
  } else {
    const int64_t count = blocks(command), block = step % count;
    outer = step / count;
    row.row += outer + block * command.value(Key::BlockStep);
    last = block == count - 1;
  }
  if (!last) return row;
  row.address = command.dram->base + outer * stride;
  row.bytes = command.dram->bytes;
  row.page = entry.page;
  return row;
}

// Puts a row in the queue of those to be read. False if there is no room.
bool StreamOut::wait(const Entry& entry, int64_t step, int64_t all) {
  if (!read_.room(context_.now)) return false;
  if (all <= 0) return true;
  read_.push({row_of(entry, step), entry.slot}, context_.now);
  ++under_way_;
  return true;
}

// --- rows on their way

void StreamOut::dispatch() {
  const int64_t now = context_.now;
  const Waiting* head = read_.head(now);
  if (head == nullptr || !normed_.room(now)) return;
  Row row = head->row;
  if (row.source != Source::Nothing) {
    const int32_t bank = context_.ports.bank(row.memory, row.row);
    if (!context_.ports.read(Ports::Reader::Move, bank, row.row, now)) {
      if (cause_ != Cause::Busy) cause_ = Cause::BankConflict;
      return;
    }
    row.from = now + context_.ports.read_latency(bank);
    row.bank = bank;
  }
  cause_ = Cause::Busy;
  controller_.row_done(head->slot);
  read_.pop(now);
  normed_.push(row, now);
  context_.progress = true;
}

void StreamOut::norm() {
  const int64_t now = context_.now;
  const Row* head = normed_.head(now);
  if (head == nullptr || !scaling_.room(now)) return;
  if (head->source == Source::Scaled) {
    if (head->from > now || !scaler_input_.room(now)) return;
    context_.ports.take(Ports::Reader::Move, head->bank);
    scaler_input_.push({}, now);
  }
  scaling_.push(*head, now);
  normed_.pop(now);
  context_.progress = true;
}

void StreamOut::scale() {
  const int64_t now = context_.now;
  const Row* head = scaling_.head(now);
  if (head == nullptr || !issued_.room_through()) return;
  if (head->source == Source::Scaled) {
    if (scaler_input_.head(now) == nullptr) return;
    scaler_input_.pop(now);
    scaled_.push(now + settings_.scale_latency);
  }
  issued_.push(*head, now);
  scaling_.pop(now);
  context_.progress = true;
}

bool StreamOut::data_there(const Row& row) const {
  if (row.source == Source::Scaled) return !scaled_.empty() && scaled_.front() <= context_.now;
  return row.source == Source::Nothing || row.from <= context_.now;
}

// The writer takes the next row.
void StreamOut::collect() {
  const Row* head = issued_.head(context_.now);
  if (writing_ || head == nullptr || !data_there(*head)) return;
  if (head->source == Source::Scaled) scaled_.pop();
  if (head->source == Source::Direct) context_.ports.take(Ports::Reader::Move, head->bank);
  writing_ = head->bytes > 0;
  writing_from_ = context_.now + 1;
  address_ = head->address;
  page_ = request_page_ = head->page;
  left_ = head->bytes;
  issued_.pop(context_.now);
  --under_way_;
  context_.progress = true;
  cause_ = Cause::Busy;
}

// --- the writer

// The stages of address translation, in which a beat that has to be repeated holds up the one after it. Whether another
// may enter.
bool StreamOut::look() {
  if (!translating_ && !translated_ && !repeated_) return true;
  const int64_t now = context_.now;
  Translation& translation = link_.translation();
  const size_t client = link_.client(unit_);
  const bool again = translated_ && translation.misses(client, now);
  const bool leaves = translated_ && !again && link_.room(unit_, now);
  const bool moves = translating_ && (!translated_ || again || leaves);
  translation.look(client, first_.page, moves, now);
  if (!again && !leaves && !moves && translating_) return false;
  context_.progress = true;
  if (leaves) link_.ask(unit_, {}, second_.last, 1, now);
  if (again) {
    if (moves) third_ = first_;
    repeated_ = repeated_ || moves;
    first_ = second_;
    translating_ = true;
    translated_ = false;
    return false;
  }
  if (leaves) translated_ = false;
  if (moves) {
    second_ = first_;
    translated_ = true;
    translating_ = false;
  }
  if (translating_ || !repeated_) return !translating_;
  first_ = third_;
  translating_ = true;
  repeated_ = false;
  return false;
}

void StreamOut::write() {
  if (!look() || !writing_ || writing_from_ > context_.now) return;
  if (open_ >= settings_.requests) {
    cause_ = Cause::Bus;
    return;
  }
  if (beats_ == 0) {
    const Piece piece = best_request(address_, left_, settings_.request_min, settings_.request_max);
    ++open_;
    request_page_ = page_ + page_of(address_, context_.settings.page);
    address_ += piece.useful;
    left_ -= piece.useful;
    beats_ = (piece.bytes + context_.settings.drams.front().bus - 1) / context_.settings.drams.front().bus;
  }
  translating_ = true;
  first_ = {--beats_ == 0, request_page_};
  writing_ = beats_ > 0 || left_ > 0;
  context_.progress = true;
  cause_ = Cause::Busy;
}

void StreamOut::acknowledge() {
  if (link_.arrived(unit_, context_.now) == nullptr) return;
  link_.take(unit_, context_.now);
  --open_;
  context_.progress = true;
}

void StreamOut::send() {
  write();
  collect();
  scale();
  norm();
}

void StreamOut::read() {
  dispatch();
  controller_.step([&](int32_t slot) { return steps(context_.command(slot)); },
                   [&](const Entry& entry, int64_t step, int64_t all) { return wait(entry, step, all); });
  acknowledge();
}

void StreamOut::schedule() {
  controller_.schedule();
  read_.schedule(context_);
  if (read_.head(context_.now) != nullptr) context_.at(context_.now + 1);  // for writes under way
  for (const Fifo<Row>* rows : {&normed_, &scaling_, &issued_}) rows->schedule(context_);
  scaler_input_.schedule(context_);
  if (!scaled_.empty()) context_.at(scaled_.front());
  if (const Row* row = issued_.front()) context_.at(row->from);
  if (const Row* row = normed_.front()) context_.at(row->from);
  context_.at(writing_from_);
}

void StreamOut::archive(Archive& archive, Row& row) {
  archive.values(row.source, row.memory, row.row, row.bank, row.bytes);
  archive.cycle(row.from);
  if (row.bytes == 0) return;
  archive.value(row.address);
  pages_.relative(archive, row.page);
}

void StreamOut::archive(Archive& archive) {
  pages_.archive(archive);
  link_.translation().archive(archive, link_.client(unit_), pages_.newest());
  controller_.archive(archive, [&](Entry& entry) {
    archive.slot(entry.slot);
    pages_.relative(archive, entry.page);
  });
  read_.archive(archive, [&](Waiting& waiting) {
    this->archive(archive, waiting.row);
    archive.slot(waiting.slot);
  });
  for (Fifo<Row>* rows : {&normed_, &scaling_, &issued_})
    rows->archive(archive, [&](Row& row) { this->archive(archive, row); });
  under_way_ = read_.size() + normed_.size() + scaling_.size() + issued_.size();
  scaler_input_.archive(archive, [](Entry&) {});
  archive.cycles(scaled_);
  archive.values(writing_, beats_, translating_, translated_, repeated_, open_);
  if (writing_) {
    archive.values(address_, left_);
    archive.cycle(writing_from_);
    for (int64_t* page : {&page_, &request_page_}) pages_.relative(archive, *page);
  }
  for (const auto& [there, beat] : {std::pair(translating_, &first_), {translated_, &second_}, {repeated_, &third_}}) {
    if (!there) continue;
    archive.value(beat->last);
    pages_.relative(archive, beat->page);
  }
}

Cause StreamOut::cause() const {
  if (cause_ != Cause::Idle) return cause_;
  return open_ > 0 && !writing_ ? Cause::MemoryLatency : writing_ ? Cause::Bus : Cause::Pipeline;
}

}  // namespace autocomp::timing
