// SPDX-License-Identifier: LGPL-2.1-or-later
#include <xcorr/exceptions.hpp>
#include <xcorr/filter.hpp>

#include <cmath>

#include "select/select.hpp"
#include "stages/image/filter.hpp"

namespace xcorr {
namespace {

Status bad(const char* what) { return {Code::invalid_argument, what}; }

Status check_problem(const FilterProblem& p) {
  const auto element = static_cast<std::int64_t>(size_of(p.type));
  if (p.size.empty() || p.region.empty()) return bad("the image or the region is empty");
  if (p.count < 1) return bad("there must be at least one image");
  if (p.region.x < 0 || p.region.y < 0 || p.region.x > p.size.width - p.region.width ||
      p.region.y > p.size.height - p.region.height)
    return bad("the region reaches over the image's edge");
  if (p.pitch < p.size.width * element) return bad("the pitch is shorter than a row");
  if (p.pitch % element || p.stride % element)
    return bad("the pitch or the stride is not a whole number of elements");
  return {};
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

struct __attribute__((visibility("hidden"))) Filter::Impl {
  FilterWeights weights;
  stage::Filter::Problem problem;
  Device device;
  const Variant<stage::Filter>* variant;
};

Filter::Filter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Filter::Filter(Filter&&) noexcept = default;
Filter& Filter::operator=(Filter&&) noexcept = default;
Filter::~Filter() = default;

Result<Filter> Filter::create(const FilterProblem& p, const Device& device,
                              std::string_view kernel) try {
  if (Status status = check_problem(p); !status.ok()) return status;
  auto weights = filter_weights(p.type, p.across, p.down, p.sums);
  if (!weights.ok()) return weights.status();
  auto impl = std::make_unique<Impl>(Impl{weights.value(), {}, device, nullptr});
  impl->problem = {p.type, p.size, p.region, p.count, p.pitch, p.stride, 0, 0, &impl->weights};
  auto variant = select_variant<stage::Filter>(impl->problem, device, kernel);
  if (!variant.ok()) return variant.status();
  impl->variant = variant.value();
  return Filter(std::move(impl));
} catch (const std::exception& thrown) {
  return status_of(thrown);
}

const char* Filter::kernel() const { return impl_->variant->name; }

std::size_t Filter::workspace_bytes() const {
  return impl_->variant->workspace_bytes(impl_->problem, impl_->device);
}

Status Filter::run(const void* images, void* filtered, void* workspace, Stream stream) try {
  if (!images || !filtered || (!workspace && workspace_bytes())) return bad("a null pointer");
  const stage::Filter::Buffers buffers{{workspace, stream}, images, filtered};
  return impl_->variant->launch(impl_->problem, impl_->device, buffers, nullptr);
} catch (const std::exception& thrown) {
  return status_of(thrown);
}

}  // namespace xcorr
