// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage filter_update: the spectra of windows with a target in their middle -> its filter.
//
// With x the transform of the channels at a frequency (a vector over channels), y that of the
// response which is wanted (a Gaussian in the middle), and f the filter's, the response is f* x.
// Training solves, at each frequency by the formula of Sherman and Morrison,
//   |f* x - y|^2 / n + pull |f - g|^2  ->  min
// twice: with g = 0, and then with g = what of that first solution lies on the target. So what
// the filter responds to is drawn onto the target, and the surroundings remain as what it must not
// respond to. (These are the first steps of the ADMM of Galoogahi et al., Learning Background-Aware
// Correlation Filters, 2017; more of them cost time and gain nothing.) x is a running mean over
// what was learnt.
#pragma once

#include "stages/tracker/feature_fft.hpp"

namespace xcorr {
namespace tracker {

constexpr double rate = 0.02;                      ///< of the running mean
constexpr float first_pull = 1, second_pull = 10;  ///< see above

/// For what a filter is made: a target of some cells in the middle of the windows.
struct FilterShape {
  double wanted[grid];  ///< the Gaussian's transform in one direction, which is real
  double width, height;

  FilterShape() = default;
  FilterShape(double target_width, double target_height)
      : width(target_width), height(target_height) {
    constexpr double response_width = 1 / 16.0;  // standard deviation, of the target's size
    const double deviation = std::sqrt(width * height) * response_width;
    for (int k = 0; k < grid; ++k) {
      wanted[k] = 0;
      for (int i = 0; i < grid; ++i) {
        const int from = std::min(i, grid - i);
        wanted[k] += std::exp(-from * from / (2 * deviation * deviation)) *
                     std::cos(2 * std::numbers::pi * i * k / grid);
      }
    }
  }

  /// That of both directions.
  XCORR_HD float wanted_at(int frequency) const {
    return static_cast<float>(wanted[frequency / grid] * wanted[frequency % grid]);
  }
  XCORR_HD bool on_target(int x, int y) const { return within(x, width) && within(y, height); }

 private:
  XCORR_HD static bool within(int i, double extent) {
    constexpr double middle = (grid - 1) / 2.0;
    return std::abs(i - middle) <= (extent > 1 ? extent : 1) / 2 + 0.01;
  }
};

/// What a window's spectrum is for.
struct TrainingSample {
  std::int32_t filter;  ///< no two training samples are for the same one
  std::int32_t first;   ///< whether it is the first one for it: 0 or 1
};

}  // namespace tracker

namespace stage {

struct FilterUpdate {
  static constexpr const char* name = "filter_update";

  struct Problem {
    int training_samples = 1, filters = 1;

    constexpr Features features() const { return Feature::f32; }
  };

  struct Buffers : Launch {
    const float* seen = nullptr;  ///< spectra, of the training samples' windows
    const tracker::TrainingSample* training_samples = nullptr;
    const tracker::FilterShape* shapes = nullptr;  ///< of the filters
    /// What each filter has learnt: [filter], each laid out as a spectrum
    const float* means = nullptr;
    float* next_means = nullptr;  ///< may be the same memory; like `filters`, of those taught
    /// [filter][the whole one, or what of it lies on the target], each laid out as a spectrum
    float* filters = nullptr;
  };

  template <class Visit>
  static void arguments(const Problem& p, Visit visit) {
    const std::int64_t spectrum = tracker::spectrum_floats;
    visit("seen", &Buffers::seen, records<float>(p.training_samples * spectrum));
    visit("training_samples", &Buffers::training_samples,
          records<tracker::TrainingSample>(p.training_samples));
    visit("shapes", &Buffers::shapes, records<tracker::FilterShape>(p.filters));
    visit("means", &Buffers::means, records<float>(p.filters * spectrum));
    visit("next_means", &Buffers::next_means, records<float>(p.filters * spectrum));
    visit("filters", &Buffers::filters, records<float>(p.filters * 2 * spectrum));
  }
};

}  // namespace stage
}  // namespace xcorr
