// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The angles and scales that are searched at each level of a pyramid, as kernels see them. A level
// has twice as many as the one above, and all of that one's among them. All in integers, so that
// every backend makes the same images.
#pragma once

#include "stages/poses/warp_template.hpp"

namespace xcorr {

/// An angle and a scale of a level, by their positions in its grid.
struct PoseIndex {
  std::int32_t angle = 0, scale = 0;
  bool operator==(const PoseIndex&) const = default;
};

/// An angle, as 2^30 times its cosine and its sine.
struct AngleStep {
  std::int32_t cosine, sine;
};

/// Poses at which a template looks almost the same, farther away than a step: turned about a point
/// that is not its centre. What shows little but arcs round a point has such.
struct PoseRidge {
  std::int32_t turns = 0;     ///< steps of a level, either way; 0: there is none
  std::int32_t u = 0, v = 0;  ///< the point, from the template's centre, in 2^-8 of its pixels

  /// Poses farther than those next to one.
  XCORR_HD int tries() const { return turns > 1 ? 2 * (turns - 1) : 0; }
  /// By how many steps the k-th of them is turned.
  XCORR_HD int turn(int k) const { return k % 2 ? -(k / 2 + 2) : k / 2 + 2; }
};

/// Those of level 0, in device memory.
struct PoseTables {
  const AngleStep* angles = nullptr;
  /// Pixels of the template for one of the frame at full size, in 2^-24.
  const std::int32_t* inverse_scales = nullptr;
};

struct PoseSteps {
  std::int32_t angles = 1, scales = 1;    ///< of level 0, in its tables
  double angle_step = 0, scale_step = 0;  ///< of that level: radians, and the log of a ratio
  bool turns = false, grows = false;      ///< several angles, several scales
  bool circle = false;                    ///< the last angle is next to the first
  bool round = false;                     ///< what counts is a disc: images of one size
  Size extent;                            ///< of what counts, in pixels of the template
  std::int32_t diameter = 0;              ///< of the circle that holds it; 0: not known
  std::int32_t halvings = 0;              ///< of the template, from which images are made
  PoseRidge ridge = {};                   ///< which poses are neighbours besides those next to one

  XCORR_HD int angles_of(int level) const {
    return circle ? angles >> level : ((angles - 1) >> level) + 1;
  }
  XCORR_HD int scales_of(int level) const { return ((scales - 1) >> level) + 1; }

  /// How many poses are a pose, those next to it, and those along its ridge.
  XCORR_HD int neighbours() const { return adjacent() + ridge.tries(); }
  /// The k-th of them; false where the grid ends.
  XCORR_HD bool neighbour(int level, PoseIndex& pose, int k) const {
    const bool along = k >= adjacent();
    if (turns) {
      const int all = angles_of(level);
      pose.angle += along ? ridge.turn(k - adjacent()) : k % 3 - 1;
      if (circle) pose.angle = (pose.angle + all) % all;
      if (pose.angle < 0 || pose.angle >= all) return false;
      k /= 3;
    }
    if (grows && !along) pose.scale += k - 1;
    return pose.scale >= 0 && pose.scale < scales_of(level);
  }
  /// Adds to twice the coordinates of the centre at a pose what moves it when the template is
  /// turned to another angle about the point of the ridge.
  XCORR_HD void follow_ridge(int level, PoseIndex from, PoseIndex to, const PoseTables& tables,
                             std::int32_t& twice_x, std::int32_t& twice_y) const {
    const AngleStep a = tables.angles[from.angle << level], b = tables.angles[to.angle << level];
    const std::int64_t cosine = std::int64_t{a.cosine} - b.cosine,
                       sine = std::int64_t{a.sine} - b.sine;
    const std::int64_t pixel = pixel_of(level, to.scale, tables);
    twice_x += twice_pixels(cosine * ridge.u + sine * ridge.v, pixel);
    twice_y += twice_pixels(cosine * ridge.v - sine * ridge.u, pixel);
  }
  /// Whether no more than so many steps of the level are between them.
  XCORR_HD bool adjoin(int level, PoseIndex a, PoseIndex b, int turns, int sizes) const {
    const auto distance = [](int x, int y) { return x < y ? y - x : x - y; };
    const int turned = distance(a.angle, b.angle), rest = angles_of(level) - turned;
    return (circle && rest < turned ? rest : turned) <= turns &&
           distance(a.scale, b.scale) <= sizes;
  }
  /// The same pose one level down.
  XCORR_HD static PoseIndex below(PoseIndex pose) { return {2 * pose.angle, 2 * pose.scale}; }

  XCORR_HD WarpMap map(int level, PoseIndex pose, const PoseTables& tables) const {
    const AngleStep angle = tables.angles[pose.angle << level];
    const std::int64_t pixel = pixel_of(level, pose.scale, tables);
    WarpMap map{};
    const std::int64_t c = round ? one : angle.cosine < 0 ? -angle.cosine : angle.cosine;
    const std::int64_t s = round ? 0 : angle.sine < 0 ? -angle.sine : angle.sine;
    map.width = pixels_in(within_circle(c * extent.width + s * extent.height), pixel);
    map.height = pixels_in(within_circle(s * extent.width + c * extent.height), pixel);
    set_way(map, pixel, angle, halvings);
    return map;
  }
  /// Gives a map the way from an image at that angle to a template that can be halved so often.
  /// \param pixel  what one of the image covers of the template, in 2^-24 of its pixels
  XCORR_HD static void set_way(WarpMap& map, std::int64_t pixel, AngleStep angle, int halvings) {
    for (; map.level < halvings && pixel >= 2 << 24; pixel >>= 1) ++map.level;
    // Samples no more than about a pixel apart (2^0.4), so that none is passed over; where a pixel
    // covers very many, some hundred are a good sample.
    constexpr std::int64_t farthest = 22137669;
    while (map.log2_samples < most_log2_samples && pixel > (farthest << map.log2_samples))
      ++map.log2_samples;
    const std::int64_t half_sample =
        (pixel + (std::int64_t{1} << map.log2_samples)) >> (map.log2_samples + 1);
    map.u_by_x = map.v_by_y = share_of(half_sample, angle.cosine);
    map.v_by_x = share_of(half_sample, angle.sine);
    map.u_by_y = -map.v_by_x;
  }
  /// No image of a level is larger.
  Size most(int level, const PoseTables& tables) const {
    const std::int64_t pixel = pixel_of(level, scales_of(level) - 1, tables);
    if (round) return {pixels_in(extent.width * one, pixel), pixels_in(extent.height * one, pixel)};
    if (!turns) {  // at its one angle
      const WarpMap only = map(level, {0, scales_of(level) - 1}, tables);
      return {only.width, only.height};
    }
    const double diagonal =
        sqrt(double(extent.width) * extent.width + double(extent.height) * extent.height);
    const std::int64_t most = static_cast<std::int64_t>(diagonal * double(one)) + one;
    const int side = pixels_in(within_circle(most), pixel);
    return {side, side};
  }

 private:
  /// A pose and those next to it.
  XCORR_HD int adjacent() const { return (turns ? 3 : 1) * (grows ? 3 : 1); }
  /// Twice the pixels that a length is, in 2^-38 pixels of the template.
  XCORR_HD static std::int32_t twice_pixels(std::int64_t length, std::int64_t pixel) {
    const std::int64_t of_level = ((length >> 20) << 25) / pixel;  // in 2^-18
    return static_cast<std::int32_t>((of_level + (1 << 17)) >> 18);
  }

  static constexpr std::int64_t one = std::int64_t{1} << 30;
  /// A length across an image, in 2^-30 pixels of the template: nothing outside of the circle
  /// counts, whatever the rectangle is at an angle.
  XCORR_HD std::int64_t within_circle(std::int64_t length) const {
    const std::int64_t across = diameter * one;
    return diameter > 0 && across < length ? across : length;
  }

  static constexpr int most_log2_samples = 4;
  static_assert(most_log2_samples <= WarpMap::max_log2_samples);

  /// What a pixel of the level covers of the template, in 2^-24 of its pixels.
  XCORR_HD static std::int64_t pixel_of(int level, int scale, const PoseTables& tables) {
    return std::int64_t{tables.inverse_scales[scale << level]} << level;
  }
  XCORR_HD static std::int32_t share_of(std::int64_t length, std::int32_t part) {
    return static_cast<std::int32_t>((length * part + (1 << 29)) >> 30);
  }
  /// The pixels that a length covers, in 2^-30 pixels of the template; a millionth does not count.
  XCORR_HD static std::int32_t pixels_in(std::int64_t length, std::int64_t pixel) {
    const std::int64_t unit = pixel << 6;
    // Of numbers below 2^53 the quotient rounds to an integer only where it is one.
    const double covered = double(length - (unit >> 20) + unit - 1) / double(unit);
    return covered < 1 ? 1 : static_cast<std::int32_t>(covered);
  }
};

/// Where a template may be.
struct PoseCandidate {
  double similarity, score;
  std::int32_t twice_x, twice_y;  ///< twice the coordinates of the centre
  PoseIndex pose;                 ///< of the level
};

}  // namespace xcorr
