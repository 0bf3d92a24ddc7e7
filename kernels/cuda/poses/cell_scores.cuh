// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The best place of each cell by the products that a warp of fused_coarse_search has: a lane scores
// all places of one cell, one image after the other, by what was measured of their windows once.
#pragma once

#include "stages/poses/fused_coarse_search.hpp"

namespace xcorr::cuda {

using u32 = std::uint32_t;

constexpr int side = CoarseCells::side, places = CoarseCells::places;
constexpr int cells_of_warp = 4;

/// An unsigned number as a double, without a conversion, of which a GPU does few at a time.
__device__ inline double as_double(u32 value) {
  return __hiloint2double(0x43300000, static_cast<int>(value)) - 4503599627370496.0;
}

/// What depends on a window alone. Of edges the norm says all.
template <int planes>
struct Window {
  double sums[planes] = {};
  u32 squares = 0;
  float norm = 0;
};
template <>
struct Window<edge_planes> {
  float norm = 0;
};

/// What a warp keeps in shared memory while it scores: its products with one tile of images, so
/// that a lane then has all places of a cell, and its windows. Rows lie in different banks.
template <int planes>
struct alignas(16) ScoreMemory {
  u32 products[places][8 * cells_of_warp + 8];
  Window<planes> windows[cells_of_warp][places + 1];
};

template <int planes>
__device__ Window<planes> measure_window(const stage::FusedCoarseSearch::Problem& p,
                                         const stage::FusedCoarseSearch::Buffers& b,
                                         std::int64_t at) {
  Window<planes> window;
  CoarseSums<planes> sums;
  u32 squares = 0;
#pragma unroll
  for (int plane = 0; plane < planes; ++plane) {
    const std::int64_t of_plane = plane * windows_of(p.correlate) + at;
    sums.sums[plane] = static_cast<const u32*>(b.window_sums)[of_plane];
    squares += static_cast<const u32*>(b.window_squares)[of_plane];
    if constexpr (planes != edge_planes) window.sums[plane] = sums.sums[plane];
  }
  sums.squares = double(squares);
  window.norm = CoarseScore<planes>::norm(p.method, double(p.pixels()), sums);
  if constexpr (planes != edge_planes) window.squares = squares;
  return window;
}

/// Measures the windows of a warp's cells, the first of whose shifts are at (x, y). Returns which
/// places of this lane's cell, number lane % 4, exist.
template <int planes>
__device__ unsigned measure_windows(const stage::FusedCoarseSearch::Problem& p,
                                    const stage::FusedCoarseSearch::Buffers& b, int x, int y,
                                    ScoreMemory<planes>& memory) {
  static_assert(cells_of_warp == 4 && places == 16, "two places per lane");
  const Rect shifts = p.correlate.shifts;
  const int lane = threadIdx.x % 32;
  unsigned exist[2];
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int cell = 2 * i + lane / places, place = lane % places;
    const int left = x + side * cell + place % side, top = y + place / side;
    const bool exists = left >= 0 && left < shifts.width && top >= 0 && top < shifts.height;
    memory.windows[cell][place] =
        exists ? measure_window<planes>(p, b, std::int64_t{top} * shifts.width + left)
               : Window<planes>();
    exist[i] = __ballot_sync(~0u, exists);
  }
  return (lane % 4 < 2 ? exist[0] : exist[1]) >> (lane % 2 * places) & 0xffff;
}

/// An image that is looked for.
template <int planes>
struct Image {
  const CoarseSums<planes>& sums;
  float norm;
  u32 first_place;  ///< in this lane's cell
};

template <int planes>
__device__ float similarity(const CoarseScore<planes>& score, u32 product,
                            const Window<planes>& window) {
  if constexpr (planes == edge_planes) {
    return score.similarity(static_cast<float>(static_cast<std::int32_t>(product)), window.norm);
  } else {
    CoarseSums<planes> sums;
#pragma unroll
    for (int plane = 0; plane < planes; ++plane) sums.sums[plane] = window.sums[plane];
    sums.squares = as_double(window.squares);
    return score.similarity(as_double(product), sums, window.norm);
  }
}

/// The best place of this lane's cell for an image of the tile, number lane / 4. `exist`: which
/// places do. By the method as a constant: branches in the loop would take most of the time.
template <Method method, int planes>
__device__ CoarseKey best_of_cell(const stage::FusedCoarseSearch::Problem& p,
                                  const Image<planes>& image, const ScoreMemory<planes>& memory,
                                  unsigned exist) {
  const int lane = threadIdx.x % 32;
  const CoarseScore<planes> score(method, p.polarity, p.pixels(), image.sums, image.norm);
  float best = -INFINITY;
  u32 best_place = 0;
#pragma unroll 4
  for (int place = 0; place < places; ++place) {
    const float here = similarity(score, memory.products[place][lane % 4 * 8 + lane / 4],
                                  memory.windows[lane % 4][place]);
    if (exist >> place & 1 && here > best) {
      best = here;
      best_place = place;
    }
  }
  return exist ? coarse_key(best, image.first_place + best_place) : 0;
}

template <int planes>
__device__ CoarseKey best_of_cell(const stage::FusedCoarseSearch::Problem& p,
                                  const Image<planes>& image, const ScoreMemory<planes>& memory,
                                  unsigned exist) {
  if constexpr (planes == edge_planes) {
    return best_of_cell<Method::orientation>(p, image, memory, exist);
  } else {
    switch (p.method) {
      case Method::sqdiff_normed:
        return best_of_cell<Method::sqdiff_normed>(p, image, memory, exist);
      case Method::ccorr_normed:
        return best_of_cell<Method::ccorr_normed>(p, image, memory, exist);
      default:
        return best_of_cell<Method::ccoeff_normed>(p, image, memory, exist);
    }
  }
}

}  // namespace xcorr::cuda
