#include "semantics/decode.hpp"

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
    if (memory.kind == MemoryKind::Dram) continue;
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
