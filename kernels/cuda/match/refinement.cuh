// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How blocks of threads refine a candidate to a peak in 8-bit pixels: products at its nine
// positions at once, for which a lane has four rows of a column in a word; the other sums are the
// window sums, which exist already. A block executes this code once, with few warps: what counts is
// how many instructions follow each other, so there are no branches for what does not exist, and
// loops stay rolled, since they are fetched, too.
#pragma once

#include "cuda/common/launch.cuh"
#include "cuda/common/warp.cuh"
#include "cuda/match/neighbours.cuh"
#include "stages/match/score.hpp"

namespace xcorr::cuda {

/// The terms of 8-bit scores beside the products. Squares: see window_square_type().
template <class Squares>
struct MatchInputs {
  const std::byte *left, *templates;
  const TemplateSums* template_sums;
  const std::uint32_t* window_sums;
  const Squares* window_squares;

  explicit MatchInputs(const WindowInputs& b)
      : left(static_cast<const std::byte*>(b.lefts)),
        templates(static_cast<const std::byte*>(b.templates)),
        template_sums(b.template_sums),
        window_sums(static_cast<const std::uint32_t*>(b.window_sums)),
        window_squares(static_cast<const Squares*>(b.window_squares)) {}
};

/// Pixels below each other, of which any four are a word.
template <int count>
class PixelColumn {
 public:
  /// \param pixel  loads the i-th
  template <class Pixel>
  __device__ explicit PixelColumn(Pixel pixel) {
    unsigned of[count];
#pragma unroll
    for (int i = 0; i < count; ++i) of[i] = pixel(i);
#pragma unroll
    for (int i = 0; i + 1 < count; ++i) pairs_[i] = __byte_perm(of[i], of[i + 1], 0x0040);
  }
  __device__ unsigned four(int first) const {
    return __byte_perm(pairs_[first], pairs_[first + 2], 0x5410);
  }

 private:
  unsigned pairs_[count - 1];
};

/// Refines one candidate, by all threads of blocks of `warps` warps. The first threads of a block
/// have one of the nine positions each. P: the problem of refine, or of a search that refines.
/// Products are sums over the planes of a picture.
template <class P, int warps, class Squares, int planes = 1>
class Refinement {
 public:
  struct Shared {
    unsigned products[warps][places];
    double scores[places];
  };

  /// Starts loading the window sums early.
  __device__ Refinement(const P& problem, const MatchInputs<Squares>& from, int right,
                        const Candidate& at, Shared& shared)
      : problem_(problem), shared_(shared), at_(at), there_(problem, at) {
    const Problem& p = problem.correlate;
    const int t = threadIdx.x, dx = t % 3 - 1, dy = t / 3 - 1;
    has_place_ = t < places && (!dx || there_.x) && (!dy || there_.y);
    const std::int64_t window =
        first_window(p, right) +
        (has_place_ ? std::int64_t{at.y + dy} * p.shifts.width + at.x + dx : 0);
#pragma unroll
    for (int c = 0; c < planes; ++c) {
      sums_[c].window = from.window_sums[c * windows_of(p) + window];
      // Of edges there may be none.
      sums_[c].squares =
          planes == edge_planes ? 0 : from.window_squares[c * windows_of(p) + window];
    }
    template_sums_ = from.template_sums + right;
    window_ =
        from.left + p.left_offset(right) + (p.shifts.y + at.y) * p.left_pitch + p.shifts.x + at.x;
    template_ = from.templates + right * p.right_stride;
  }

  /// The product at this thread's position over the template rows of this block, one of `blocks`;
  /// ends with a barrier. A warp takes `rows` at a time; 32 bits must hold its sums.
  /// \tparam Offset  holds the bytes of a template's rows, also in the frame; int saves registers
  template <int rows, class Offset>
  __device__ unsigned long long product(int block, int blocks) {
    const int height = problem_.correlate.right.height;
    unsigned products[places] = {};
#pragma unroll 1
    for (int c = 0; c < planes; ++c)
#pragma unroll 1
      for (int begin = (block * warps + static_cast<int>(threadIdx.x) / 32) * rows; begin < height;
           begin += blocks * warps * rows)
        add_rows<rows, Offset>(products, c, begin, min(begin + rows, height));
#pragma unroll
    for (int k = 0; k < places; ++k) {
      const unsigned sum = warp_sum(products[k]);
      if (threadIdx.x % 32 == 0) shared_.products[threadIdx.x / 32][k] = sum;
    }
    __syncthreads();
    unsigned long long sum = 0;
    if (threadIdx.x < places)
      for (int i = 0; i < warps; ++i) sum += shared_.products[i][threadIdx.x];
    return sum;
  }

  /// Writes the peak. `product`: at this thread's position, over all rows.
  __device__ void place(unsigned long long product, bool minimum, Polarity polarity,
                        RefinedPeak& to) {
    const int t = threadIdx.x;
    if (has_place_) {
      using T = std::int64_t;
      // The products of all planes with the first one's sums.
      const auto terms = [&](int c) {
        const TemplateSums& right = template_sums_[std::int64_t{c} * problem_.correlate.rights];
        const WindowTerms<T> of_plane{
            problem_.pixels(),         c == 0 ? static_cast<T>(product) : 0,
            sums_[c].window,           static_cast<T>(sums_[c].squares),
            static_cast<T>(right.sum), static_cast<T>(right.squares)};
        return ScoreTerms<T>(planes == edge_planes ? signed_terms(of_plane) : of_plane);
      };
      ScoreTerms<T> all = terms(0);
#pragma unroll
      for (int c = 1; c < planes; ++c) all += terms(c);
      shared_.scores[t] = score(planes == edge_planes ? Method::orientation : problem_.method, all);
    }
    __syncthreads();
    if (t > 0) return;
    const double here = shared_.scores[places / 2];
    const Offset offset =
        subpixel_offset(shared_.scores, there_.x, there_.y, minimum || is_inverted(polarity, here));
    to = {here, offset.dx, offset.dy, at_.x, at_.y};
  }

 private:
  /// Of a plane.
  struct PlaneSums {
    std::uint32_t window;
    Squares squares;
  };

  /// Adds rows [begin, end) of a template's plane to the products of this lane's columns. What lies
  /// outside of the search region is of positions that do not exist: any other pixel will do.
  template <int rows, class Offset>
  __device__ void add_rows(unsigned (&products)[places], int plane, int begin, int end) const {
    static_assert(rows % 4 == 0);
    const Problem& p = problem_.correlate;
    const std::byte* const window = window_ + plane * p.left_plane;
    const std::byte* const right = template_ + std::int64_t{plane} * p.rights * p.right_stride;
    const auto left_pitch = static_cast<Offset>(p.left_pitch),
               right_pitch = static_cast<Offset>(p.right_pitch);
    // The row above the template and the one below, where these exist.
    const int least = there_.y ? -1 : 0, most = p.right.height - 1 - least;
#pragma unroll 1
    for (int x = threadIdx.x % 32; x < p.right.width; x += 32) {
      const auto pixel = [](const std::byte* at) { return static_cast<unsigned>(*at); };
      const PixelColumn<rows> pattern([&](int i) {
        return begin + i < end ? pixel(right + ((begin + i) * right_pitch + x)) : 0;
      });
#pragma unroll
      for (int k = 0; k < 3; ++k) {
        const int column = x + (there_.x ? k - 1 : 0);
        const PixelColumn<rows + 2> pixels([&](int i) {
          return pixel(window + (min(max(begin + i - 1, least), most) * left_pitch + column));
        });
#pragma unroll
        for (int j = 0; j < 3; ++j)
#pragma unroll
          for (int i = 0; i < rows; i += 4)
            products[3 * j + k] = __dp4a(pattern.four(i), pixels.four(i + j), products[3 * j + k]);
      }
    }
  }

  const P& problem_;
  Shared& shared_;
  const Candidate at_;
  const Neighbours there_;
  const std::byte *window_, *template_;
  const TemplateSums* template_sums_;
  bool has_place_;
  PlaneSums sums_[planes];
};

}  // namespace xcorr::cuda
