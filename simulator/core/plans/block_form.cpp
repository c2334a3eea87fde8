#include "plans/block_form.hpp"

namespace autocomp {
uint8_t* BlockPlace::locate(const Sources& sources, std::vector<LocalStore>& memories,
                            std::vector<TensorStore>& tensors) const {
  if (fixed >= 0) return memories[static_cast<size_t>(memory)].data + fixed;
  const int64_t r = row.at(sources);
  int64_t c = col.at(sources);
  if (r < -kSane || r > kSane || c < -kSane || c > kSane) return nullptr;
  if (memory >= 0) {
    LocalStore& store = memories[static_cast<size_t>(memory)];
    const bool inside = r + row_low >= 0 && r + row_high < store.rows && c + col_low >= 0 && c + col_high < store.cols;
    return inside ? store.data + (r * store.cols + c) * size : nullptr;
  }
  const Pointer base = split_pointer(scalar::s(sources.bits(pointer)));
  if (base.tensor < 0 || base.tensor >= static_cast<int64_t>(tensors.size())) return nullptr;
  const TensorStore& tensor = tensors[static_cast<size_t>(base.tensor)];
  c += base.offset;
  return c + col_low >= 0 && c + col_high <= tensor.bytes - size ? tensor.data + c : nullptr;
}

bool run_block(const BlockForm& block, const Sources& sources, std::vector<LocalStore>& memories,
               std::vector<TensorStore>& tensors, int64_t& multiply_accumulates) {
  if (block.kind == BlockForm::Kind::Nothing) return true;
  uint8_t* target = block.target.locate(sources, memories, tensors);
  if (target == nullptr) return false;
  const uint8_t* from[3] = {};
  for (size_t i = 0; i < block.sources.size(); ++i) {
    from[i] = block.sources[i].locate(sources, memories, tensors);
    if (from[i] == nullptr) return false;
  }
  for (const auto& piece : block.cleared) std::memset(target + piece.target, 0, static_cast<size_t>(piece.bytes));
  switch (block.kind) {
    case BlockForm::Kind::Nothing: break;
    case BlockForm::Kind::Copy:
      for (const auto& piece : block.pieces)
        std::memcpy(target + piece.target, from[0] + piece.source, static_cast<size_t>(piece.bytes));
      break;
    case BlockForm::Kind::Add:
      for (const auto& piece : block.pieces) block.add(target + piece.target, from[0] + piece.source, piece.bytes);
      break;
    case BlockForm::Kind::Product: {
      ByteProduct product = block.product;
      product.left = from[0];
      product.right = from[1];
      product.start = block.sources.size() > 2 ? from[2] : nullptr;
      product.out = target;
      block.multiply(product);
      multiply_accumulates += product.rows * product.cols * product.count;
      break;
    }
  }
  return true;
}

}  // namespace autocomp
