// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Exact scores of the few remaining positions, from the pixels themselves, and the sub-pixel
// position from the scores of their eight neighbours.
#include <vector>

#include "cpu/common/common.hpp"
#include "stages/match/peaks.hpp"
#include "stages/match/score.hpp"

namespace xcorr::cpu {
namespace {

/// A position of the output to be scored.
struct Window {
  const stage::Refine::Problem& problem;
  const stage::Refine::Buffers& buffers;
  int right;  ///< of the templates
  int x, y;   ///< element of the output

  template <class T>
  Matrix<T> pixels(int plane) const {
    const Problem& p = problem.correlate;
    auto window = left_of<T>(p, buffers.lefts, 0, plane);
    window.data = reinterpret_cast<const std::byte*>(window.row(p.shifts.y + y) + p.shifts.x + x);
    window.size = p.right;
    return window;
  }
  Rect seen() const { return problem.seen(x, y); }
  bool sticks_out() const { return seen().size() != problem.correlate.right; }
  /// Calls f(x, y) for each pixel of it that counts and lies in the picture.
  template <class F>
  void for_seen(F f) const {
    const Rect part = seen();
    const std::int64_t width = problem.correlate.right.width;
    for (int v = part.y; v < part.y + part.height; ++v)
      for (int u = part.x; u < part.x + part.width; ++u)
        if (!buffers.mask || buffers.mask[v * width + u]) f(u, v);
  }
  /// Its value in a surface with one for each output.
  template <class T>
  std::int64_t value_in(const void* surface, int plane) const {
    const Problem& p = problem.correlate;
    const std::int64_t place = plane * windows_of(p) + std::int64_t{y} * p.shifts.width + x;
    return static_cast<std::int64_t>(static_cast<const T*>(surface)[place]);
  }
};

/// Rows are split where their products would exceed 32 bits.
std::int64_t product_of(const Matrix<std::uint8_t>& window, const Matrix<std::uint8_t>& right) {
  constexpr int most = 32768;
  std::int64_t product = 0;
  for (int y = 0; y < right.size.height; ++y)
    for (int x = 0; x < right.size.width; x += most) {
      const std::uint8_t* f = window.row(y) + x;
      const std::uint8_t* t = right.row(y) + x;
      const int count = std::min(most, right.size.width - x);
      std::uint32_t sum = 0;
      for (int k = 0; k < count; ++k) sum += std::uint32_t{f[k]} * t[k];
      product += sum;
    }
  return product;
}

std::int64_t product_of(const Matrix<std::uint16_t>& window, const Matrix<std::uint16_t>& right) {
  std::uint64_t product = 0;
  for (int y = 0; y < right.size.height; ++y) {
    const std::uint16_t *f = window.row(y), *t = right.row(y);
    for (int x = 0; x < right.size.width; ++x) product += std::uint32_t{f[x]} * t[x];
  }
  return static_cast<std::int64_t>(product);
}

/// Of what lies in the picture alone.
template <class Pixel>
ScoreTerms<TermOf<Pixel>> seen_terms_of(const Window& w, const Matrix<Pixel>& right, int plane) {
  using Term = TermOf<Pixel>;
  const Matrix<Pixel> window = w.pixels<Pixel>(plane);
  WindowTerms<Term> terms{};
  w.for_seen([&](int x, int y) {
    const Term f = window.row(y)[x], t = right.row(y)[x];
    ++terms.n;
    terms.product += f * t;
    terms.left_sum += f;
    terms.left_squares += f * f;
    terms.right_sum += t;
    terms.right_squares += t * t;
  });
  return ScoreTerms<Term>(terms);
}

/// Pixels of integers: integers. The sums over the window exist already.
template <class Pixel>
ScoreTerms<TermOf<Pixel>> terms_of(const Window& w, const Matrix<Pixel>& right, int plane) {
  if (w.sticks_out()) return seen_terms_of(w, right, plane);
  const stage::Refine::Buffers& b = w.buffers;
  const Problem& p = w.problem.correlate;
  const TemplateSums& sums = b.template_sums[std::int64_t{plane} * p.rights + w.right];
  const auto value_in = [&](const void* surface, ElementType type) {
    return type == ElementType::u64 ? w.value_in<std::uint64_t>(surface, plane)
                                    : w.value_in<std::uint32_t>(surface, plane);
  };
  using Term = TermOf<Pixel>;
  return score_terms(
      w.problem.method,
      WindowTerms<Term>{w.problem.pixels(), product_of(w.pixels<Pixel>(plane), right),
                        value_in(b.window_sums, window_sum_type(p)),
                        // What the method does without need not have been summed.
                        needs_window_squares(w.problem.method)
                            ? value_in(b.window_squares, window_square_type(p))
                            : 0,
                        static_cast<Term>(sums.sum), static_cast<Term>(sums.squares)});
}

/// Float pixels: two passes in double. All sums add in the same order, so that a copy has equal
/// sums; eight partial sums each, for speed. `weight(x, y)`: 1 where a pixel counts, else 0.
template <class Weight>
class FloatTerms {
 public:
  FloatTerms(const Matrix<float>& window, const Matrix<float>& right, double pixels, Weight weight)
      : right_(right), pixels_(pixels), weight_(weight) {
    const double left_mean = mean_of(window), right_mean = mean_of(right);
    for_parts([&](int part, int x, int y) {
      const double w = weight(x, y), f = w * window.row(y)[x], t = w * right.row(y)[x];
      const double f_centred = f - w * left_mean, t_centred = t - w * right_mean;
      CentredTerms& sums = sums_[part];
      sums.left_squares += f * f;
      sums.right_squares += t * t;
      sums.product += f * t;
      sums.difference += (f - t) * (f - t);
      sums.left_variance_sum += f_centred * f_centred;
      sums.right_variance_sum += t_centred * t_centred;
      sums.covariance += f_centred * t_centred;
    });
  }

  CentredTerms total() const {
    CentredTerms total = sums_[0];
    for (int k = 1; k < parts; ++k) total += sums_[k];
    return total;
  }

 private:
  static constexpr int parts = 8;

  template <class F>
  void for_parts(F f) const {
    for (int y = 0; y < right_.size.height; ++y)
      for (int x = 0; x < right_.size.width; x += parts) {
        const int count = std::min(parts, right_.size.width - x);
        for (int k = 0; k < count; ++k) f(k, x + k, y);
      }
  }
  double mean_of(const Matrix<float>& m) const {
    double sum = 0;
    for (int y = 0; y < m.size.height; ++y)
      for (int x = 0; x < m.size.width; ++x) sum += weight_(x, y) * m.row(y)[x];
    return sum / pixels_;
  }

  const Matrix<float>& right_;
  const double pixels_;
  Weight weight_;
  CentredTerms sums_[parts] = {};
};

CentredTerms terms_of(const Window& w, const Matrix<float>& right, int plane) {
  auto counted = static_cast<double>(w.problem.pixels());
  const auto terms_by = [&](auto weight) {
    return FloatTerms(w.pixels<float>(plane), right, counted, weight).total();
  };
  const std::uint8_t* mask = w.buffers.mask;
  const std::int64_t width = right.size.width;
  if (w.sticks_out()) {
    counted = 0;
    std::vector<std::uint8_t> seen(right.size.area());
    w.for_seen([&](int x, int y) {
      seen[y * width + x] = 1;
      ++counted;
    });
    if (counted == 0) return {};
    return terms_by([&](int x, int y) -> double { return seen[y * width + x]; });
  }
  if (mask) return terms_by([=](int x, int y) -> double { return mask[y * width + x]; });
  return terms_by([](int, int) { return 1.0; });
}

/// Over all planes.
template <class T>
double exact_score(const Window& w) {
  const Problem& p = w.problem.correlate;
  const auto of_plane = [&](int plane) {
    return terms_of(w, right_of<T>(p, w.buffers.templates, w.right, plane), plane);
  };
  auto terms = of_plane(0);
  for (int plane = 1; plane < p.planes; ++plane) terms += of_plane(plane);
  return score(w.problem.method, terms);
}

template <class T>
RefinedPeak refined(const stage::Refine::Problem& problem, const stage::Refine::Buffers& buffers,
                    int r, const Candidate& at) {
  const Problem& p = problem.correlate;
  const auto score_at = [&](int x, int y) { return exact_score<T>({problem, buffers, r, x, y}); };
  RefinedPeak peak{score_at(at.x, at.y), 0, 0, at.x, at.y};
  if (!problem.subpixel ||
      stage::stays_whole(problem, buffers.template_sums, r, oriented(problem.polarity, peak.score)))
    return peak;
  const bool whole_x = at.x > 0 && at.x + 1 < p.shifts.width;
  const bool whole_y = at.y > 0 && at.y + 1 < p.shifts.height;
  double scores[9] = {};
  for (int dy = -1; dy <= 1; ++dy)
    for (int dx = -1; dx <= 1; ++dx)
      if (!dx && !dy)
        scores[4] = peak.score;
      else if ((!dx || whole_x) && (!dy || whole_y))
        scores[(dy + 1) * 3 + dx + 1] = score_at(at.x + dx, at.y + dy);
  const bool minimum = info(problem.method).minimum || is_inverted(problem.polarity, peak.score);
  const Offset offset = subpixel_offset(scores, whole_x, whole_y, minimum);
  peak.dx = offset.dx;
  peak.dy = offset.dy;
  return peak;
}

Status launch(const stage::Refine::Problem& problem, const Device&,
              const stage::Refine::Buffers& buffers, PlanState*) {
  const ElementType type = problem.correlate.type;
  const auto one = type == ElementType::u8    ? refined<std::uint8_t>
                   : type == ElementType::u16 ? refined<std::uint16_t>
                                              : refined<float>;
  std::copy_n(buffers.counts + buffers.first_right, buffers.right_count,
              buffers.peak_counts + buffers.first_right);
  const std::int64_t places = std::int64_t{buffers.right_count} * problem.max_peaks;
  parallel_for(std::int64_t{0}, places, [&](std::int64_t place) {
    const int r = buffers.first_right + static_cast<int>(place / problem.max_peaks);
    const std::int64_t i = place % problem.max_peaks;
    if (i >= buffers.counts[r]) return;
    const std::int64_t index = std::int64_t{r} * problem.max_peaks + i;
    buffers.peaks[index] = one(problem, buffers, r, buffers.candidates[index]);
  });
  return {};
}

constexpr Variant<stage::Refine> variants[] = {
    {{.name = "refine",
      .backend = Backend::cpu,
      .features = match_features | Features(Feature::overhang)},
     {.launch = launch}},
};

}  // namespace

Family refine_family() { return Family(variants); }

}  // namespace xcorr::cpu
