#include "timing/stream.hpp"

#include <algorithm>

namespace autocomp::timing {
namespace {

constexpr size_t kFewest = 16, kMost = 128;  // commands between two places
constexpr int64_t kMostRows = 1 << 24;       // of a move: its last address fits 64 bits

}  // namespace

// The multiply that a preload pairs with is the next command of its unit, if it is one. Fences may come between.
void Stream::pair(int64_t number) {
  const InstructionTiming& here = timing(number);
  if (here.unit >= 0) {
    int64_t& open = open_[static_cast<size_t>(here.unit)];
    if (open >= 0 && here.role == Role::Multiply) list_.at(open).partner = number;
    const bool owns = here.role == Role::Preload && settings_.units[static_cast<size_t>(here.unit)].owner_preload;
    open = owns ? number : -1;
  }
}

// Rows beyond the tensor are asked for, too, where the command's numbers say so.
void Stream::ask(int64_t number) {
  const InstructionTiming& here = timing(number);
  if (here.stride_asked < 0 || here.rows_asked < 0) return;
  const Operation& operation = list_.at(number);
  const int64_t* properties = list_.properties_of(operation);
  for (uint32_t a = 0; a < operation.access_count; ++a) {
    AccessInstance& access = list_.accesses[operation.first_access + a];
    const int64_t stride = std::clamp(properties[here.stride_asked], -kMostPoints, kMostPoints);
    if (access.memory != settings_.dram || stride == 0) continue;
    access.dims = 1;
    access.count[0] = std::clamp<int64_t>(properties[here.rows_asked], 1, kMostRows);
    access.stride[0] = stride;
  }
}

// Notes on which page a command begins.
void Stream::place(int64_t number, std::vector<Pages>& pages) {
  const int32_t unit = timing(number).unit;
  if (settings_.page == 0 || unit < 0) return;
  Operation& operation = list_.at(number);
  const auto found = vocabulary_.pages(list_, operation);
  if (!found) return;
  Pages& known = pages[static_cast<size_t>(unit)];
  const auto [first, last] = *found;
  operation.page = first == known.last ? Page::Last : first == known.before ? Page::BeforeLast : Page::Other;
  if (last != first || first != known.last) known.before = last != first ? first : known.last;
  known.last = last;
}

// Notes what the cache does for a command. Its contents follow from the order of commands, not from the cycles that
// they take.
void Stream::look_up(int64_t number) {
  const InstructionTiming& here = timing(number);
  const Operation& operation = list_.at(number);
  const AccessInstance* accesses = list_.accesses_of(operation);
  for (uint32_t a = 0; a < operation.access_count; ++a) {
    if (accesses[a].memory != settings_.dram || accesses[a].tracked) continue;
    Cache& cache = caches_[here.home(accesses[a].parameter)];
    if (cache.there()) lines_[number] = cache.move(accesses[a], vocabulary_.address(accesses[a]));
    return;  // timing looks at the first alone
  }
}

const Lines& Stream::lines(int64_t number) const {
  static const Lines none;
  const auto known = lines_.find(number);
  return known == lines_.end() ? none : known->second;
}

void Stream::supply(bool ended) {
  ended_ = ended;
  for (; seen_ < list_.count(); ++seen_) {
    pair(seen_);
    ask(seen_);
    if (list_.at(seen_).sender >= 0) continue;
    place(seen_, pages_);
    if (settings_.cached) look_up(seen_);
  }
  int64_t known = seen_;
  for (const int64_t open : open_)
    if (open >= 0) known = std::min(known, open);
  // The host may pass several fences and take the command behind them in one cycle, and looks at the next.
  for (int64_t number = known - 2; number > last_ && number >= list_.first; --number)
    if (timing(number).role != Role::Fence) last_ = number;
  if (!naming_) return;
  for (int64_t number = list_.first + named(); number <= last_; ++number)
    ids_.push_back(list_.at(number).sender < 0 ? name(number) : -1);
}

int64_t Stream::place_behind(int64_t next) const {
  const std::span<const int32_t> commands = ids(next);
  uint32_t sum = 0;
  for (size_t i = 0; i < commands.size(); ++i) {
    sum = sum << 8 ^ static_cast<uint32_t>(commands[i]) * 0x9E3779B1U;  // of the last four
    if (i >= kFewest && (sum >> 27 == 0 || i == kMost)) return next + static_cast<int64_t>(i);
  }
  return -1;
}

void Stream::forget(int64_t before) {
  const int64_t first = list_.first;
  list_.forget(before);
  lines_.erase(lines_.begin(), lines_.lower_bound(list_.first));
  if (naming_) ids_.erase(ids_.begin(), ids_.begin() + std::min(list_.first - first, named()));
}

void Stream::decode(int64_t number, Command& command) {
  const bool sent = list_.at(number).sender >= 0;
  if (sent) {  // in the order in which they leave, so their ids are known only now
    place(number, sent_pages_);
    if (settings_.cached) look_up(number);
  }
  restore(number, sent && naming_ ? name(number) : id(number), command);
}

void Stream::restore(int64_t number, int32_t id, Command& command) const {
  vocabulary_.decode(list_, list_.at(number), command);
  if (settings_.cached) command.lines = lines(number);
  command.operation = number;
  command.id = id;
}

}  // namespace autocomp::timing
