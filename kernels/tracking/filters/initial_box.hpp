// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The windows in which a filter searches for its target, and what its responses tell: place, size,
// and whether another look is worthwhile.
#pragma once

#include <xcorr/tracker.hpp>

#include "stages/tracker/filter_response.hpp"
#include "stages/tracker/window.hpp"

namespace xcorr::tracker {

/// What a view differs by from one of the target as it was last seen, in steps.
struct Variation {
  int size = 0, angle = 0;
};

/// The ways in which a target is looked at: as it was last seen; smaller and larger, or turned by
/// an angle less and by one more; or all of these.
struct Ways {
  int count;
  /// The first one of another size, and the first one at another angle: `count` if there is none.
  int size, angle;
  int looks = 0;  ///< since the target last turned fast

  static constexpr Ways at_sizes() { return {3, 1, 3}; }
  static constexpr Ways at_angles() { return {3, 3, 1}; }
  static constexpr Ways all() { return {5, 1, 3}; }
  /// In which a target is looked at first, and the most. \param turns  whether its angle may change
  static constexpr Ways first_of(bool turns) { return turns ? all() : at_sizes(); }

  constexpr Variation operator[](int way) const {
    const auto step = [way](int first) { return way == first ? -1 : way == first + 1 ? 1 : 0; };
    return {step(size), step(angle)};
  }
  /// Of what can turn: sizes and angles by turns, but all for a while after it has turned fast.
  /// \param turned  since the last look, degrees
  Ways next(double turned) const;
};

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

  /// Of a box's surroundings.
  View view_of(const Box& box, double angle, std::int32_t filter, Variation by = {}) const;

  /// The best of the filter's responses to views in these ways. \param views, response_peaks  each
  /// so far from the one before
  FilterDetection best_of(const View* views, const ResponsePeak* response_peaks,
                          std::ptrdiff_t apart, const Ways& ways, Size frame) const;

  /// Whether the target, which was looked for round a box, may have been faded out by the window's
  /// edge, so that it is worth to look again with the window moved to the detection.
  bool is_worth_another_look(const FilterDetection& filter_detection, const Box& box,
                             Size frame) const;

 private:
  /// Its size now, relative to what it was first.
  double scale_of(const Box& box) const;
  FilterDetection detection_of(const View& view, const ResponsePeak& response_peak) const;
};

/// Whether a target may be there.
bool is_sound(const Box& box, Size frame);

}  // namespace xcorr::tracker
