// The C face of a model, as `native.py` loads it. Nothing throws through it.
#include <new>

#include "run.hpp"

using autocomp::rtl::Model;

extern "C" {

int32_t rtl_abi_version() { return 3; }

Model* rtl_open() { return new (std::nothrow) Model(); }
void rtl_close(Model* model) { delete model; }

int32_t rtl_port_count(const Model* model) { return static_cast<int32_t>(model->ports().size()); }
const char* rtl_port_name(const Model* model, int32_t port) { return model->port(port).name; }
int32_t rtl_port_bits(const Model* model, int32_t port) { return model->port(port).bits; }
int32_t rtl_port_is_input(const Model* model, int32_t port) { return model->port(port).input ? 1 : 0; }
int32_t rtl_port_bytes(const Model* model, int32_t port) { return static_cast<int32_t>(model->port(port).bytes); }

void rtl_poke(Model* model, int32_t port, const uint8_t* value) { model->poke(port, value); }
void rtl_peek(Model* model, int32_t port, uint8_t* value) { model->peek(port, value); }

void rtl_step(Model* model, int32_t clock, int64_t cycles) {
  for (int64_t cycle = 0; cycle < cycles; ++cycle) model->tick(clock);
}

// Cycles until the low 64 bits of a port have a value, -1 if they have not within the limit.
int64_t rtl_run_until(Model* model, int32_t clock, int32_t port, uint64_t value, int64_t limit) {
  for (int64_t cycle = 0;; ++cycle) {
    if (model->peek_number(port) == value) return cycle;
    if (cycle == limit) return -1;
    model->tick(clock);
  }
}

void rtl_run(Model* model, const autocomp::rtl::Roles* roles, const autocomp::rtl::Commands* commands,
             const autocomp::rtl::Region* regions, int64_t region_count, const autocomp::rtl::Conditions* conditions,
             autocomp::rtl::Report* report, int64_t* segment_cycles) {
  autocomp::rtl::run(*model, *roles, *commands, {regions, static_cast<size_t>(region_count)}, *conditions, *report,
                     segment_cycles);
}
}
