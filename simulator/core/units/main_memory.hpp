// The way of units that move data to the memories of tensors: a port for each memory, which takes every request, or one
// beat of a request a cycle where units share it, and behind it the channels that addresses go to in turn.
#pragma once

#include <vector>

#include "units/channel.hpp"

namespace autocomp::timing {

class MainMemory {
 public:
  explicit MainMemory(const Settings& settings) {
    for (const DramSettings& dram : settings.drams) {
      ports_.push_back({&dram, channels_.size()});
      channels_.resize(channels_.size() + static_cast<size_t>(dram.channels));
    }
  }

  // Whether a beat of a request to a memory may leave in this cycle: who asks first does.
  [[nodiscard]] bool request(size_t memory, int64_t now) {
    Port& port = ports_[memory];
    if (port.dram->shared_requests && port.requested == now) return false;
    port.requested = now;
    return true;
  }
  // A request has left, and is answered as soon as its channel can.
  void respond(size_t memory, const Lines& lines, const Reach& reach, Response response, int64_t now) {
    const Port& port = ports_[memory];
    Channel& channel = channels_[port.first + port.dram->channel(reach.address)];
    response.valid = channel.arrival(*port.dram, lines, reach, now);
    channel.respond(response);
  }
  // Calls visit(channel) for each.
  template <typename Visit>
  void each(Visit visit) {
    for (Channel& channel : channels_) visit(channel);
  }
  void schedule(Context& context) const {
    for (const Channel& channel : channels_) channel.schedule(context);
  }
  void archive(Archive& archive) {
    for (Channel& channel : channels_) channel.archive(archive);
  }

 private:
  struct Port {
    const DramSettings* dram = nullptr;
    size_t first = 0;        // of its channels
    int64_t requested = -1;  // the last cycle in which a beat left
  };
  std::vector<Port> ports_;
  std::vector<Channel> channels_;
};

}  // namespace autocomp::timing
