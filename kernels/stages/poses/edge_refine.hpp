// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage edge_refine: poses near the true ones -> the poses between those of the search grid at
// which the frame's edges fit the template's best. Each point of the template's edges is sought in
// the frame across its edge, where the gradient is longest, and the pose follows from these
// distances by least squares. What is hidden or lit otherwise has no part in it.
#pragma once

#include "stages/common/least_squares.hpp"
#include "stages/common/stage.hpp"
#include "stages/image/edges.hpp"
#include "stages/poses/pose_refine_system.hpp"
#include "stages/poses/refined_pose.hpp"

namespace xcorr {

/// Of an edge of a template.
struct EdgePoint {
  float u, v;          ///< from the template's centre
  float across, down;  ///< the direction of its gradient, of length 1
};

/// A gradient, in edge_unit.
struct EdgeVector {
  float x, y;

  XCORR_HD float dot(const EdgeVector& other) const { return x * other.x + y * other.y; }
};

/// The longest of the gradients of a pixel's planes.
struct LongestGradient {
  int x = 0, y = 0, square = -1;

  XCORR_HD void take(int across, int down) {
    const int other = across * across + down * down;
    if (!takes_over(other, square)) return;
    x = across;
    y = down;
    square = other;
  }
  XCORR_HD EdgeVector vector() const { return {static_cast<float>(x), static_cast<float>(y)}; }
};

/// How far across a template's edge that of a frame is sought at most, in pixels.
inline constexpr int most_edge_reach = 2;

/// The gradients of a part of an image between pixels, from those of its pixels.
/// \tparam At  the gradient at (x, y) of the part
template <class At>
class EdgeGradients {
 public:
  XCORR_HD EdgeGradients(const Rect& part, At at) : part_(part), at_(at) {}

  /// How far across an edge it is, to either side up to `reach` pixels, most_edge_reach at most:
  /// where the gradient along `normal` is longest. False: that is no edge of the same direction, or
  /// outside.
  XCORR_HD bool edge_across(float x, float y, const EdgeVector& normal, int reach,
                            const EdgeRule& rule, float& distance) const {
    // The cosine of the angle between two gradients of one edge.
    constexpr float least_cosine = 0.8F;
    constexpr int most = 2 * most_edge_reach + 3;
    const int count = 2 * reach + 3;
    const auto step = [&](int i) { return static_cast<float>(i - reach - 1); };
    const auto at = [&](float s) { return EdgeVector{x + s * normal.x, y + s * normal.y}; };
    // A straight line is inside where its ends are.
    if (!inside(at(step(0))) || !inside(at(step(count - 1)))) return false;
    // Without branches, so that a GPU reads all of them at once.
    float lengths[most];
    XCORR_UNROLL
    for (int i = 0; i < most; ++i) {
      const float length = between(at(step(i < count ? i : 0))).dot(normal);
      lengths[i] = rule.doubled ? fabsf(length) : rule.inverted ? -length : length;
    }
    int best = 1;
    float before = lengths[0], top = lengths[1], after = lengths[2];  // round the longest
    XCORR_UNROLL
    for (int i = 2; i + 1 < most; ++i) {
      if (i + 1 >= count || !(lengths[i] > top)) continue;
      best = i;
      before = lengths[i - 1];
      top = lengths[i];
      after = lengths[i + 1];
    }
    if (!(top >= before && top >= after && top > 0)) return false;
    const float bend = before - 2 * top + after;
    float part = bend < 0 ? 0.5F * (before - after) / bend : 0;
    part = part < -0.5F ? -0.5F : part > 0.5F ? 0.5F : part;
    const float s = step(best) + part;
    const EdgeVector here = between(at(s));
    const float square = here.dot(here), length = here.dot(normal);
    if (square < static_cast<float>(rule.least) ||
        length * length < least_cosine * least_cosine * square)
      return false;
    distance = s;
    return true;
  }

 private:
  /// Not so where a coordinate is not a number.
  XCORR_HD bool inside(const EdgeVector& place) const {
    const float u = place.x - static_cast<float>(part_.x),
                v = place.y - static_cast<float>(part_.y);
    return u >= 0 && v >= 0 && u < static_cast<float>(part_.width - 1) &&
           v < static_cast<float>(part_.height - 1);
  }
  /// The gradient at a place inside.
  XCORR_HD EdgeVector between(const EdgeVector& place) const {
    const float x = place.x - static_cast<float>(part_.x),
                y = place.y - static_cast<float>(part_.y);
    const int left = static_cast<int>(x), top = static_cast<int>(y);
    const float u = x - static_cast<float>(left), v = y - static_cast<float>(top);
    const auto mixed = [](const EdgeVector& a, const EdgeVector& b, float share) {
      return EdgeVector{a.x + share * (b.x - a.x), a.y + share * (b.y - a.y)};
    };
    return mixed(mixed(at_(left, top), at_(left + 1, top), u),
                 mixed(at_(left, top + 1), at_(left + 1, top + 1), u), v);
  }

  Rect part_;
  At at_;
};

/// Sums of the equations  row . (place, angle, size) = distance.
/// In this order: the lower half of their matrix, the right side, how many equations there are.
struct EdgeEquations : PoseRefineSums<double, 4 * (4 + 1) / 2 + 4 + 1> {
  static constexpr int unknowns = 4;

  XCORR_HD void add(const double (&row)[unknowns], double distance, double weight) {
    int k = 0;
    XCORR_UNROLL
    for (int i = 0; i < unknowns; ++i) {
      XCORR_UNROLL
      for (int j = 0; j <= i; ++j) of[k++] += weight * row[i] * row[j];
    }
    XCORR_UNROLL
    for (int i = 0; i < unknowns; ++i) of[k++] += weight * row[i] * distance;
    of[k] += 1;
  }
  XCORR_HD double found() const { return of[count - 1]; }
  /// Damped, the matrix is positive definite, and single precision, of which a GPU has more, loses
  /// no more than a thousandth of a step, of which the last ones are small.
  XCORR_HD void solve(const PoseRefineFreedom& freedom, float (&solution)[unknowns]) const {
    // In directions in which edges say nothing a pose stays, by that share of what they may say.
    constexpr float damping = 1e-3F;
    float lower[unknowns][unknowns] = {}, most = 0;
    int k = 0;
    XCORR_UNROLL
    for (int i = 0; i < unknowns; ++i) {
      XCORR_UNROLL
      for (int j = 0; j <= i; ++j, ++k) {
        const auto sum = static_cast<float>(of[k]);
        if (i == j && sum > most) most = sum;
        if (freedom.is_free(i) && freedom.is_free(j)) lower[i][j] = sum;
      }
    }
    XCORR_UNROLL
    for (int i = 0; i < unknowns; ++i, ++k) {
      lower[i][i] += freedom.is_free(i) ? damping * most : 1;
      solution[i] = freedom.is_free(i) ? static_cast<float>(of[k]) : 0;
    }
    solve_least_squares(lower, solution);
  }
};

/// Each step seeks the frame's edge so far across the template's, in pixels; an edge has no weight
/// from `none` on: what is farther away is more likely another edge.
struct EdgeRefineStep {
  int reach;
  double by_none;  ///< 1 by that

  XCORR_HD constexpr EdgeRefineStep(int reach, double none) : reach(reach), by_none(1 / none) {}
};

/// From a template's points to the frame's edges at a pose.
class EdgeRefineMap {
 public:
  EdgeRefineMap() = default;
  /// \param by_radius  1 by the template's, in the frame's pixels
  XCORR_HD EdgeRefineMap(const RefinedPose& pose, double by_radius)
      : pose_(pose),
        across_(pose.scale * pose.cosine),
        down_(pose.scale * pose.sine),
        by_radius_(by_radius) {}

  /// Adds what a point says, if it is found in the frame.
  template <class Gradients>
  XCORR_HD void add(const EdgePoint& point, const Gradients& gradients, const EdgeRefineStep& step,
                    const EdgeRule& rule, EdgeEquations& sums) const {
    const double x = across_ * point.u + down_ * point.v, y = across_ * point.v - down_ * point.u;
    const double normal_x = pose_.cosine * point.across + pose_.sine * point.down,
                 normal_y = pose_.cosine * point.down - pose_.sine * point.across;
    float distance;
    if (!gradients.edge_across(static_cast<float>(pose_.x + x), static_cast<float>(pose_.y + y),
                               {static_cast<float>(normal_x), static_cast<float>(normal_y)},
                               step.reach, rule, distance))
      return;
    const double share = distance * step.by_none, square = 1 - share * share,
                 rest = square > 0 ? square : 0;  // Tukey's
    sums.add({normal_x, normal_y, (normal_x * y - normal_y * x) * by_radius_,
              (normal_x * x + normal_y * y) * by_radius_},
             distance, rest * rest);
  }

 private:
  RefinedPose pose_;
  double across_, down_;  ///< of a template's pixel
  double by_radius_;
};

/// The steps of one pose.
class EdgeRefineSteps {
 public:
  static constexpr int count = 6;

  XCORR_HD static EdgeRefineStep step(int i) {
    return i == 0   ? EdgeRefineStep{most_edge_reach, 3}
           : i == 1 ? EdgeRefineStep{most_edge_reach, 2.5}
           : i == 2 ? EdgeRefineStep{1, 2}
           : i == 3 ? EdgeRefineStep{1, 1}
                    : EdgeRefineStep{1, 0.7};
  }

  /// \param radius  of the template, in its pixels
  XCORR_HD EdgeRefineSteps(const RefinedPose& start, double radius)
      : start_(start), pose_(start), radius_(radius * start.scale), by_radius_(1 / radius_) {}

  XCORR_HD EdgeRefineMap map() const { return {pose_, by_radius_}; }

  /// The part of the frame that steps from there may read. `farthest`: point of the template.
  XCORR_HD static Rect around(const RefinedPose& start, double farthest) {
    constexpr double rest = 2;  // what a gradient is mixed of
    const double reach =
        farthest * start.scale + farthest_place + farthest_turn + most_edge_reach + rest;
    const auto whole = [](double value) {
      return static_cast<int>(floor(value < -1e6 ? -1e6 : value > 1e6 ? 1e6 : value));
    };
    const int side = 2 * whole(reach) + 2;
    return {whole(start.x - reach), whole(start.y - reach), side, side};
  }

  /// Takes the sums of map(); false: they lead away, or too few edges are found.
  XCORR_HD bool take(const EdgeEquations& sums, double least_found,
                     const PoseRefineFreedom& freedom) {
    is_refined_ = sums.found() >= least_found;
    if (!is_refined_) return false;
    float moved[EdgeEquations::unknowns];
    sums.solve(freedom, moved);
    const double growth = moved[3] * by_radius_;
    pose_.x += moved[0];
    pose_.y += moved[1];
    pose_.turn(moved[2] * by_radius_);
    pose_.scale *= 1 + (growth < -0.1 ? -0.1 : growth > 0.1 ? 0.1 : growth);
    is_refined_ = fabs(pose_.x - start_.x) <= farthest_place &&
                  fabs(pose_.y - start_.y) <= farthest_place && fabs(moved[2]) <= farthest_turn &&
                  pose_.turned_from(start_) * radius_ <= farthest_turn &&
                  fabs(pose_.scale - start_.scale) * radius_ <= farthest_turn * start_.scale;
    return is_refined_;
  }
  XCORR_HD PoseRefinement result() const { return {is_refined_ ? pose_ : start_, is_refined_}; }

 private:
  /// How far a place may be from where it began, and what is at the radius be moved: as those of
  /// PoseRefineSteps.
  static constexpr double farthest_place = 2, farthest_turn = 3;

  RefinedPose start_, pose_;
  double radius_, by_radius_;  ///< of the template where it begins, in the frame's pixels
  bool is_refined_ = false;
};

namespace stage {

struct EdgeRefine {
  static constexpr const char* name = "edge_refine";

  struct Problem {
    Size frame;
    std::int64_t pitch = 0;  ///< bytes
    int planes = 1;          ///< of which a pixel has the longest gradient
    std::int64_t plane = 0;  ///< bytes from one to the next
    EdgeRule rule = {};      ///< of the frame
    PoseRefineFreedom freedom = {};
    double radius = 1;       ///< of the template, in its pixels
    double farthest = 0;     ///< of its points from its centre
    double least_found = 0;  ///< points that must be found
    int points = 0;
    int count = 1;  ///< of poses

    constexpr Features features() const {
      return Features(Feature::u8).with(Feature::planes, planes > 1);
    }
    /// The gradient of a pixel; past the frame its outermost pixels go on.
    XCORR_HD EdgeVector gradient(const std::uint8_t* image, int x, int y) const {
      const auto inside = [](int i, int length) { return i < 0 ? 0 : i < length ? i : length - 1; };
      LongestGradient longest;
      for (int i = 0; i < planes; ++i, image += plane) {
        const auto at = [&](int u, int v) -> int {
          return image[inside(y + v - gradient_radius, frame.height) * pitch +
                       inside(x + u - gradient_radius, frame.width)];
        };
        const auto column = [&](int u) { return [&at, u](int v) { return at(u, v); }; };
        longest.take(edge_slope([&](int u) { return edge_smooth(column(u)); }),
                     edge_smooth([&](int u) { return edge_slope(column(u)); }));
      }
      return longest.vector();
    }
  };

  struct Buffers : Launch {
    const std::uint8_t* frame = nullptr;
    const EdgePoint* points = nullptr;
    const RefinedPose* starts = nullptr;  ///< of scale 0: none, and all 0 comes out
    PoseRefinement* refinements = nullptr;
  };

  template <class Visit>
  static void arguments(const Problem& p, Visit visit) {
    visit("frame", &Buffers::frame, matrices(ElementType::u8, p.frame, p.pitch, p.plane, p.planes));
    visit("edge_points", &Buffers::points, records<EdgePoint>(p.points));
    visit("starts", &Buffers::starts, records<RefinedPose>(p.count));
    visit("refinements", &Buffers::refinements, records<PoseRefinement>(p.count));
  }
};

}  // namespace stage
}  // namespace xcorr
