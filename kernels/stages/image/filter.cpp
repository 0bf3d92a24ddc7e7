// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Converts the user's weights to those of the filter stage.
#include "stages/image/filter.hpp"

#include <cmath>
#include <limits>
#include <optional>

namespace xcorr {
namespace {

/// For the weights of u8 and u16 images, see FilterProblem.
constexpr int max_fraction_bits = 11;

/// In units of 2^-bits. From each end inwards a weight's rounding error is carried to the next one;
/// the middle one adjusts the sum to the rounded true sum.
AxisWeights rounded(const AxisWeights& weights, int bits) {
  AxisWeights units{weights.radius, {}};
  double total = 0, carry = 0;
  for (int i = 0; i < weights.count(); ++i) total += weights.values[i];
  const auto round = [&](int i) {
    const double wanted = std::ldexp(weights.values[i], bits) + carry;
    units.values[i] = std::nearbyint(wanted);
    carry = wanted - units.values[i];
    return units.values[i];
  };
  double rest = std::nearbyint(std::ldexp(total, bits));
  for (int i = 0; i < weights.radius; ++i) rest -= round(i);
  carry = 0;
  for (int i = 2 * weights.radius; i > weights.radius; --i) rest -= round(i);
  units.values[weights.radius] = rest;
  return units;
}

double magnitude(const AxisWeights& weights) {
  double sum = 0;
  for (int i = 0; i < weights.count(); ++i) sum += std::abs(weights.values[i]);
  return sum;
}

AxisWeights scaled(AxisWeights weights, int exponent) {
  for (double& value : weights.values) value = std::ldexp(value, exponent);
  return weights;
}

std::optional<FilterWeights> in_fixed_point(const AxisWeights& across, const AxisWeights& down) {
  for (int bits = max_fraction_bits; bits >= 0; --bits) {
    const AxisWeights w = rounded(across, bits), v = rounded(down, bits);
    const double largest = 255 * magnitude(w) * magnitude(v) + std::ldexp(0.5, 2 * bits);
    if (largest <= std::numeric_limits<std::int32_t>::max())
      return FilterWeights{scaled(w, -bits), scaled(v, -bits), bits, ElementType::i32};
  }
  return std::nullopt;
}

bool is_valid(const AxisWeights& weights) {
  if (weights.radius < 0 || weights.radius > max_filter_radius) return false;
  for (int i = 0; i < weights.count(); ++i)
    if (!std::isfinite(weights.values[i])) return false;
  return true;
}

Status bad(const char* what) { return {Code::invalid_argument, what}; }

}  // namespace

Result<FilterWeights> filter_weights(ElementType type, const AxisWeights& across,
                                     const AxisWeights& down, ElementType sums) {
  if (!is_valid(across) || !is_valid(down))
    return bad("the weights' radius is out of range, or a weight is not finite");
  switch (type) {
    case ElementType::u8:
      if (auto weights = in_fixed_point(across, down)) return *weights;
      return bad("the weights are too large for u8 images");
    case ElementType::u16:
      return FilterWeights{scaled(rounded(across, max_fraction_bits), -max_fraction_bits),
                           scaled(rounded(down, max_fraction_bits), -max_fraction_bits), 0,
                           ElementType::f64};
    case ElementType::f32:
      if (sums == ElementType::f32 || sums == ElementType::f64)
        return FilterWeights{across, down, 0, sums};
      return bad("sums of f32 images must be f32 or f64");
    case ElementType::f64:
      return FilterWeights{across, down, 0, ElementType::f64};
    default:
      return bad("the element type must be u8, u16, f32 or f64");
  }
}

}  // namespace xcorr
