// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage overhang_scores: products, window sums and templates -> the scores of the windows that
// stick out of the picture, of what lies in it. It comes before peaks, which then is the same as
// without.
#pragma once

#include "stages/match/contrast.hpp"
#include "stages/match/normalise.hpp"
#include "stages/match/overhang.hpp"

namespace xcorr::stage {

struct OverhangScores {
  static constexpr const char* name = "overhang_scores";

  struct Problem : Normalise::Problem {
    ContrastRule contrast = {};
    Overhang overhang = {};

    constexpr Features features() const {
      return Normalise::Problem::features()
          .with(Feature::contrast, bool(contrast))
          .with(Feature::overhang, bool(overhang));
    }
  };

  struct Buffers : LaunchOfRights {
    const void* products = nullptr;
    const void* window_sums = nullptr;
    const void* window_squares = nullptr;
    const void* templates = nullptr;  ///< see WindowInputs
    const xcorr::TemplateSums* template_sums = nullptr;
    const std::uint8_t* mask = nullptr;  ///< see stages/match/mask.hpp
    const float* contrast_filtered = nullptr;
    /// The same, but oriented() scores of windows that stick out, or no_match(). May be
    /// `contrast_filtered`.
    float* overhang_scores = nullptr;
  };

  template <class Visit>
  static void arguments(const Problem& p, Visit visit) {
    visit("products", &Buffers::products, p.products_extent());
    visit("window_sums", &Buffers::window_sums, window_sums_of(p.correlate));
    visit("window_squares", &Buffers::window_squares, window_squares_of(p.correlate));
    visit("templates", &Buffers::templates, rights_of(p.correlate));
    visit("template_sums", &Buffers::template_sums, template_sums_of(p.correlate));
    visit("mask", &Buffers::mask, p.masking.extent(p.correlate.right));
    visit("contrast_filtered", &Buffers::contrast_filtered, scores_of(p.correlate));
    visit("overhang_scores", &Buffers::overhang_scores, scores_of(p.correlate));
  }

  using Extra = NoExtra;
};

}  // namespace xcorr::stage
