// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Scores of single shifts of a template in 8-bit data, from sums of products and window sums:
// bounds in single precision, which reject most shifts, and the exact quotient.
#pragma once

#include <climits>

#include "cuda/match/nms.cuh"
#include "stages/match/peaks.hpp"
#include "stages/match/score.hpp"

namespace xcorr::cuda {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

/// The sums of a window: of each plane, and the squares of all.
template <int planes>
struct WindowOf {
  u32 sums[planes], squares;

  /// The sum of the sums' squares.
  __device__ u64 squared_sums() const {
    u64 all = 0;
#pragma unroll
    for (int c = 0; c < planes; ++c) all += u64{sums[c]} * sums[c];
    return all;
  }
};

/// Of edges: the sum of both planes.
template <>
struct WindowOf<edge_planes> {
  u32 sum;
};

/// Scores the shifts of one template, whose planes' products are one sum. Two planes are edges.
template <int planes>
struct ScorerOf {
  /// More than single precision rounds.
  static constexpr float more = 1 + 1e-6f, less = 1 - 1e-6f;

  Method method;
  bool minimum;  ///< the least score is the best
  float limit;
  u32 n, right_sums[planes], right_squares;
  const u32 *sums, *squares;  ///< of the windows
  float right_variance;       ///< n^2 times

  /// \param template_sums, window_sums, window_squares  of all
  __device__ ScorerOf(const stage::Search::Problem& p, bool minimum, int right,
                      const TemplateSums* template_sums, const u32* window_sums,
                      const u32* window_squares)
      : method(p.method),
        minimum(minimum),
        n(static_cast<u32>(p.pixels())),
        sums(window_sums + first_window(p.correlate, right)),
        squares(window_squares + first_window(p.correlate, right)),
        windows_(windows_of(p.correlate)) {
    TemplateSums all = template_sums[right];
    right_sums[0] = static_cast<u32>(all.sum);
#pragma unroll
    for (int c = 1; c < planes; ++c) {
      const TemplateSums& of_plane = template_sums[std::int64_t{c} * p.correlate.rights + right];
      right_sums[c] = static_cast<u32>(of_plane.sum);
      all += of_plane;
    }
    right_squares = static_cast<u32>(all.squares);
    right_variance = static_cast<float>(all.n2_variance);
    limit = static_cast<float>(score_limit(p.method, p.threshold, double(p.pixels()), all));
    set_terms();
  }

  /// Loads a window's sums.
  __device__ WindowOf<planes> window(unsigned index) const {
    WindowOf<planes> w;
    w.sums[0] = sums[index];
    w.squares = squares[index];
#pragma unroll
    for (int c = 1; c < planes; ++c) {
      w.sums[c] = sums[c * windows_ + index];
      w.squares += squares[c * windows_ + index];
    }
    return w;
  }

  /// Of a window's score, for ccoeff-normed, what decides in a few instructions and without
  /// branches, in single precision: more than the value times its amount, and less than the
  /// window's variance, n^2 times, by more than is rounded. For other methods both are 0, and
  /// nothing is known.
  struct Estimate {
    float value2, variance;
  };
  __device__ Estimate estimate(u32 product, const WindowOf<planes>& w) const {
    const auto first = static_cast<float>(w.sums[0]);
    float sums = value_sums[0] * first, square = (variance_sum * first) * first;
#pragma unroll
    for (int c = 1; c < planes; ++c) {
      const auto left = static_cast<float>(w.sums[c]);
      sums = fmaf(value_sums[c], left, sums);
      square = fmaf(variance_sum * left, left, square);
    }
    const float value = fmaf(static_cast<float>(product), value_product, -sums);
    return {value * fabsf(value), fmaf(static_cast<float>(w.squares), variance_square, -square)};
  }

  /// False only where the score does not reach the limit.
  __device__ bool may_reach(const Estimate& e) const {
    return e.value2 >= least_square * e.variance || !excludes;
  }

  /// Scores below that one are of no interest any more.
  __device__ void raise(float score) {
    if (minimum || !(score > limit)) return;
    limit = score;
    set_limit();
  }

  /// Scores from that one on are of interest, too.
  __device__ void lower(float score) {
    limit = fminf(limit, score);
    set_limit();
  }

  /// The square of a score is at most that, and 0 where the score is not positive.
  __device__ float high(const Estimate& e, const WindowOf<planes>& w) const {
    if (e.variance > 0) return fmaxf(__fdividef(e.value2, e.variance) * over_variance, 0);
    const bool is_flat = u64{n} * w.squares == w.squared_sums();
    return method == Method::ccoeff_normed && is_flat ? 0 : INFINITY;
  }
  /// And at least that, or 0.
  __device__ float low(u32 product, const WindowOf<planes>& w) const {
    if (method != Method::ccoeff_normed) return 0;
    const auto pixels = static_cast<float>(n);
    float sums = 0, square = 0;
#pragma unroll
    for (int c = 0; c < planes; ++c) {
      const auto left = static_cast<float>(w.sums[c]);
      sums = fmaf(more * right_sums[c], left, sums);
      square = fmaf(less * left, left, square);
    }
    const float value = fmaf(static_cast<float>(product) * pixels, less, -sums);
    const float variance =
        fmaf(static_cast<float>(w.squares) * pixels, more, -square) * right_variance;
    return value > 0 ? 0.9995f * value * value / variance : 0;
  }

  /// 0: below the limit.
  __device__ Key key(u32 product, unsigned index) const {
    return key(product, window(index), index);
  }
  __device__ Key key(u32 product, const WindowOf<planes>& w, unsigned index) const {
    if (!may_reach(estimate(product, w))) return 0;
    using T = std::int64_t;
    ScoreTerms<T> all(
        WindowTerms<T>{n, product, w.sums[0], w.squares, right_sums[0], right_squares});
    // Of the others what is not in those sums over all planes.
#pragma unroll
    for (int c = 1; c < planes; ++c)
      all += ScoreTerms<T>(WindowTerms<T>{n, 0, w.sums[c], 0, right_sums[c], 0});
    const auto value = static_cast<float>(score(method, all));
    return (minimum ? value <= limit : value >= limit) ? key_of(value, minimum, index) : 0;
  }

 private:
  static constexpr float margin_above = 1.001f, margin_below = 0.999f;

  std::int64_t windows_;  ///< of a plane
  float value_product = 0, value_sums[planes] = {}, variance_square = 0, variance_sum = 0;
  float over_variance = 0;  ///< 1 over the template's variance, a little more
  float least_square = 0;  ///< the square of the limit times the template's variance, a little less
  bool excludes = false;   ///< whether the estimate tells what is below the limit

  __device__ void set_terms() {
    if (method != Method::ccoeff_normed) return;
    value_product = more * static_cast<float>(n);
#pragma unroll
    for (int c = 0; c < planes; ++c) value_sums[c] = less * static_cast<float>(right_sums[c]);
    variance_square = less * static_cast<float>(n);
    variance_sum = more;
    over_variance = right_variance > 0 ? margin_above / right_variance : 0;
    set_limit();
  }
  __device__ void set_limit() {
    excludes = method == Method::ccoeff_normed && limit > 0;
    // The margin far exceeds the rounding of squares.
    least_square = margin_below * limit * limit * right_variance;
  }
};

/// Of edges, whose bytes are numbers from `no_edge` on: their products are known exactly, and are
/// all that a window tells. No score exceeds 1.
template <>
struct ScorerOf<edge_planes> {
  float limit;
  u32 offset = 0;           ///< what does not depend on the window, modulo 2^32
  std::int64_t energy = 0;  ///< the product of a copy

  __device__ ScorerOf(const stage::Search::Problem& p, bool, int right,
                      const TemplateSums* template_sums, const u32* window_sums, const u32*)
      : limit(static_cast<float>(p.threshold)),
        sums_(window_sums + first_window(p.correlate, right)),
        windows_(windows_of(p.correlate)) {
#pragma unroll
    for (int c = 0; c < edge_planes; ++c) {
      const TemplateSums& of_plane = template_sums[std::int64_t{c} * p.correlate.rights + right];
      const auto terms = signed_terms(
          WindowTerms<std::int64_t>{p.pixels(), 0, 0, 0, static_cast<std::int64_t>(of_plane.sum),
                                    static_cast<std::int64_t>(of_plane.squares)});
      offset += static_cast<u32>(terms.product);
      energy += terms.right_squares;
    }
    over_energy_ = energy > 0 ? 1 / static_cast<float>(energy) : 0;
    set_limit();
  }

  __device__ WindowOf<edge_planes> window(unsigned index) const {
    return {sums_[index] + sums_[windows_ + index]};
  }

  /// The product of the numbers.
  using Estimate = int;
  __device__ Estimate estimate(u32 product, const WindowOf<edge_planes>& w) const {
    return static_cast<int>(product + offset - no_edge * w.sum);
  }
  __device__ bool may_reach(Estimate value) const { return value >= least_; }

  __device__ void raise(float score) {
    if (!(score > limit)) return;
    limit = score;
    set_limit();
  }
  __device__ void lower(float score) {
    limit = fminf(limit, score);
    set_limit();
  }

  __device__ float high(Estimate value, const WindowOf<edge_planes>&) const {
    const float score = fmaxf(static_cast<float>(value) * over_energy_, 0);
    return 1.001f * score * score;
  }
  __device__ float low(u32 product, const WindowOf<edge_planes>& w) const {
    const float score = static_cast<float>(estimate(product, w)) * over_energy_;
    return score > 0 ? 0.999f * fminf(score * score, 1) : 0;
  }

  __device__ Key key(u32 product, unsigned index) const {
    ScoreTerms<std::int64_t> terms;
    terms.product = estimate(product, window(index));
    terms.right_squares = energy;
    const auto value = static_cast<float>(score(Method::orientation, terms));
    return value >= limit ? key_of(value, false, index) : 0;
  }

 private:
  const u32* sums_;
  std::int64_t windows_;
  float over_energy_ = 0;
  int least_ = 0;  ///< no lower estimate reaches the limit

  __device__ void set_limit() {
    const float least = limit * static_cast<float>(energy);
    least_ = energy > 0 && limit > -1 ? __float2int_rd(least - 1e-6f * fabsf(least)) : INT_MIN;
  }
};

}  // namespace xcorr::cuda
