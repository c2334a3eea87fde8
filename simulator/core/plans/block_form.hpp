// Forms with every number but the addresses worked out: copies, fills, sums and products of whole rows.
#pragma once

#include <optional>

#include "arithmetic/byte_product.hpp"
#include "arithmetic/forms.hpp"
#include "plans/plan_key.hpp"

namespace autocomp {

struct BlockPlace {
  int32_t memory = -1;  // -1: DRAM
  Field pointer;        // DRAM
  FieldSum row, col;
  int64_t row_low = 0, row_high = 0, col_low = 0, col_high = 0;  // reach of the loops around row and col
  int64_t size = 1;
  int64_t fixed = -1;  // the first byte, where no field moves it and all of the block lies inside

  // The first element; nullptr: some of the block lies outside.
  [[nodiscard]] uint8_t* locate(const Sources& sources, std::vector<LocalStore>& memories,
                                std::vector<TensorStore>& tensors) const;
};

struct BlockPiece {  // contiguous bytes, relative to where each place begins
  int64_t target = 0, source = 0, bytes = 0;
};

struct BlockForm {
  enum class Kind : uint8_t { Nothing, Copy, Add, Product };
  Kind kind = Kind::Nothing;
  BlockPlace target;
  std::vector<BlockPlace> sources;   // Copy: one, or none to write zeros. Add: the other term.
                                     // Product: left, right, start
  std::vector<BlockPiece> cleared;   // of the target, before anything else
  std::vector<BlockPiece> pieces;    // Copy, Add
  ByteProduct product;               // Product: all but the addresses
  MultiplyBytes multiply = nullptr;  // Product
  AddWords add = nullptr;            // Add
};

// Nothing where the form is of another kind, or its places may overlap. `values` are those of a command with this key.
[[nodiscard]] std::optional<BlockForm> block_form(const CompiledMachine& machine, const PlanKey& key,
                                                  const Value* values, const Form& form, MachineCode code);

// False: nothing was done, because something lies outside its memory.
[[nodiscard]] bool run_block(const BlockForm& block, const Sources& sources, std::vector<LocalStore>& memories,
                             std::vector<TensorStore>& tensors, int64_t& multiply_accumulates);

// Every field that changes from command to command.
template <typename Visit>
void visit_fields(const BlockForm& block, Visit visit) {
  if (block.kind == BlockForm::Kind::Nothing) return;
  const auto place = [&](const BlockPlace& p) {
    if (p.memory < 0) visit(p.pointer);
    for (const auto& term : p.row.terms) visit(term.field);
    for (const auto& term : p.col.terms) visit(term.field);
  };
  place(block.target);
  for (const auto& source : block.sources) place(source);
}

}  // namespace autocomp
