// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage window_search: windows of a reference image and where each is expected in a frame ->
// the displacement of the best zero-normalised correlation within a range, to a part of a pixel.
// Sums of u8 and u16 are exact integers, so that the best whole-pixel place and its scores are the
// same everywhere; those of f32 are in double precision. Of an ensemble, which is several pairs of
// images of the same motion, the best is that of the scores' mean (Santiago et al. 1998): each
// launch adds a pair's, the last one finds it.
#pragma once

#include <cmath>

#include "stages/fields/field.hpp"
#include "stages/match/score.hpp"
#include "stages/match/window_sums.hpp"

namespace xcorr {

/// Sums over the `n` pixels of a window of bytes that count: integers, of which windows of up
/// to FieldLimits::window have so few that even n times a sum is exact in a double.
struct FieldSums {
  double n = 0, sum = 0, squares = 0;

  XCORR_HD double n2_variance() const { return n * squares - sum * sum; }
};

/// The correlation of a window of the frame with one of the reference, whose n2_variance() is
/// `variance`. 0 where either is of one gray.
XCORR_HD inline double window_score(const FieldSums& reference, double variance,
                                    const FieldSums& frame, double product) {
  return quotient(reference.n * product - frame.sum * reference.sum, variance, frame.n2_variance());
}

/// The same for pixels of other types, from sums over windows of the frame and of the reference.
template <class T>
XCORR_HD double u16_f32_score(const WindowTerms<TermOf<T>>& terms) {
  return score(Method::ccoeff_normed, terms);
}

/// Whether a window of such pixels has any variance.
template <class T>
XCORR_HD bool has_variance(TermOf<T> n, TermOf<T> sum, TermOf<T> squares) {
  return !is_flat_variance(n2_covariance(n, squares, sum, sum), n * squares);
}

/// Of a score what the extremum is that of: a Gauss curve is a parabola of logarithms, which scores
/// of nearly nothing do not have.
XCORR_HD inline double value_of_score(FieldSubpixel subpixel, double score) {
  return subpixel == FieldSubpixel::gauss ? log(score > 1e-3 ? score : 1e-3) : score;
}

/// From the best whole-pixel place to the extremum of what lies around it: value_of_score() of
/// each; the other parameters are those of subpixel_offset().
XCORR_HD inline Offset field_offset(FieldSubpixel subpixel, const double (&around)[9], bool whole_x,
                                    bool whole_y) {
  if (subpixel == FieldSubpixel::none) return {0, 0};
  if (subpixel == FieldSubpixel::quadratic) return subpixel_offset(around, whole_x, whole_y, false);
  return {whole_x ? parabola_offset(around[3], around[4], around[5], false) : 0,
          whole_y ? parabola_offset(around[1], around[4], around[7], false) : 0};
}

/// The places that a window is tried at: its upper left corner in the frame.
struct SearchedPlaces {
  int left, top;         ///< of the first, which may lie outside the frame
  int from_x, from_y;    ///< the first and, one past, the last that is inside: shifts from there
  int until_x, until_y;  ///< empty: until <= from

  XCORR_HD SearchedPlaces(const InterrogationWindow& window, Size frame, int size, int range)
      : left(window.x + whole(window.dx) - range),
        top(window.y + whole(window.dy) - range),
        from_x(left < 0 ? -left : 0),
        from_y(top < 0 ? -top : 0),
        until_x(least(2 * range + 1, frame.width - size - left + 1)),
        until_y(least(2 * range + 1, frame.height - size - top + 1)) {}

  XCORR_HD bool empty() const { return until_x <= from_x || until_y <= from_y; }
  XCORR_HD bool contains_column(int x) const { return x >= from_x && x < until_x; }
  XCORR_HD bool contains_row(int y) const { return y >= from_y && y < until_y; }
  XCORR_HD bool contains(int x, int y) const { return contains_column(x) && contains_row(y); }
  /// Those that are inside, where in the frame.
  constexpr Rect inside() const {
    return {left + from_x, top + from_y, until_x - from_x, until_y - from_y};
  }

  /// The nearest integer, halves up; of what is far away, something far away.
  XCORR_HD static int whole(float value) {
    const float kept = value < -1e6F ? -1e6F : value > 1e6F ? 1e6F : value;
    return static_cast<int>(floorf(kept + 0.5F));
  }
  XCORR_HD static int least(int a, int b) { return a < b ? a : b; }
};

/// The scores round the best place of a search.
struct FoundPlace {
  int x, y;  ///< shift from the first place
  double score;
  double second;     ///< the best score away from there
  double around[9];  ///< as for field_offset()

  static constexpr int reach = 2;

  /// Of the i-th of the nine places in and around it, row by row; 0 outside the frame.
  XCORR_HD void set_score(FieldSubpixel subpixel, int i, double value) {
    if (i == 4) score = value;
    around[i] = value_of_score(subpixel, value);
  }
  /// Whether a place is so near the best that it belongs to the same peak.
  XCORR_HD static bool is_near(int dx, int dy) {
    return dx >= -reach && dx <= reach && dy >= -reach && dy <= reach;
  }
};

/// A window's vector when nothing was found.
XCORR_HD inline FieldVector vector_without(const InterrogationWindow& window, int size,
                                           FieldStatus status) {
  FieldVector vector;
  place_vector(window, size, vector);
  vector.dx = window.deformed_dx + window.dx;
  vector.dy = window.deformed_dy + window.dy;
  vector.status = status;
  return vector;
}

namespace stage {

struct WindowSearch {
  static constexpr const char* name = "window_search";

  struct Problem {
    Size frame;                               ///< and the reference's
    std::int64_t pitch = 0, frame_pitch = 0;  ///< bytes, of the reference and of the frame
    int window = 32;                          ///< its width and height
    int range = 16;
    FieldSubpixel subpixel = FieldSubpixel::gauss;
    bool symmetric = false;
    bool masked = false;
    int count = 1;  ///< of windows
    /// If not 0, the windows are a grid: rows of `columns`, so many pixels apart along both axes,
    /// all of which are expected at the same whole displacement.
    int spacing = 0, columns = 0;
    int pairs = 1;  ///< of an ensemble
    int pair = 0;   ///< which one this is
    ElementType type = ElementType::u8;

    constexpr Features features() const {
      return feature_of(type).with(Feature::mask, masked).with(Feature::ensemble, pairs > 1);
    }
    /// Shifts that are tried along an axis.
    XCORR_HD constexpr int shifts() const { return 2 * range + 1; }
    XCORR_HD constexpr bool is_last() const { return pair + 1 == pairs; }

    /// A place's score, and the sum of those of an ensemble's pairs before, if there are -> the
    /// sum, or of the last pair the mean.
    XCORR_HD float combined(double score, const float* before) const {
      const float sum = static_cast<float>(score) + (pair > 0 ? *before : 0.0F);
      return is_last() ? sum / static_cast<float>(pairs) : sum;
    }
  };

  struct Buffers : Launch {
    const std::uint8_t* reference = nullptr;  ///< its rows' bytes
    const std::uint8_t* frame = nullptr;
    const std::uint8_t* mask = nullptr;  ///< of the reference, dense: not 0 where a pixel counts
    /// Windows wholly inside the reference.
    const InterrogationWindow* windows = nullptr;
    /// Of equal scores the upper place wins, then the left one.
    FieldVector* vectors = nullptr;
    /// Of an ensemble: for each window those of its shifts, row by row, of the places in the frame;
    /// after the last pair, means. They may be the same.
    const float* sums = nullptr;
    float* next_sums = nullptr;
  };

  template <class Visit>
  static void arguments(const Problem& p, Visit visit) {
    visit("reference", &Buffers::reference, matrices(p.type, p.frame, p.pitch, 0, 1));
    visit("frame", &Buffers::frame, matrices(p.type, p.frame, p.frame_pitch, 0, 1));
    visit("reference_mask", &Buffers::mask,
          elements(ElementType::u8, p.masked ? p.frame.area() : 0));
    visit("windows", &Buffers::windows, records<InterrogationWindow>(p.count));
    visit("vectors", &Buffers::vectors, records<FieldVector>(p.is_last() ? p.count : 0));
    const std::int64_t places = std::int64_t{p.count} * p.shifts() * p.shifts();
    visit("sums", &Buffers::sums,
          elements(ElementType::f32, p.pairs > 1 && p.pair > 0 ? places : 0));
    visit("next_sums", &Buffers::next_sums, elements(ElementType::f32, p.pairs > 1 ? places : 0));
  }
};

}  // namespace stage

/// Sums over the frame's windows at these places.
inline stage::WindowSums::Problem frame_windows(const stage::WindowSearch::Problem& p,
                                                const Rect& places) {
  Problem sums;
  sums.type = p.type;
  sums.left = p.frame;
  sums.left_pitch = p.frame_pitch;
  sums.right = {p.window, p.window};
  sums.shifts = places;
  return {sums};
}

/// At all places.
inline stage::WindowSums::Problem frame_windows(const stage::WindowSearch::Problem& p) {
  return frame_windows(p, {0, 0, p.frame.width - p.window + 1, p.frame.height - p.window + 1});
}

/// A window's vector from what was found for it.
XCORR_HD inline FieldVector vector_of(const stage::WindowSearch::Problem& p,
                                      const InterrogationWindow& window,
                                      const SearchedPlaces& places, const FoundPlace& found) {
  // Nothing there has anything in common with the window.
  if (!(found.score > 0)) return vector_without(window, p.window, FieldStatus::flat);
  const bool at_rim =
      found.x == 0 || found.y == 0 || found.x == 2 * p.range || found.y == 2 * p.range;
  FieldVector vector =
      vector_without(window, p.window, at_rim ? FieldStatus::out_of_range : FieldStatus::ok);
  Offset offset{0, 0};
  if (!at_rim)
    offset = field_offset(p.subpixel, found.around,
                          found.x > places.from_x &&
                              found.x<places.until_x - 1, found.y> places.from_y &&
                              found.y < places.until_y - 1);
  vector.dx = static_cast<float>(places.left + found.x - window.x + offset.dx + window.deformed_dx);
  vector.dy = static_cast<float>(places.top + found.y - window.y + offset.dy + window.deformed_dy);
  vector.score = static_cast<float>(found.score);
  vector.ratio = ratio_of(found.score, found.second);
  if (p.symmetric) move_to_node(window, window.slopes(), vector);
  return vector;
}
}  // namespace xcorr
