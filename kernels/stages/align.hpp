// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage align: poses near the right ones -> the poses at which the frame fits the template best
// in the sense of least squares, but for brightness and contrast: Gauss-Newton steps over the
// place, and where asked for the angle and the scale, of
//   frame(pose(p)) = gain * template(p) + offset   for the pixels p of the template that count.
// Both are smoothed by the cubic B-spline.
#pragma once

#include <cmath>

#include "stages/contrast.hpp"
#include "stages/rows.hpp"
#include "stages/stage.hpp"

namespace xcorr {

/// Of a template in a frame.
struct AlignedPose {
  double x, y;          ///< its centre, in pixels of the frame; centres of pixels are whole
  double cosine, sine;  ///< of its angle, counter-clockwise as seen
  double scale;
};

struct Alignment {
  AlignedPose pose;
  std::int32_t is_aligned;  ///< 0: the steps led away or to a much worse fit; the pose is as it was
};

/// The cubic B-spline's weights of four pixels, `f` of the way from the second to the third.
template <class T>
struct SplineWeights {
  T of[4];

  XCORR_HD explicit SplineWeights(T f) {
    const T g = 1 - f;
    constexpr T sixth = T(1) / 6;
    of[0] = g * g * g * sixth;
    of[1] = (3 * f * f * f - 6 * f * f + 4) * sixth;
    of[2] = (3 * g * g * g - 6 * g * g + 4) * sixth;
    of[3] = f * f * f * sixth;
  }
};

/// The way from a template to the frame at a pose, in single precision, which suffices from a whole
/// pixel near the pose's place on.
class AlignMap {
 public:
  AlignMap() = default;
  /// \param radius  a distance at which turning and scaling are measured, in pixels of the frame
  XCORR_HD AlignMap(const AlignedPose& pose, double radius)
      : left_(whole(pose.x)),
        top_(whole(pose.y)),
        x_(static_cast<float>(pose.x - left_)),
        y_(static_cast<float>(pose.y - top_)),
        across_(static_cast<float>(pose.scale * pose.cosine)),
        down_(static_cast<float>(pose.scale * pose.sine)),
        by_across_(static_cast<float>(pose.cosine / pose.scale)),
        by_down_(static_cast<float>(pose.sine / pose.scale)),
        per_radius_(static_cast<float>(1 / radius)) {}

  /// How far the place (u, v) from the template's centre lies from the pose's.
  XCORR_HD float dx(float u, float v) const { return across_ * u + down_ * v; }
  XCORR_HD float dy(float u, float v) const { return across_ * v - down_ * u; }
  /// Slopes of the template along the frame's axes.
  XCORR_HD float by_x(float by_u, float by_v) const { return by_across_ * by_u + by_down_ * by_v; }
  XCORR_HD float by_y(float by_u, float by_v) const { return by_across_ * by_v - by_down_ * by_u; }
  XCORR_HD float per_radius() const { return per_radius_; }

  /// The smoothed frame so far from the pose's place. What lies outside is as the nearest pixel.
  template <class Pixel>
  XCORR_HD float smoothed_at(const Pixel* frame, std::int64_t pitch, Size size, float dx,
                             float dy) const {
    const float x = x_ + dx, y = y_ + dy, whole_x = floorf(x), whole_y = floorf(y);
    const int left = left_ + static_cast<int>(whole_x), top = top_ + static_cast<int>(whole_y);
    const SplineWeights<float> across(x - whole_x), down(y - whole_y);
    if (left >= 1 && top >= 1 && left + 2 < size.width && top + 2 < size.height) {
      const Pixel* first = row_of<Pixel>(frame, pitch, top - 1) + left - 1;
      return weighed(across, down,
                     [&](int i, int j) { return float(row_of<Pixel>(first, pitch, j)[i]); });
    }
    const auto clamped = [](int i, int length) { return i < 0 ? 0 : i < length ? i : length - 1; };
    return weighed(across, down, [&](int i, int j) {
      return float(row_of<Pixel>(
          frame, pitch, clamped(top - 1 + j, size.height))[clamped(left - 1 + i, size.width)]);
    });
  }

 private:
  template <class At>
  XCORR_HD static float weighed(const SplineWeights<float>& across,
                                const SplineWeights<float>& down, At at) {
    float value = 0;
    XCORR_UNROLL
    for (int j = 0; j < 4; ++j) {
      float in_row = 0;
      XCORR_UNROLL
      for (int i = 0; i < 4; ++i) in_row += across.of[i] * at(i, j);
      value += down.of[j] * in_row;
    }
    return value;
  }
  /// Far outside nothing is different, and whole numbers end.
  XCORR_HD static int whole(double x) {
    constexpr int farthest = 1 << 24;
    return static_cast<int>(floor(x < -farthest ? -farthest : x > farthest ? farthest : x));
  }

  int left_, top_;
  float x_, y_, across_, down_, by_across_, by_down_, per_radius_;
};

/// A pixel of the smoothed template, and its slopes: 36 times the one and 12 times the others, of
/// whole numbers in whole numbers. The frame's own slopes would not do: their noise makes the steps
/// too short where the template has little contrast.
template <class Value>
struct SplinePixelOf {
  static constexpr int value_unit = 36, slope_unit = 12;
  Value value = 0, by_u = 0, by_v = 0;

  /// \param pixel  of the template, with neighbours on all sides
  /// \param pitch  from row to row, in pixels
  template <class Pixel>
  XCORR_HD SplinePixelOf(const Pixel* pixel, std::int64_t pitch) {
    const int weights[] = {1, 4, 1}, slopes[] = {-1, 0, 1};
    XCORR_UNROLL
    for (int j = 0; j < 3; ++j) {
      XCORR_UNROLL
      for (int i = 0; i < 3; ++i) {
        const Value neighbour = pixel[(j - 1) * pitch + i - 1];
        value += weights[i] * weights[j] * neighbour;
        by_u += slopes[i] * weights[j] * neighbour;
        by_v += weights[i] * slopes[j] * neighbour;
      }
    }
  }
};

using SplinePixel = SplinePixelOf<std::int32_t>;

/// The same in gray levels.
struct SmoothedPixel {
  float value = 0, by_u = 0, by_v = 0;

  SmoothedPixel() = default;
  template <class Value>
  XCORR_HD explicit SmoothedPixel(const SplinePixelOf<Value>& pixel)
      : value(float(pixel.value) / SplinePixel::value_unit),
        by_u(float(pixel.by_u) / SplinePixel::slope_unit),
        by_v(float(pixel.by_v) / SplinePixel::slope_unit) {}
};

/// Of the template's pixel at `pixel`, which has neighbours on all sides.
template <class Pixel>
XCORR_HD SmoothedPixel smoothed_pixel(const Pixel* pixel, std::int64_t pitch) {
  using Value = std::conditional_t<std::is_floating_point_v<Pixel>, float, std::int32_t>;
  return SmoothedPixel(SplinePixelOf<Value>(pixel, pitch));
}

/// Pixels nearer to the template's rim, or to its mask's, take no part: the background shows
/// through where smoothing reaches past the rim.
inline constexpr int align_inset = 2;

/// Solves the normal equations of a least-squares problem, `lower` being the lower half of their
/// matrix, which is overwritten, and `solution` their right side. False where there is no solution.
/// All loops have known ends: the arrays then stay in a kernel's registers. `lost`: what may be
/// left of a pivot by rounding.
template <int n>
XCORR_HD bool solve_least_squares(double (&lower)[n][n], double (&solution)[n],
                                  double lost = 1e-9) {
  double inverse[n];
  // L D L', a pivot that is lost in rounding leaves an unknown undetermined.
  bool determined = true;
  XCORR_UNROLL
  for (int i = 0; i < n; ++i) {
    const double whole = lower[i][i];
    double rest = whole;
    XCORR_UNROLL
    for (int m = 0; m < i; ++m) {
      const double scaled = lower[i][m];  // times D
      lower[i][m] = scaled * inverse[m];
      rest -= scaled * lower[i][m];
    }
    determined = determined && rest > lost * whole;
    inverse[i] = 1 / rest;
    XCORR_UNROLL
    for (int j = i + 1; j < n; ++j) {
      XCORR_UNROLL
      for (int m = 0; m < i; ++m) lower[j][i] -= lower[j][m] * lower[i][m];
    }
    XCORR_UNROLL
    for (int m = 0; m < i; ++m) solution[i] -= lower[i][m] * solution[m];
  }
  XCORR_UNROLL
  for (int i = n - 1; i >= 0; --i) {
    solution[i] *= inverse[i];
    XCORR_UNROLL
    for (int m = i + 1; m < n; ++m) solution[i] -= lower[m][i] * solution[m];
  }
  return determined;
}

/// Which of a pose's parts may change, besides its place, and which sign the gain may have.
struct AlignFreedom {
  bool turns = false, scales = false;
  Polarity polarity = Polarity::same;
};

/// The sums of one step, over pixels; those of several parts may be added.
/// T: float for some hundreds of pixels of 8 bits, double for all.
template <class T>
struct AlignSumsOf {
  /// The frame is gain * (template - slopes * (steps in x, y, angle and scale)) + offset; unknown
  /// are -gain * steps (the last two as distances at the radius), gain and offset.
  static constexpr int unknowns = 6;
  static constexpr int matrix = unknowns * (unknowns + 1) / 2;
  /// The lower half of the matrix, its right side, and the sum of the frame's squares.
  static constexpr int count = matrix + unknowns + 1;
  T of[count];

  XCORR_HD void clear() {
    XCORR_UNROLL
    for (T& sum : of) sum = 0;
  }
  template <class Other>
  XCORR_HD void add(const AlignSumsOf<Other>& others) {
    XCORR_UNROLL
    for (int k = 0; k < count; ++k) of[k] += others.of[k];
  }

  /// Adds the pixel of the template at (u, v) from its centre, and the smoothed frame there.
  template <class Pixel>
  XCORR_HD void add(const AlignMap& map, const Pixel* frame, std::int64_t pitch, Size size, float u,
                    float v, const SmoothedPixel& pixel) {
    // The offset takes what both are less: their sums are smaller, so they lose less.
    constexpr float middle = std::is_same_v<T, float> ? 128 : 0;
    const float dx = map.dx(u, v), dy = map.dy(u, v);
    const float here = map.smoothed_at(frame, pitch, size, dx, dy) - middle;
    const float by_x = map.by_x(pixel.by_u, pixel.by_v), by_y = map.by_y(pixel.by_u, pixel.by_v);
    // A turn moves (dx, dy) along (dy, -dx).
    const float equation[unknowns] = {by_x,
                                      by_y,
                                      (by_x * dy - by_y * dx) * map.per_radius(),
                                      (by_x * dx + by_y * dy) * map.per_radius(),
                                      pixel.value - middle,
                                      1};
    int k = 0;
    XCORR_UNROLL
    for (int i = 0; i < unknowns; ++i) {
      XCORR_UNROLL
      for (int j = 0; j <= i; ++j) of[k++] += T(equation[i]) * T(equation[j]);
    }
    XCORR_UNROLL
    for (int i = 0; i < unknowns; ++i) of[k++] += T(equation[i]) * T(here);
    of[k] += T(here) * T(here);
  }
};

struct AlignSums : AlignSumsOf<double> {
  /// The coefficient of correlation of the template and the frame, where both vary.
  XCORR_HD double fit() const {
    const double *last_row = of + matrix - unknowns, *right = of + matrix;
    const double squares = last_row[-1], sum = last_row[4], n = last_row[5];
    const double product = right[4], frame = right[5], frames = right[6];
    return (n * product - sum * frame) /
           sqrt((n * squares - sum * sum) * (n * frames - frame * frame));
  }

  /// What may be left of a pivot by rounding, as a share.
  static constexpr double lost_in_single = 1e-6, lost_in_double = 1e-12;

  /// The least-squares solution; false where there is none.
  XCORR_HD bool solve(const AlignFreedom& freedom, double lost,
                      double (&solution)[unknowns]) const {
    double lower[unknowns][unknowns];
    int k = 0;
    XCORR_UNROLL
    for (int i = 0; i < unknowns; ++i) {
      XCORR_UNROLL
      for (int j = 0; j <= i; ++j) lower[i][j] = of[k++];
    }
    XCORR_UNROLL
    for (int i = 0; i < unknowns; ++i) solution[i] = of[k++];
    XCORR_UNROLL
    for (int i = 2; i < 4; ++i) {
      const bool is_free = i == 2 ? freedom.turns : freedom.scales;
      XCORR_UNROLL
      for (int j = 0; j < unknowns; ++j) {
        double& value = j < i ? lower[i][j] : lower[j][i];
        if (!is_free) value = j == i;
      }
      if (!is_free) solution[i] = 0;
    }
    return solve_least_squares(lower, solution, lost);
  }
};

/// The steps of one pose.
class AlignSteps {
 public:
  static constexpr int most = 10;

  /// \param radius  of the template, in its pixels
  XCORR_HD AlignSteps(const AlignedPose& start, const AlignFreedom& freedom, double radius)
      : start_(start), pose_(start), freedom_(freedom), radius_(radius) {}

  XCORR_HD const AlignedPose& pose() const { return pose_; }
  /// A distance at which turning and scaling are measured, in pixels of the frame.
  XCORR_HD double radius() const { return radius_ * start_.scale; }

  /// Takes the sums at pose(); false: that was the last step. `lost`: see AlignSums.
  XCORR_HD bool step(const AlignSums& sums, double lost = AlignSums::lost_in_single) {
    double found[AlignSums::unknowns];
    is_aligned_ = sums.solve(freedom_, lost, found) && oriented(freedom_.polarity, found[4]) > 0;
    if (!is_aligned_) return false;
    fit_ = oriented(freedom_.polarity, sums.fit());
    if (fit_before_ < -1) fit_before_ = fit_;
    XCORR_UNROLL
    for (int i = 0; i < 4; ++i) {
      const double step = -found[i] / found[4];
      found[i] = step < -1 ? -1 : step > 1 ? 1 : step;
    }
    pose_.x += found[0];
    pose_.y += found[1];
    turn(found[2] / radius());
    pose_.scale *= 1 + found[3] / radius();
    is_aligned_ =
        fabs(pose_.x - start_.x) <= 1 && fabs(pose_.y - start_.y) <= 1 &&
        fabs(pose_.sine * start_.cosine - pose_.cosine * start_.sine) * radius() <= farthest &&
        fabs(pose_.scale / start_.scale - 1) * radius() <= farthest;
    if (!is_aligned_) return false;
    double longest = 0;
    XCORR_UNROLL
    for (int i = 0; i < 4; ++i) longest = fabs(found[i]) > longest ? fabs(found[i]) : longest;
    return longest > 1e-4;
  }

  XCORR_HD Alignment result() const {
    const bool is_aligned = is_aligned_ && fit_ >= fit_before_ - margin;
    return {is_aligned ? pose_ : start_, is_aligned};
  }

 private:
  /// By about that small an angle, in radians: a rotation by its tangent, without trigonometry,
  /// which takes more registers than all else.
  XCORR_HD void turn(double angle) {
    const double half = angle / 2, cosine = (1 - half * half) / (1 + half * half),
                 sine = 2 * half / (1 + half * half);
    const double before = pose_.cosine;
    pose_.cosine = before * cosine - pose_.sine * sine;
    pose_.sine = pose_.sine * cosine + before * sine;
  }

  /// How far turning and scaling may move what is at the radius: more than the steps of a search.
  static constexpr double farthest = 3;
  /// Where one is sharper than the other, steps end beside the best fit.
  static constexpr double margin = 0.05;

  AlignedPose start_, pose_;
  AlignFreedom freedom_;
  double radius_;
  double fit_before_ = -2, fit_ = 0;  ///< at the start, and before the last step
  bool is_aligned_ = false;
};

namespace stage {

/// A template -> what the stage align reads of it.
struct Smooth {
  static constexpr const char* name = "smooth";

  struct Problem {
    Size size;
    ElementType type = ElementType::u8;

    constexpr Features features() const { return feature_of(type); }
  };

  struct Buffers : Launch {
    const void* pixels = nullptr;           ///< dense
    const std::uint8_t* counted = nullptr;  ///< see Align; none at the rim
    SmoothedPixel* smoothed = nullptr;      ///< 0 where they take no part
  };

  template <class Visit>
  static void arguments(const Problem& p, Visit visit) {
    visit("pixels", &Buffers::pixels, elements(p.type, p.size.area()));
    visit("counted", &Buffers::counted, elements(ElementType::u8, p.size.area()));
    visit("smoothed", &Buffers::smoothed, records<SmoothedPixel>(p.size.area()));
  }

  using Extra = NoExtra;
};

struct Align {
  static constexpr const char* name = "align";

  struct Problem {
    Size frame;
    std::int64_t pitch = 0;  ///< bytes
    Size size;               ///< the template's
    AlignFreedom freedom = {};
    int count = 1;  ///< of poses
    ElementType type = ElementType::u8;

    constexpr Features features() const {
      return feature_of(type).with(Feature::contrast, freedom.polarity != Polarity::same);
    }
    XCORR_HD double radius() const { return 0.25 * (size.width + size.height); }
  };

  struct Buffers : Launch {
    const std::uint8_t* frame = nullptr;      ///< its rows' bytes
    const SmoothedPixel* smoothed = nullptr;  ///< the template, smoothed as the frame is
    const std::uint8_t* counted = nullptr;    ///< which of its pixels take part: not 0
    const AlignedPose* starts = nullptr;      ///< of scale 0: none, and all 0 comes out
    Alignment* alignments = nullptr;
  };

  template <class Visit>
  static void arguments(const Problem& p, Visit visit) {
    visit("frame", &Buffers::frame, matrices(p.type, p.frame, p.pitch, 0, 1));
    visit("smoothed", &Buffers::smoothed, records<SmoothedPixel>(p.size.area()));
    visit("counted", &Buffers::counted, elements(ElementType::u8, p.size.area()));
    visit("starts", &Buffers::starts, records<AlignedPose>(p.count));
    visit("alignments", &Buffers::alignments, records<Alignment>(p.count));
  }

  using Extra = NoExtra;
};

}  // namespace stage
}  // namespace xcorr
