// A verilated model behind named ports. `ports.inc`, generated for each design, has a line PORT(name, bits, is_input)
// for each port of the top module.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "Vmodel.h"
#include "verilated.h"

namespace autocomp::rtl {

struct Port {
  const char* name;
  int32_t bits;
  bool input;
  void* storage;  // little-endian, as Verilator keeps it
  size_t bytes;   // of the storage: 1, 2, 4, 8, or a multiple of 4
};

class Model {
 public:
  Model() : top_(&context_) {
#define PORT(port, bits, input) ports_.push_back({#port, bits, input, &top_.port, sizeof(top_.port)});
#include "ports.inc"
#undef PORT
  }
  ~Model() { top_.final(); }
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  [[nodiscard]] const std::vector<Port>& ports() const { return ports_; }
  [[nodiscard]] const Port& port(int32_t index) const { return ports_.at(static_cast<size_t>(index)); }

  // `value` has as many bytes as the port's storage; bits beyond the port's are dropped.
  void poke(int32_t index, const void* value) {
    const Port& port = this->port(index);
    std::memcpy(port.storage, value, port.bytes);
    mask(port);
    settled_ = false;
  }

  void poke_number(int32_t index, uint64_t value) {
    const Port& port = this->port(index);
    std::memset(port.storage, 0, port.bytes);
    std::memcpy(port.storage, &value, port.bytes < sizeof(value) ? port.bytes : sizeof(value));
    mask(port);
    settled_ = false;
  }

  void peek(int32_t index, void* value) {
    settle();
    std::memcpy(value, port(index).storage, port(index).bytes);
  }

  // The low 64 bits.
  uint64_t peek_number(int32_t index) {
    settle();
    const Port& port = this->port(index);
    uint64_t value = 0;
    std::memcpy(&value, port.storage, port.bytes < sizeof(value) ? port.bytes : sizeof(value));
    return value;
  }

  // Outputs follow inputs within a cycle.
  void settle() {
    if (settled_) return;
    top_.eval();
    settled_ = true;
  }

  // One cycle: the rising edge takes the inputs as they are, then the clock falls.
  void tick(int32_t clock) {
    settle();
    poke_number(clock, 1);
    top_.eval();
    context_.timeInc(1);
    poke_number(clock, 0);
    context_.timeInc(1);
  }

  // Whether the design has called $finish or $stop.
  [[nodiscard]] bool finished() const { return context_.gotFinish(); }

 private:
  static void mask(const Port& port) {
    auto* bytes = static_cast<uint8_t*>(port.storage);
    const auto full = static_cast<size_t>(port.bits / 8);
    if (full >= port.bytes) return;
    bytes[full] &= static_cast<uint8_t>((1U << (port.bits % 8)) - 1);
    std::memset(bytes + full + 1, 0, port.bytes - full - 1);
  }

  VerilatedContext context_;
  Vmodel top_;
  std::vector<Port> ports_;
  bool settled_ = false;
};

}  // namespace autocomp::rtl
