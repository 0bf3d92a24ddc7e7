// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The oracle: every stage in plain loops straight from its definition, in integers for u8 and
// u16 and double for f32, on one thread. checkcorr compares every other variant with these, so
// nothing here or in reference_methods.hpp is shared with them.
#include <algorithm>
#include <vector>

#include "oracle/reference_methods.hpp"
#include "stages/match/contrast_filter.hpp"
#include "stages/match/peaks.hpp"
#include "stages/match/score.hpp"  // noise_share and Int128 only

namespace xcorr::cpu {
namespace {

using namespace plain;

// ---- correlate ------------------------------------------------------------------------------

/// Sum over the pixels where both exist of left * (right - offset).
template <class Sum, class T>
Sum product(const Matrix<T>& left, const Matrix<T>& right, int dx, int dy, Sum offset) {
  const int first_x = std::max(0, -dx), end_x = std::min(right.size.width, left.size.width - dx);
  const int first_y = std::max(0, -dy), end_y = std::min(right.size.height, left.size.height - dy);
  Sum sum = 0;
  for (int j = first_y; j < end_y; ++j)
    for (int i = first_x; i < end_x; ++i)
      sum +=
          static_cast<Sum>(left.at(i + dx, j + dy)) * (static_cast<Sum>(right.at(i, j)) - offset);
  return sum;
}

/// `centred`: the right's mean is subtracted first.
template <class T, class Sum, class Out>
void correlate_as(const stage::Correlate::Problem& problem, const stage::Correlate::Buffers& b,
                  bool centred) {
  const Problem& p = problem.correlate;
  Out* out = static_cast<Out*>(b.products);
  for (int l = 0; l < p.lefts * p.planes; ++l) {
    for (int r = b.first_right; r < b.first_right + b.right_count; ++r) {
      const auto left = p.planes > 1 ? left_of_right<T>(p, b.lefts, r, l)
                                     : left_of<T>(p, b.lefts, p.own_lefts ? r : l);
      const auto index = p.planes > 1 ? std::int64_t{l} * p.rights + r
                                      : p.right_of(std::int64_t{l} * p.rights + r);
      const auto right = right_of<T>(p, b.rights, index);
      const Sum offset = centred ? static_cast<Sum>(mean_of(right)) : Sum{0};
      for (int y = 0; y < p.shifts.height; ++y)
        for (int x = 0; x < p.shifts.width; ++x)
          out[y * problem.products_pitch() + x] =
              static_cast<Out>(product(left, right, p.shifts.x + x, p.shifts.y + y, offset));
      out += problem.products_stride();
    }
  }
}

Status correlate(const stage::Correlate::Problem& problem, const Device&,
                 const stage::Correlate::Buffers& b, PlanState*) {
  using u8 = std::uint8_t;
  if (problem.correlate.type == ElementType::f32)
    correlate_as<float, double, float>(problem, b, false);
  else if (problem.correlate.type == ElementType::f64)
    correlate_as<double, long double, double>(problem, b, false);
  else if (problem.correlate.type == ElementType::i32)
    correlate_as<std::int32_t, std::int64_t, std::int64_t>(problem, b, false);
  else if (problem.correlate.type == ElementType::u16)
    correlate_as<std::uint16_t, std::int64_t, std::uint64_t>(problem, b, false);
  else if (problem.products == ElementType::f32)
    correlate_as<u8, double, float>(problem, b, true);
  else if (problem.products == ElementType::u64)
    correlate_as<u8, std::int64_t, std::uint64_t>(problem, b, false);
  else
    correlate_as<u8, std::int64_t, std::uint32_t>(problem, b, false);
  return {};
}

// ---- window sums ----------------------------------------------------------------------------

Mask mask_of(const Problem& p, const std::uint8_t* bytes) { return {bytes, p.right.width}; }

template <class T, class Sum, class Squares>
void window_sums_as(const stage::WindowSums::Problem& problem,
                    const stage::WindowSums::Buffers& b) {
  const Problem& p = problem.correlate;
  const Mask mask{b.mask, p.right.width, problem.masking.weighted};
  Sum* sums = static_cast<Sum*>(b.window_sums);
  Squares* squares = static_cast<Squares*>(b.window_squares);
  for (std::int64_t l = 0; l < p.planes * p.total_lefts(); ++l) {
    const auto left = left_of_right<T>(p, b.lefts, l % p.total_lefts(), int(l / p.total_lefts()));
    for (int y = 0; y < p.shifts.height; ++y)
      for (int x = 0; x < p.shifts.width; ++x) {
        Wide<T> sum = 0, square = 0;
        for_counted(p.right, mask, [&](int i, int j) {
          const Wide<T> f = left.at(p.shifts.x + x + i, p.shifts.y + y + j);
          sum += mask.times(i, j) * f;
          square += mask.times(i, j) * f * f;
        });
        *sums++ = static_cast<Sum>(sum);
        *squares++ = static_cast<Squares>(square);
      }
  }
}

Status window_sums(const stage::WindowSums::Problem& problem, const Device&,
                   const stage::WindowSums::Buffers& b, PlanState*) {
  if (problem.correlate.type == ElementType::f32)
    window_sums_as<float, double, double>(problem, b);
  else if (problem.correlate.type == ElementType::u16)
    window_sums_as<std::uint16_t, std::uint64_t, std::uint64_t>(problem, b);
  else if (problem.masking.weighted)
    window_sums_as<std::uint8_t, std::uint64_t, std::uint64_t>(problem, b);
  else if (problem.correlate.output_type() == ElementType::u64)
    window_sums_as<std::uint8_t, std::uint32_t, std::uint64_t>(problem, b);
  else
    window_sums_as<std::uint8_t, std::uint32_t, std::uint32_t>(problem, b);
  return {};
}

// ---- normalise ------------------------------------------------------------------------------

/// From a plain product of integers.
template <class SumT, class SquaresT>
struct IntegerNormaliser {
  using Sum = SumT;
  using Squares = SquaresT;

  template <class Product>
  static Terms terms(std::int64_t n, Product product, Sum sum, Squares squares,
                     const TemplateSums& right, double /*product_error*/) {
    return integer_terms(n, sum, squares, static_cast<Int128>(right.sum),
                         static_cast<Int128>(right.squares), product);
  }
};

/// From a floating-point product with the template's mean removed, which is the covariance. A
/// window whose contrast is so low that the product's error exceeds noise_share of a score is
/// treated as one of higher contrast.
template <class SumT, class SquaresT>
struct CentredNormaliser {
  using Sum = SumT;
  using Squares = SquaresT;

  static Terms terms(std::int64_t n, float covariance, Sum sum, Squares squares,
                     const TemplateSums& right, double product_error) {
    const double count = static_cast<double>(n), f = sum, ff = static_cast<double>(squares);
    const double product = covariance + f * right.sum / count;
    const double spread = ff - f * f / count, right_spread = right.n2_variance / count;
    const double least = product_error / noise_share;
    return {.difference = ff - 2 * product + right.squares,
            .product = product,
            .left_energy = ff,
            .right_energy = right.squares,
            .covariance = covariance,
            .left_spread = std::max(spread, least * least),
            .right_spread = right_spread,
            .scale = 1,
            .flat = is_flat(spread, ff) || is_flat(right_spread, right.squares)};
  }
};

template <class Normaliser, class Product>
void normalise_as(const stage::Normalise::Problem& problem, const stage::Normalise::Buffers& b) {
  const Problem& p = problem.correlate;
  const auto* product = static_cast<const Product*>(b.products);
  const auto* sums = static_cast<const typename Normaliser::Sum*>(b.window_sums);
  const auto* squares = static_cast<const typename Normaliser::Squares*>(b.window_squares);
  const double product_error = b.product_error ? *b.product_error : 0.0;
  float* out = b.scores;
  for (int r = b.first_right; r < b.first_right + b.right_count; ++r) {
    for (int y = 0; y < p.shifts.height; ++y)
      for (int x = 0; x < p.shifts.width; ++x) {
        const auto terms_of_plane = [&](int c) {
          const std::int64_t place =
              c * windows_of(p) + first_window(p, r) + std::int64_t{y} * p.shifts.width + x;
          return Normaliser::terms(
              problem.pixels(),
              product[c * problem.product_plane() + y * problem.products_pitch() + x], sums[place],
              squares[place], b.template_sums[std::int64_t{c} * p.rights + r], product_error);
        };
        Terms terms = over_planes(p, terms_of_plane);
        terms.difference = std::max(0.0, terms.difference);  // less is rounding
        *out++ = static_cast<float>(method_score(problem.method, terms));
      }
    product += problem.products_stride();
  }
}

Status normalise(const stage::Normalise::Problem& problem, const Device&,
                 const stage::Normalise::Buffers& b, PlanState*) {
  const auto of_bytes = [&]<class Wide>() {  // sums of products, of squares: see Buffers
    if (problem.products == ElementType::f32)
      normalise_as<CentredNormaliser<std::uint32_t, Wide>, float>(problem, b);
    else
      normalise_as<IntegerNormaliser<std::uint32_t, Wide>, Wide>(problem, b);
  };
  if (problem.correlate.type == ElementType::f32)
    normalise_as<CentredNormaliser<double, double>, float>(problem, b);
  else if (problem.correlate.type == ElementType::u16)
    normalise_as<IntegerNormaliser<std::uint64_t, std::uint64_t>, std::uint64_t>(problem, b);
  else if (problem.correlate.output_type() == ElementType::u64)
    of_bytes.template operator()<std::uint64_t>();
  else
    of_bytes.template operator()<std::uint32_t>();
  return {};
}

// ---- peaks ----------------------------------------------------------------------------------

/// The score of an exact copy of the template times the threshold (unreachable when a copy scores
/// 0); for the minimum methods the score of a zero window times (1 - threshold). A float like the
/// scores, so that an exact copy reaches threshold 1.
float limit_of(const stage::Peaks::Problem& problem, const stage::Peaks::Buffers& b, int r) {
  TemplateSums right;
  for (int c = 0; c < problem.correlate.planes; ++c) {
    const TemplateSums& plane = b.template_sums[std::int64_t{c} * problem.correlate.rights + r];
    right.squares += plane.squares;
    right.n2_variance += plane.n2_variance;
  }
  const double n = static_cast<double>(problem.pixels());
  const auto of_copy = [&](double copy) { return copy > 0 ? problem.threshold * copy : HUGE_VAL; };
  double limit = 0;
  switch (problem.method) {
    case Method::sqdiff:
      limit = (1 - problem.threshold) * right.squares;
      break;
    case Method::sqdiff_normed:
    case Method::cosine_distance:
      limit = 1 - problem.threshold;
      break;
    case Method::ccorr:
      limit = of_copy(right.squares);
      break;
    case Method::ccoeff: {
      const bool flat = right.n2_variance <= flat_share * n * right.squares;
      limit = of_copy(flat ? 0 : right.n2_variance / n);
      break;
    }
    case Method::ccorr_normed:
    case Method::ccoeff_normed:
    case Method::orientation:
      limit = problem.threshold;
      break;
  }
  return static_cast<float>(limit);
}

/// A surface of scores and the order of its positions: true where (x, y) comes before (u, v).
struct Surface {
  const float* scores;
  Size size;
  bool minimum;

  float at(int x, int y) const { return scores[std::int64_t{y} * size.width + x]; }
  bool before(int x, int y, int u, int v) const {
    const float a = at(x, y), b = at(u, v);
    if (a != b) return minimum ? a < b : a > b;
    return y != v ? y < v : x < u;
  }
  bool is_peak(int x, int y) const {
    for (int v = y - 1; v <= y + 1; ++v)
      for (int u = x - 1; u <= x + 1; ++u)
        if (u >= 0 && v >= 0 && u < size.width && v < size.height && before(u, v, x, y))
          return false;
    return true;
  }
};

Status peaks(const stage::Peaks::Problem& problem, const Device&, const stage::Peaks::Buffers& b,
             PlanState*) {
  const Size size = problem.correlate.shifts.size();
  const bool minimum = info(problem.method).minimum;
  for (int r = 0; r < b.right_count; ++r) {
    const int right = b.first_right + r;
    const Surface surface{b.scores + r * size.area(), size, minimum};
    const float limit = limit_of(problem, b, right);
    std::vector<Candidate> found;
    for (int y = 0; y < size.height; ++y)
      for (int x = 0; x < size.width; ++x) {
        const float score = surface.at(x, y);
        if (minimum ? score > limit : score < limit) continue;
        if (surface.is_peak(x, y)) found.push_back({score, x, y});
      }
    std::sort(found.begin(), found.end(), [&](const Candidate& a, const Candidate& c) {
      return surface.before(a.x, a.y, c.x, c.y);
    });
    std::vector<Candidate> kept;
    for (const Candidate& c : found) {
      bool suppressed = false;
      for (const Candidate& k : kept)
        suppressed |=
            std::abs(c.x - k.x) < problem.distance_x && std::abs(c.y - k.y) < problem.distance_y;
      if (!suppressed && kept.size() < static_cast<std::size_t>(problem.max_peaks))
        kept.push_back(c);
    }
    b.counts[right] = static_cast<std::uint32_t>(kept.size());
    std::copy(kept.begin(), kept.end(), b.candidates + std::int64_t{right} * problem.max_peaks);
  }
  return {};
}

// ---- contrast_filter
// ----------------------------------------------------------------------------------

/// n times the standard deviation of each window.
template <class Sum, class Squares>
std::vector<double> deviations(const stage::ContrastFilter::Problem& problem,
                               const stage::ContrastFilter::Buffers& b) {
  using Exact = std::conditional_t<std::is_integral_v<Sum>, Int128, double>;
  const auto n = static_cast<Exact>(problem.pixels());
  std::vector<double> each(windows_of(problem.correlate));
  for (std::size_t i = 0; i < each.size(); ++i) {
    Exact variance = 0;
    for (int c = 0; c < problem.correlate.planes; ++c) {
      const std::size_t at = c * each.size() + i;
      const auto sum = static_cast<Exact>(static_cast<const Sum*>(b.window_sums)[at]);
      const auto squares = static_cast<Exact>(static_cast<const Squares*>(b.window_squares)[at]);
      variance += n * squares - sum * sum;
    }
    each[i] = std::sqrt(std::max(0.0, static_cast<double>(variance)) / problem.correlate.planes);
  }
  return each;
}

Status contrast_filter(const stage::ContrastFilter::Problem& problem, const Device&,
                       const stage::ContrastFilter::Buffers& b, PlanState*) {
  using u32 = std::uint32_t;
  const Problem& p = problem.correlate;
  const std::vector<double> deviation =
      p.type == ElementType::f32            ? deviations<double, double>(problem, b)
      : p.type == ElementType::u16          ? deviations<std::uint64_t, std::uint64_t>(problem, b)
      : p.output_type() == ElementType::u64 ? deviations<u32, std::uint64_t>(problem, b)
                                            : deviations<u32, u32>(problem, b);
  const double least = problem.contrast.least * static_cast<double>(problem.pixels());
  const std::size_t area = p.shifts.size().area();
  for (std::size_t i = 0; i < b.right_count * area; ++i) {
    const float score = b.scores[i];
    const auto right = b.first_right + static_cast<std::int64_t>(i / area);
    if (problem.contrast.least > 0 && deviation[first_window(p, right) + i % area] < least)
      b.contrast_filtered[i] = info(problem.method).minimum ? HUGE_VALF : -HUGE_VALF;
    else if (problem.contrast.polarity == Polarity::inverted)
      b.contrast_filtered[i] = -score;
    else
      b.contrast_filtered[i] =
          problem.contrast.polarity == Polarity::either ? std::abs(score) : score;
  }
  return {};
}

// ---- refine ---------------------------------------------------------------------------------

/// Where the parabola through (-1, before), (0, here), (1, after) has its extremum, at most half a
/// pixel away; 0 where it has no extremum of the requested kind.
double parabola_offset(double before, double here, double after, bool minimum) {
  const double curvature = before - 2 * here + after;
  if (minimum ? !(curvature > 0) : !(curvature < 0)) return 0;
  return std::clamp(0.5 * (before - after) / curvature, -0.5, 0.5);
}

/// The extremum of the quadratic whose derivatives are the central differences of s[1 + dy][1 +
/// dx]; leaves `peak` unchanged where that has no extremum of the requested kind. Solves
///   xx dx + xy dy = -x,  xy dx + yy dy = -y.
void quadratic_offset(const double (&s)[3][3], bool minimum, RefinedPeak& peak) {
  const double x = (s[1][2] - s[1][0]) / 2, y = (s[2][1] - s[0][1]) / 2;
  const double xx = s[1][0] - 2 * s[1][1] + s[1][2], yy = s[0][1] - 2 * s[1][1] + s[2][1];
  const double xy = (s[2][2] - s[0][2] - s[2][0] + s[0][0]) / 4;
  const double det = xx * yy - xy * xy;
  const bool wanted = minimum ? xx > 0 && yy > 0 : xx < 0 && yy < 0;
  if (!wanted || !(det > 0)) return;
  peak.dx = std::clamp((xy * y - yy * x) / det, -1.0, 1.0);
  peak.dy = std::clamp((xy * x - xx * y) / det, -1.0, 1.0);
}

template <class T>
RefinedPeak refined(const stage::Refine::Problem& problem, const stage::Refine::Buffers& b, int r,
                    const Candidate& at) {
  const Rect shifts = problem.correlate.shifts;
  const auto exact = [&](int x, int y) {
    const Mask mask = mask_of(problem.correlate, b.mask);
    const SeenMask seen = seen_mask(problem.correlate, problem.overhang, mask, x, y);
    return method_score(problem.method, terms_at<T>(problem.correlate, b.lefts, b.templates,
                                                    seen.is_whole ? mask : seen.mask(), r, x, y));
  };
  RefinedPeak peak{exact(at.x, at.y), 0, 0, at.x, at.y};
  // A peak of the opposite contrast is where the score is least.
  const bool inverted = problem.polarity == Polarity::inverted ||
                        (problem.polarity == Polarity::either && peak.score < 0);
  const bool minimum = info(problem.method).minimum || inverted;
  const bool whole_x = problem.subpixel && at.x > 0 && at.x + 1 < shifts.width;
  const bool whole_y = problem.subpixel && at.y > 0 && at.y + 1 < shifts.height;
  if (whole_x)
    peak.dx = parabola_offset(exact(at.x - 1, at.y), peak.score, exact(at.x + 1, at.y), minimum);
  if (whole_y)
    peak.dy = parabola_offset(exact(at.x, at.y - 1), peak.score, exact(at.x, at.y + 1), minimum);
  if (whole_x && whole_y) {
    double s[3][3];
    for (int j = 0; j < 3; ++j)
      for (int i = 0; i < 3; ++i) s[j][i] = exact(at.x + i - 1, at.y + j - 1);
    quadratic_offset(s, minimum, peak);
  }
  return peak;
}

template <class T>
void refine_as(const stage::Refine::Problem& problem, const stage::Refine::Buffers& b) {
  for (int r = b.first_right; r < b.first_right + b.right_count; ++r)
    for (std::uint32_t i = 0; i < b.counts[r]; ++i) {
      const std::int64_t index = std::int64_t{r} * problem.max_peaks + i;
      b.peaks[index] = refined<T>(problem, b, r, b.candidates[index]);
    }
}

Status refine(const stage::Refine::Problem& problem, const Device&, const stage::Refine::Buffers& b,
              PlanState*) {
  for (int r = b.first_right; r < b.first_right + b.right_count; ++r)
    b.peak_counts[r] = b.counts[r];
  if (problem.correlate.type == ElementType::f32)
    refine_as<float>(problem, b);
  else if (problem.correlate.type == ElementType::u16)
    refine_as<std::uint16_t>(problem, b);
  else
    refine_as<std::uint8_t>(problem, b);
  return {};
}

// ---- table ----------------------------------------------------------------------------------

constexpr Features match_features{Feature::u8,        Feature::u16,           Feature::f32,
                                  Feature::wide_sums, Feature::several_peaks, Feature::mask,
                                  Feature::contrast,  Feature::own_lefts,     Feature::planes};
constexpr Features surface_features =
    match_features | Features(Feature::float_products, Feature::pitched_output);

constexpr Variant<stage::Correlate> correlate_table[] = {
    {{.name = "reference",
      .backend = Backend::cpu,
      .features = surface_features | Features(Feature::i32, Feature::f64, Feature::several_images,
                                              Feature::partial_overlap)},
     {.launch = correlate}},
};
constexpr Variant<stage::WindowSums> window_sums_table[] = {
    {{.name = "reference",
      .backend = Backend::cpu,
      .features = match_features | Features(Feature::weights)},
     {.launch = window_sums}},
};
constexpr Variant<stage::Normalise> normalise_table[] = {
    {{.name = "reference", .backend = Backend::cpu, .features = surface_features},
     {.launch = normalise}},
};
constexpr Variant<stage::Peaks> peaks_table[] = {
    {{.name = "reference", .backend = Backend::cpu, .features = match_features}, {.launch = peaks}},
};
constexpr Variant<stage::ContrastFilter> contrast_filter_table[] = {
    {{.name = "reference", .backend = Backend::cpu, .features = match_features},
     {.launch = contrast_filter}},
};
constexpr Variant<stage::Refine> refine_table[] = {
    {{.name = "reference",
      .backend = Backend::cpu,
      .features = match_features | Features(Feature::overhang)},
     {.launch = refine}},
};

}  // namespace

Family reference_family() {
  return Family(correlate_table, window_sums_table, normalise_table, contrast_filter_table,
                peaks_table, refine_table);
}

}  // namespace xcorr::cpu
