// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a filter remembers of its training samples: samples_kept, each a mean over a stretch of
// time, the first view by itself. The samples lie on the device; this says where the next one goes
// and how much each counts.
#pragma once

#include <vector>

#include "stages/tracker/filter_update.hpp"

namespace xcorr::tracker {

class SampleMemory {
 public:
  /// For the filter's next sample. Where there is no slot left, the two that follow each other and
  /// count least become one.
  TrainingSample next(std::int32_t filter);

 private:
  struct Kept {
    std::int32_t slot;
    double weight;
  };
  std::vector<Kept> kept_;  ///< from the first one to the last
};

}  // namespace xcorr::tracker
