// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How sure it is that a place is the target and not something like it. docs/tracking.md has the
// formula and what it was calibrated on.
#pragma once

#include <xcorr/tracker.hpp>

namespace xcorr::follow {

/// The probability that a place is right, 0 to 1. `similarity` is that of Peak, 1 for an
/// exact copy; `margin` is by how much the peak is worth more (see Trace::association_score) than
/// any other.
double confidence(double similarity, double margin);

/// The same for a place that a filter found, see FilterDetection.
double confidence(double psr);

/// The probability that what a filter follows is still the target that it was shown first: it may
/// have learnt something else, and respond to that as surely.
double resemblance(const FilterDetection& filter_detection);

/// The most that may be said of what is in doubt.
inline constexpr double confidence_in_doubt = 0.85;

/// How many times the usual response a place may have: more is in doubt, as a filter that has slid
/// onto the ground responds to it more than it did to its target. What looks as it did first may be
/// responded to with more; with less than 1 it is in doubt in any case.
double most_growth(const FilterDetection& filter_detection);

/// As resemblance(), of what is seen now, if the filter and the colours of the first view both know
/// it; else 0.
double recognition(const FilterDetection& filter_detection);

}  // namespace xcorr::follow
