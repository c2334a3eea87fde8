// The memory discipline of main memory: the last accesses of each tensor's elements.
#include <algorithm>

#include "discipline/discipline.hpp"

namespace autocomp {

// Of several memories, a tensor lies in that of its first access, and all others have to say the same.
void Discipline::lies_in(int32_t instruction, const AccessInstance& access) {
  if (access.tensor < 0 || at(access.tensor) >= elements_.size()) return;
  int32_t memory = machine_.dram();
  for (const auto& [pointer, home] : machine_.machine().instructions[at(instruction)].homes)
    if (pointer == access.parameter) memory = home;
  int32_t& home = elements_[at(access.tensor)].home;
  if (home < 0) home = memory;
  if (home == memory) return;
  const auto name = [this](int32_t index) { return machine_.machine().memories[at(index)].name; };
  report("other-memory",
         text(present_) + " accesses " + describe_place(tensors_[at(access.tensor)], access.base) + " in '" +
             name(memory) + "', and earlier commands in '" + name(home) + "'; a tensor lies in one memory",
         -1);
}

void Discipline::dram(int64_t tensor, int64_t first, int64_t last, bool write) {
  if (tensor < 0 || at(tensor) >= elements_.size()) return;
  Elements& g = elements_[at(tensor)];
  const int64_t size = size_of(tensors_[at(tensor)].dtype);
  const int64_t begin = std::max<int64_t>(0, first / size);
  const int64_t end = std::min<int64_t>((last + size - 1) / size, static_cast<int64_t>(g.writer.size()));
  const int32_t now = present_;
  int32_t checked = now;
  dram_contents(g, tensor, begin, end, write);
  for (int64_t e = begin; e < end; ++e) {
    const int32_t before = g.writer[at(e)];
    if (before != 0 && before != checked) conflict_dram(before, true, write, tensor, e);
    if (before != 0) checked = before;
  }
  auto& mine = g.reader[at(present().timeline)];
  if (mine.empty() && !write) mine.resize(g.writer.size());
  if (!write) {
    std::fill(mine.begin() + begin, mine.begin() + std::max(begin, end), now);
    return;
  }
  for (const auto& reader : g.reader) {
    checked = now;
    for (int64_t e = begin; e < end && !reader.empty(); ++e) {
      const int32_t before = reader[at(e)];
      if (before != 0 && before != checked) conflict_dram(before, false, write, tensor, e);
      if (before != 0) checked = before;
    }
  }
  std::fill(g.writer.begin() + begin, g.writer.begin() + std::max(begin, end), now);
}

// What may be read and written, whatever the order.
void Discipline::dram_contents(Elements& g, int64_t tensor, int64_t begin, int64_t end, bool write) {
  const TensorStore& store = tensors_[at(tensor)];
  const auto place = [&](int64_t element) { return describe_place(store, element * size_of(store.dtype)); };
  if (write && g.read_only && begin < end)
    report("input-written", text(present_) + " writes " + place(begin) + ", which is an input", -1);
  const bool host_reads = !write && present().unit == host_ && !options_.host_data;
  if (g.undefined.empty() && !host_reads) return;
  for (int64_t e = begin; e < end; ++e) {
    if (!g.undefined.empty() && write) g.undefined[at(e)] = false;
    if (!g.undefined.empty() && g.undefined[at(e)])
      return report("uninitialised-read", text(present_) + " reads " + place(e) + ", which nothing has written", -1);
    const int32_t before = g.writer[at(e)];
    if (host_reads && before != 0 && events_[at(before)].unit != host_)
      return report("host",
                    text(present_) + " reads " + place(e) + ", which " + text(before) +
                        " writes; the host may only control the accelerator",
                    before);
  }
}

void Discipline::conflict_dram(int32_t before, bool was_write, bool write, int64_t tensor, int64_t element) {
  const Event& earlier = events_[at(before)];
  // The host's own accesses are over before it issues a command.
  if (earlier.unit == present().unit || earlier.unit == host_) return;
  bool ordered = fenced_[at(earlier.timeline)] >= earlier.time;
  // A write is on its way to DRAM when its command has completed; a read is over.
  if (!was_write || dram_by_clock_) ordered = ordered || complete(earlier);
  if (ordered) return;
  const TensorStore& store = tensors_[at(tensor)];
  report("unordered-dram",
         text(present_) + (write ? " writes " : " reads ") + describe_place(store, element * size_of(store.dtype)) +
             ", which " + text(before) + (was_write ? " writes" : " reads") +
             " without anything that orders the two; put a fence between them",
         before);
}

}  // namespace autocomp
