#include "semantics/decode.hpp"

#include <algorithm>

namespace autocomp {
namespace {

// Bounds that keep the sums of AccessInstance::first and last within 64 bits, far outside any memory.
constexpr int64_t kMaxCount = int64_t{1} << 24;
constexpr int64_t kMaxStride = int64_t{1} << 36;
constexpr int64_t kMaxBase = int64_t{1} << 50;

}  // namespace

bool instantiate(const CompiledMachine& machine, Evaluator& evaluator, const Access& access, AccessInstance& out) {
  if (access.guard >= 0 && evaluator.integer(access.guard) == 0) return false;
  out.memory = static_cast<int16_t>(access.memory);
  out.write = access.write;
  out.accumulate_read = access.accumulate_read;
  out.tracked = access.tracked;
  out.parameter = static_cast<int8_t>(access.parameter);
  out.base = std::clamp(evaluator.integer(access.base), -kMaxBase, kMaxBase);
  for (const auto& dim : access.dims) {
    const int64_t count = std::min(evaluator.integer(dim.count), kMaxCount);
    if (count <= 0) return false;
    const int64_t stride = std::clamp(evaluator.integer(dim.stride), -kMaxStride, kMaxStride);
    if (count == 1 || stride == 0) continue;
    out.count[out.dims] = count;
    out.stride[out.dims] = stride;
    ++out.dims;
  }
  if (access.memory == machine.dram()) {
    const Pointer pointer = split_pointer(evaluator.integer(access.pointer));
    out.tensor = static_cast<int32_t>(pointer.tensor);
    out.base += pointer.offset;
    out.bytes = std::min(evaluator.integer(access.bytes), kMaxBase);
    return out.tensor >= 0 && out.bytes > 0;
  }
  out.first_col = evaluator.integer(access.first_col);
  out.cols = evaluator.integer(access.cols);
  return out.cols > 0;
}

namespace {

constexpr size_t kMaxPoints = size_t{1} << 16;  // of one access
constexpr size_t kMaxRuns = 512;

// The point of every iteration, in any order. False: there are too many.
bool find_points(Evaluator& evaluator, const Access& access, size_t depth, std::vector<int64_t>& points) {
  if (depth == access.loops.size()) {
    points.push_back(evaluator.integer(access.point));
    return points.size() <= kMaxPoints;
  }
  const int64_t count = evaluator.integer(access.loops[depth]);
  for (int64_t i = 0; i < count; ++i) {
    evaluator.budget.spend();
    evaluator.loops[depth] = i;
    evaluator.depth = static_cast<int>(depth) + 1;
    if (!find_points(evaluator, access, depth + 1, points)) return false;
  }
  return true;
}

// Sorted numbers as runs of equal distance.
struct Run {
  int64_t first, count, stride;
};
std::vector<Run> runs_of(const std::vector<int64_t>& points) {
  std::vector<Run> runs;
  for (size_t i = 0; i < points.size();) {
    size_t last = i;
    const int64_t stride = i + 1 < points.size() ? points[i + 1] - points[i] : 1;
    while (last + 1 < points.size() && points[last + 1] - points[last] == stride) ++last;
    if (stride != 1 && last - i == 1) last = i;  // the second of a pair may begin a longer run
    runs.push_back({points[i], static_cast<int64_t>(last - i) + 1, stride});
    i = last + 1;
  }
  return runs;
}

// Accesses at the points that memory contents decide. False: there are too many.
bool instantiate_points(const CompiledMachine& machine, Evaluator& evaluator, const Access& access,
                        OperationList& list) {
  AccessInstance whole;
  if (!instantiate(machine, evaluator, access, whole)) return true;
  std::vector<int64_t> points;
  const bool few = find_points(evaluator, access, 0, points);
  evaluator.depth = 0;
  if (!few) return false;
  std::sort(points.begin(), points.end());
  points.erase(std::unique(points.begin(), points.end()), points.end());
  const std::vector<Run> runs = runs_of(points);
  if (runs.size() > kMaxRuns) return false;
  const bool dram = access.memory == machine.dram();
  const int64_t offset = dram ? split_pointer(evaluator.integer(access.pointer)).offset : 0;
  for (const Run& run : runs) {
    AccessInstance instance = whole;
    instance.base = std::clamp(run.first, -kMaxBase, kMaxBase) + offset;
    instance.dims = run.count > 1 ? 1 : 0;
    instance.count[0] = run.count;
    instance.stride[0] = std::clamp(run.stride, -kMaxStride, kMaxStride);
    if (dram) instance.bytes = access.point_bytes;
    if (dram && instance.stride[0] == access.point_bytes) {
      instance.bytes *= run.count;
      instance.dims = 0;
    }
    list.accesses.push_back(instance);
  }
  return true;
}

}  // namespace

void decode(const CompiledMachine& machine, Evaluator& evaluator, int32_t instruction, int32_t line,
            int64_t host_cycles, OperationList& list) {
  const Instruction& table = machine.machine().instructions[static_cast<size_t>(instruction)];
  Operation operation;
  operation.instruction = instruction;
  operation.line = line;
  operation.host_cycles = host_cycles;
  operation.first_access = static_cast<uint32_t>(list.accesses.size());
  operation.first_property = static_cast<uint32_t>(list.properties.size());
  for (const auto& access : table.accesses) {
    if (access.point >= 0 && evaluator.has_data() && instantiate_points(machine, evaluator, access, list)) continue;
    AccessInstance instance;
    if (instantiate(machine, evaluator, access, instance)) list.accesses.push_back(instance);
  }
  operation.access_count = static_cast<uint32_t>(list.accesses.size()) - operation.first_access;
  for (const auto& property : table.properties) list.properties.push_back(evaluator.integer(property.value));
  list.operations.push_back(operation);
}

void clip_columns(const Memory& memory, AccessInstance& access) {
  access.first_col = std::clamp<int64_t>(access.first_col, 0, memory.cols - 1);
  access.cols = std::clamp<int64_t>(access.cols, 1, memory.cols - access.first_col);
}

std::string clip_last(const CompiledMachine& machine, OperationList& list) {
  std::string message;
  const Operation& operation = list.operations.back();
  for (uint32_t i = 0; i < operation.access_count; ++i) {
    AccessInstance& access = list.accesses[operation.first_access + i];
    const Memory& memory = machine.machine().memories[static_cast<size_t>(access.memory)];
    if (memory.kind == MemoryKind::Dram || access.tracked) continue;
    clip_columns(memory, access);
    const int64_t first = access.first();
    const int64_t last = access.last();
    if (first >= 0 && last <= memory.rows) continue;
    if (message.empty())
      message = std::string(access.write ? "writes" : "reads") + " rows " + std::to_string(first) + ".." +
                std::to_string(last - 1) + " of " + memory.name + ", which has rows 0.." +
                std::to_string(memory.rows - 1);
    const AccessInstance whole;  // one row
    access.base = std::clamp<int64_t>(first, 0, memory.rows - 1);
    access.dims = 1;
    std::ranges::copy(whole.count, access.count);
    std::ranges::copy(whole.stride, access.stride);
    access.count[0] = std::clamp<int64_t>(last, access.base + 1, memory.rows) - access.base;
    access.stride[0] = 1;
  }
  return message;
}

}  // namespace autocomp
