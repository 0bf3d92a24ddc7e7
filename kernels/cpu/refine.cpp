// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Exact scores of the few remaining positions, from the pixels themselves, and the sub-pixel
// position from the scores of their eight neighbours.
#include "cpu/common.hpp"
#include "stages/peaks.hpp"
#include "stages/score.hpp"

namespace xcorr::cpu {
namespace {

/// 8-bit pixels: integer sums. Rows are split where their products would exceed 32 bits.
double exact_score(Method method, const Matrix<std::uint8_t>& window,
                   const Matrix<std::uint8_t>& right, const TemplateSums& sums) {
  constexpr int most = 32768;
  WindowTerms<std::int64_t> terms{right.size.area(),
                                  0,
                                  0,
                                  0,
                                  static_cast<std::int64_t>(sums.sum),
                                  static_cast<std::int64_t>(sums.squares)};
  for (int y = 0; y < right.size.height; ++y)
    for (int x = 0; x < right.size.width; x += most) {
      const std::uint8_t* f = window.row(y) + x;
      const std::uint8_t* t = right.row(y) + x;
      std::uint32_t product = 0, sum = 0, squares = 0;
      const int count = std::min(most, right.size.width - x);
      for (int k = 0; k < count; ++k) {
        product += std::uint32_t{f[k]} * t[k];
        sum += f[k];
        squares += std::uint32_t{f[k]} * f[k];
      }
      terms.product += product;
      terms.left_sum += sum;
      terms.left_squares += squares;
    }
  return score(method, terms);
}

double mean_of(const Matrix<float>& m) {
  double sum = 0;
  for (int y = 0; y < m.size.height; ++y)
    for (int x = 0; x < m.size.width; ++x) sum += m.row(y)[x];
  return sum / static_cast<double>(m.size.area());
}

/// Float pixels: two passes in double. All sums add in the same order, so that a copy has equal
/// sums; eight partial sums each, for speed.
double exact_score(Method method, const Matrix<float>& window, const Matrix<float>& right,
                   const TemplateSums&) {
  constexpr int parts = 8;
  const double left_mean = mean_of(window), right_mean = mean_of(right);
  CentredTerms sums[parts] = {};
  for (int y = 0; y < right.size.height; ++y)
    for (int x = 0; x < right.size.width; x += parts) {
      const int count = std::min(parts, right.size.width - x);
      for (int k = 0; k < count; ++k) {
        const double f = window.row(y)[x + k], t = right.row(y)[x + k];
        const double f_centred = f - left_mean, t_centred = t - right_mean;
        sums[k].left_squares += f * f;
        sums[k].right_squares += t * t;
        sums[k].product += f * t;
        sums[k].difference += (f - t) * (f - t);
        sums[k].left_variance_sum += f_centred * f_centred;
        sums[k].right_variance_sum += t_centred * t_centred;
        sums[k].covariance += f_centred * t_centred;
      }
    }
  CentredTerms total = sums[0];
  for (int k = 1; k < parts; ++k)
    for (double CentredTerms::*sum :
         {&CentredTerms::left_squares, &CentredTerms::right_squares, &CentredTerms::product,
          &CentredTerms::difference, &CentredTerms::left_variance_sum,
          &CentredTerms::right_variance_sum, &CentredTerms::covariance})
      total.*sum += sums[k].*sum;
  return score(method, total);
}

template <class T>
RefinedPeak refined(const stage::Refine::Problem& problem, const stage::Refine::Buffers& buffers,
                    int r, const Candidate& at) {
  const Problem& p = problem.correlate;
  const auto right = right_of<T>(p, buffers.templates, r);
  const auto score_at = [&](int x, int y) {
    auto window = left_of<T>(p, buffers.lefts, 0);
    window.data = reinterpret_cast<const std::byte*>(window.row(p.shifts.y + y) + p.shifts.x + x);
    window.size = p.right;
    return exact_score(problem.method, window, right, buffers.template_sums[r]);
  };
  RefinedPeak peak{score_at(at.x, at.y), 0, 0, at.x, at.y};
  if (!problem.subpixel) return peak;
  const bool whole_x = at.x > 0 && at.x + 1 < p.shifts.width;
  const bool whole_y = at.y > 0 && at.y + 1 < p.shifts.height;
  double scores[9] = {};
  for (int dy = -1; dy <= 1; ++dy)
    for (int dx = -1; dx <= 1; ++dx)
      if (!dx && !dy)
        scores[4] = peak.score;
      else if ((!dx || whole_x) && (!dy || whole_y))
        scores[(dy + 1) * 3 + dx + 1] = score_at(at.x + dx, at.y + dy);
  const Offset offset = subpixel_offset(scores, whole_x, whole_y, info(problem.method).minimum);
  peak.dx = offset.dx;
  peak.dy = offset.dy;
  return peak;
}

Status launch(const stage::Refine::Problem& problem, const Device&,
              const stage::Refine::Buffers& buffers, PlanState*) {
  const auto one =
      problem.correlate.type == ElementType::u8 ? refined<std::uint8_t> : refined<float>;
  std::copy_n(buffers.counts + buffers.first_right, buffers.right_count,
              buffers.peak_counts + buffers.first_right);
  const std::int64_t places = std::int64_t{buffers.right_count} * problem.max_peaks;
  tbb::parallel_for(std::int64_t{0}, places, [&](std::int64_t place) {
    const int r = buffers.first_right + static_cast<int>(place / problem.max_peaks);
    const std::int64_t i = place % problem.max_peaks;
    if (i >= buffers.counts[r]) return;
    const std::int64_t index = std::int64_t{r} * problem.max_peaks + i;
    buffers.peaks[index] = one(problem, buffers, r, buffers.candidates[index]);
  });
  return {};
}

constexpr Variant<stage::Refine> variants[] = {
    {{"refine", Backend::cpu, match_features}, supports_all, launch},
};

}  // namespace

Family refine_family() { return Family(variants); }

}  // namespace xcorr::cpu
