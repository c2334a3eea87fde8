// The units of a machine, each as what it is, and what those that move data share: the way to main memory.
#pragma once

#include <utility>
#include <vector>

#include "units/array.hpp"
#include "units/link.hpp"
#include "units/main_memory.hpp"
#include "units/serial.hpp"
#include "units/stream_in.hpp"
#include "units/stream_out.hpp"
#include "units/systolic.hpp"
#include "units/transfer_in.hpp"
#include "units/transfer_out.hpp"
#include "units/unroller.hpp"

namespace autocomp::timing {

class Units {
 public:
  Units(Context& context, const CompiledMachine& compiled, OperationList& operations)
      : context_(context), memory_(context.settings), link_(context.settings) {
    // Units keep references into the context, and their places: reserve before adding.
    const size_t count = context.settings.units.size();
    ins_.reserve(count);
    outs_.reserve(count);
    arrays_.reserve(count);
    streams_in_.reserve(count);
    streams_out_.reserve(count);
    systolics_.reserve(count);
    serials_.reserve(count);
    unrollers_.reserve(count);
    for (size_t u = 0; u < count; ++u) {
      const UnitKind kind = context.settings.units[u].kind;
      places_.push_back({kind, add(kind, static_cast<int32_t>(u), compiled, operations)});
    }
  }

  [[nodiscard]] size_t count() const { return places_.size(); }
  [[nodiscard]] std::vector<Unroller>& unrollers() { return unrollers_; }

  // Calls `action` with the unit as what it is.
  template <typename Action>
  decltype(auto) with(size_t u, Action&& action) {
    const Place place = places_[u];
    switch (place.kind) {
      case UnitKind::TransferIn: return action(ins_[place.index]);
      case UnitKind::TransferOut: return action(outs_[place.index]);
      case UnitKind::Array: return action(arrays_[place.index]);
      case UnitKind::StreamIn: return action(streams_in_[place.index]);
      case UnitKind::StreamOut: return action(streams_out_[place.index]);
      case UnitKind::Systolic: return action(systolics_[place.index]);
      case UnitKind::Expander: return action(unrollers_[place.index]);
      case UnitKind::Serial: break;
    }
    return action(serials_[place.index]);
  }

  // Calls action(number, unit) for each unit.
  template <typename Action>
  void each(Action action) {
    for (size_t u = 0; u < count(); ++u) with(u, [&](auto& unit) { action(u, unit); });
  }

  // No request to main memory is outstanding, and no row is on its way there.
  [[nodiscard]] bool idle() const {
    for (const TransferOut& out : outs_)
      if (!out.idle()) return false;
    for (const StreamIn& in : streams_in_)
      if (!in.idle()) return false;
    for (const StreamOut& out : streams_out_)
      if (!out.idle()) return false;
    return true;
  }

  void forget_translations() { link_.translation().forget(context_.now); }

  // A cycle of all units, after the front's.
  void step() {
    for (Array& array : arrays_)
      if (array.results_due()) array.write_results();
    for (Systolic& array : systolics_) array.write_results();
    respond();
    // Who comes first has the ports: results, moves in, operands, moves out.
    for (TransferIn& in : ins_)
      if (in.writes_due()) in.write_rows();
    for (StreamIn& in : streams_in_) in.write_rows();
    for (StreamOut& out : streams_out_)
      if (out.due()) out.send();
    for (Array& array : arrays_)
      if (array.due()) array.step();
    for (Systolic& array : systolics_)
      if (array.active()) array.step();
    for (Serial& serial : serials_) serial.step();
    for (TransferOut& out : outs_)
      if (out.due()) out.step(memory_);
    for (TransferIn& in : ins_)
      if (in.requests_due()) in.request(memory_);
    for (StreamOut& out : streams_out_)
      if (out.due()) out.read();
    for (StreamIn& in : streams_in_) in.request();
    if (!link_.quiet()) {
      link_.receive(context_);
      link_.send(context_);
    }
  }

  void schedule() {
    memory_.schedule(context_);
    link_.schedule(context_);
    each([](size_t, auto& unit) { unit.schedule(); });
  }

  void archive(Archive& archive) {
    memory_.archive(archive);
    for (TransferIn& in : ins_) in.archive(archive);
    for (Array& array : arrays_) array.archive(archive);
    for (Serial& serial : serials_) serial.archive(archive);
    for (TransferOut& out : outs_) out.archive(archive);
    link_.archive(archive);
    for (StreamIn& in : streams_in_) in.archive(archive);
    for (Systolic& array : systolics_) array.archive(archive);
    for (StreamOut& out : streams_out_) out.archive(archive);
  }

 private:
  struct Place {
    UnitKind kind = UnitKind::Serial;
    size_t index = 0;  // among the units of its kind
  };

  // The place of a new unit of a kind.
  template <typename Unit, typename... Arguments>
  static size_t add(std::vector<Unit>& units, Arguments&&... arguments) {
    units.emplace_back(std::forward<Arguments>(arguments)...);
    return units.size() - 1;
  }

  [[nodiscard]] size_t add(UnitKind kind, int32_t unit, const CompiledMachine& compiled, OperationList& operations) {
    switch (kind) {
      case UnitKind::TransferIn: return add(ins_, context_, unit);
      case UnitKind::TransferOut: return add(outs_, context_, unit);
      case UnitKind::Array: return add(arrays_, context_, unit);
      case UnitKind::StreamIn: return add(streams_in_, context_, link_, unit);
      case UnitKind::StreamOut: return add(streams_out_, context_, link_, unit);
      case UnitKind::Systolic: return add(systolics_, context_, unit);
      case UnitKind::Expander: return add(unrollers_, context_, unit, compiled, operations);
      case UnitKind::Serial: break;
    }
    return add(serials_, context_, unit);
  }

  void respond() {
    memory_.each([this](Channel& channel) {
      Response* response = channel.front(context_.now);
      if (response == nullptr) return;
      const size_t place = places_[static_cast<size_t>(response->unit)].index;
      if (response->acknowledge)
        outs_[place].acknowledge(channel);
      else if (ins_[place].ready_for_beat())
        ins_[place].take_beat(channel, *response);
    });
  }

  Context& context_;
  MainMemory memory_;
  Link link_;
  std::vector<Unroller> unrollers_;
  std::vector<TransferIn> ins_;
  std::vector<TransferOut> outs_;
  std::vector<Array> arrays_;
  std::vector<StreamIn> streams_in_;
  std::vector<StreamOut> streams_out_;
  std::vector<Systolic> systolics_;
  std::vector<Serial> serials_;
  std::vector<Place> places_;  // of each unit
};

}  // namespace autocomp::timing
