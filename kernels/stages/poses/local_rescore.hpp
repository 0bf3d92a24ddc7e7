// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage local_rescore: a level of a frame's pyramid, a template and candidates -> the exact
// scores of the nearest poses of each at the best place nearby. The images are those of the stage
// warp_template; no one keeps them.
#pragma once

#include <cmath>

#include <xcorr/methods.hpp>

#include "stages/common/stage.hpp"
#include "stages/match/contrast.hpp"
#include "stages/poses/pose_steps.hpp"
#include "stages/poses/refined_pose.hpp"

namespace xcorr {

/// Where an image is expected: its size, and twice the coordinates of its centre.
struct RescorePlace {
  std::int32_t width, height;
  std::int32_t twice_x, twice_y;

  /// The upper left corner there.
  XCORR_HD int left() const { return (twice_x - (width - 1)) >> 1; }
  XCORR_HD int top() const { return (twice_y - (height - 1)) >> 1; }
};

struct RescoredPlace {
  double score;
  std::int32_t twice_x, twice_y;  ///< twice the coordinates of the centre
  PoseIndex pose;
  /// 0: it is wholly inside the frame nowhere nearby, or nothing counts, or contrast is missing.
  std::int32_t is_inside;
  std::int32_t unused;
};

namespace stage {

struct LocalRescore {
  static constexpr const char* name = "local_rescore";
  /// How far a place may be from the expected one along each axis, in pixels.
  static constexpr int reach = 2;

  struct Problem {
    Size frame;
    std::int64_t pitch = 0;  ///< bytes
    Method method = Method::ccoeff_normed;
    TemplatePyramid pyramid = {};
    Masking masking = {};  ///< the template's
    PoseSteps steps = {};
    int level = 0;  ///< of the frame, and of the candidates
    Size most;      ///< of all images, see map_of()
    int count = 1;  ///< at most so many candidates
    /// Tried is only the pose that is nearest to where least squares led from the candidate, which
    /// is of level 0. The steps are then PoseGrid::of_scores(), with angles all round from 0 on.
    bool refined = false;
    ContrastRule contrast = {};
    ElementType type = ElementType::u8;
    /// Of the frame, and pyramids of the template, which lie one after the other.
    int planes = 1;
    std::int64_t plane = 0;  ///< bytes from one of the frame to the next
    /// The share of an image's pixels that count which may lie outside the frame; its score is that
    /// of the others. Below 0: all of the image lies inside, also what does not count.
    double overhang = -1;
    /// Of the images, whose template then has one plane, the luma; of the level, or full size.
    WarpEdges edges = {};

    constexpr Features features() const {
      return feature_of(type)
          .with(Feature::planes, planes > 1)
          .with(Feature::mask, bool(masking))
          .with(Feature::contrast, bool(contrast))
          .with(Feature::overhang, overhang >= 0)
          .with(Feature::weights, masking.weighted);
    }
    /// Whether one score is better than another. `minimum`: the best is the smallest.
    XCORR_HD bool better(bool minimum, double score, double other) const {
      return minimum ? score < other
                     : oriented(contrast.polarity, score) > oriented(contrast.polarity, other);
    }
    /// Whether a window may be a match.
    template <class T>
    XCORR_HD bool admits(T n, T sum, T squares) const {
      return admits(n, n * squares - sum * sum);
    }
    /// \param variance  see lacks_contrast()
    template <class T>
    XCORR_HD bool admits(T n, T variance) const {
      return !(contrast.least > 0) || !lacks_contrast(n, variance, planes, contrast.least);
    }
    XCORR_HD int tries() const { return refined ? 1 : steps.neighbours(); }
  };

  struct Buffers : Launch {
    const std::uint8_t* frame = nullptr;   ///< its rows' bytes
    const std::uint8_t* pixels = nullptr;  ///< see WarpTemplate; their bytes
    const std::uint8_t* mask = nullptr;    ///< weights are halved as pixels, but 0 where one is
    const AngleStep* angles = nullptr;
    const std::int32_t* inverse_scales = nullptr;
    const PoseCandidate* candidates = nullptr;
    const std::int32_t* candidate_count = nullptr;
    const PoseRefinement* refinements = nullptr;  ///< of the candidates, if aligned
    /// Of each candidate the tries, in the order of neighbours. Of equal scores the upper place
    /// wins, then the left one.
    RescoredPlace* found = nullptr;
  };

  template <class Visit>
  static void arguments(const Problem& p, Visit visit) {
    visit("frame", &Buffers::frame, matrices(p.type, p.frame, p.pitch, p.plane, p.planes));
    visit("pyramid", &Buffers::pixels,
          p.pyramid.extent(p.type, p.edges.made ? p.edges.sources : p.planes));
    visit("mask_pyramid", &Buffers::mask, p.pyramid.mask_extent(p.masking));
    visit("angles", &Buffers::angles, records<AngleStep>(p.steps.angles));
    visit("inverse_scales", &Buffers::inverse_scales, records<std::int32_t>(p.steps.scales));
    visit("candidates", &Buffers::candidates, records<PoseCandidate>(p.count));
    visit("candidate_count", &Buffers::candidate_count, records<std::int32_t>(1));
    visit("refinements", &Buffers::refinements, records<PoseRefinement>(p.refined ? p.count : 0));
    visit("found", &Buffers::found, records<RescoredPlace>(std::int64_t{p.count} * p.tries()));
  }

  /// A pose to be scored, and twice the coordinates of where its centre is expected.
  struct Try {
    PoseIndex pose;
    std::int32_t twice_x, twice_y;
    bool exists;  ///< the grid has that pose
  };
  XCORR_HD static Try try_of(const Problem& p, const Buffers& b, int candidate, int k) {
    const PoseCandidate& from = b.candidates[candidate];
    Try one{from.pose, from.twice_x, from.twice_y, true};
    if (p.refined)
      settle(p.steps, {b.angles, b.inverse_scales}, b.refinements[candidate].pose, one);
    else if (!p.steps.neighbour(p.level, one.pose, k))
      one.exists = false;
    else if (p.steps.ridge.turns > 0)
      p.steps.follow_ridge(p.level, from.pose, one.pose, {b.angles, b.inverse_scales}, one.twice_x,
                           one.twice_y);
    return one;
  }

  /// Of the image of a try. At the place where least squares led its centre lies within a quarter
  /// of a pixel of that, whatever the size at its angle: a column or a row more, in which nothing
  /// counts, moves it by half a pixel. So the score is that of the place. At full size what sticks
  /// out of the frame by a pixel, as the rectangle round a pose that just fits may, is left out,
  /// and as much on the other side.
  XCORR_HD static WarpMap map_of(const Problem& p, const Buffers& b, const Try& one) {
    WarpMap map = p.steps.map(p.level, one.pose, {b.angles, b.inverse_scales});
    if (p.refined) {
      map.width += (one.twice_x - (map.width - 1)) & 1;
      map.height += (one.twice_y - (map.height - 1)) & 1;
    }
    if (p.level == 0 && p.overhang < 0) {
      const RescorePlace place{map.width, map.height, one.twice_x, one.twice_y};
      const int farthest = p.refined ? 0 : reach;  // where least squares led is where it is
      if (may_stick_out(place.left(), map.width, p.frame.width, farthest)) map.width -= 2;
      if (may_stick_out(place.top(), map.height, p.frame.height, farthest)) map.height -= 2;
    }
    return map;
  }
  /// Of the largest one, where PoseSteps has no larger image than that.
  static constexpr Size most_of(Size most, bool refined) {
    return {most.width + refined, most.height + refined};
  }

 private:
  /// By a pixel, so far from the expected place at most.
  XCORR_HD static bool may_stick_out(int from, int length, int frame, int farthest) {
    const int to = from + length;
    return length > 2 && from + farthest >= -1 && to - farthest <= frame + 1 &&
           (from < farthest || to > frame - farthest);
  }
  /// Makes a try of the pose and the place nearest to the refined ones.
  XCORR_HD static void settle(const PoseSteps& steps, const PoseTables& tables,
                              const RefinedPose& refined, Try& one) {
    one.pose = {};
    one.twice_x = static_cast<std::int32_t>(floor(2 * refined.x + 0.5));
    one.twice_y = static_cast<std::int32_t>(floor(2 * refined.y + 0.5));
    if (steps.turns) {
      const double turned = floor(atan2(refined.sine, refined.cosine) / steps.angle_step + 0.5);
      one.pose.angle = clamped(turned < 0 ? turned + steps.angles : turned, steps.angles);
    }
    if (steps.grows) {
      const double grown = log(refined.scale * tables.inverse_scales[0] / (1 << 24));
      one.pose.scale = clamped(floor(grown / steps.scale_step + 0.5), steps.scales);
    }
  }
  XCORR_HD static std::int32_t clamped(double i, std::int32_t count) {
    return i < 0 ? 0 : i < count ? static_cast<std::int32_t>(i) : count - 1;
  }
};

}  // namespace stage
}  // namespace xcorr
