// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage subpixel_refine: candidates -> their places by least squares. It is what pose_refine
// does, for upright templates: where
//   frame(place + p) = gain * (template(p) - slopes(p) * step) + offset
// fits best with a step of 0, both smoothed by the cubic B-spline. Between pixels the smoothed
// frame is a weighted mean of the frame at 4 x 4 whole shifts, so all steps within a pixel of the
// candidate come from sums of products at 5 x 5 shifts, and the pixels are read once. Of u8 these
// sums are integers; of u16 and f32 they are in double precision, where the template is taken less
// its mean, since there may be much more brightness than contrast.
#pragma once

#include <cmath>

#include "stages/common/least_squares.hpp"
#include "stages/match/peaks.hpp"
#include "stages/poses/smooth.hpp"

namespace xcorr {

/// The sums over the pixels that take part, see pose_refine_inset. They lie inside the window for
/// every shift.
template <class Sum>
struct PlaceSumsOf {
  static constexpr int reach = pose_refine_inset, across = 2 * reach + 1, shifts = across * across;
  static constexpr int terms = 4;  ///< of the template: slopes along x and y, value, 1
  static constexpr int pairs = terms * (terms + 1) / 2;
  static constexpr int count = pairs + shifts * terms;

  /// Products of two terms: those of the first with itself, of the second with the first and with
  /// itself, ...; then of each shift, row by row, of the terms with the frame.
  Sum of[count];

  XCORR_HD static int product(int shift, int term) { return pairs + shift * terms + term; }
};

using PlaceSums = PlaceSumsOf<std::int64_t>;

/// A pixel of a template of u16 or f32 in the units of SplinePixel.
struct U16F32Terms {
  double by_u, by_v, value;

  /// \param pixel, pitch  see SplinePixelOf
  /// \param mean  of the template
  template <class T>
  XCORR_HD U16F32Terms(const T* pixel, std::int64_t pitch, double mean) {
    using Value = std::conditional_t<std::is_floating_point_v<T>, double, std::int32_t>;
    const SplinePixelOf<Value> whole(pixel, pitch);
    by_u = whole.by_u;
    by_v = whole.by_v;
    value = whole.value - SplinePixel::value_unit * mean;
  }
};

/// The least-squares solution with the frame as it is at a shift. Linear in the frame, and so
/// between the shifts what lies between them.
struct PlaceSolution {
  double x, y;  ///< -gain times the step
  double gain;  ///< 0: there is no solution
};

/// The fewest pixels that must take part: several times the unknowns.
inline constexpr int least_fitted = 16;

/// The k-th sum of a picture, over its planes. Of several each has an offset of its own, which is
/// taken out of its equations.
/// \param sums  of each plane
template <class Sum>
XCORR_HD double sum_of_planes(const PlaceSumsOf<Sum>* sums, int planes, int k) {
  using Sums = PlaceSumsOf<Sum>;
  constexpr int one = Sums::terms - 1, row_of_one = one * (one + 1) / 2;
  constexpr double lost = 1e-9;  // what is left of a whole is rounding
  if (planes == 1) return static_cast<double>(sums->of[k]);
  // A product of the i-th term with the j-th one, or with the frame at a shift.
  int i = 0, j = k;
  const bool is_pair = k < Sums::pairs;
  while (is_pair && j > i) j -= ++i;
  if (!is_pair) i = (k - Sums::pairs) % Sums::terms;
  if (i == one)
    return is_pair && j == one ? static_cast<double>(sums->of[k]) : 0;  // pixels of a plane
  const int other = is_pair ? row_of_one + j : k - i + one;
  double total = 0;
  XCORR_ROLL
  for (int plane = 0; plane < planes; ++plane) {
    const Sum* const of = sums[plane].of;
    const auto whole = static_cast<double>(of[k]);
    const double rest = whole - static_cast<double>(of[row_of_one + i]) *
                                    static_cast<double>(of[other]) /
                                    static_cast<double>(of[Sums::pairs - 1]);
    total += is_pair && i == j && !(rest > lost * whole) ? 0 : rest;
  }
  return total;
}

/// \param sums  by sum_of_planes()
XCORR_HD inline PlaceSolution place_solution(const PlaceSumsOf<double>& sums, int shift) {
  if (sums.of[PlaceSums::pairs - 1] < least_fitted) return {0, 0, 0};
  const auto unit = [](int term) {
    return term < 2 ? SplinePixel::slope_unit : term == 2 ? SplinePixel::value_unit : 1;
  };
  double lower[PlaceSums::terms][PlaceSums::terms], solution[PlaceSums::terms];
  int k = 0;
  XCORR_UNROLL
  for (int i = 0; i < PlaceSums::terms; ++i) {
    XCORR_UNROLL
    for (int j = 0; j <= i; ++j) lower[i][j] = sums.of[k++] / (unit(i) * unit(j));
    solution[i] = sums.of[PlaceSums::product(shift, i)] / unit(i);
  }
  if (!solve_least_squares(lower, solution)) return {0, 0, 0};
  return {solution[0], solution[1], solution[2]};
}

/// From the candidate, in pixels, at most one along x and y.
struct FittedPlace {
  double dx, dy;
  std::int32_t is_fitted;  ///< 0: there is none; dx and dy are 0
};

/// A gain that rounding may have made of none; where pixels are not finite it is none either.
inline constexpr double least_gain = 1e-6;

/// `at`: the solutions at the shifts. `polarity`: which sign the gain may have.
XCORR_HD inline FittedPlace fitted_place(const PlaceSolution (&at)[PlaceSums::shifts],
                                         Polarity polarity) {
  // Along an edge that hardly bends each step is some share of the one before.
  constexpr int most_steps = 40;
  constexpr double shortest = 1e-4, short_enough = 1e-2;
  // What leads past the reach by longer steps leads away. Where scores hardly fall along an edge
  // the best of whole pixels may be that far beside the place.
  constexpr double longest_past = 0.5;
  double x = 0, y = 0, moved = 1;
  XCORR_ROLL
  for (int step = 0; step < most_steps; ++step) {
    const int left = x < 0 ? -1 : 0, top = y < 0 ? -1 : 0;
    const SplineWeights<double> across(x - left), down(y - top);
    PlaceSolution here{0, 0, 0};
    XCORR_UNROLL
    for (int j = 0; j < 4; ++j) {
      XCORR_UNROLL
      for (int i = 0; i < 4; ++i) {
        const double weight = across.of[i] * down.of[j];
        const PlaceSolution& tap = at[(top + 1 + j) * PlaceSums::across + left + 1 + i];
        here.x += weight * tap.x;
        here.y += weight * tap.y;
        here.gain += weight * tap.gain;
      }
    }
    if (!(oriented(polarity, here.gain) > least_gain)) return {0, 0, 0};
    const double step_x = -here.x / here.gain, step_y = -here.y / here.gain;
    const auto clamped = [](double value) { return value < -1 ? -1 : value > 1 ? 1 : value; };
    const double from_x = x, from_y = y;
    x = clamped(x + clamped(step_x));
    y = clamped(y + clamped(step_y));
    moved = fmax(fabs(x - from_x), fabs(y - from_y));
    if (moved <= shortest) {
      if (fmax(fabs(step_x), fabs(step_y)) > longest_past) moved = 1;
      break;
    }
  }
  const bool is_fitted = moved <= short_enough && fabs(x) <= 1 && fabs(y) <= 1;
  return is_fitted ? FittedPlace{x, y, 1} : FittedPlace{0, 0, 0};
}

/// Candidates at the border of the searched area are left where they are.
XCORR_HD inline bool can_be_fitted(const Candidate& at, const Rect& shifts) {
  return at.x > 0 && at.x < shifts.width - 1 && at.y > 0 && at.y < shifts.height - 1;
}

namespace stage {

struct SubpixelRefine {
  static constexpr const char* name = "subpixel_refine";

  struct Problem {
    xcorr::Problem correlate;
    Method method = Method::ccoeff_normed;
    int max_peaks = 1;
    /// Candidates that do not reach it, see score_limit(), need not be fitted.
    double subpixel_threshold = place_all;
    Masking masking = {};
    Polarity polarity = Polarity::same;
    Overhang overhang = {};

    constexpr Features features() const {
      return features_of(correlate)
          .with(Feature::several_peaks, max_peaks > 1)
          .with(Feature::mask, bool(masking))
          .with(Feature::contrast, polarity != Polarity::same)
          .with(Feature::overhang, bool(overhang));
    }
    constexpr std::int64_t slots() const { return std::int64_t{correlate.rights} * max_peaks; }
    /// The part of the template whose pixels may take part at a candidate: all that they need lies
    /// in the picture.
    XCORR_HD Rect fitted_part(const Candidate& at) const {
      constexpr int reach = PlaceSums::reach;
      const xcorr::Problem& p = correlate;
      const Rect seen = overhang.seen(p.shifts.x + at.x, p.shifts.y + at.y, p.right);
      return {seen.x + reach, seen.y + reach, seen.width - 2 * reach, seen.height - 2 * reach};
    }
    constexpr double mean(const xcorr::TemplateSums& right) const {
      return right.sum / static_cast<double>(masking.pixels(correlate.right));
    }
  };

  struct Buffers : LaunchOfRights {
    const std::uint8_t* lefts = nullptr;      ///< their rows' bytes
    const std::uint8_t* templates = nullptr;  ///< as they are; the same
    const std::uint8_t* inset = nullptr;      ///< the mask's inset_mask()
    const xcorr::TemplateSums* template_sums = nullptr;
    const Candidate* candidates = nullptr;
    const std::uint32_t* counts = nullptr;
    FittedPlace* fits = nullptr;  ///< max_peaks per template; may be in pinned host memory
  };

  template <class Visit>
  static void arguments(const Problem& p, Visit visit) {
    visit("lefts", &Buffers::lefts, lefts_of(p.correlate));
    visit("templates", &Buffers::templates, rights_of(p.correlate));
    visit("inset", &Buffers::inset, p.masking.extent(p.correlate.right));
    visit("template_sums", &Buffers::template_sums, template_sums_of(p.correlate));
    visit("candidates", &Buffers::candidates, records<Candidate>(p.slots()));
    visit("counts", &Buffers::counts, records<std::uint32_t>(p.correlate.rights));
    visit("fits", &Buffers::fits, records<FittedPlace>(p.slots()));
  }
};

}  // namespace stage
}  // namespace xcorr
