// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage fused_coarse_search: pixels, window sums -> of each image the best place of each cell
// of the frame. It is correlate and coarse_search in one, which keeps the products out of memory.
#pragma once

#include "stages/poses/coarse_search.hpp"

namespace xcorr::stage {

struct FusedCoarseSearch {
  static constexpr const char* name = "fused_coarse_search";

  /// With plain products of bytes.
  using Problem = CoarseSearch::Problem;

  struct Buffers : LaunchOfRights {
    const void* lefts = nullptr;
    /// See Correlate::Buffers; where pixels do not count they are 0.
    const void* rights = nullptr;
    const void* window_sums = nullptr;
    const void* window_squares = nullptr;
    const xcorr::TemplateSums* template_sums = nullptr;
    CoarseKey* best = nullptr;  ///< see CoarseSearch
  };

  template <class Visit>
  static void arguments(const Problem& p, Visit visit) {
    visit("lefts", &Buffers::lefts, lefts_of(p.correlate));
    visit("rights", &Buffers::rights, rights_of(p.correlate));
    visit("window_sums", &Buffers::window_sums, window_sums_of(p.correlate));
    visit("window_squares", &Buffers::window_squares, window_squares_of(p.correlate));
    visit("template_sums", &Buffers::template_sums, template_sums_of(p.correlate));
    visit("best", &Buffers::best, records<CoarseKey>(p.correlate.rights * p.cells().count()));
  }
};

}  // namespace xcorr::stage
