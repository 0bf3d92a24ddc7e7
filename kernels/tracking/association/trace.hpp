// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Something that looks like the template, from frame to frame: where it is expected, and the
// association score of a peak as its next detection.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <xcorr/match.hpp>

#include "tracking/association/motion.hpp"

namespace xcorr::follow {

/// Frames are numbered; those that are not analysed may be left out.
struct Trace {
  Trace() = default;
  Trace(const Peak& seen, std::uint64_t frame);

  /// The upper left corner, if its bounds are as large as at the last detection. What turns is
  /// followed by its middle.
  Point expected(std::uint64_t frame) const;
  /// From there, the larger of the distances in x and y, pixels.
  double distance(const Peak& seen, std::uint64_t frame) const;
  /// The standard deviation of that place.
  double position_sigma(std::uint64_t frame) const;
  /// How far from there it is sought, at least `margin`.
  double reach(std::uint64_t frame, int margin) const;

  /// What something of this similarity, so far from the expected place, is worth as its next
  /// detection: the similarity, less 0.3 ln (1 + far / position_sigma). Things do jump, so the
  /// logarithm.
  double association_score(double similarity, double far, std::uint64_t frame) const;

  void see(const Peak& seen, std::uint64_t frame);
  /// A detection that is not sure enough to count: it only bends the expectation.
  void glimpse(const Peak& seen, std::uint64_t frame, double sure);

  /// Similarity means something else from now on.
  void forget_similarity();

  Peak peak{};  ///< the last detection
  Motion motion;
  std::uint64_t seen_at = 0;  ///< the frame of the last detection or glimpse
  int detections = 1;
  int missed = 0;         ///< analysed frames since the last detection
  double usual = 0;       ///< the mean similarity of the last detections
  int counted = 1;        ///< detections in that mean
  double sure = 0;        ///< confidence() of the last detection
  bool anywhere = false;  ///< may have moved any distance since
};

}  // namespace xcorr::follow
