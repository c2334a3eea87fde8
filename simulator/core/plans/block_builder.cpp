#include "plans/block_form.hpp"

#include <algorithm>

namespace autocomp {
namespace {

constexpr int64_t kMaxPieces = 4096, kMaxCount = 65536;

struct Layout {  // byte offsets of an element, by loop variable
  std::array<int64_t, kFormDepth> coef{};
  std::array<int64_t, kQuotients> quotient{};

  friend bool operator==(const Layout&, const Layout&) = default;
};

class Builder {
 public:
  Builder(const CompiledMachine& machine, const PlanKey& key, const Value* values, const Form& form, MachineCode code)
      : machine_(machine), key_(key), values_(values), form_(form), code_(code) {}

  std::optional<BlockForm> build() {
    bool covered = true;
    visit_shape(form_, [&](int32_t node) { covered = covered && (node < 0 || is_covered(node)); });
    if (!covered) return std::nullopt;
    region_.fill(1);
    for (int d = 0; d < form_.depth; ++d) region_[at(d)] = std::max<int64_t>(0, integer(form_.counts[at(d)]));
    if (!cut(form_.guard, region_) || std::find(region_.begin(), region_.end(), 0) != region_.end()) return block_;
    for (const int64_t n : region_)
      if (n > kMaxCount) return std::nullopt;
    if (!place(form_.target, region_, block_.target, to_)) return std::nullopt;
    const bool done = copy() || add() || product();
    return done ? std::optional(block_) : std::nullopt;
  }

 private:
  using Region = std::array<int64_t, kFormDepth>;

  static size_t at(int d) { return static_cast<size_t>(d); }
  [[nodiscard]] const LaneNode& lane(int32_t index) const { return form_.lanes[static_cast<size_t>(index)]; }
  [[nodiscard]] const Place& place_of(const LaneNode& load) const {
    return form_.places[static_cast<size_t>(load.place)];
  }
  [[nodiscard]] int64_t integer(int32_t node) const { return node < 0 ? 0 : values_[node].i; }
  [[nodiscard]] bool is_covered(int32_t node) const { return key_.covered[static_cast<size_t>(node)] != 0; }

  bool cut(const Box& box, Region& count) const {
    if (box.condition >= 0 && integer(box.condition) == 0) return false;
    for (int d = 0; d < kFormDepth; ++d)
      if (box.upper[at(d)] >= 0) count[at(d)] = std::max<int64_t>(0, std::min(count[at(d)], integer(box.upper[at(d)])));
    return true;
  }

  // How far the loops reach to both sides of the base.
  bool reach(const Affine& a, const Region& region, int64_t& low, int64_t& high) const {
    bool sane = true;
    const auto value = [&](int32_t node) {
      const int64_t c = integer(node);
      sane = sane && c >= -kSane && c <= kSane;
      return sane ? c : 0;
    };
    const auto widen = [&](int64_t c, int64_t, int64_t most) { (c < 0 ? low : high) += c * most; };
    for (int d = 0; d < kFormDepth; ++d) each_digit<int64_t>(form_, a, d, 0, region[at(d)], value, widen);
    return sane;
  }

  bool place(const Place& from, const Region& region, BlockPlace& out, Layout& layout) const {
    out.memory = from.memory;
    if (from.memory < 0) out.pointer = field_or_node(machine_, from.pointer);
    out.size = size_of(from.dtype);
    out.row = sum_of(machine_, key_.covered, values_, from.row.base);
    out.col = sum_of(machine_, key_.covered, values_, from.col.base);
    if (!reach(from.row, region, out.row_low, out.row_high) || !reach(from.col, region, out.col_low, out.col_high))
      return false;
    const int64_t pitch =
        from.memory < 0 ? 0 : machine_.machine().memories[static_cast<size_t>(from.memory)].cols * out.size;
    const int64_t step = from.memory < 0 ? 1 : out.size;
    const auto bytes = [&](int32_t row, int32_t col) {
      return scalar::add(scalar::mul(integer(row), pitch), scalar::mul(integer(col), step));
    };
    for (int d = 0; d < kFormDepth; ++d) layout.coef[at(d)] = bytes(from.row.coef[at(d)], from.col.coef[at(d)]);
    for (size_t q = 0; q < form_.quotients.size(); ++q)
      layout.quotient[q] = bytes(from.row.quotient[q], from.col.quotient[q]);
    out.fixed = fixed_byte(out);
    return true;
  }

  // -1 where the place moves, or some of it lies outside.
  [[nodiscard]] int64_t fixed_byte(const BlockPlace& place) const {
    if (place.memory < 0 || !place.row.terms.empty() || !place.col.terms.empty()) return -1;
    const Memory& memory = machine_.machine().memories[static_cast<size_t>(place.memory)];
    const int64_t row = place.row.constant;
    const int64_t col = place.col.constant;
    const bool sane = row >= 0 && row < memory.rows && col >= 0 && col < memory.cols;
    const bool inside = sane && row + place.row_low >= 0 && row + place.row_high < memory.rows &&
                        col + place.col_low >= 0 && col + place.col_high < memory.cols;
    return inside ? (row * memory.cols + col) * place.size : -1;
  }

  // Through conditions, to the node that gives the value of the whole region, or of a part that starts at its first
  // point where everything else is zero (`region` becomes that part).
  int32_t resolve(int32_t index, Region& region) const {
    const LaneNode& node = lane(index);
    if (node.kind == LaneKind::Choose) return resolve(integer(node.node) != 0 ? node.b : node.c, region);
    if (node.kind != LaneKind::Cut) return index;
    Region kept = region;
    if (!cut(node.box, kept) || std::find(kept.begin(), kept.end(), 0) != kept.end()) return resolve(node.c, region);
    if (kept == region) return resolve(node.b, region);
    Region rest = region;
    const int32_t outside = resolve(node.c, rest);
    if (rest != region || !is_zero(outside)) return -1;
    region = kept;
    const int32_t inside = resolve(node.b, region);
    return inside;
  }

  [[nodiscard]] bool is_zero(int32_t index) const {
    if (index < 0 || lane(index).kind != LaneKind::Scalar) return false;
    return lane(index).type == ValueType::Int && integer(lane(index).node) == 0;
  }

  // A wrap to the bits that a store keeps anyway.
  int32_t without_wrap(int32_t index) const {
    const LaneNode& node = lane(index);
    const bool integers = !is_float(form_.target.dtype) && !is_narrow_integer(form_.target.dtype);
    if (integers && node.kind == LaneKind::Operator && node.op == ExprOp::Wrap &&
        node.imm >= 8 * size_of(form_.target.dtype))
      return node.a;
    return index;
  }

  [[nodiscard]] int32_t value() const { return static_cast<int32_t>(form_.lanes.size()) - 1; }

  // The elements that a load and the store agree about, byte by byte.
  [[nodiscard]] bool same_elements(const LaneNode& load) const {
    const DType from = place_of(load).dtype;
    const DType to = form_.target.dtype;
    if (from == to) return true;
    if (is_float(from) || is_float(to) || is_narrow_integer(from) || is_narrow_integer(to)) return false;
    return size_of(from) == size_of(to);
  }

  // Two tensors, or two parts of one, may overlap.
  [[nodiscard]] bool may_overlap(const Place& from) const { return home(from.memory) == home(form_.target.memory); }

  // The memory that holds the bytes: of a view, the one that it shows.
  [[nodiscard]] int32_t home(int32_t memory) const {
    if (memory < 0) return memory;
    const int32_t shown = machine_.machine().memories[static_cast<size_t>(memory)].shown;
    return shown < 0 ? memory : shown;
  }

  // Contiguous pieces of the region in the order of the loops. False: the innermost variable does not step by elements.
  bool cut_up(const Region& region, const Layout& source, std::vector<BlockPiece>& pieces) const {
    const int inner = form_.depth - 1;
    const int64_t size = block_.target.size;
    if (region[at(inner)] > 1 && (to_.coef[at(inner)] != size || source.coef[at(inner)] != size)) return false;
    std::array<int64_t, kQuotients + 1> sizes;
    const int64_t block = blocks_of(form_, inner, sizes) > 1 ? sizes[1] : region[at(inner)];
    const auto cut_row = [&](int64_t target, int64_t from) {  // where the row begins, relative to each place
      for (int64_t first = 0; first < region[at(inner)]; first += block) {
        const BlockPiece piece{scalar::add(target, step(to_, inner, first)),
                               scalar::add(from, step(source, inner, first)),
                               std::min(block, region[at(inner)] - first) * size};
        if (!pieces.empty() && pieces.back().target + pieces.back().bytes == piece.target &&
            pieces.back().source + pieces.back().bytes == piece.source)
          pieces.back().bytes += piece.bytes;
        else
          pieces.push_back(piece);
        if (pieces.size() > kMaxPieces) return false;
      }
      return true;
    };
    const auto cut_outer = [&](const auto& self, int d, int64_t target, int64_t from) -> bool {
      if (d == inner) return cut_row(target, from);
      for (int64_t v = 0; v < region[at(d)]; ++v)
        if (!self(self, d + 1, scalar::add(target, step(to_, d, v)), scalar::add(from, step(source, d, v))))
          return false;
      return true;
    };
    return cut_outer(cut_outer, 0, 0, 0);
  }

  // Bytes from the first to another value of a variable.
  [[nodiscard]] int64_t step(const Layout& layout, int variable, int64_t v) const {
    int64_t bytes = scalar::mul(v, layout.coef[at(variable)]);
    for (size_t q = 0; q < form_.quotients.size(); ++q)
      if (form_.quotients[q].variable == variable)
        bytes = scalar::add(bytes, scalar::mul(v / form_.quotients[q].divisor, layout.quotient[q]));
    return bytes;
  }

  bool copy() {
    Region region = region_;
    const int32_t index = resolve(without_wrap(value()), region);
    if (index < 0) return false;
    const LaneNode& node = lane(index);
    const bool zero = is_zero(index);
    if (!zero && (node.kind != LaneKind::Load || !same_elements(node) || may_overlap(place_of(node)))) return false;
    if (is_float(form_.target.dtype) && zero) return false;
    std::vector<BlockPiece> cleared;
    std::vector<BlockPiece> pieces;
    std::vector<BlockPlace> sources(zero ? 0 : 1);
    Layout from;
    if ((zero || region != region_) && (!cut_up(region_, to_, cleared) || !ascending(cleared))) return false;
    if (!zero && (!place(place_of(node), region, sources[0], from) || !cut_up(region, from, pieces))) return false;
    block_.kind = BlockForm::Kind::Copy;
    block_.cleared = std::move(cleared);
    block_.pieces = std::move(pieces);
    block_.sources = std::move(sources);
    return true;
  }

  // target += other, where the target's rows do not meet.
  bool add() {
    const LaneNode& sum = lane(without_wrap(value()));
    if (sum.kind != LaneKind::Operator || sum.op != ExprOp::Add || form_.target.dtype != DType::I32) return false;
    for (const auto& [self, other] : {std::pair{sum.a, sum.b}, std::pair{sum.b, sum.a}}) {
      const LaneNode& mine = lane(self);
      const LaneNode& yours = lane(other);
      if (mine.kind != LaneKind::Load || yours.kind != LaneKind::Load) continue;
      if (place_of(mine).dtype != DType::I32 || place_of(yours).dtype != DType::I32) continue;
      BlockPlace same;
      BlockPlace source;
      Layout again;
      Layout from;
      if (!place(place_of(mine), region_, same, again) || !place(place_of(yours), region_, source, from)) continue;
      const bool in_place = place_of(mine).memory == form_.target.memory && again == to_ && form_.target.memory >= 0 &&
                            same.row == block_.target.row && same.col == block_.target.col;
      std::vector<BlockPiece> pieces;
      if (!in_place || may_overlap(place_of(yours)) || !cut_up(region_, from, pieces) || !ascending(pieces)) continue;
      block_.kind = BlockForm::Kind::Add;
      block_.add = add_words(code_);
      block_.sources = {source};
      block_.pieces = std::move(pieces);
      return true;
    }
    return false;
  }

  static bool ascending(const std::vector<BlockPiece>& pieces) {
    for (size_t i = 1; i < pieces.size(); ++i)
      if (pieces[i].target < pieces[i - 1].target + pieces[i - 1].bytes) return false;
    return true;
  }

  bool product() {
    const LaneNode* node = &lane(value());
    if (form_.depth != 2 || form_.target.dtype != DType::I32 || !form_.narrow || !form_.quotients.empty()) return false;
    if (node->kind == LaneKind::Operator && node->op == ExprOp::Wrap && node->imm <= 32) {
      block_.product.wrap_bits = static_cast<int>(node->imm);
      node = &lane(node->a);
    }
    const LaneNode* start = nullptr;
    if (node->kind == LaneKind::Operator && node->op == ExprOp::Add) {
      const bool first = lane(node->a).kind == LaneKind::Product;
      start = &lane(first ? node->b : node->a);
      node = &lane(first ? node->a : node->b);
      if (start->kind != LaneKind::Load) return false;
    }
    if (node->kind != LaneKind::Product || node->type != ValueType::Int || node->c >= 0) return false;
    const LaneNode& left = lane(node->a);
    const LaneNode& right = lane(node->b);
    const int64_t count = integer(node->node);
    if (left.kind != LaneKind::Load || right.kind != LaneKind::Load || count < 1 || count > kNarrowProducts)
      return false;
    block_.sources.resize(start == nullptr ? 2 : 3);
    ByteProduct& p = block_.product;
    if (!operand(left, 0, node->depth, count, DType::I8, block_.sources[0], p.left_pitch)) return false;
    if (!operand(right, node->depth, 1, count, DType::I8, block_.sources[1], p.right_pitch)) return false;
    if (start != nullptr) {
      const DType dtype = place_of(*start).dtype;
      if (dtype != DType::I8 && dtype != DType::I32) return false;
      p.start_bytes = dtype == DType::I8;
      if (!operand(*start, 0, 1, count, dtype, block_.sources[2], p.start_pitch)) return false;
    }
    if (to_.coef[1] != 4 || to_.coef[0] < 4 * region_[1]) return false;
    p.out_pitch = to_.coef[0];
    p.rows = region_[0];
    p.cols = region_[1];
    p.count = count;
    block_.kind = BlockForm::Kind::Product;
    block_.multiply = multiply_bytes(code_);
    return true;
  }

  // Rows by `row`, contiguous in `col`, in a memory of its own.
  bool operand(const LaneNode& load, int row, int col, int64_t count, DType dtype, BlockPlace& out,
               int64_t& pitch) const {
    const Place& from = place_of(load);
    Region region = region_;
    region[at(form_.depth)] = 1;
    for (const int d : {row, col})
      if (d >= form_.depth) region[at(d)] = count;
    for (int d = 0; d < kFormDepth; ++d)
      if (d != row && d != col) region[at(d)] = 1;
    Layout layout;
    if (from.dtype != dtype || may_overlap(from) || !place(from, region, out, layout)) return false;
    for (int d = 0; d < kFormDepth; ++d)
      if (d != row && d != col && layout.coef[at(d)] != 0) return false;
    pitch = layout.coef[at(row)];
    return layout.coef[at(col)] == size_of(dtype);
  }

  const CompiledMachine& machine_;
  const PlanKey& key_;
  const Value* values_;
  const Form& form_;
  MachineCode code_;
  BlockForm block_;
  Region region_{};
  Layout to_;
};

}  // namespace

std::optional<BlockForm> block_form(const CompiledMachine& machine, const PlanKey& key, const Value* values,
                                    const Form& form, MachineCode code) {
  return Builder(machine, key, values, form, code).build();
}

}  // namespace autocomp
