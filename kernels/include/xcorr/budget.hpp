// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What searching a frame may cost, and what it does cost, both before anything is searched.
#pragma once

#include <cstddef>

namespace xcorr {

/// Limits, checked when a matcher prepares: what is beyond them is refused with
/// Code::over_budget and the numbers.
struct Budget {
  /// Seconds a frame, by an estimate that may be wrong by a factor of two or three; 0 or less: no
  /// limit.
  double max_work = -1;
  /// Bytes for templates, their images and results, of the host's or the device's memory; 0: no
  /// limit.
  std::size_t max_memory = 2'000'000'000;

  bool operator==(const Budget&) const = default;
};

/// The same of what has been prepared.
struct Cost {
  double seconds = 0;
  std::size_t bytes = 0;
};

}  // namespace xcorr
