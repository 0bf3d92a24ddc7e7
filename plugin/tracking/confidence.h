// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How sure it is that a place is the target and not something like it. docs/tracking.md has the
// formula and what it was calibrated on.
#pragma once

namespace cudaxcorr {

/// The probability that a place is right, 0 to 1. `closeness` is that of xcorr::Peak, 1 for an
/// exact copy; `lead` is by how much the peak is worth more (see Trace::worth) than any other.
double confidence(double closeness, double lead);

/// The same for a place that a filter found, see xcorr::Sight.
double confidence(double sharpness);

}  // namespace cudaxcorr
