// What a design sees behind its TileLink port: tensors at addresses, a latency, and a bandwidth.
//
// An ideal memory: the first beat of an answer comes `latency` cycles after the request (of a Put, its last beat) was
// taken. Answers come in order over one channel, which acknowledgements share, a beat in `bytes / bandwidth` cycles;
// beats of writes are taken at the same rate. At the width of the bus nothing is ever refused.
//
// Each tensor has guard memory before and after it. Accesses there are counted: reads give `kGuard`, writes are
// dropped.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <span>
#include <stdexcept>
#include <string>

namespace autocomp::rtl {

constexpr size_t kMostBusBytes = 128;
constexpr uint64_t kMostBytesPerRequest = 4096;

constexpr uint8_t kGuard = 0xA5;  // what is read where no tensor is

struct Region {  // of a tensor; agrees with `_Region` in native.py
  uint64_t base;
  uint64_t bytes;
  uint8_t* content;
  uint64_t guard;  // bytes of guard memory before it, and after it

  [[nodiscard]] bool overlaps(uint64_t first, uint64_t count) const {
    return first < base + bytes && base < first + count;
  }
  [[nodiscard]] bool guards(uint64_t address) const {
    return address + guard >= base && address < base + bytes + guard;
  }
};

struct Strays {                              // accesses of guard memory
  int64_t reads = 0;                         // requests that touch no tensor
  int64_t writes = 0;                        // bytes
  uint64_t first_read = 0, first_write = 0;  // addresses
};

struct MemoryError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

using Beat = std::array<uint8_t, kMostBusBytes>;

struct Request {  // a beat of channel A
  int opcode = 0;
  int size = 0;  // log2 of the bytes
  uint64_t source = 0;
  uint64_t address = 0;
  Beat mask{};  // a byte for each byte of the bus
  Beat data{};
};

struct Answer {  // a beat of channel D
  int64_t ready = 0;
  int opcode = 0;
  int size = 0;
  uint64_t source = 0;
  Beat data{};
};

class Memory {
 public:
  enum Opcode : int { kPutFull = 0, kPutPartial = 1, kGet = 4, kAck = 0, kAckData = 1 };

  // Without regions every address may be accessed: reads give zeros, writes go nowhere.
  Memory(std::span<const Region> regions, size_t bus_bytes, int64_t latency, int64_t bandwidth)
      : regions_(regions), bus_(bus_bytes), latency_(latency), bandwidth_(bandwidth) {
    if (bus_ == 0 || bus_ > kMostBusBytes) throw MemoryError("a bus of " + std::to_string(bus_) + " bytes");
    if (latency_ < 1 || bandwidth_ < 1) throw MemoryError("latency and bandwidth are at least 1");
  }

  [[nodiscard]] bool takes(int64_t now) const { return now * bandwidth_ >= write_free_; }

  void take(const Request& beat, int64_t now) {
    const uint64_t bytes = uint64_t{1} << std::min(beat.size, 62);
    if (bytes > kMostBytesPerRequest) throw MemoryError("a request of " + std::to_string(bytes) + " bytes");
    if (beat.address % bytes != 0) throw MemoryError(request(beat, bytes) + " is not aligned to its size");
    if (beat.opcode == kGet) return get(beat, bytes, now);
    if (beat.opcode == kPutFull || beat.opcode == kPutPartial) return put(beat, bytes, now);
    throw MemoryError("opcode " + std::to_string(beat.opcode) + " on channel A; expected Get or Put");
  }

  // The beat on channel D in this cycle, or null.
  [[nodiscard]] const Answer* answer(int64_t now) const {
    return answers_.empty() || answers_.front().ready > now ? nullptr : &answers_.front();
  }
  void answered() { answers_.pop_front(); }
  [[nodiscard]] bool idle() const { return answers_.empty() && put_beats_ == 0; }
  [[nodiscard]] const Strays& strays() const { return strays_; }

 private:
  void get(const Request& beat, uint64_t bytes, int64_t now) {
    // Requests are as wide as the design likes, so they may reach beyond a tensor.
    if (!regions_.empty() &&
        std::ranges::none_of(regions_, [&](const Region& r) { return r.overlaps(beat.address, bytes); })) {
      require_guard(beat, bytes, beat.address);
      if (strays_.reads++ == 0) strays_.first_read = beat.address;
    }
    const uint64_t first = beat.address / bus_ * bus_;
    Answer answer{.opcode = kAckData, .size = beat.size, .source = beat.source};
    for (uint64_t at = first; at < beat.address + bytes; at += bus_) {
      for (size_t lane = 0; lane < bus_; ++lane) {
        const uint8_t* byte = find(at + lane);
        answer.data[lane] = byte != nullptr ? *byte : regions_.empty() ? 0 : kGuard;
      }
      send(answer, now);
    }
  }

  void put(const Request& beat, uint64_t bytes, int64_t now) {
    const uint64_t first = beat.address / bus_ * bus_ + put_beats_ * bus_;
    for (size_t lane = 0; lane < bus_; ++lane) {
      if (beat.mask[lane] == 0) continue;
      const uint64_t address = first + lane;
      if (address < beat.address || address >= beat.address + bytes)
        throw MemoryError(request(beat, bytes) + " has a mask beyond its bytes");
      uint8_t* byte = find(address);
      if (byte != nullptr) {
        *byte = beat.data[lane];
      } else if (!regions_.empty()) {
        require_guard(beat, bytes, address);
        if (strays_.writes++ == 0) strays_.first_write = address;
      }
    }
    write_free_ = std::max(write_free_, now * bandwidth_) + static_cast<int64_t>(bus_);
    if (++put_beats_ * bus_ < bytes) return;
    put_beats_ = 0;
    send({.opcode = kAck, .size = beat.size, .source = beat.source}, now);
  }

  // Times of channel D are kept in cycles x bandwidth, so that fractions of a cycle add up.
  void send(Answer answer, int64_t now) {
    free_ = std::max(free_, (now + latency_) * bandwidth_);
    answer.ready = (free_ + bandwidth_ - 1) / bandwidth_;
    free_ += std::max<int64_t>(bandwidth_, static_cast<int64_t>(bus_));
    answers_.push_back(answer);
  }

  [[nodiscard]] uint8_t* find(uint64_t address) const {
    for (const Region& region : regions_)
      if (address >= region.base && address - region.base < region.bytes)
        return region.content + (address - region.base);
    return nullptr;
  }

  void require_guard(const Request& beat, uint64_t bytes, uint64_t address) const {
    if (std::ranges::none_of(regions_, [&](const Region& r) { return r.guards(address); }))
      throw MemoryError(request(beat, bytes) + " is far from every tensor");
  }

  static std::string request(const Request& beat, uint64_t bytes) {
    return std::string(beat.opcode == kGet ? "a read" : "a write") + " of " + std::to_string(bytes) +
           " bytes at address " + std::to_string(beat.address);
  }

  std::span<const Region> regions_;
  size_t bus_;
  int64_t latency_, bandwidth_;
  std::deque<Answer> answers_;
  int64_t free_ = 0;        // cycles x bandwidth, when channel D is
  int64_t write_free_ = 0;  // … and channel A for beats of writes
  uint64_t put_beats_ = 0;  // taken of the Put under way
  Strays strays_;
};

}  // namespace autocomp::rtl
