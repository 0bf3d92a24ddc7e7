// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage judge: scores and window sums -> scores as they count, where windows are asked for a
// contrast. It comes before peaks, which then is the same as without.
#pragma once

#include "stages/contrast.hpp"
#include "stages/normalise.hpp"

namespace xcorr::stage {

struct Judge {
  static constexpr const char* name = "judge";

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
    float* judged = nullptr;
  };

  template <class Visit>
  static void arguments(const Problem& p, Visit visit) {
    visit("scores", &Buffers::scores, scores_of(p.correlate));
    visit("window_sums", &Buffers::window_sums, window_sums_of(p.correlate));
    visit("window_squares", &Buffers::window_squares, window_squares_of(p.correlate));
    visit("judged", &Buffers::judged, scores_of(p.correlate));
  }

  using Extra = NoExtra;
};

}  // namespace xcorr::stage
