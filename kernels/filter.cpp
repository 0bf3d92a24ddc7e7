// SPDX-License-Identifier: LGPL-2.1-or-later
#include <xcorr/filter.hpp>

#include <cmath>
#include <limits>
#include <optional>

#include "select/registry.hpp"
#include "stages/filter_weights.hpp"

namespace xcorr {
namespace {

/// Of the weights of u8 pictures, see FilterProblem.
constexpr int most_fraction_bits = 11;

/// In units of 2^-bits. From each end inwards a weight's rounding is carried to the next one, and
/// the middle one brings the sum to the rounded true sum.
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
  for (int bits = most_fraction_bits; bits >= 0; --bits) {
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

Status check_problem(const FilterProblem& p) {
  const auto element = static_cast<std::int64_t>(size_of(p.type));
  if (p.size.empty() || p.region.empty()) return bad("the picture or the region is empty");
  if (p.count < 1) return bad("there must be at least one picture");
  if (p.region.x < 0 || p.region.y < 0 || p.region.x > p.size.width - p.region.width ||
      p.region.y > p.size.height - p.region.height)
    return bad("the region reaches over the picture's edge");
  if (p.pitch < p.size.width * element) return bad("the pitch is shorter than a row");
  if (p.pitch % element || p.stride % element)
    return bad("the pitch or the stride is not a whole number of elements");
  return {};
}

/// See MatchProblem::filter.
Problem lefts_of(const FilterProblem& p) {
  Problem problem = dense_problem(p.type, p.count == 1 ? Form::one_to_one : Form::n_to_m, p.size,
                                  {1, 1}, p.count, 1, p.region);
  problem.left_pitch = p.pitch;
  problem.left_stride = p.stride;
  return problem;
}

}  // namespace

Result<AxisWeights> gaussian_weights(double sigma) {
  const double radius = std::ceil(3 * sigma);
  if (!(radius >= 0 && radius <= max_filter_radius))
    return bad("sigma must be at least 0 and at most a third of the largest radius");
  AxisWeights weights{static_cast<int>(radius), {1}};
  if (weights.radius == 0) return weights;
  double sum = 0;
  for (int i = 0; i < weights.count(); ++i) {
    const double distance = (i - weights.radius) / sigma;
    sum += weights.values[i] = std::exp(-0.5 * distance * distance);
  }
  for (double& value : weights.values) value /= sum;
  return weights;
}

Result<FilterWeights> filter_weights(ElementType type, const AxisWeights& across,
                                     const AxisWeights& down, ElementType sums) {
  if (!is_valid(across) || !is_valid(down))
    return bad("the weights' radius is out of range, or a weight is not finite");
  switch (type) {
    case ElementType::u8:
      if (auto weights = in_fixed_point(across, down)) return *weights;
      return bad("the weights are too large for u8 pictures");
    case ElementType::f32:
      if (sums == ElementType::f32 || sums == ElementType::f64)
        return FilterWeights{across, down, 0, sums};
      return bad("sums of f32 pictures must be f32 or f64");
    case ElementType::f64:
      return FilterWeights{across, down, 0, ElementType::f64};
    default:
      return bad("the element type must be u8, f32 or f64");
  }
}

struct Filter::Impl {
  FilterWeights weights;
  MatchProblem problem;
  Device device;
  const Variant* variant;
};

Filter::Filter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Filter::Filter(Filter&&) noexcept = default;
Filter& Filter::operator=(Filter&&) noexcept = default;
Filter::~Filter() = default;

Result<Filter> Filter::create(const FilterProblem& p, const Device& device,
                              std::string_view kernel) {
  if (Status status = check_problem(p); !status.ok()) return status;
  auto weights = filter_weights(p.type, p.across, p.down, p.sums);
  if (!weights.ok()) return weights.status();
  auto impl = std::make_unique<Impl>(Impl{weights.value(), {}, device, nullptr});
  impl->problem.correlate = lefts_of(p);
  impl->problem.filter = &impl->weights;
  auto variant = select_variant(Stage::filter, impl->problem, device, kernel);
  if (!variant.ok()) return variant.status();
  impl->variant = variant.value();
  return Filter(std::move(impl));
}

const char* Filter::kernel() const { return impl_->variant->name; }

std::size_t Filter::workspace_bytes() const {
  return impl_->variant->workspace(impl_->problem, impl_->device);
}

Status Filter::run(const void* pictures, void* filtered, void* workspace, Stream stream) {
  if (!pictures || !filtered || (!workspace && workspace_bytes())) return bad("a null pointer");
  Buffers buffers;
  buffers.lefts = pictures;
  buffers.filtered = filtered;
  buffers.workspace = workspace;
  buffers.stream = stream;
  return impl_->variant->launch(impl_->problem, impl_->device, buffers, nullptr);
}

}  // namespace xcorr
