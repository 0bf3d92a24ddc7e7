// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tracking/filters/histogram_model.hpp"

#include <algorithm>
#include <cmath>

#include "stages/tracker/filter_response.hpp"

namespace xcorr::tracker {
namespace {

/// Of running means, each time the target is learnt.
constexpr double rate_of_colors = 0.04;

/// Of its box the target's histogram has this share in each direction; what is around it reaches as
/// far beyond its sides as the mean of these.
constexpr double inner_share = 0.8;

/// What keeps the posterior of a colour low that is hardly seen at all.
constexpr float least_share = 1e-3f;

/// A difference of posteriors from which colours are told apart as well as may be.
constexpr double full_separation = 0.4;

/// What the likelihood counts beside the response of the filter, which is 1 at most.
constexpr double weight_of_colors = 0.4;

/// Sums over the upper left parts of a grid of values.
class Integral {
 public:
  Integral(int width, int height)
      : width_(width), height_(height), sums_((width + 1) * (height + 1)) {}

  template <class ValueAt>
  void fill(ValueAt value_at) {
    for (int y = 0; y < height_; ++y) {
      double row = 0;
      for (int x = 0; x < width_; ++x) {
        row += value_at(x, y);
        at(x + 1, y + 1) = at(x + 1, y) + row;
      }
    }
  }
  /// What is in a box, as far as there are values.
  double sum(int left, int top, int width, int height) const {
    const int right = std::clamp(left + width, 0, width_),
              below = std::clamp(top + height, 0, height_);
    left = std::clamp(left, 0, width_), top = std::clamp(top, 0, height_);
    return at(right, below) - at(left, below) - at(right, top) + at(left, top);
  }

 private:
  double& at(int x, int y) { return sums_[y * (width_ + 1) + x]; }
  double at(int x, int y) const { return sums_[y * (width_ + 1) + x]; }

  int width_, height_;
  std::vector<double> sums_;
};

int whole(double length) { return std::max(1, static_cast<int>(std::lround(length))); }

}  // namespace

HistogramModel::Histograms HistogramModel::histograms_of(const ColorFrame& frame,
                                                         const Cropping& window,
                                                         const FilterShape& shape) {
  Histograms seen;
  float target = 0, around = 0;
  const double half_width = shape.width * cell / 2, half_height = shape.height * cell / 2;
  const double beyond = (half_width + half_height) / 2;
  constexpr double middle = (window_size - 1) / 2.0;
  for (int y = 0; y < window_size; ++y)
    for (int x = 0; x < window_size; ++x) {
      const double across = std::abs(x - middle), down = std::abs(y - middle);
      const bool inner = across <= half_width * inner_share && down <= half_height * inner_share;
      const bool outer = (across > half_width || down > half_height) &&
                         across <= half_width + beyond && down <= half_height + beyond;
      if (!inner && !outer) continue;
      const PixelPlace place = window.nearest(x, y);
      const int bin = frame.bin_at(place.x, place.y);
      (inner ? seen.target : seen.around)[bin] += 1;
      (inner ? target : around) += 1;
    }
  for (float& count : seen.target) count /= std::max(target, 1.0f);
  for (float& count : seen.around) count /= std::max(around, 1.0f);
  return seen;
}

double HistogramModel::separation() const {
  return std::clamp((inside_ - outside_) / full_separation, 0.0, 1.0);
}

void HistogramModel::learn(const ColorFrame& frame, const Cropping& window,
                           const FilterShape& shape) {
  const Histograms seen = histograms_of(frame, window, shape);
  const double rate = knows_ ? rate_of_colors : 1;
  const auto weight = static_cast<float>(rate);
  if (!knows_) first_ = seen.target;
  double in = 0, out = 0, like = 0;
  for (int i = 0; i < color_bins; ++i) {
    float& target = histograms_.target[i];
    float& around = histograms_.around[i];
    target += weight * (seen.target[i] - target);
    around += weight * (seen.around[i] - around);
    posterior_[i] = target / (target + around + least_share);
    in += seen.target[i] * posterior_[i];
    out += seen.around[i] * posterior_[i];
    like += std::sqrt(seen.target[i] * first_[i]);
  }
  likeness_ = std::min(like, 1.0);
  inside_ += rate * (in - inside_);
  outside_ += rate * (out - outside_);
  knows_ = true;
}

void HistogramModel::find(const ColorFrame& frame, const Cropping& window, const FilterShape& shape,
                          float* prior) const {
  Integral sums(grid, grid);
  sums.fill([&](int x, int y) {
    float sum = 0;
    for (int k = 0; k < 4; ++k) {
      const PixelPlace place = window.nearest_in_cell(x, y, k);
      sum += posterior_[frame.bin_at(place.x, place.y)];
    }
    return sum / 4;
  });
  const int width = whole(shape.width), height = whole(shape.height);
  const double weight = weight_of_colors * separation() / (width * height);
  const auto begin = [](int shift, double extent) {
    return static_cast<int>(std::lround(grid / 2.0 + from_middle(shift) - extent / 2));
  };
  for (int i = 0; i < cells; ++i)
    prior[i] = static_cast<float>(weight * sums.sum(begin(i % grid, shape.width),
                                                    begin(i / grid, shape.height), width, height));
}

}  // namespace xcorr::tracker
