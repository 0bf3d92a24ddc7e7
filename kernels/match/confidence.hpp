// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How sure it is that a peak is the part and not something like it: by how close it is, and by how
// close the best place is that is not reported. docs/confidence.md has what it was calibrated on.
#pragma once

#include <cmath>
#include <vector>

#include <xcorr/match.hpp>

namespace xcorr {

inline double logistic(double sum) { return 1 / (1 + std::exp(-sum)); }

/// Whether the confidence of peaks is asked for.
constexpr bool is_confidence_asked(const MatchSettings& settings) {
  return settings.min_confidence >= 0;
}

/// Errors: invalid_argument, and unsupported where peaks cannot have one.
Status check_confidence(const MatchSettings& settings);

/// What finds, besides the peaks that are asked for, the best place that is not. The same settings
/// where no confidence is asked for.
MatchSettings search_for_confidence(const MatchSettings& asked);

/// Of what that found: says of each peak how sure it is, and keeps those that `asked` asks for.
/// \param peaks  templates in order, best first within a template
void keep_sure(std::vector<Peak>& peaks, const MatchSettings& asked);

}  // namespace xcorr
