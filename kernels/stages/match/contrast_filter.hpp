// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage contrast_filter: scores and window sums -> scores after the contrast test, where
// windows are asked for a contrast. It comes before peaks, which then is the same as without.
#pragma once

#include "stages/match/contrast.hpp"
#include "stages/match/normalise.hpp"

namespace xcorr::stage {

struct ContrastFilter {
  static constexpr const char* name = "contrast_filter";

  struct Problem : BatchedProblem {
    Method method = Method::ccoeff_normed;
    ContrastRule contrast = {};
    Masking masking = {};

    constexpr std::int64_t pixels() const { return masking.pixels(correlate.right); }
    constexpr Features features() const {
      return features_of(correlate).with(Feature::mask, bool(masking));
    }
  };

  struct Buffers : LaunchOfRights {
    const float* scores = nullptr;
    const void* window_sums = nullptr;
    const void* window_squares = nullptr;
    /// oriented(), or no_match() where the window has too little contrast. May be `scores`.
    float* contrast_filtered = nullptr;
  };

  template <class Visit>
  static void arguments(const Problem& p, Visit visit) {
    visit("scores", &Buffers::scores, scores_of(p.correlate));
    visit("window_sums", &Buffers::window_sums, window_sums_of(p.correlate));
    visit("window_squares", &Buffers::window_squares, window_squares_of(p.correlate));
    visit("contrast_filtered", &Buffers::contrast_filtered, scores_of(p.correlate));
  }
};

}  // namespace xcorr::stage
