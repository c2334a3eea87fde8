#include "arithmetic/special.hpp"

#include <cmath>
#include <numbers>

#include "arithmetic/scalar.hpp"

namespace autocomp {

float special(SpecialFunction function, float x) {
  const auto value = static_cast<double>(x);
  const auto compute = [&] {
    switch (function) {
      case SpecialFunction::Exp: return std::exp(value);
      case SpecialFunction::Log: return std::log(value);
      case SpecialFunction::Tanh: return std::tanh(value);
      case SpecialFunction::Erf: return std::erf(value);
      case SpecialFunction::Gelu: return 0.5 * value * std::erfc(-value / std::numbers::sqrt2);
      case SpecialFunction::Sigmoid: return 1 / (1 + std::exp(-value));
      case SpecialFunction::SquareRoot: return std::sqrt(value);
      case SpecialFunction::ReciprocalRoot: return 1 / std::sqrt(value);
    }
    return value;
  };
  return scalar::canonical(static_cast<float>(compute()));
}

float round_to(DType dtype, float x) {
  switch (dtype) {
    case DType::F16: return scalar::Binary16::decode(scalar::Binary16::encode(x));
    case DType::BF16: return scalar::Bfloat16::decode(scalar::Bfloat16::encode(x));
    case DType::E5M2: return scalar::E5M2::decode(scalar::E5M2::encode(x));
    case DType::E4M3: return scalar::E4M3::decode(scalar::E4M3::encode(x));
    default: return scalar::canonical(x);
  }
}

}  // namespace autocomp
