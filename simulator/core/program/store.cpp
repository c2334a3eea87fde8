#include "program/store.hpp"

#include <algorithm>
#include <array>

#include "tables/names.hpp"

namespace autocomp {
namespace {

int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

std::string declaration(const TensorStore& tensor) {
  std::string text = name_of(tensor.dtype) + " " + *tensor.name;
  for (const int64_t extent : *tensor.shape) text += "[" + std::to_string(extent) + "]";
  return text;
}

struct Words {  // SplitMix64, Steele, Lea and Flood 2014
  uint64_t state;

  uint64_t next() {
    state += 0x9E3779B97F4A7C15U;
    uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31);
  }
};

void fill_bits(uint8_t* first, int64_t bytes, Words& words) {
  for (int64_t done = 0; done < bytes; done += 8) {
    const uint64_t word = words.next();
    std::memcpy(first + done, &word, static_cast<size_t>(std::min<int64_t>(8, bytes - done)));
  }
}

// Each element is one of 256 values, drawn by a byte: large memories are filled for each run of a kernel.
template <typename Bits>
void fill_values(LocalStore& store, int64_t elements, Words& words) {
  std::array<Bits, 256> values{};
  for (size_t byte = 0; byte < values.size(); ++byte) {
    const auto drawn = static_cast<int8_t>(byte);
    const Value value = is_float(store.dtype) ? float_value(static_cast<float>(drawn)) : int_value(drawn);
    store_element(reinterpret_cast<uint8_t*>(&values[byte]), store.dtype, value);
  }
  uint64_t word = 0;
  for (int64_t i = 0; i < elements; ++i, word >>= 8) {
    if (i % 8 == 0) word = words.next();
    std::memcpy(store.data + i * static_cast<int64_t>(sizeof(Bits)), &values[word & 0xFF], sizeof(Bits));
  }
}

}  // namespace

std::string describe_place(const TensorStore& tensor, int64_t offset) {
  const int64_t size = size_of(tensor.dtype);
  int64_t element = floor_div(offset, size);
  const int64_t flat = element;
  std::string index;
  // The first index takes what is left, so that a place behind the tensor reads as one row too many.
  for (size_t d = tensor.shape->size(); d-- > 1;) {
    const int64_t extent = (*tensor.shape)[d];
    index = "[" + std::to_string(element - floor_div(element, extent) * extent) + "]" + index;
    element = floor_div(element, extent);
  }
  if (!tensor.shape->empty()) index = "[" + std::to_string(element) + "]" + index;
  std::string text = *tensor.name + index + " (element " + std::to_string(flat);
  if (offset % size != 0) text += ", byte " + std::to_string(offset) + " is not aligned to an element";
  return text + " of " + declaration(tensor) + ")";
}

std::string describe_pointer(const std::vector<TensorStore>& tensors, int64_t value) {
  if (value == 0) return "NULL";
  const Pointer pointer = split_pointer(value);
  if (pointer.tensor < 0 || pointer.tensor >= static_cast<int64_t>(tensors.size())) return std::to_string(value);
  const TensorStore& tensor = tensors[static_cast<size_t>(pointer.tensor)];
  if (pointer.offset == 0) return *tensor.name;
  return "&" + describe_place(tensor, pointer.offset).substr(0, describe_place(tensor, pointer.offset).find(" ("));
}

uint8_t* resolve(std::vector<TensorStore>& tensors, int64_t pointer, int64_t offset, int64_t size, const char* verb) {
  const Pointer base = split_pointer(pointer);
  if (pointer == 0) throw Fault{"bounds", std::string(verb) + " through a null pointer"};
  if (base.tensor < 0 || base.tensor >= static_cast<int64_t>(tensors.size()))
    throw Fault{"bounds", std::string(verb) + " through a number that is not the address of a tensor"};
  TensorStore& tensor = tensors[static_cast<size_t>(base.tensor)];
  const int64_t first = scalar::add(base.offset, offset);
  if (first < 0 || first > tensor.bytes - size)
    throw Fault{"bounds", std::string(verb) + " of " + describe_place(tensor, first) +
                              " is outside the tensor, whose " + std::to_string(tensor.bytes / size_of(tensor.dtype)) +
                              " elements are 0.." + std::to_string(tensor.bytes / size_of(tensor.dtype) - 1)};
  return tensor.data + first;
}

int64_t extent(const std::vector<TensorStore>& tensors, int64_t pointer) {
  if (tensors.empty()) return int64_t{1} << kPointerShift;
  const Pointer base = split_pointer(pointer);
  if (base.tensor < 0 || base.tensor >= static_cast<int64_t>(tensors.size())) return 0;
  return std::max<int64_t>(0, tensors[static_cast<size_t>(base.tensor)].bytes - base.offset);
}

void refuse_data(const std::vector<TensorStore>& tensors, int64_t pointer, int64_t offset, bool write) {
  const Pointer base = split_pointer(pointer);
  const TensorStore& tensor = tensors[static_cast<size_t>(base.tensor)];
  if (!tensor.parameter) return;
  throw Fault{"host", std::string("the kernel's own code ") + (write ? "writes " : "reads ") +
                          describe_place(tensor, base.offset + offset) + "; the host may only control the accelerator"};
}

void fill_local(LocalStore& store, uint64_t seed) {
  const int64_t elements = store.rows * store.cols;
  store.bytes.assign(static_cast<size_t>(elements * store.element), 0);
  store.data = store.bytes.data();
  if (seed == 0) return;
  Words words{seed};
  if (!is_float(store.dtype) && !is_narrow_integer(store.dtype)) {
    fill_bits(store.data, elements * store.element, words);
    return;
  }
  switch (store.element) {
    case 1: return fill_values<uint8_t>(store, elements, words);
    case 2: return fill_values<uint16_t>(store, elements, words);
    case 4: return fill_values<uint32_t>(store, elements, words);
    default: return fill_values<uint64_t>(store, elements, words);
  }
}

}  // namespace autocomp
