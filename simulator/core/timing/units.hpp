// The units of a machine, each as what it is, and what those that move data share: the way to main memory.
#pragma once

#include <vector>

#include "timing/array.hpp"
#include "timing/channel.hpp"
#include "timing/link.hpp"
#include "timing/serial.hpp"
#include "timing/stream_in.hpp"
#include "timing/stream_out.hpp"
#include "timing/systolic.hpp"
#include "timing/transfer_in.hpp"
#include "timing/transfer_out.hpp"
#include "timing/unroller.hpp"

namespace autocomp::timing {

class Units {
 public:
  Units(Context& context, const CompiledMachine& compiled, OperationList& operations)
      : context_(context), channel_(context.settings.shared_requests), link_(context.settings) {
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
    for (size_t u = 0; u < count; ++u) add(static_cast<int32_t>(u), compiled, operations);
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
      if (out.due()) out.step(channel_);
    for (TransferIn& in : ins_)
      if (in.requests_due()) in.request(channel_);
    for (StreamOut& out : streams_out_)
      if (out.due()) out.read();
    for (StreamIn& in : streams_in_) in.request();
    if (!link_.quiet()) {
      link_.receive(context_);
      link_.send(context_);
    }
  }

  void schedule() {
    channel_.schedule(context_);
    link_.schedule(context_);
    each([](size_t, auto& unit) { unit.schedule(); });
  }

  void archive(Archive& archive) {
    channel_.archive(archive);
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

  void add(int32_t unit, const CompiledMachine& compiled, OperationList& operations) {
    size_t place = 0;
    const UnitKind kind = context_.settings.units[static_cast<size_t>(unit)].kind;
    switch (kind) {
      case UnitKind::TransferIn:
        place = ins_.size();
        ins_.emplace_back(context_, unit);
        break;
      case UnitKind::TransferOut:
        place = outs_.size();
        outs_.emplace_back(context_, unit);
        break;
      case UnitKind::Array:
        place = arrays_.size();
        arrays_.emplace_back(context_, unit);
        break;
      case UnitKind::StreamIn:
        place = streams_in_.size();
        streams_in_.emplace_back(context_, link_, unit);
        break;
      case UnitKind::StreamOut:
        place = streams_out_.size();
        streams_out_.emplace_back(context_, link_, unit);
        break;
      case UnitKind::Systolic:
        place = systolics_.size();
        systolics_.emplace_back(context_, unit);
        break;
      case UnitKind::Serial:
        place = serials_.size();
        serials_.emplace_back(context_, unit);
        break;
      case UnitKind::Expander:
        place = unrollers_.size();
        unrollers_.emplace_back(context_, unit, compiled, operations);
        break;
    }
    places_.push_back({kind, place});
  }

  void respond() {
    Response* response = channel_.front(context_.now);
    if (response == nullptr) return;
    const size_t place = places_[static_cast<size_t>(response->unit)].index;
    if (response->acknowledge)
      outs_[place].acknowledge(channel_);
    else if (ins_[place].ready_for_beat())
      ins_[place].take_beat(channel_, *response);
  }

  Context& context_;
  Channel channel_;
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
