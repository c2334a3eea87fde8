#include "units/link.hpp"

#include <algorithm>
#include <bit>

namespace autocomp::timing {
namespace {

constexpr int64_t kBuffer = 2;  // beats in each buffer on the way

bool streams(const UnitSettings& unit) { return facts(unit.kind).streams; }

}  // namespace

Link::Link(const Settings& settings)
    : settings_(settings),
      shared_(kBuffer),
      translation_(static_cast<size_t>(std::ranges::count_if(settings.units, streams))) {
  for (const UnitSettings& unit : settings.units) {
    places_.push_back(streams(unit) ? static_cast<int32_t>(asks_.size()) : -1);
    if (!streams(unit)) continue;
    asks_.emplace_back(kBuffer);
    beats_.emplace_back(kBuffer);
  }
}

void Link::ask(int32_t unit, const Request& request, bool last, int64_t responses, int64_t now) {
  asks_[place(unit)].push({request, last, responses}, now);
  ++waiting_;
}

void Link::send(Context& context) {
  if (waiting_ == 0) return;
  const int64_t now = context.now;
  uint64_t valid = 0;
  for (size_t u = 0; u < asks_.size(); ++u)
    if (asks_[u].head(now) != nullptr) valid |= uint64_t{1} << u;
  if (sending_ >= 0) valid &= uint64_t{1} << sending_;
  if (valid == 0) return;
  const uint64_t unserved = valid & ~served_;
  const int unit = 63 - std::countl_zero(sending_ < 0 && unserved != 0 ? unserved : valid);
  if (sending_ < 0) served_ = ~uint64_t{0} << unit;
  const auto u = static_cast<size_t>(unit);
  const Ask ask = *asks_[u].head(now);
  asks_[u].pop(now);
  --waiting_;
  sending_ = ask.last ? -1 : unit;
  context.progress = true;
  if (!ask.last) return;
  const int64_t there = now + 1;  // behind another buffer
  const int64_t ready = std::max(free_, there + settings_.drams.front().latency);
  free_ = ready + ask.responses;
  responses_.push({ready, ask.responses, unit, ask.request});
}

void Link::receive(Context& context) {
  const int64_t now = context.now;
  if (const Beat* beat = shared_.head(now); beat != nullptr) {
    Fifo<Request>& to = beats_[static_cast<size_t>(beat->place)];
    if (to.room(now)) {
      to.push(beat->request, now);
      ++arrived_;
      shared_.pop(now);
      context.progress = true;
    }
  }
  if (responses_.empty() || responses_.front().ready > now || !shared_.room(now)) return;
  Response& response = responses_.front();
  shared_.push({response.place, response.request}, now);
  ++response.ready;
  context.progress = true;
  if (--response.beats == 0) responses_.pop();
}

void Link::schedule(Context& context) const {
  for (const Fifo<Ask>& asks : asks_) asks.schedule(context);
  for (const Fifo<Request>& beats : beats_) beats.schedule(context);
  shared_.schedule(context);
  if (!responses_.empty()) context.at(responses_.front().ready);
}

void Link::archive(Archive& archive) {
  for (Fifo<Ask>& asks : asks_)
    asks.archive(archive, [&](Ask& ask) {
      ask.request.archive(archive);
      archive.values(ask.last, ask.responses);
    });
  archive.values(served_, sending_, waiting_, arrived_);
  translation_.archive(archive);
  archive.ring(responses_, [&](Response& response) {
    archive.cycle(response.ready);
    archive.values(response.beats, response.place);
    response.request.archive(archive);
  });
  archive.cycle(free_);
  shared_.archive(archive, [&](Beat& beat) {
    archive.value(beat.place);
    beat.request.archive(archive);
  });
  for (Fifo<Request>& beats : beats_) beats.archive(archive, [&](Request& request) { request.archive(archive); });
}

}  // namespace autocomp::timing
