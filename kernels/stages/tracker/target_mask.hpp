// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Which cells of a target's box are the target, by its colours: a box about something thin, or one
// that was drawn too large, is mostly ground, which its filter would learn. The idea is that of
// Lukezic et al., Discriminative Correlation Filter with Channel and Spatial Reliability, 2017.
//
// The stage target_mask: windows with a target in their middle, its first histograms -> its mask.
// All is in whole numbers, so that every backend decides alike.
#pragma once

#include "stages/tracker/histograms.hpp"

namespace xcorr {
namespace tracker {

/// How likely the cells of a window are the target's: sums of posteriors in 2^-16.
struct CellLikelihoods {
  std::int32_t of[cells];

  static constexpr int pixels_of_cell = cell * cell, one = pixels_of_cell << 16;

  XCORR_HD static std::int32_t unit(float posterior) {
    return static_cast<std::int32_t>(posterior * (1 << 16));
  }
  /// Whether a cell and those beside it, by 4, 2 and 1, are more likely the target's than not.
  XCORR_HD bool is_target(int x, int y) const {
    std::int32_t sum = 0, all = 0;
    for (int j = -1; j <= 1; ++j)
      for (int i = -1; i <= 1; ++i) {
        if (!is_cell(x + i, y + j)) continue;
        const int weight = (i == 0 ? 2 : 1) * (j == 0 ? 2 : 1);
        sum += weight * of[(y + j) * grid + x + i];
        all += weight * one;
      }
    return 2 * sum > all;
  }
  XCORR_HD static bool is_cell(int x, int y) { return x >= 0 && y >= 0 && x < grid && y < grid; }
};

/// Whether the mask says something: of the cells in the box some, but not nearly all, are the
/// target's.
XCORR_HD constexpr bool is_informative(int of_target, int in_box) {
  return 5 * of_target >= in_box && 10 * of_target <= 9 * in_box;
}

/// A cell of the mask: what the target's edges are in belongs to it, too, so one more all round.
/// \param is_target  of each cell, not 0 if it is
XCORR_HD inline std::uint8_t mask_at(const std::uint8_t* is_target, int x, int y) {
  for (int j = -1; j <= 1; ++j)
    for (int i = -1; i <= 1; ++i)
      if (CellLikelihoods::is_cell(x + i, y + j) && is_target[(y + j) * grid + x + i]) return 1;
  return 0;
}

}  // namespace tracker

namespace stage {

struct TargetMask {
  static constexpr const char* name = "target_mask";
  using Problem = ColorWindows;

  struct Buffers : ColorWindowBuffers {
    const tracker::ColorHistograms* histograms = nullptr;
    /// [filter][cell]: 1 on the target, 0 elsewhere; 1 in all cells where colours do not tell.
    /// Those of targets that were taught once and no more; others stay as they are.
    std::uint8_t* masks = nullptr;
  };

  /// How likely a cell is the target's, as of CellLikelihoods.
  XCORR_HD static std::int32_t likelihood(const Problem& p,
                                          const std::uint8_t* const (&planes)[color_planes],
                                          const tracker::Cropping& window, const float* posterior,
                                          int cell_x, int cell_y) {
    using namespace tracker;
    std::int32_t sum = 0;
    for (int y = cell_y * cell; y < (cell_y + 1) * cell; ++y)
      for (int x = cell_x * cell; x < (cell_x + 1) * cell; ++x)
        sum += CellLikelihoods::unit(posterior[p.bin_at(planes, window.nearest(x, y))]);
    return sum;
  }

  template <class Visit>
  static void arguments(const Problem& p, Visit visit) {
    ColorWindowBuffers::arguments<Buffers>(p, visit);
    visit("histograms", &Buffers::histograms, records<tracker::ColorHistograms>(p.filters));
    visit("masks", &Buffers::masks,
          records<std::uint8_t>(std::int64_t{p.filters} * tracker::cells));
  }
};

}  // namespace stage
}  // namespace xcorr
