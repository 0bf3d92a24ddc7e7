// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage confirm: peaks -> how much their windows differ from the templates where they differ
// most. A template is cut into squares; before they are compared the window gets the template's
// brightness and contrast, as far as the method does not compare them. What tells two icons apart
// may be a hundredth of their score; it is all of a square.
#pragma once

#include <cmath>

#include "stages/match/peaks.hpp"

namespace xcorr {

/// The squares' side. Fewer pixels of one count as that many: a few say little.
inline constexpr int confirm_side = 8, confirm_least = 16;

/// What a window is multiplied by to have the template's contrast. `window`, `right`: sums of
/// squares, of centred methods about the means.
XCORR_HD inline double confirm_gain(Method method, double window, double right, bool inverted) {
  const MethodInfo by = info(method);
  const bool is_free = by.normed && !by.minimum && window > 0;
  const double gain = is_free ? sqrt(right / window) : 1;
  return inverted ? -gain : gain;
}

/// The mean square of a square's differences.
XCORR_HD inline double confirm_mean(double squares, double pixels, int planes) {
  return squares / (planes * (pixels > confirm_least ? pixels : confirm_least));
}

namespace stage {

struct Confirm {
  static constexpr const char* name = "confirm";

  struct Problem {
    xcorr::Problem correlate;
    Method method = Method::ccoeff_normed;
    int max_peaks = 1;
    Masking masking = {};
    Polarity polarity = Polarity::same;  ///< see Refine::Problem

    constexpr Features features() const {
      return features_of(correlate)
          .with(Feature::several_peaks, max_peaks > 1)
          .with(Feature::mask, bool(masking))
          .with(Feature::contrast, polarity != Polarity::same);
    }
    constexpr std::int64_t slots() const { return std::int64_t{correlate.rights} * max_peaks; }
  };

  struct Buffers : LaunchOfRights {
    const void* lefts = nullptr;
    const void* templates = nullptr;     ///< see WindowInputs
    const std::uint8_t* mask = nullptr;  ///< see stages/match/mask.hpp
    const RefinedPeak* peaks = nullptr;  ///< max_peaks per template
    const std::uint32_t* peak_counts = nullptr;
    float* differences = nullptr;  ///< of each peak, gray levels; may be in pinned host memory
  };

  template <class Visit>
  static void arguments(const Problem& p, Visit visit) {
    visit("lefts", &Buffers::lefts, lefts_of(p.correlate));
    visit("templates", &Buffers::templates, rights_of(p.correlate));
    visit("mask", &Buffers::mask, p.masking.extent(p.correlate.right));
    visit("peaks", &Buffers::peaks, records<RefinedPeak>(p.slots()));
    visit("peak_counts", &Buffers::peak_counts, records<std::uint32_t>(p.correlate.rights));
    visit("differences", &Buffers::differences, records<float>(p.slots()));
  }
};

/// Of luma and of colour; edges have a measure of their own.
constexpr bool can_be_confirmed(const Confirm::Problem& p) {
  return p.method != Method::orientation &&
         (p.correlate.planes == 1 || p.correlate.planes == color_planes);
}

}  // namespace stage
}  // namespace xcorr
