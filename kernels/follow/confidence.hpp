// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How sure it is that a place is the target and not something like it. docs/tracking.md has the
// formula and what it was calibrated on.
#pragma once

namespace xcorr::follow {

/// The probability that a place is right, 0 to 1. `closeness` is that of Peak, 1 for an
/// exact copy; `lead` is by how much the peak is worth more (see Trace::worth) than any other.
double confidence(double closeness, double lead);

/// The same for a place that a filter found, see Sight.
double confidence(double sharpness);

}  // namespace xcorr::follow
