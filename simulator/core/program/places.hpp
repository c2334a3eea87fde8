// Where tensors lie, as a program sees it.
#pragma once

#include <cstdint>

#include "tables/machine.hpp"

namespace autocomp {

// In a program's registers the number of a tensor in its address is multiplied by an odd number modulo 2^16, which the
// seed draws. An address that a program makes without one of the same tensor misses: the chance that it does not is
// about the number of tensors in 2^15. Elsewhere addresses are as `make_pointer` makes them.
class Places {
 public:
  explicit Places(uint64_t seed);  // 0: the program sees addresses as they are

  [[nodiscard]] int64_t hidden(int64_t pointer) const { return times(factor_, pointer); }
  [[nodiscard]] int64_t shown(int64_t address) const { return times(inverse_, address); }

 private:
  // Offsets stay as they are, before a tensor too.
  [[nodiscard]] static int64_t times(uint64_t factor, int64_t pointer) {
    const uint64_t more = tensor_number(pointer) * (factor - 1);
    return static_cast<int64_t>(static_cast<uint64_t>(pointer) + (more << kPointerShift));
  }

  uint64_t factor_ = 1, inverse_ = 1;  // modulo 2^16 each other's inverses
};

}  // namespace autocomp
