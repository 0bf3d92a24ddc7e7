// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Something that looks like the template, from frame to frame: where it is expected, and what a
// peak is worth as its next sight.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <xcorr/match.hpp>

#include "follow/motion.hpp"

namespace xcorr::follow {

/// Frames are numbered; those that are not analysed may be left out.
struct Trace {
  Trace() = default;
  Trace(const Peak& seen, std::uint64_t frame);

  /// The upper left corner, if its bounds are as large as at the last sight. What turns is followed
  /// by its middle.
  Point expected(std::uint64_t frame) const;
  /// From there, the larger of the distances in x and y, pixels.
  double distance(const Peak& seen, std::uint64_t frame) const;
  /// The standard deviation of that place.
  double spread(std::uint64_t frame) const;
  /// How far from there it is sought, at least `margin`.
  double reach(std::uint64_t frame, int margin) const;

  /// What something of this closeness, so far from the expected place, is worth as its next sight:
  /// the closeness, less 0.3 ln (1 + far / spread). Things do jump, so the logarithm.
  double worth(double closeness, double far, std::uint64_t frame) const;

  void see(const Peak& seen, std::uint64_t frame);
  /// A sight that is not sure enough to count: it only bends the expectation.
  void glimpse(const Peak& seen, std::uint64_t frame, double sure);

  /// Closeness means something else from now on.
  void forget_closeness();

  Peak peak{};  ///< the last sight
  Motion motion;
  std::uint64_t seen_at = 0;  ///< the frame of the last sight or glimpse
  int sights = 1;
  int missed = 0;         ///< analysed frames since the last sight
  double usual = 0;       ///< the mean closeness of the last sights
  double sure = 0;        ///< confidence() of the last sight
  bool anywhere = false;  ///< may have moved any distance since
};

}  // namespace xcorr::follow
