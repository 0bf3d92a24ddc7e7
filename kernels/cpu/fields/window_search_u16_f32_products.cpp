// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Sums of products of squares of u16 and f32 at all places of a search, and scores. Of four rows of
// shifts three vectors are summed at a time, so that what is loaded of the frame is used four
// times.
#include "cpu/common/simd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/fields/window_search_u16_f32_products.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef XCORR_CPU_DISPLACE_WORD_PRODUCTS_JOB
#define XCORR_CPU_DISPLACE_WORD_PRODUCTS_JOB
#include "cpu/fields/window_search_u16_f32.hpp"

namespace xcorr::cpu::window_search_u16_f32_products {

constexpr int group = U16F32Scratch::group;

struct Job {
  const U16F32Scratch* scratch;
  const double *region, *taps;
  const SearchedPlaces* places;
  double* sums;
};

/// What is the same for all places of a window.
struct Scoring {
  const U16F32Scratch* scratch;
  double n, sum, variance;
  double flat_share;  ///< of n times the squares: below it there is no variance
  std::span<const double* const> products;
  U16F32FrameSums frame;
  const SearchedPlaces* places;
  double* scores;
};

}  // namespace xcorr::cpu::window_search_u16_f32_products
#endif

HWY_BEFORE_NAMESPACE();
namespace xcorr::cpu::window_search_u16_f32_products::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<double, U16F32Scratch::most_lanes>;
using V = hn::Vec<D>;

/// A row of the frame, for the rows of shifts from `from` to before `until`, of which the first one
/// meets the row of the square that begins at `taps`, and each one after it the row above that.
template <int wide, int from, int until>
HWY_INLINE void add_row(const double* pixels, const double* taps, int side,
                        V (&sums)[group][wide]) {
  const D d;
  for (int i = 0; i < side; ++i) {
    V values[wide];
    for (int k = 0; k < wide; ++k)
      values[k] = hn::LoadU(d, pixels + i + k * static_cast<int>(hn::Lanes(d)));
    for (int g = from; g < until; ++g) {
      const V tap = hn::Set(d, taps[i - (g - from) * side]);
      for (int k = 0; k < wide; ++k) sums[g][k] = hn::MulAdd(tap, values[k], sums[g][k]);
    }
  }
}

/// `wide` vectors of shifts of four rows, from x, y on.
template <int wide>
HWY_INLINE void multiply_at(const Job& job, int x, int y) {
  const D d;
  const U16F32Scratch& s = *job.scratch;
  V sums[group][wide];
  for (auto& row : sums)
    for (V& sum : row) sum = hn::Zero(d);
  const double* pixels = job.region + y * s.pitch + x;
  for (int j = 0; j < s.side + group - 1; ++j, pixels += s.pitch) {
    const double* const taps = job.taps + std::min(j, s.side - 1) * s.side;
    if (j == 0)
      add_row<wide, 0, 1>(pixels, taps, s.side, sums);
    else if (j == 1)
      add_row<wide, 0, 2>(pixels, taps, s.side, sums);
    else if (j == 2)
      add_row<wide, 0, 3>(pixels, taps, s.side, sums);
    else if (j < s.side)
      add_row<wide, 0, 4>(pixels, taps, s.side, sums);
    else if (j == s.side)
      add_row<wide, 1, 4>(pixels, taps, s.side, sums);
    else if (j == s.side + 1)
      add_row<wide, 2, 4>(pixels, taps, s.side, sums);
    else
      add_row<wide, 3, 4>(pixels, taps, s.side, sums);
  }
  for (int g = 0; g < group; ++g)
    for (int k = 0; k < wide; ++k)
      hn::StoreU(sums[g][k], d,
                 job.sums + (y + g) * s.columns + x + k * static_cast<int>(hn::Lanes(d)));
}

HWY_FLATTEN void multiply(const Job& job) {
  const int lanes = static_cast<int>(hn::Lanes(D()));
  const SearchedPlaces& places = *job.places;
  for (int y = places.from_y; y < places.until_y; y += group)
    for (int x = places.from_x; x < places.until_x;) {
      const auto rest = ceil_div(places.until_x - x, lanes);
      // Four are two and two: a single one waits for its own sums.
      const int wide = rest == 4 ? 2 : static_cast<int>(std::min<std::int64_t>(rest, 3));
      if (wide == 3)
        multiply_at<3>(job, x, y);
      else if (wide == 2)
        multiply_at<2>(job, x, y);
      else
        multiply_at<1>(job, x, y);
      x += wide * lanes;
    }
}

/// Of numbers, then of pairs of them, of fours and so on those that make up `side`.
HWY_FLATTEN void add_runs(double* numbers, std::int64_t count, int side, std::int64_t step,
                          double* HWY_RESTRICT to) {
  const D d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::fill_n(to, count, 0.0);
  int done = 0;
  for (int size = 1;; size *= 2) {
    if (side & size) {
      const double* const from = numbers + done * step;
      std::int64_t i = 0;
      for (; i + lanes <= count; i += lanes)
        hn::StoreU(hn::Add(hn::LoadU(d, to + i), hn::LoadU(d, from + i)), d, to + i);
      for (; i < count; ++i) to[i] += from[i];
      done += size;
    }
    if (2 * size > side) break;
    const std::int64_t rest = count + (side - 2 * std::int64_t{size}) * step;
    std::int64_t i = 0;
    for (; i + lanes <= rest; i += lanes)
      hn::StoreU(hn::Add(hn::LoadU(d, numbers + i), hn::LoadU(d, numbers + i + size * step)), d,
                 numbers + i);
    for (; i < rest; ++i) numbers[i] += numbers[i + size * step];
  }
}

/// u16_f32_score() in vectors, the same operations in the same order.
HWY_FLATTEN void score(const Scoring& s) {
  const D d;
  const V n = hn::Set(d, s.n), sum = hn::Set(d, s.sum), variance = hn::Set(d, s.variance);
  const V flat_share = hn::Set(d, s.flat_share);
  for (int y = s.places->from_y; y < s.places->until_y; ++y) {
    const std::int64_t row = std::int64_t{y} * s.scratch->columns;
    const U16F32FrameSums frame = s.frame.at(0, y);
    for (int x = s.places->from_x; x < s.places->until_x; x += static_cast<int>(hn::Lanes(d))) {
      V product = hn::LoadU(d, s.products[0] + row + x);
      for (std::size_t i = 1; i < s.products.size(); ++i)
        product = hn::Add(product, hn::LoadU(d, s.products[i] + row + x));
      const V here = hn::LoadU(d, frame.sums + x);
      const V n_squares = hn::Mul(n, hn::LoadU(d, frame.squares + x));
      const V covariance = hn::Sub(hn::Mul(n, product), hn::Mul(here, sum));
      const V own = hn::Sub(n_squares, hn::Mul(here, here));
      const V value = hn::Div(covariance, hn::Sqrt(hn::Mul(own, variance)));
      const V kept = hn::Min(hn::Max(value, hn::Set(d, -1)), hn::Set(d, 1));
      const auto varies = hn::Gt(own, hn::Mul(flat_share, n_squares));
      hn::StoreU(hn::IfThenElse(varies, kept, hn::Zero(d)), d, s.scores + row + x);
    }
  }
}

}  // namespace xcorr::cpu::window_search_u16_f32_products::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace xcorr::cpu {
namespace window_search_u16_f32_products {

HWY_EXPORT(multiply);
HWY_EXPORT(add_runs);
HWY_EXPORT(score);

/// Of windows of u16 with up to so many pixels all terms of a score are integers that doubles
/// hold: n^2 * 65535^2 is below 2^53.
constexpr double most_in_doubles = 1448;

/// Of larger ones.
void score_large(const Scoring& s, const WindowTerms<Int128>& reference) {
  const auto whole = [](double sum) { return Int128(static_cast<std::int64_t>(sum)); };
  for (int y = s.places->from_y; y < s.places->until_y; ++y)
    for (int x = s.places->from_x; x < s.places->until_x; ++x) {
      const std::int64_t at = std::int64_t{y} * s.scratch->columns + x;
      const U16F32FrameSums frame = s.frame.at(x, y);
      WindowTerms<Int128> terms = reference;
      for (const double* product : s.products) terms.product += whole(product[at]);
      terms.left_sum = whole(*frame.sums);
      terms.left_squares = whole(*frame.squares);
      s.scores[at] = u16_f32_score<std::uint16_t>(terms);
    }
}

}  // namespace window_search_u16_f32_products

void multiply_u16_f32(const U16F32Scratch& scratch, const double* region, const double* taps,
                      const SearchedPlaces& places, double* sums) {
  using namespace window_search_u16_f32_products;
  HWY_DYNAMIC_DISPATCH(multiply)({&scratch, region, taps, &places, sums});
}

void add_neighbours(double* numbers, std::int64_t count, int side, std::int64_t step, double* to) {
  using namespace window_search_u16_f32_products;
  HWY_DYNAMIC_DISPATCH(add_runs)(numbers, count, side, step, to);
}

template <class T>
bool score_u16_f32(const U16F32Scratch& scratch, const U16F32Sums& reference,
                   std::span<const double* const> products, const U16F32FrameSums& frame,
                   const SearchedPlaces& places, double* scores) {
  using namespace window_search_u16_f32_products;
  const auto term = [](double sum) { return TermOf<T>(static_cast<SumOf<T>>(sum)); };
  const WindowTerms<TermOf<T>> terms{term(reference.n),      0, 0, 0, term(reference.sum),
                                     term(reference.squares)};
  if (!has_variance<T>(terms.n, terms.right_sum, terms.right_squares)) return false;
  const auto variance = static_cast<double>(
      n2_covariance(terms.n, terms.right_squares, terms.right_sum, terms.right_sum));
  const Scoring scoring{
      &scratch, reference.n, reference.sum, variance, std::is_integral_v<T> ? 0 : flat_share,
      products, frame,       &places,       scores};
  if constexpr (std::is_same_v<T, std::uint16_t>)
    if (reference.n > most_in_doubles) {
      score_large(scoring, terms);
      return true;
    }
  HWY_DYNAMIC_DISPATCH(score)(scoring);
  return true;
}
template bool score_u16_f32<std::uint8_t>(const U16F32Scratch&, const U16F32Sums&,
                                          std::span<const double* const>, const U16F32FrameSums&,
                                          const SearchedPlaces&, double*);
template bool score_u16_f32<std::uint16_t>(const U16F32Scratch&, const U16F32Sums&,
                                           std::span<const double* const>, const U16F32FrameSums&,
                                           const SearchedPlaces&, double*);
template bool score_u16_f32<float>(const U16F32Scratch&, const U16F32Sums&,
                                   std::span<const double* const>, const U16F32FrameSums&,
                                   const SearchedPlaces&, double*);

}  // namespace xcorr::cpu
#endif
