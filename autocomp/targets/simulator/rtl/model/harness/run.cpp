#include "run.hpp"

#include <cstdio>

namespace autocomp::rtl {

namespace {

// Offers commands in order, and keeps the times of the segments between fences.
class Host {
 public:
  Host(Model& model, const Roles& roles, const Commands& commands, int64_t* segment_cycles)
      : model_(model), roles_(roles), commands_(commands), segment_cycles_(segment_cycles) {
    if (next_ < commands_.count) earliest_ = commands_.gaps[0];
  }

  // A fence that finds the design idle takes no time: what is behind it is offered in the same cycle. A command that
  // was taken makes the design busy from the next cycle on.
  void drive(int64_t now) {
    offer(false);
    while (waiting(now) && model_.peek_number(roles_.busy) == 0) {
      end_segment(now);
      if (next_ == commands_.count)
        end_ = now;
      else
        advance(now);
    }
    const bool command = next_ < commands_.count && commands_.fences[next_] == 0;
    if (command && !segment_open_) {
      segment_open_ = true;
      segment_start_ = now;
    }
    if (!command || now < earliest_) return;
    offer(true);
    const uint64_t* words = commands_.words + next_ * roles_.word_count;
    for (int word = 0; word < roles_.word_count; ++word) model_.poke_number(roles_.words[word], words[word]);
  }

  // After the outputs have settled.
  void sample(int64_t now) {
    if (offering_ && model_.peek_number(roles_.command_ready) != 0) advance(now + 1);
  }

  [[nodiscard]] bool done() const { return end_ >= 0; }
  [[nodiscard]] int64_t end() const { return end_; }
  [[nodiscard]] int64_t segments() const { return segments_; }
  [[nodiscard]] int64_t next() const { return next_; }

 private:
  // For the design to become idle.
  [[nodiscard]] bool waiting(int64_t now) const {
    if (done()) return false;
    return next_ == commands_.count || (commands_.fences[next_] != 0 && now >= earliest_);
  }

  void offer(bool valid) {
    offering_ = valid;
    model_.poke_number(roles_.command_valid, valid ? 1 : 0);
  }

  void advance(int64_t free) {
    ++next_;
    earliest_ = free + (next_ < commands_.count ? commands_.gaps[next_] : 0);
  }

  void end_segment(int64_t now) {
    if (segment_open_) segment_cycles_[segments_++] = now - segment_start_;
    segment_open_ = false;
  }

  Model& model_;
  const Roles& roles_;
  const Commands& commands_;
  int64_t* segment_cycles_;
  int64_t next_ = 0, earliest_ = 0, segments_ = 0, segment_start_ = 0, end_ = -1;
  bool offering_ = false, segment_open_ = false;
};

// Connects a memory to the TileLink port.
class Bus {
 public:
  Bus(Model& model, const Roles& roles, Memory& memory) : model_(model), roles_(roles), memory_(memory) {}

  void drive(int64_t now) {
    accepting_ = memory_.takes(now);
    model_.poke_number(roles_.a_ready, accepting_ ? 1 : 0);
    answer_ = memory_.answer(now);
    model_.poke_number(roles_.d_valid, answer_ != nullptr ? 1 : 0);
    if (answer_ == nullptr) return;
    model_.poke_number(roles_.d_opcode, static_cast<uint64_t>(answer_->opcode));
    model_.poke_number(roles_.d_size, static_cast<uint64_t>(answer_->size));
    model_.poke_number(roles_.d_source, answer_->source);
    model_.poke(roles_.d_data, answer_->data.data());
  }

  void sample(int64_t now) {
    if (answer_ != nullptr && model_.peek_number(roles_.d_ready) != 0) memory_.answered();
    if (!accepting_ || model_.peek_number(roles_.a_valid) == 0) return;
    Request request;
    request.opcode = static_cast<int>(model_.peek_number(roles_.a_opcode));
    request.size = static_cast<int>(model_.peek_number(roles_.a_size));
    request.source = model_.peek_number(roles_.a_source);
    request.address = model_.peek_number(roles_.a_address);
    if (request.opcode != Memory::kGet) {
      Beat bits{};
      model_.peek(roles_.a_mask, bits.data());
      for (size_t lane = 0; lane < static_cast<size_t>(model_.port(roles_.a_mask).bits); ++lane)
        request.mask[lane] = bits[lane / 8] >> (lane % 8) & 1;
      model_.peek(roles_.a_data, request.data.data());
    }
    memory_.take(request, now);
  }

 private:
  Model& model_;
  const Roles& roles_;
  Memory& memory_;
  const Answer* answer_ = nullptr;
  bool accepting_ = false;
};

}  // namespace

void run(Model& model, const Roles& roles, const Commands& commands, std::span<const Region> regions,
         const Conditions& conditions, Report& report, int64_t* segment_cycles) {
  const auto bus_bytes = static_cast<size_t>(model.port(roles.a_data).bits / 8);
  Memory memory(regions, bus_bytes, conditions.latency, conditions.bandwidth);
  Host host(model, roles, commands, segment_cycles);
  Bus bus(model, roles, memory);
  int64_t now = 0;
  const auto finish = [&](int32_t status, const char* message) {
    report.status = status;
    report.cycles = host.done() ? host.end() + 1 : now;
    report.steps = now;
    report.accepted = host.next();
    report.segments = host.segments();
    report.strays = memory.strays();
    std::snprintf(report.message, sizeof(report.message), "%s", message);
  };
  try {
    for (; now < conditions.most_cycles; ++now) {
      bus.drive(now);
      host.drive(now);
      model.settle();
      bus.sample(now);
      host.sample(now);
      if (host.done() && memory.idle()) return finish(0, "");
      if (model.finished()) return finish(3, "the design called $finish or $stop, as a failed assertion does");
      model.tick(roles.clock);
    }
    finish(1, "");
  } catch (const MemoryError& error) {
    finish(2, error.what());
  }
}

}  // namespace autocomp::rtl
