// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The windows in which a filter searches for its target, and what its responses tell: place, size,
// and whether another look is worthwhile.
#pragma once

#include <xcorr/tracker.hpp>

#include "stages/tracker/crop.hpp"
#include "stages/tracker/filter_response.hpp"

namespace xcorr::tracker {

/// How a target is looked at: as it was last seen, smaller, larger, and where targets turn at an
/// angle less and one more.
constexpr int sizes = 3, with_angles = sizes + 2;

/// A look at an angle, degrees.
struct View {
  Look look;
  double angle;
};

/// A PSR below which other sizes need not be tried.
constexpr double min_psr = 7;

/// How a target was shown first, pixels.
struct InitialBox {
  double width, height;
  double side;  ///< of the window then

  /// One of the ways to look, round a box's middle.
  View view_of(const Box& box, double angle, int way, std::int32_t filter) const;

  /// The best of the filter's responses to `ways` views. \param views, response_peaks  each so far
  /// from the one before
  FilterDetection best_of(const View* views, const ResponsePeak* response_peaks,
                          std::ptrdiff_t apart, int ways, Size frame) const;

 private:
  FilterDetection detection_of(const View& view, const ResponsePeak& response_peak) const;
};

/// Whether a target may be there.
bool is_sound(const Box& box, Size frame);

/// Whether the target may have been faded out by the window's edge, so that it is worth to look
/// again with the window moved to the detection.
bool is_worth_another_look(const FilterDetection& filter_detection, Size frame);

}  // namespace xcorr::tracker
