// Ports of local memory banks: at most one use of a port in a cycle; who asks first in a cycle wins.
// Uses may be booked for several cycles at once. Results of an array take their port whatever others do; its operands
// come last, so that a write which needs the port ends their booking.
//
// Units that stream ask for more. A row that was read waits at its bank until its reader takes it. Only so many may
// wait for each kind of reader, then the bank reads nothing. A write into a memory with separate ports is on its way
// for some cycles, in which its row is neither read nor added to.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "timing/archive.hpp"
#include "timing/settings.hpp"

namespace autocomp::timing {

class Ports {
 public:
  explicit Ports(const Settings& settings) : memories_(settings.memories), banks_(settings.banks) {
    for (const MemoryPorts& memory : memories_)
      for (size_t b = memory.first_bank; b < memory.first_bank + memory.banks; ++b) {
        banks_[b].contended = memory.contended;
        banks_[b].shared_port = memory.shared_port;
        banks_[b].read_latency = memory.read_latency;
        banks_[b].held_rows = memory.held_rows;
      }
  }

  [[nodiscard]] bool read(int32_t memory, int64_t row, int64_t now) {
    Bank& bank = at(memory, row);
    if (!open(bank, memory, now)) return false;
    bank.read_until = now + 1;
    return true;
  }

  // For `cycles` cycles from now on. An accumulating write reads the old row in the same cycle.
  [[nodiscard]] bool write(int32_t memory, int64_t row, bool accumulate, int64_t now, int64_t cycles = 1) {
    Bank& bank = at(memory, row);
    const bool reads = accumulate || memories_[static_cast<size_t>(memory)].shared_port;
    if (!memories_[static_cast<size_t>(memory)].contended) return true;
    if (bank.write_until > now || (reads && bank.read_until > now)) return false;
    bank.write_until = now + cycles;
    if (accumulate) bank.read_until = now + cycles;
    if (reads && bank.booked_until > now) {
      bank.booked_until = now;
      interrupted_ = true;
    }
    return true;
  }

  // Books reads for `cycles` cycles from now on, one a cycle, which a write may interrupt.
  [[nodiscard]] bool book(int32_t memory, int64_t row, int64_t now, int64_t cycles) {
    Bank& bank = at(memory, row);
    if (!open(bank, memory, now)) return false;
    bank.booked_until = now + cycles;
    return true;
  }
  void release(int32_t memory, int64_t row, int64_t now) { at(memory, row).booked_until = now; }
  // Whether a write has interrupted a booking since the last time this was asked.
  [[nodiscard]] bool interrupted() { return std::exchange(interrupted_, false); }

  // --- for units that stream: in each cycle results first, then moves in, operands, and moves out

  enum class Reader : uint8_t { Operand, Move };

  // The bank of a row, by which the functions below know it.
  [[nodiscard]] int32_t bank(int32_t memory, int64_t row) const { return static_cast<int32_t>(index(memory, row)); }
  // Rows [first, last) of a memory that lie in the bank of that row; none if it has no such row.
  [[nodiscard]] std::pair<int64_t, int64_t> rows_of_bank(int32_t memory, int64_t row) const {
    const MemoryPorts& ports = memories_[static_cast<size_t>(memory)];
    if (row < 0 || row >= ports.rows) return {0, 0};
    const int64_t first = static_cast<int64_t>(ports.bank(row)) * ports.rows_per_bank;
    return {first, std::min(first + ports.rows_per_bank, ports.rows)};
  }
  void write_result(int32_t memory, int64_t row, bool accumulate, int64_t now) {
    Bank& bank = at(memory, row);
    claim(bank, accumulate, now);
    note(bank, row, now);
  }
  // Whether a moved row can be written. One that cannot keeps others from the port as well.
  [[nodiscard]] bool write_moved(int32_t memory, int64_t row, bool accumulate, int64_t now) {
    Bank& bank = at(memory, row);
    if (!bank.contended) return true;
    if (bank.write_until > now) return false;
    claim(bank, accumulate, now);
    if (accumulate && !bank.shared_port && under_way(bank, row, now)) return false;
    note(bank, row, now);
    return true;
  }
  // Whether a row can be read, which then waits behind its bank.
  [[nodiscard]] bool read(Reader reader, int32_t number, int64_t row, int64_t now) {
    Bank& bank = banks_[static_cast<size_t>(number)];
    if (bank.contended) {
      if (bank.read_until > now || (bank.shared_port && bank.write_until > now)) return false;
      if (bank.asked == now) return false;  // by an operand, which comes first even where it fails
      if (reader == Reader::Operand) bank.asked = now;
      if (bank.held[0] >= bank.held_rows || bank.held[1] >= bank.held_rows) return false;
      if (!bank.shared_port && under_way(bank, row, now)) return false;
      bank.read_until = now + 1;
    }
    ++bank.held[static_cast<size_t>(reader)];
    return true;
  }
  void take(Reader reader, int32_t bank) { --banks_[static_cast<size_t>(bank)].held[static_cast<size_t>(reader)]; }
  [[nodiscard]] int64_t read_latency(int32_t bank) const { return banks_[static_cast<size_t>(bank)].read_latency; }

  [[nodiscard]] bool same_bank(int32_t memory, int64_t row, int64_t other) {
    return &at(memory, row) == &at(memory, other);
  }

  void archive(Archive& archive) {
    for (Bank& bank : banks_) {
      for (int64_t* until : {&bank.read_until, &bank.write_until, &bank.booked_until}) archive.cycle(*until);
      archive.values(bank.held[0], bank.held[1]);
      if (!archive.saves()) bank.asked = -1;
      if (bank.shared_port) continue;
      for (Recent& recent : bank.recent) {
        archive.cycle(recent.cycle, kMostWriteLatency + 1);
        int64_t row = recent.cycle + kMostWriteLatency < archive.now() ? -1 : recent.row;
        archive.value(row);
        recent.row = row;
      }
    }
    archive.value(interrupted_);
  }

 private:
  static constexpr int64_t kMostWriteLatency = 2;
  struct Recent {  // a write
    int64_t cycle = -kMostWriteLatency - 1, row = -1;
  };
  struct Bank {
    bool contended = true, shared_port = true;
    int64_t read_latency = 1, held_rows = 1;
    int64_t read_until = 0, write_until = 0, booked_until = 0;  // first cycle in which a port is free again
    std::array<int64_t, 2> held{};                              // rows that were read, by their reader
    int64_t asked = -1;                                         // the last cycle in which an operand was asked for
    std::array<Recent, kMostWriteLatency + 1> recent{};         // the newest first
  };
  void claim(Bank& bank, bool accumulate, int64_t now) {
    bank.write_until = now + 1;
    if (accumulate && !bank.shared_port) bank.read_until = now + 1;
  }
  void note(Bank& bank, int64_t row, int64_t now) {
    if (bank.shared_port) return;
    for (size_t i = bank.recent.size() - 1; i > 0; --i) bank.recent[i] = bank.recent[i - 1];
    bank.recent[0] = {now, row};
  }
  [[nodiscard]] bool under_way(const Bank& bank, int64_t row, int64_t now) const {
    for (const Recent& recent : bank.recent)
      if (recent.row == row && recent.cycle < now && recent.cycle + kMostWriteLatency >= now) return true;
    return false;
  }
  [[nodiscard]] bool open(const Bank& bank, int32_t memory, int64_t now) const {
    const MemoryPorts& ports = memories_[static_cast<size_t>(memory)];
    if (!ports.contended) return true;
    const bool shared = ports.shared_port;
    return bank.read_until <= now && bank.booked_until <= now && !(shared && bank.write_until > now);
  }
  [[nodiscard]] size_t index(int32_t memory, int64_t row) const {
    const MemoryPorts& ports = memories_[static_cast<size_t>(memory)];
    return std::min(ports.first_bank + ports.bank(std::max<int64_t>(0, row)), banks_.size() - 1);
  }
  [[nodiscard]] Bank& at(int32_t memory, int64_t row) { return banks_[index(memory, row)]; }
  std::vector<MemoryPorts> memories_;
  std::vector<Bank> banks_;
  bool interrupted_ = false;
};

}  // namespace autocomp::timing
