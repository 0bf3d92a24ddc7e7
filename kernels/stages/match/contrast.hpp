// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What contrast a window must have to be a match: of which sign, against the template's, and how
// much. Shared by all backends, in the same operations.
#pragma once

#include <cmath>
#include <cstdint>

#include <xcorr/methods.hpp>

#include "stages/common/host_device.hpp"

namespace xcorr {

struct ContrastRule {
  Polarity polarity = Polarity::same;
  double least = 0;  ///< see MatchSettings::min_contrast

  /// Whether any window is treated differently than without a rule.
  constexpr explicit operator bool() const { return polarity != Polarity::same || least > 0; }
};

/// A score, or a gain, as it counts: more is better. Of the others its sign is not asked for.
template <class T>
XCORR_HD T oriented(Polarity polarity, T score) {
  const bool turned = polarity == Polarity::inverted || (polarity == Polarity::either && score < 0);
  return turned ? -score : score;
}

/// Whether a match of that score is of a window with the contrast inverted.
XCORR_HD inline bool is_inverted(Polarity polarity, double score) {
  return polarity == Polarity::inverted || (polarity == Polarity::either && score < 0);
}

/// Whether n pixels vary too little, in a picture of so many planes as a mean of them.
/// \param variance  n sum f^2 - (sum f)^2 of each plane, added up. T: as in WindowTerms
template <class T>
XCORR_HD bool lacks_contrast(T n, T variance, int planes, double least) {
  const double bound = least * static_cast<double>(n);
  return static_cast<double>(variance) < planes * bound * bound;
}

/// The score of a window that can be no match. `minimum`: the best score is the smallest.
XCORR_HD inline float no_match(bool minimum) { return minimum ? INFINITY : -INFINITY; }

}  // namespace xcorr
