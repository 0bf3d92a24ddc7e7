// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Poses between those of the search grid on edges, on the host: each point of the template's edges
// is sought in the frame across its edge, where the gradient is longest, and the pose follows from
// these distances by least squares. What is hidden or lit otherwise has no part in it.
#pragma once

#include <cstdint>
#include <vector>

#include "stages/image/edges.hpp"
#include "stages/poses/pose_refine_system.hpp"
#include "stages/poses/refined_pose.hpp"

namespace xcorr {

/// Bytes of luma, or of the planes of which a pixel has the longest gradient.
struct EdgeFrame {
  const std::uint8_t* rows;
  std::int64_t pitch;
  Size size;
  int planes = 1;
  std::int64_t plane = 0;
};

/// Where the edges of a template are, to a part of a pixel.
class EdgePoints {
 public:
  struct Point {
    float u, v;          ///< from the template's centre
    float across, down;  ///< the direction of its gradient, of length 1
  };

  EdgePoints() = default;
  /// \param counts  dense; edges are those of pixels that count
  EdgePoints(const EdgeFrame& picture, const std::uint8_t* counts, const EdgeRule& rule);

  const std::vector<Point>& points() const { return points_; }
  const EdgeRule& rule() const { return rule_; }
  int planes() const { return planes_; }
  /// Of the template, in its pixels.
  double radius() const { return radius_; }

 private:
  std::vector<Point> points_;
  EdgeRule rule_;
  int planes_ = 1;  ///< of the pictures
  double radius_ = 0;
};

/// \param start  of scale 0: none
PoseRefinement refined_on_edges(const EdgePoints& edges, const EdgeFrame& frame,
                                const RefinedPose& start, const PoseRefineFreedom& freedom);

}  // namespace xcorr
