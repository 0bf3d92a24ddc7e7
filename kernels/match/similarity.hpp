// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The scale of thresholds: how close a score is to that of a copy, whatever the method.
#pragma once

#include <cmath>

#include "stages/match/score.hpp"

namespace xcorr {

/// Converts scores to similarity: the highest threshold (see MatchSettings) that they reach, which
/// alone decides whether they do, so that a similarity that was read and set keeps its peak. A copy
/// has exactly 1. score_limit() is linear in the threshold.
class Similarity {
 public:
  Similarity(Method method, double n, const TemplateSums& right)
      : origin_(score_limit(method, 0, n, right)),
        unit_(score_limit(method, 1, n, right) - origin_),
        only_copies_(info(method).minimum && unit_ == 0) {}

  double of(double score) const {
    if (only_copies_) return score > 0 ? 0 : 1;
    return can_match() ? (score - origin_) / unit_ : 0;
  }
  bool reaches(double score, double threshold) const {
    return (can_match() || only_copies_) && of(score) >= threshold;
  }

 private:
  double origin_, unit_;
  bool only_copies_;  ///< of a black template, which sqdiff compares with nothing larger than 0

  bool can_match() const { return std::isfinite(unit_) && unit_ != 0; }
};

}  // namespace xcorr
