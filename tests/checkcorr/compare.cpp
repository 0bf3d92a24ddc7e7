// SPDX-License-Identifier: LGPL-2.1-or-later
#include "compare.hpp"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <limits>
#include <type_traits>

#include "comparison.hpp"
#include "cpu/reference/reference_methods.hpp"
#include "places.hpp"
#include "stages/score.hpp"
#include "templates.hpp"

namespace checkcorr {
namespace {

using xcorr::Method;
using xcorr::RightSums;
using xcorr::Variant;

template <class T>
void compare_exactly(Comparison& comparison, Role role, const Values& expected, const Values& got) {
  const auto a = view<T>(expected, role), b = view<T>(got, role);
  for (std::size_t i = 0; i < a.size(); ++i) comparison.element(role, i, a[i], b[i], 0);
}

// ---- correlate ------------------------------------------------------------------------------

/// The square root of the sum of squares of a matrix, with `centred` of it less its mean.
template <class T>
double norm_of(const Values& values, Role role, Size size, std::int64_t pitch, std::int64_t offset,
               bool centred) {
  const std::byte* data = values[static_cast<std::size_t>(role)].data() + offset;
  const double n = static_cast<double>(size.area());
  double sum = 0, squares = 0;
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x) {
      const double v = reinterpret_cast<const T*>(data + y * pitch)[x];
      sum += v;
      squares += v * v;
    }
  return std::sqrt(std::max(0.0, centred ? squares - sum * sum / n : squares));
}

double left_norm(const Truth& t, std::int64_t index) {
  const Problem& p = t.problem.correlate;
  return with_pixels(p.type, [&]<class T>() {
    return norm_of<T>(t.values, Role::lefts, p.left, p.left_pitch, index * p.left_stride, false);
  });
}

/// Of the right as it is multiplied.
double right_norm(const Truth& t, std::int64_t index) {
  const Problem& p = t.problem.correlate;
  const bool centred = p.type == ElementType::u8 && t.problem.products == ElementType::f32;
  return with_pixels(p.type, [&]<class T>() {
    return norm_of<T>(t.values, Role::rights, p.right, p.right_pitch, index * p.right_stride,
                      centred);
  });
}

/// Fills of whole numbers so small that float32 is exact in any order: less than half a unit off
/// is the right integer, and a direct kernel gives nothing in between.
bool is_integral(Fill fill) { return fill == Fill::integers || fill == Fill::binary; }

/// Bound of element `i` of output `output`, of products of type T.
template <class T>
class ProductBound {
 public:
  ProductBound(const Variant& variant, const Truth& t) : exact_(variant.exact), t_(t) {
    const Problem& p = t.problem.correlate;
    for (std::int64_t output = 0; output < p.outputs(); ++output) {
      const double right = right_norm(t, p.right_of(output));
      norms_.push_back(left_norm(t, output / p.rights) * right);
      stated_.push_back(t.product_error * right);
    }
    if (exact_ && p.type == t.problem.products)
      magnitudes_ = view<T>(*t.magnitudes, Role::products);
  }

  double of(std::int64_t output, std::size_t i) const {
    if constexpr (std::is_integral_v<T>) return 0;
    const auto o = static_cast<std::size_t>(output);
    if (!exact_) return t_.product_error > 0 ? stated_[o] : 8 * eps * norms_[o];
    if (magnitudes_.empty()) return eps * norms_[o];
    const bool f32 = std::is_same_v<T, float>;  // whose sums a CPU takes as doubles, some by FFT
    if (is_integral(t_.test.fill)) return f32 ? 1e-6 : 0;
    return 16 * eps * static_cast<double>(magnitudes_[i]) + (f32 ? DBL_EPSILON * norms_[o] : 0);
  }

 private:
  static constexpr double eps = std::numeric_limits<T>::epsilon();

  bool exact_;
  const Truth& t_;
  std::vector<double> norms_, stated_;  ///< of each output
  std::span<const T> magnitudes_;
};

template <class T>
void compare_products_as(Comparison& comparison, const Variant& variant, const Truth& t,
                         const Values& got) {
  const auto expected = view<T>(t.values, Role::products), actual = view<T>(got, Role::products);
  const auto area = static_cast<std::size_t>(t.problem.correlate.shifts.size().area());
  const ProductBound<T> bound(variant, t);
  for (std::size_t i = 0; i < expected.size(); ++i)
    comparison.element(Role::products, i, expected[i], actual[i],
                       bound.of(static_cast<std::int64_t>(i / area), i));
}

void compare_products(Comparison& comparison, const Variant& variant, const Truth& t,
                      const Values& got) {
  switch (t.problem.products) {
    case ElementType::u32:
      return compare_products_as<std::uint32_t>(comparison, variant, t, got);
    case ElementType::u64:
      return compare_products_as<std::uint64_t>(comparison, variant, t, got);
    case ElementType::i64:
      return compare_products_as<std::int64_t>(comparison, variant, t, got);
    case ElementType::f64:
      return compare_products_as<double>(comparison, variant, t, got);
    default:
      return compare_products_as<float>(comparison, variant, t, got);
  }
}

// ---- filter ---------------------------------------------------------------------------------

template <class T>
void compare_filtered_as(Comparison& comparison, const Truth& t, const Values& got) {
  const xcorr::FilterWeights& weights = *t.problem.filter;
  const auto expected = view<T>(t.values, Role::filtered), actual = view<T>(got, Role::filtered);
  double terms = 0;  // the largest that sum |v w f| can be
  if (!std::is_integral_v<T>) {
    const auto magnitude = [](const xcorr::AxisWeights& axis) {
      double sum = 0;
      for (int i = 0; i < axis.count(); ++i) sum += std::abs(axis.values[i]);
      return sum;
    };
    for (const T v : view<T>(t.values, Role::lefts))
      if (!std::isnan(v)) terms = std::max(terms, double(std::abs(v)));
    terms *= magnitude(weights.across) * magnitude(weights.down);
  }
  const double eps = weights.sums == ElementType::f64 ? DBL_EPSILON : double{FLT_EPSILON};
  const double roundings = weights.across.count() + weights.down.count() + 4;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double stored = double(std::numeric_limits<T>::epsilon()) * std::abs(expected[i]);
    comparison.element(Role::filtered, i, expected[i], actual[i],
                       std::is_integral_v<T> ? 0 : roundings * eps * terms + stored);
  }
}

void compare_filtered(Comparison& comparison, const Truth& t, const Values& got) {
  switch (t.problem.correlate.type) {
    case ElementType::u8:
      return compare_filtered_as<std::uint8_t>(comparison, t, got);
    case ElementType::f64:
      return compare_filtered_as<double>(comparison, t, got);
    default:
      return compare_filtered_as<float>(comparison, t, got);
  }
}

// ---- window sums ----------------------------------------------------------------------------

void compare_window_sums(Comparison& comparison, const Truth& t, const Values& got) {
  const Problem& p = t.problem.correlate;
  if (p.type == ElementType::u8) {
    compare_exactly<std::uint32_t>(comparison, Role::window_sums, t.values, got);
    if (p.output_type() == ElementType::u64)
      compare_exactly<std::uint64_t>(comparison, Role::window_squares, t.values, got);
    else
      compare_exactly<std::uint32_t>(comparison, Role::window_squares, t.values, got);
    return;
  }
  const double squares = left_norm(t, 0) * left_norm(t, 0);
  // The reference adds one after the other.
  const double eps = (16 + std::sqrt(double(p.right.area()))) * DBL_EPSILON;
  const double magnitudes = std::sqrt(squares * static_cast<double>(p.left.area()));
  for (const auto& [role, whole] :
       {std::pair{Role::window_sums, magnitudes}, std::pair{Role::window_squares, squares}}) {
    const auto expected = view<double>(t.values, role), actual = view<double>(got, role);
    for (std::size_t i = 0; i < expected.size(); ++i)
      comparison.element(role, i, expected[i], actual[i], eps * whole);
  }
}

// ---- normalise and refine -------------------------------------------------------------------

/// One window's sums, as doubles.
struct Window {
  double n, sum, squares;

  double spread() const { return squares - sum * sum / n; }
  /// How much larger the terms are than their difference, the spread.
  double cancellation() const { return squares / std::max(spread(), DBL_MIN); }
  /// So close to the limit of no variance that rounding decides.
  bool undecided() const { return std::abs(spread() / squares / xcorr::flat_share - 1) < 0.1; }
};

Window window_at(const Truth& t, std::size_t place) {
  const double n = static_cast<double>(t.problem.correlate.right.area());
  const double sum = t.problem.correlate.type == ElementType::u8
                         ? view<std::uint32_t>(t.values, Role::window_sums)[place]
                         : view<double>(t.values, Role::window_sums)[place];
  return {n, sum, window_square_at(t.problem.correlate, t.values, place)};
}

/// How far two ways in double to compute the score of floating-point data may lie apart.
double score_bound(Method method, const Window& w, const RightSums& right, double expected) {
  constexpr double eps = 32 * DBL_EPSILON;
  const double energy = std::sqrt(w.squares * right.squares);
  const double terms = w.squares + 2 * energy + right.squares;
  switch (method) {
    case Method::sqdiff:
      return eps * terms;
    case Method::sqdiff_normed:
      return energy > 0 ? eps * terms / energy : 0;
    case Method::ccorr:
      return eps * energy;
    case Method::ccorr_normed:
      return eps;
    case Method::ccoeff:
      return eps * energy;
    case Method::ccoeff_normed:
      if (w.undecided()) return 2;
      return eps * (std::abs(expected) * w.cancellation() + std::sqrt(w.cancellation()));
  }
  return 0;
}

void compare_scores(Comparison& comparison, const Truth& t, const Values& got) {
  const auto expected = view<float>(t.values, Role::scores),
             actual = view<float>(got, Role::scores);
  const auto rights = view<RightSums>(t.values, Role::right_sums);
  const bool exact = t.problem.products != ElementType::f32;
  const auto area = static_cast<std::size_t>(t.problem.correlate.shifts.size().area());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double bound = exact ? 0
                               : 4 * FLT_EPSILON * std::abs(expected[i]) +
                                     score_bound(t.problem.method, window_at(t, i % area),
                                                 rights[i / area], expected[i]);
    comparison.element(Role::scores, i, expected[i], actual[i], bound);
  }
}

void compare_candidates(Comparison& comparison, const Truth& t, const Values& got) {
  const auto counts = view<std::uint32_t>(t.values, Role::counts);
  const auto actual_counts = view<std::uint32_t>(got, Role::counts);
  const auto expected = view<xcorr::Candidate>(t.values, Role::candidates);
  const auto actual = view<xcorr::Candidate>(got, Role::candidates);
  for (std::size_t r = 0; r < counts.size(); ++r) {
    comparison.value([&] { return "counts[" + std::to_string(r) + "]"; }, counts[r],
                     actual_counts[r], 0);
    for (std::size_t k = 0; k < std::min(counts[r], actual_counts[r]); ++k) {
      const std::size_t i = r * static_cast<std::size_t>(t.problem.max_peaks) + k;
      const auto place = [&](const char* member) {
        return [=] {
          return "candidates[" + std::to_string(i) + "]." + member + " (right " +
                 std::to_string(r) + ", peak " + std::to_string(k) + ")";
        };
      };
      comparison.value(place("score"), expected[i].score, actual[i].score, 0);
      comparison.value(place("x"), expected[i].x, actual[i].x, 0);
      comparison.value(place("y"), expected[i].y, actual[i].y, 0);
    }
  }
}

/// Of the score of the window at (x, y), from floating-point pixels.
double exact_score_bound(const Truth& t, const RightSums& right, int x, int y, double expected) {
  const auto element = static_cast<std::size_t>(y) * t.problem.correlate.shifts.width + x;
  return score_bound(t.problem.method, window_at(t, element), right, expected);
}

template <class T>
double exact_score_at(const Truth& t, std::size_t right, int x, int y) {
  namespace plain = xcorr::cpu::plain;
  const Problem& p = t.problem.correlate;
  auto window = plain::left_of<T>(p, view<std::byte>(t.values, Role::lefts).data(), 0);
  window.data += (p.shifts.y + y) * p.left_pitch + (p.shifts.x + x) * std::int64_t{sizeof(T)};
  window.size = p.right;
  return plain::method_score(
      t.problem.method,
      plain::terms_of(window,
                      plain::right_of<T>(p, view<std::byte>(t.values, Role::templates).data(),
                                         static_cast<std::int64_t>(right))));
}

/// Of the sub-pixel place of a peak, from the nine scores that it comes from.
xcorr::Offset place_bound_at(const Truth& t, std::size_t right, const xcorr::RefinedPeak& peak) {
  const xcorr::Rect shifts = t.problem.correlate.shifts;
  const auto& sums = view<RightSums>(t.values, Role::right_sums)[right];
  const bool u8 = t.problem.correlate.type == ElementType::u8;
  double scores[9] = {}, error = 0;
  for (int i = 0; i < 9; ++i) {
    const int x = peak.x + i % 3 - 1, y = peak.y + i / 3 - 1;
    if (x < 0 || y < 0 || x >= shifts.width || y >= shifts.height) continue;
    scores[i] =
        u8 ? exact_score_at<std::uint8_t>(t, right, x, y) : exact_score_at<float>(t, right, x, y);
    if (!u8)
      error = std::max(
          error, exact_score_bound(t, sums, x, y, scores[i]) + DBL_EPSILON * std::abs(scores[i]));
  }
  return place_bound(scores, peak.x > 0 && peak.x + 1 < shifts.width,
                     peak.y > 0 && peak.y + 1 < shifts.height,
                     xcorr::info(t.problem.method).minimum, error);
}

void compare_peaks(Comparison& comparison, const Truth& t, const Values& got) {
  const bool exact = t.problem.correlate.type == ElementType::u8;
  const auto counts = view<std::uint32_t>(t.values, Role::counts);
  const auto rights = view<RightSums>(t.values, Role::right_sums);
  const auto expected = view<xcorr::RefinedPeak>(t.values, Role::peaks);
  const auto actual = view<xcorr::RefinedPeak>(got, Role::peaks);
  compare_exactly<std::uint32_t>(comparison, Role::peak_counts, t.values, got);
  for (std::size_t r = 0; r < counts.size(); ++r)
    for (std::size_t k = 0; k < counts[r]; ++k) {
      const std::size_t i = r * static_cast<std::size_t>(t.problem.max_peaks) + k;
      const auto &e = expected[i], &a = actual[i];
      const auto place = [&](const char* member) {
        return [=] {
          return "peaks[" + std::to_string(i) + "]." + member + " (right " + std::to_string(r) +
                 ", x " + std::to_string(e.x) + ", y " + std::to_string(e.y) + ")";
        };
      };
      comparison.value(place("x"), e.x, a.x, 0);
      comparison.value(place("y"), e.y, a.y, 0);
      const double bound = exact ? 0 : exact_score_bound(t, rights[r], e.x, e.y, e.score);
      comparison.value(place("score"), e.score, a.score, bound);
      const xcorr::Offset places = t.problem.subpixel ? place_bound_at(t, r, e) : xcorr::Offset{};
      comparison.value(place("dx"), e.dx, a.dx, places.dx);
      comparison.value(place("dy"), e.dy, a.dy, places.dy);
    }
}

}  // namespace

Verdict compare(const Variant& variant, const Truth& truth, const Values& got) {
  Comparison comparison(truth.problem);
  switch (variant.stage) {
    case Stage::filter:
      compare_filtered(comparison, truth, got);
      break;
    case Stage::correlate:
      compare_products(comparison, variant, truth, got);
      break;
    case Stage::window_sums:
      compare_window_sums(comparison, truth, got);
      break;
    case Stage::normalise:
      compare_scores(comparison, truth, got);
      break;
    case Stage::search:
      if (variant.refines && variant.refines(truth.problem)) compare_peaks(comparison, truth, got);
      [[fallthrough]];
    case Stage::peaks:
      compare_candidates(comparison, truth, got);
      break;
    case Stage::refine:
      compare_peaks(comparison, truth, got);
      break;
    case Stage::right_sums:
      compare_right_sums(comparison, truth, got);
      break;
    case Stage::blend:
      compare_blended(comparison, truth, got);
      break;
  }
  return comparison.verdict();
}

}  // namespace checkcorr
