#include "program/host_calls.hpp"

namespace autocomp {
namespace {

constexpr int64_t kFloat = sizeof(float);

struct Operand {
  uint8_t* data;
  int64_t tensor;
  int64_t offset;
};

// `pointer` is not hidden.
Operand operand(std::vector<TensorStore>& tensors, int64_t pointer, int64_t bytes, const char* verb) {
  const Pointer p = split_pointer(pointer);
  if (bytes == 0) return {nullptr, p.tensor, p.offset};
  (void)resolve(tensors, pointer, 0, kFloat, verb);  // reports the first element, if that is the one outside
  if (p.offset + bytes > tensors[static_cast<size_t>(p.tensor)].bytes)
    (void)resolve(tensors, pointer, tensors[static_cast<size_t>(p.tensor)].bytes - p.offset, kFloat, verb);
  return {resolve(tensors, pointer, 0, bytes, verb), p.tensor, p.offset};
}

float load(const uint8_t* at) { return load_element(at, DType::F32).f; }
void store(uint8_t* at, float x) { store_element(at, DType::F32, float_value(x)); }

}  // namespace

int64_t host_call(int64_t builtin, const int64_t* arguments, std::vector<TensorStore>& tensors,
                  const ExecutionOptions& options, CommandSink& sink, int32_t line) {
  const bool add = builtin == 0;
  const char* name = add ? "add_matrix" : "negate_matrix";
  const int64_t rows = arguments[add ? 3 : 2];
  const int64_t cols = arguments[add ? 4 : 3];
  if (rows < 0 || cols < 0 || rows > (int64_t{1} << 24) || cols > (int64_t{1} << 24))
    throw Fault{"requirement", std::string(name) + ": rows = " + std::to_string(rows) +
                                   ", cols = " + std::to_string(cols) + " are not in 0..2^24"};
  const int64_t count = rows * cols;
  std::vector<Operand> operands;
  for (int i = 0; i < (add ? 3 : 2); ++i) {
    const bool write = i == (add ? 2 : 1);
    const int64_t pointer = options.places.shown(arguments[i]);
    operands.push_back(operand(tensors, pointer, count * kFloat, write ? "a write" : "a read"));
    if (count == 0) continue;
    if (!options.host_data) refuse_data(tensors, pointer, 0, write);
    if (options.report_host_accesses)
      sink.host_access(operands.back().tensor, operands.back().offset, count * kFloat, write, line);
  }
  for (int64_t i = 0; i < count * kFloat; i += kFloat) {
    const float x = load(operands[0].data + i);
    if (add)
      store(operands[2].data + i, x + load(operands[1].data + i));
    else
      store(operands[1].data + i, -x);
  }
  return count;
}

}  // namespace autocomp
