// The contents of memories and tensors during a run.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "arithmetic/scalar.hpp"
#include "tables/machine.hpp"

namespace autocomp {

// A stop of the simulated program; caught where the run began and returned as data.
struct Fault {
  std::string kind;
  std::string message;
  int32_t line = 0;  // where it is not that of what was being executed
};

[[nodiscard]] inline Value load_element(const uint8_t* at, DType dtype) {
  const auto as = [at]<typename T>(T value) {
    std::memcpy(&value, at, sizeof(T));
    return value;
  };
  switch (dtype) {
    case DType::I8: return int_value(as(int8_t{}));
    case DType::U8: return int_value(as(uint8_t{}));
    case DType::I16: return int_value(as(int16_t{}));
    case DType::U16: return int_value(as(uint16_t{}));
    case DType::I32: return int_value(as(int32_t{}));
    case DType::U32: return int_value(as(uint32_t{}));
    case DType::I64:
    case DType::U64: return int_value(as(int64_t{}));
    case DType::F32: return float_value(as(float{}));
    case DType::F64: return float_value(static_cast<float>(as(double{})));
    case DType::F16: return float_value(scalar::Binary16::decode(as(uint16_t{})));
    case DType::BF16: return float_value(scalar::Bfloat16::decode(as(uint16_t{})));
    case DType::E5M2: return float_value(scalar::E5M2::decode(as(uint8_t{})));
    case DType::E4M3: return float_value(scalar::E4M3::decode(as(uint8_t{})));
    case DType::I4: return int_value(scalar::wrap(as(uint8_t{}), 4));
    case DType::U4: return int_value(scalar::wrap_unsigned(as(uint8_t{}), 4));
  }
  return int_value(0);
}

// Integers keep their low bits.
inline void store_element(uint8_t* at, DType dtype, Value value) {
  const auto put = [at](auto element) { std::memcpy(at, &element, sizeof(element)); };
  switch (dtype) {
    case DType::I8:
    case DType::U8: return put(static_cast<uint8_t>(value.i));
    case DType::I16:
    case DType::U16: return put(static_cast<uint16_t>(value.i));
    case DType::I32:
    case DType::U32: return put(static_cast<uint32_t>(value.i));
    case DType::I64:
    case DType::U64: return put(static_cast<uint64_t>(value.i));
    case DType::F32: return put(value.f);
    case DType::F64: return put(static_cast<double>(value.f));
    case DType::F16: return put(static_cast<uint16_t>(scalar::Binary16::encode(value.f)));
    case DType::BF16: return put(static_cast<uint16_t>(scalar::Bfloat16::encode(value.f)));
    case DType::E5M2: return put(static_cast<uint8_t>(scalar::E5M2::encode(value.f)));
    case DType::E4M3: return put(static_cast<uint8_t>(scalar::E4M3::encode(value.f)));
    case DType::I4: return put(static_cast<int8_t>(scalar::wrap(value.i, 4)));
    case DType::U4: return put(static_cast<uint8_t>(scalar::wrap_unsigned(value.i, 4)));
  }
}

struct LocalStore {
  int64_t rows = 0, cols = 0, element = 1;
  DType dtype = DType::I8;
  std::vector<uint8_t> bytes;  // empty in a view
  uint8_t* data = nullptr;     // the first row, in a view that of the memory it shows

  [[nodiscard]] bool contains(int64_t row, int64_t col) const {
    return row >= 0 && row < rows && col >= 0 && col < cols;
  }
  [[nodiscard]] uint8_t* at(int64_t row, int64_t col) { return data + (row * cols + col) * element; }
};

struct TensorStore {
  const std::string* name = nullptr;
  DType dtype = DType::I8;
  const std::vector<int64_t>* shape = nullptr;
  uint8_t* data = nullptr;
  int64_t bytes = 0;
  bool parameter = false;  // of the kernel, as opposed to an array of its own
};

struct Pointer {
  int64_t tensor;  // -1: null
  int64_t offset;
};
[[nodiscard]] inline Pointer split_pointer(int64_t pointer) {
  const auto tensor = static_cast<int64_t>(tensor_number(pointer)) - 1;
  return {tensor, scalar::sub(pointer, make_pointer(tensor, 0))};
}

// "A[3][17] (element 785, byte 785 of int8 A[512][512])" and the like, also for places outside the tensor.
[[nodiscard]] std::string describe_place(const TensorStore& tensor, int64_t offset);
// "A+16", "NULL", or a plain number where the value is not a pointer to one of the tensors.
[[nodiscard]] std::string describe_pointer(const std::vector<TensorStore>& tensors, int64_t value);
// Bytes from a pointer to the end of its tensor; 0 past it and of what is not a pointer. Without tensors more than any.
[[nodiscard]] int64_t extent(const std::vector<TensorStore>& tensors, int64_t pointer);
// Checks that [offset, offset + size) lies in the tensor that `pointer` names; throws Fault.
[[nodiscard]] uint8_t* resolve(std::vector<TensorStore>& tensors, int64_t pointer, int64_t offset, int64_t size,
                               const char* verb);

// Throws Fault if the place belongs to a parameter: the kernel's own code may not touch what tensors hold.
void refuse_data(const std::vector<TensorStore>& tensors, int64_t pointer, int64_t offset, bool write);

// Zeros for seed 0, otherwise bytes from a generator that the seed fixes; floats stay finite.
void fill_local(LocalStore& store, uint64_t seed);

}  // namespace autocomp
