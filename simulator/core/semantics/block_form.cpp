#include "semantics/block_form.hpp"

namespace autocomp {
namespace {

constexpr int64_t kSane = int64_t{1} << 40;  // addresses beyond are outside every memory

void add_rows(uint8_t* target, const uint8_t* source, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += 4) {
    uint32_t a = 0;
    uint32_t b = 0;
    std::memcpy(&a, target + i, sizeof(a));
    std::memcpy(&b, source + i, sizeof(b));
    a += b;
    std::memcpy(target + i, &a, sizeof(a));
  }
}

}  // namespace

Sum sum_of(const CompiledMachine& machine, const PlanKey& key, const Value* values, int32_t node) {
  if (node < 0) return {};
  const Expr& e = machine.exprs()[static_cast<size_t>(node)];
  if (key.covered[static_cast<size_t>(node)] != 0) return {values[node].i, {}};
  if (e.op != ExprOp::Add) return {0, {node}};
  Sum sum = sum_of(machine, key, values, e.a);
  const Sum more = sum_of(machine, key, values, e.b);
  sum.constant = scalar::add(sum.constant, more.constant);
  sum.terms.insert(sum.terms.end(), more.terms.begin(), more.terms.end());
  return sum;
}

uint8_t* BlockPlace::locate(const Value* values, std::vector<LocalStore>& memories,
                            std::vector<TensorStore>& tensors) const {
  const int64_t r = row.at(values);
  int64_t c = col.at(values);
  if (r < -kSane || r > kSane || c < -kSane || c > kSane) return nullptr;
  if (memory >= 0) {
    LocalStore& store = memories[static_cast<size_t>(memory)];
    const bool inside = r + row_low >= 0 && r + row_high < store.rows && c + col_low >= 0 && c + col_high < store.cols;
    return inside ? store.bytes.data() + (r * store.cols + c) * size : nullptr;
  }
  const Pointer base = split_pointer(values[pointer].i);
  if (base.tensor < 0 || base.tensor >= static_cast<int64_t>(tensors.size())) return nullptr;
  const TensorStore& tensor = tensors[static_cast<size_t>(base.tensor)];
  c += base.offset;
  return c + col_low >= 0 && c + col_high <= tensor.bytes - size ? tensor.data + c : nullptr;
}

bool run_block(const BlockForm& block, const Value* values, std::vector<LocalStore>& memories,
               std::vector<TensorStore>& tensors, int64_t& multiply_accumulates) {
  if (block.kind == BlockForm::Kind::Nothing) return true;
  uint8_t* target = block.target.locate(values, memories, tensors);
  if (target == nullptr) return false;
  const uint8_t* sources[3] = {};
  for (size_t i = 0; i < block.sources.size(); ++i) {
    sources[i] = block.sources[i].locate(values, memories, tensors);
    if (sources[i] == nullptr) return false;
  }
  for (const auto& piece : block.cleared) std::memset(target + piece.target, 0, static_cast<size_t>(piece.bytes));
  switch (block.kind) {
    case BlockForm::Kind::Nothing: break;
    case BlockForm::Kind::Copy:
      for (const auto& piece : block.pieces)
        std::memcpy(target + piece.target, sources[0] + piece.source, static_cast<size_t>(piece.bytes));
      break;
    case BlockForm::Kind::Add:
      for (const auto& piece : block.pieces) add_rows(target + piece.target, sources[0] + piece.source, piece.bytes);
      break;
    case BlockForm::Kind::Product: {
      ByteProduct product = block.product;
      product.left = sources[0];
      product.right = sources[1];
      product.start = block.sources.size() > 2 ? sources[2] : nullptr;
      product.out = target;
      block.multiply(product);
      multiply_accumulates += product.rows * product.cols * product.count;
      break;
    }
  }
  return true;
}

}  // namespace autocomp
