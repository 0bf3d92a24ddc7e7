// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage window_scores: window_sums and normalise in one, where nothing else needs the sums:
// they then never leave the cache.
#pragma once

#include "stages/match/normalise.hpp"

namespace xcorr::stage {

struct WindowScores {
  static constexpr const char* name = "window_scores";

  using Problem = Normalise::Problem;

  struct Buffers : LaunchOfRights {
    const void* lefts = nullptr;
    const void* products = nullptr;
    const xcorr::TemplateSums* template_sums = nullptr;
    const float* product_error = nullptr;  ///< see Normalise::Buffers
    float* scores = nullptr;
  };

  template <class Visit>
  static void arguments(const Problem& p, Visit visit) {
    visit("lefts", &Buffers::lefts, lefts_of(p.correlate));
    visit("products", &Buffers::products, p.products_extent());
    visit("template_sums", &Buffers::template_sums,
          records<xcorr::TemplateSums>(p.correlate.rights));
    visit("product_error", &Buffers::product_error, records<float>(1));
    visit("scores", &Buffers::scores, scores_of(p.correlate));
  }
};

}  // namespace xcorr::stage
