// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage align: poses near the right ones -> the poses at which the frame fits the template best
// in the sense of least squares, but for brightness and contrast: Gauss-Newton steps over the
// place, and where asked for the angle and the scale, of
//   frame(pose(p)) = gain * template(p) + offset   for the pixels p of the template that count.
// Both are smoothed by the cubic B-spline. Steps are counted in the template's own axes: so the
// matrix of their equations is the template's alone, whatever the pose, and is inverted once (the
// inverse compositional form, Baker and Matthews 2004).
#pragma once

#include <cmath>

#include "stages/contrast.hpp"
#include "stages/four_pixels.hpp"
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

/// A frame's pixels, or those of a part of it.
template <class Pixel>
struct AlignFrame {
  const Pixel* rows;
  std::int64_t pitch;  ///< bytes
  Size size;
  int left = 0, top = 0;  ///< of the first one, in the frame
};

/// The way from a template to the frame at a pose, in single precision, which suffices from a whole
/// pixel near the pose's place on.
class AlignMap {
 public:
  AlignMap() = default;
  XCORR_HD explicit AlignMap(const AlignedPose& pose)
      : left_(whole(pose.x)),
        top_(whole(pose.y)),
        x_(static_cast<float>(pose.x - left_)),
        y_(static_cast<float>(pose.y - top_)),
        across_(static_cast<float>(pose.scale * pose.cosine)),
        down_(static_cast<float>(pose.scale * pose.sine)) {}

  /// The smoothed frame at the place (u, v) from the template's centre. What lies outside is as the
  /// nearest pixel.
  template <class Pixel, class Read>
  XCORR_HD float smoothed_at(const AlignFrame<Pixel>& frame, float u, float v, Read read) const {
    const float x = x_ + (across_ * u + down_ * v), y = y_ + (across_ * v - down_ * u);
    const float whole_x = floorf(x), whole_y = floorf(y);
    const auto [rows, pitch, size, part_left, part_top] = frame;
    const int left = left_ - part_left + static_cast<int>(whole_x) - 1;
    const int top = top_ - part_top + static_cast<int>(whole_y) - 1;
    const SplineWeights<float> across(x - whole_x), down(y - whole_y);
    float sum = 0;
    const auto add = [&](int j, const FourPixels<Pixel>& row) {
      float in_row = 0;
      XCORR_UNROLL
      for (int i = 0; i < 4; ++i) in_row += across.of[i] * float(row.of[i]);
      sum += down.of[j] * in_row;
    };
    if (left >= 0 && top >= 0 && left + 4 + Read::past <= size.width && top + 4 <= size.height) {
      const Pixel* const first = row_of<Pixel>(rows, pitch, top) + left;
      XCORR_UNROLL
      for (int j = 0; j < 4; ++j) add(j, read(row_of<Pixel>(first, pitch, j)));
    } else {
      const auto clamped = [](int i, int length) {
        return i < 0 ? 0 : i < length ? i : length - 1;
      };
      XCORR_UNROLL
      for (int j = 0; j < 4; ++j) {
        const Pixel* const row = row_of<Pixel>(rows, pitch, clamped(top + j, size.height));
        const auto at = [&](int i) { return row[clamped(left + i, size.width)]; };
        add(j, {at(0), at(1), at(2), at(3)});
      }
    }
    return sum;
  }

 private:
  /// Far outside nothing is different, and whole numbers end.
  XCORR_HD static int whole(double x) {
    constexpr int farthest = 1 << 24;
    return static_cast<int>(floor(x < -farthest ? -farthest : x > farthest ? farthest : x));
  }

  int left_, top_;
  float x_, y_, across_, down_;
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

/// The same in gray levels. A GPU reads it at once.
struct alignas(16) SmoothedPixel {
  float value = 0, by_u = 0, by_v = 0;
  float counts = 0;  ///< 1: it takes part

  SmoothedPixel() = default;
  template <class Value>
  XCORR_HD explicit SmoothedPixel(const SplinePixelOf<Value>& pixel)
      : value(float(pixel.value) / SplinePixel::value_unit),
        by_u(float(pixel.by_u) / SplinePixel::slope_unit),
        by_v(float(pixel.by_v) / SplinePixel::slope_unit),
        counts(1) {}
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

  /// Whether an unknown of AlignEquation is sought.
  XCORR_HD bool is_free(int unknown) const {
    return unknown == 2 ? turns : unknown == 3 ? scales : true;
  }
};

/// What a step may change: -gain times its parts along u and v, its turn and its growth (as
/// distances at the radius), the gain, the offset.
inline constexpr int align_unknowns = 6;

/// About what pixels are, of bytes. The offset takes what template and frame are less, so sums are
/// smaller and lose less in single precision.
template <class Pixel>
inline constexpr float align_middle = sizeof(Pixel) == 1 ? 128 : 0;

/// A pixel's equation, that the frame there is gain * (template - slopes * step) + offset.
struct AlignEquation {
  float of[align_unknowns];

  /// \param u, v  from the template's centre
  XCORR_HD AlignEquation(float u, float v, const SmoothedPixel& pixel, float per_radius,
                         float middle)
      // A turn moves (u, v) along (v, -u).
      : of{pixel.by_u,
           pixel.by_v,
           (pixel.by_u * v - pixel.by_v * u) * per_radius,
           (pixel.by_u * u + pixel.by_v * v) * per_radius,
           pixel.value - middle,
           1} {}
};

/// Sums over pixels; those of several parts may be added.
template <class T, int sums>
struct AlignSums {
  static constexpr int count = sums;
  T of[count];

  XCORR_HD void clear() {
    XCORR_UNROLL
    for (T& sum : of) sum = 0;
  }
  template <class Other>
  XCORR_HD void add(const AlignSums<Other, count>& others) {
    XCORR_UNROLL
    for (int k = 0; k < count; ++k) of[k] += others.of[k];
  }
};

/// The lower half of the matrix, of the template.
struct AlignMatrix : AlignSums<double, align_unknowns*(align_unknowns + 1) / 2> {
  XCORR_HD void add_pixel(const AlignEquation& equation) {
    int k = 0;
    XCORR_UNROLL
    for (int i = 0; i < align_unknowns; ++i) {
      XCORR_UNROLL
      for (int j = 0; j <= i; ++j) of[k++] += double(equation.of[i]) * equation.of[j];
    }
  }
};

/// The right side at a pose, and the sum of the frame's squares.
/// T: float for some hundreds of pixels of 8 bits, double for all.
template <class T>
struct AlignRightOf : AlignSums<T, align_unknowns + 1> {
  /// \param here  the smoothed frame, less the middle
  XCORR_HD void add_pixel(const AlignEquation& equation, float here) {
    XCORR_UNROLL
    for (int i = 0; i < align_unknowns; ++i) this->of[i] += T(equation.of[i]) * T(here);
    this->of[align_unknowns] += T(here) * T(here);
  }
};
using AlignRight = AlignRightOf<double>;

/// The equations of all steps but for their right side.
struct AlignSystem {
  AlignMatrix matrix;
  double inverse[align_unknowns][align_unknowns];
  bool has_inverse;

  /// Finds a column of the inverse, which may be done side by side. True: there is one.
  XCORR_HD bool invert(const AlignFreedom& freedom, int column) {
    double lower[align_unknowns][align_unknowns], solution[align_unknowns];
    int k = 0;
    XCORR_UNROLL
    for (int i = 0; i < align_unknowns; ++i) {
      XCORR_UNROLL
      for (int j = 0; j <= i; ++j) lower[i][j] = matrix.of[k++];
      solution[i] = i == column;
    }
    XCORR_UNROLL
    for (int i = 2; i < 4; ++i) {
      XCORR_UNROLL
      for (int j = 0; j < align_unknowns; ++j) {
        double& value = j < i ? lower[i][j] : lower[j][i];
        if (!freedom.is_free(i)) value = j == i;
      }
    }
    // What may be left of a pivot by rounding: template and slopes are in single precision.
    constexpr double lost = 1e-12;
    const bool exists = solve_least_squares(lower, solution, lost);
    XCORR_UNROLL
    for (int i = 0; i < align_unknowns; ++i) inverse[i][column] = solution[i];
    return exists;
  }

  /// The least-squares solution.
  XCORR_HD void solve(const AlignRight& right, const AlignFreedom& freedom,
                      double (&solution)[align_unknowns]) const {
    XCORR_UNROLL
    for (int i = 0; i < align_unknowns; ++i) {
      solution[i] = 0;
      XCORR_UNROLL
      for (int j = 0; j < align_unknowns; ++j)
        if (freedom.is_free(j)) solution[i] += inverse[i][j] * right.of[j];
    }
  }

  /// The coefficient of correlation of the template and the frame, where both vary.
  XCORR_HD double fit(const AlignRight& right) const {
    const double* last_row = matrix.of + matrix.count - align_unknowns;
    const double squares = last_row[-1], sum = last_row[4], n = last_row[5];
    const double product = right.of[4], frame = right.of[5], frames = right.of[6];
    return (n * product - sum * frame) /
           sqrt((n * squares - sum * sum) * (n * frames - frame * frame));
  }
};

/// The steps of one pose.
class AlignSteps {
 public:
  /// From where a search led three or four are taken, unless something else is there.
  static constexpr int most = 6;
  /// Steps become several times shorter from one to the next; after one of at most that many pixels
  /// the rest is a tenth of what noise does.
  static constexpr double shortest = 1e-3;
  /// How far turning and scaling may move what is at the radius: more than the steps of a search.
  static constexpr double farthest = 3;

  /// \param radius  of the template, in its pixels
  XCORR_HD AlignSteps(const AlignedPose& start, const AlignFreedom& freedom, double radius)
      : start_(start), pose_(start), freedom_(freedom), radius_(radius) {}

  XCORR_HD const AlignedPose& pose() const { return pose_; }

  /// Takes the sums at pose(); false: that was the last step.
  XCORR_HD bool step(const AlignSystem& system, const AlignRight& right) {
    double found[align_unknowns];
    system.solve(right, freedom_, found);
    is_aligned_ = system.has_inverse && oriented(freedom_.polarity, found[4]) > 0;
    if (!is_aligned_) return false;
    fit_ = oriented(freedom_.polarity, system.fit(right));
    if (fit_before_ < -1) fit_before_ = fit_;
    // From pixels of the template to those of the frame.
    const double unit = -pose_.scale / found[4];
    XCORR_UNROLL
    for (int i = 0; i < 4; ++i) {
      const double step = unit * found[i];
      found[i] = step < -1 ? -1 : step > 1 ? 1 : step;
    }
    pose_.x += pose_.cosine * found[0] + pose_.sine * found[1];
    pose_.y += pose_.cosine * found[1] - pose_.sine * found[0];
    const double radius = radius_ * start_.scale, per_radius = 1 / radius;
    turn(found[2] * per_radius);
    pose_.scale += pose_.scale * found[3] * per_radius;
    is_aligned_ =
        fabs(pose_.x - start_.x) <= 1 && fabs(pose_.y - start_.y) <= 1 &&
        fabs(pose_.sine * start_.cosine - pose_.cosine * start_.sine) * radius <= farthest &&
        fabs(pose_.scale - start_.scale) * radius_ <= farthest;
    if (!is_aligned_) return false;
    double longest = 0;
    XCORR_UNROLL
    for (int i = 0; i < 4; ++i) longest = fabs(found[i]) > longest ? fabs(found[i]) : longest;
    return longest > shortest;
  }

  XCORR_HD Alignment result() const {
    const bool is_aligned = is_aligned_ && fit_ >= fit_before_ - margin;
    return {is_aligned ? pose_ : start_, is_aligned};
  }

 private:
  /// By about that small an angle, in radians: a rotation by its tangent, without trigonometry,
  /// which takes more registers than all else.
  XCORR_HD void turn(double angle) {
    const double half = angle / 2, share = 1 / (1 + half * half),
                 cosine = (1 - half * half) * share, sine = 2 * half * share;
    const double before = pose_.cosine;
    pose_.cosine = before * cosine - pose_.sine * sine;
    pose_.sine = pose_.sine * cosine + before * sine;
  }

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
    const std::uint8_t* counted = nullptr;  ///< which take part: not 0; none at the rim
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
    template <class Pixel>
    XCORR_HD AlignFrame<Pixel> pixels(const std::uint8_t* bytes) const {
      return {row_of<Pixel>(bytes, pitch, 0), pitch, frame};
    }
    /// The equation of the template's pixel at (x, y).
    template <class Pixel>
    XCORR_HD AlignEquation equation(int x, int y, const SmoothedPixel& pixel) const {
      return {u(x), v(y), pixel, static_cast<float>(1 / radius()), align_middle<Pixel>};
    }
    XCORR_HD float u(int x) const { return x - 0.5F * (size.width - 1); }
    XCORR_HD float v(int y) const { return y - 0.5F * (size.height - 1); }
    /// Adds the pixel of the frame where that pixel lies.
    template <class Pixel, class T, class Read>
    XCORR_HD void add(const AlignMap& map, const AlignFrame<Pixel>& pixels, int x, int y,
                      const SmoothedPixel& pixel, Read read, AlignRightOf<T>& sums) const {
      const float here = map.smoothed_at(pixels, u(x), v(y), read);
      sums.add_pixel(equation<Pixel>(x, y, pixel), here - align_middle<Pixel>);
    }
  };

  struct Buffers : Launch {
    const std::uint8_t* frame = nullptr;  ///< its rows' bytes
    /// The template, smoothed as the frame is; given to a plan by set_rights().
    const SmoothedPixel* smoothed = nullptr;
    const AlignedPose* starts = nullptr;  ///< of scale 0: none, and all 0 comes out
    Alignment* alignments = nullptr;
  };

  template <class Visit>
  static void arguments(const Problem& p, Visit visit) {
    visit("frame", &Buffers::frame, matrices(p.type, p.frame, p.pitch, 0, 1));
    visit("smoothed", &Buffers::smoothed, records<SmoothedPixel>(p.size.area()));
    visit("starts", &Buffers::starts, records<AlignedPose>(p.count));
    visit("alignments", &Buffers::alignments, records<Alignment>(p.count));
  }

  using Extra = NoExtra;
};

}  // namespace stage
}  // namespace xcorr
