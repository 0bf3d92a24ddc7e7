// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage filter_update: the spectra of windows with a target in their middle -> its filter.
//
// With x the transform of the channels at a frequency (a vector over channels), y that of the
// response which is wanted (a Gaussian in the middle), and f the filter's, the response is f* x.
// Training solves, at each frequency, over the samples that are remembered, with their weights w,
//   sum of w |f* x - y|^2 / n + pull |f - g|^2  ->  min
// twice: with g = what of the filter so far lies on the target, 0 for the first sample, and then
// with g = the same of that first solution. So what the filter responds to is drawn onto the
// target, and the surroundings remain as what it must not respond to.
//
// The two solutions are steps of the ADMM of Galoogahi et al., Learning Background-Aware
// Correlation Filters, 2017; more of them gain nothing. That each training begins with the last
// filter is as in Li et al., Learning Spatial-Temporal Regularized Correlation Filters, 2018. A few
// remembered samples that stand for all is an idea of Danelljan et al., ECO: Efficient Convolution
// Operators for Tracking, 2017.
#pragma once

#include "stages/tracker/feature_fft.hpp"

namespace xcorr {
namespace tracker {

constexpr float first_pull = 1, second_pull = 10;  ///< see above
constexpr int samples_kept = 6;                    ///< of a target

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

/// What a window's spectrum is for, and where it is kept.
struct TrainingSample {
  std::int32_t filter;  ///< no two training samples are for the same one
  std::int32_t count;   ///< samples of that filter with this one, 1 to samples_kept
  /// Where the sample goes, of these. What was there counts in `merged` from now on; -1: the sample
  /// itself does.
  std::int32_t slot;
  std::int32_t merged;  ///< another one of them, or -1
  float share;          ///< by which that changes
  float weights[samples_kept];

  /// A number of the sample in slot k from now on. \param stored  returns that in a slot so far
  template <class Number, class Stored>
  XCORR_HD Number next(int k, const Number& seen, const Stored& stored) const {
    if (k == slot) return seen;
    const Number before = stored(k);
    if (k != merged) return before;
    return before + ((slot < 0 ? seen : stored(slot)) - before) * share;
  }
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
    /// What each filter has learnt: [filter][slot], each laid out as a spectrum
    const float* samples = nullptr;
    float* next_samples = nullptr;  ///< may be the same memory; like `filters`, of those taught
    /// [filter][the whole one, or what of it lies on the target], each laid out as a spectrum
    const float* known = nullptr;
    float* filters = nullptr;  ///< may be the same memory
  };

  template <class Visit>
  static void arguments(const Problem& p, Visit visit) {
    const std::int64_t spectrum = tracker::spectrum_floats;
    visit("seen", &Buffers::seen, records<float>(p.training_samples * spectrum));
    visit("training_samples", &Buffers::training_samples,
          records<tracker::TrainingSample>(p.training_samples));
    visit("shapes", &Buffers::shapes, records<tracker::FilterShape>(p.filters));
    const auto kept = records<float>(p.filters * tracker::samples_kept * spectrum);
    visit("samples", &Buffers::samples, kept);
    visit("next_samples", &Buffers::next_samples, kept);
    visit("known", &Buffers::known, records<float>(p.filters * 2 * spectrum));
    visit("filters", &Buffers::filters, records<float>(p.filters * 2 * spectrum));
  }
};

}  // namespace stage
}  // namespace xcorr
