// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage search_cells: pixels, window sums -> of each picture the best place of each cell of the
// frame. It is correlate and survey in one, which keeps the products out of memory.
#pragma once

#include "stages/survey.hpp"

namespace xcorr::stage {

struct SearchCells {
  static constexpr const char* name = "search_cells";

  /// With plain products of bytes.
  using Problem = Survey::Problem;

  struct Buffers : LaunchOfRights {
    const void* lefts = nullptr;
    /// See Correlate::Buffers; where pixels do not count they are 0.
    const void* rights = nullptr;
    const void* window_sums = nullptr;
    const void* window_squares = nullptr;
    const xcorr::TemplateSums* template_sums = nullptr;
    SurveyKey* best = nullptr;  ///< see Survey
  };

  template <class Visit>
  static void arguments(const Problem& p, Visit visit) {
    visit("lefts", &Buffers::lefts, lefts_of(p.correlate));
    visit("rights", &Buffers::rights, rights_of(p.correlate));
    visit("window_sums", &Buffers::window_sums, window_sums_of(p.correlate));
    visit("window_squares", &Buffers::window_squares, window_squares_of(p.correlate));
    visit("template_sums", &Buffers::template_sums,
          records<xcorr::TemplateSums>(p.correlate.rights));
    visit("best", &Buffers::best, records<SurveyKey>(p.correlate.rights * p.cells().count()));
  }

  using Extra = NoExtra;
};

}  // namespace xcorr::stage
