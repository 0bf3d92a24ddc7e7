// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage overhang_scores: products, window sums and templates -> the scores of the windows that
// stick out of the picture, of what lies in it. It comes before peaks, which then is the same as
// without. The part of a window that lies in the picture is a rectangle, so what the template is
// there comes from sums over the rectangles from its corner on.
#pragma once

#include "stages/match/contrast.hpp"
#include "stages/match/normalise.hpp"
#include "stages/match/overhang.hpp"
#include "stages/match/score.hpp"

namespace xcorr {

/// Over pixels of a template that count.
struct InsideSums {
  double counted = 0, sum = 0, squares = 0;

  template <class T>
  XCORR_HD static InsideSums of(T pixel, bool counts) {
    const double t = counts ? pixel : 0;
    return {counts ? 1.0 : 0.0, t, t * t};
  }
  XCORR_HD InsideSums& operator+=(const InsideSums& other) {
    counted += other.counted;
    sum += other.sum;
    squares += other.squares;
    return *this;
  }
  XCORR_HD InsideSums operator-(const InsideSums& other) const {
    return {counted - other.counted, sum - other.sum, squares - other.squares};
  }
};

/// The same over any rectangle of a template, from those over what is left of and above a place:
/// row by row, a column and a row more than the template has.
class RectangleSums {
 public:
  XCORR_HD RectangleSums(const InsideSums* sums, Size right) : sums_(sums), pitch_(pitch(right)) {}
  XCORR_HD InsideSums over(const Rect& r) const {
    return (at(r.x + r.width, r.y + r.height) - at(r.x, r.y + r.height)) -
           (at(r.x + r.width, r.y) - at(r.x, r.y));
  }
  static constexpr std::int64_t pitch(Size right) { return right.width + 1; }
  static constexpr std::int64_t count(Size right) { return pitch(right) * (right.height + 1); }

 private:
  XCORR_HD const InsideSums& at(int x, int y) const { return sums_[y * pitch_ + x]; }

  const InsideSums* sums_;
  std::int64_t pitch_;
};

namespace stage {

struct OverhangScores {
  static constexpr const char* name = "overhang_scores";

  struct Problem : Normalise::Problem {
    ContrastRule contrast = {};
    Overhang overhang = {};

    constexpr Features features() const {
      return Normalise::Problem::features()
          .with(Feature::contrast, bool(contrast))
          .with(Feature::overhang, bool(overhang));
    }
  };

  struct Buffers : LaunchOfRights {
    const void* products = nullptr;
    const void* window_sums = nullptr;
    const void* window_squares = nullptr;
    const void* templates = nullptr;  ///< see WindowInputs
    const xcorr::TemplateSums* template_sums = nullptr;
    const std::uint8_t* mask = nullptr;  ///< see stages/match/mask.hpp
    const float* contrast_filtered = nullptr;
    /// The same, but oriented() scores of windows that stick out, or no_match(). May be
    /// `contrast_filtered`.
    float* overhang_scores = nullptr;
  };

  template <class Visit>
  static void arguments(const Problem& p, Visit visit) {
    visit("products", &Buffers::products, p.products_extent());
    visit("window_sums", &Buffers::window_sums, window_sums_of(p.correlate));
    visit("window_squares", &Buffers::window_squares, window_squares_of(p.correlate));
    visit("templates", &Buffers::templates, rights_of(p.correlate));
    visit("template_sums", &Buffers::template_sums, template_sums_of(p.correlate));
    visit("mask", &Buffers::mask, p.masking.extent(p.correlate.right));
    visit("contrast_filtered", &Buffers::contrast_filtered, scores_of(p.correlate));
    visit("overhang_scores", &Buffers::overhang_scores, scores_of(p.correlate));
  }

  using Extra = NoExtra;
};

}  // namespace stage

/// Where an element of the output lies, and what it is the score of.
struct OverhangPlace {
  int right;  ///< of the launch
  int x, y;
  Rect seen;  ///< see Overhang::seen()
};

/// What window and template are at a place, in one plane. Product, Sum, Squares: of the surfaces.
template <class Product, class Sum, class Squares>
XCORR_HD ScoreTerms<double> overhang_terms(const stage::OverhangScores::Problem& problem,
                                           const stage::OverhangScores::Buffers& b,
                                           const OverhangPlace& at, int plane,
                                           const InsideSums& right) {
  const Problem& p = problem.correlate;
  const std::int64_t window = plane * windows_of(p) + std::int64_t{at.y} * p.shifts.width + at.x;
  const auto sum = static_cast<double>(static_cast<const Sum*>(b.window_sums)[window]);
  const auto squares = static_cast<double>(static_cast<const Squares*>(b.window_squares)[window]);
  auto product = static_cast<double>(static_cast<const Product*>(
      b.products)[plane * problem.product_plane() + at.right * problem.products_stride() +
                  at.y * problem.products_pitch() + at.x]);
  if constexpr (std::is_floating_point_v<Product>)  // of the template less its mean
    product += sum *
               b.template_sums[std::int64_t{plane} * p.rights + b.first_right + at.right].sum /
               static_cast<double>(problem.pixels());
  return ScoreTerms<double>(
      WindowTerms<double>{right.counted, product, sum, squares, right.sum, right.squares});
}

/// The score of a window that sticks out. `sums`: the template's RectangleSums, plane after plane.
/// `minimum`: the best score is the smallest.
template <class Product, class Sum, class Squares>
XCORR_HD float overhang_score(const stage::OverhangScores::Problem& problem,
                              const stage::OverhangScores::Buffers& b, bool minimum,
                              const InsideSums* sums, const OverhangPlace& at) {
  const Problem& p = problem.correlate;
  const auto right = [&](int plane) {
    return RectangleSums(sums + plane * RectangleSums::count(p.right), p.right).over(at.seen);
  };
  const InsideSums first = right(0);
  if (!problem.overhang.is_in_reach(p.shifts.x + at.x, p.shifts.y + at.y, p.right) ||
      !Overhang::permits(problem.overhang.most, static_cast<double>(problem.pixels()),
                         first.counted))
    return no_match(minimum);
  auto terms = overhang_terms<Product, Sum, Squares>(problem, b, at, 0, first);
  for (int plane = 1; plane < p.planes; ++plane)
    terms += overhang_terms<Product, Sum, Squares>(problem, b, at, plane, right(plane));
  const ContrastRule& contrast = problem.contrast;
  if (contrast.least > 0 && lacks_contrast(terms.n, terms.left_variance, p.planes, contrast.least))
    return no_match(minimum);
  return static_cast<float>(oriented(contrast.polarity, score(problem.method, terms)));
}

}  // namespace xcorr
