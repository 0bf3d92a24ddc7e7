// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Finds which of several variants does the whole match of a frame fastest, by running each in its
// own plan. Time is limited: a variant that might exceed it is first run on a part of the templates
// and shifts, since no variant's time grows faster than their numbers, and one that is clearly
// slower than the best so far is not run again.
#pragma once

#include <chrono>
#include <vector>

#include "match/plan.hpp"

namespace xcorr {

using TuneClock = std::chrono::steady_clock;

/// What a matcher prepares for.
struct TuneTask {
  const Device& device;
  const std::vector<BankTemplate>& bank;
  ElementType type;
  Size frame;
  const MatchSettings& settings;
  Stream stream;
};

struct Race {
  TuneTask task;  ///< its bank: the templates of one size
  MatchProblem problem;
  MatrixView frame;                     ///< in the device's memory
  std::vector<MatchKernel> candidates;  ///< best guess first; not empty
};

struct Winner {
  MatchKernel kernel;  ///< the first candidate when time was too short for any
  double seconds = 0;  ///< per frame; 0: not measured
  int measured = 0;    ///< candidates that ran
};

/// The fastest of those that can be run until the deadline. Candidates that fail, for example for
/// lack of memory, lose.
Winner winner_of(const Race& race, TuneClock::time_point deadline);

}  // namespace xcorr
