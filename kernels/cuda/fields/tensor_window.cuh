// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Products of a window's bytes with all it may meet of the frame by matrix instructions, one block
// per window. For one row y of the frame the products with all rows of the window, at shifts
// (dx, dy), are a matrix A times a matrix B:
//   A[dx][i] = frame[y][i + dx], B[i][dy] = window[y - dy][i],
// of which the sum over y is what is asked. Columns i fill the instructions' depth. Eight shifts dy
// share a tile of B, and so do eight rows further in the frame eight shifts further: of all rows y
// that differ by multiples of eight a warp loads each tile once. A's words begin at any byte: they
// are read from four copies of the frame that begin a byte apart. A warp has sixteen shifts dx and
// all dy, so that its lanes keep the sums of their shifts.
#pragma once

#include "cuda/fields/tensor_search.cuh"

namespace xcorr::cuda {

/// What a kernel is made for. \tparam steps  depths of 32 that hold the window's columns
/// \tparam tiles  of eight rows that hold the window's, and seven rows more
/// \tparam tiles_x, tiles_y  of 16 shifts in x, a warp each, and of 8 in y
template <int steps_, int tiles_, int tiles_x_, int tiles_y_>
struct Tiling {
  static constexpr int steps = steps_, tiles = tiles_, tiles_x = tiles_x_, tiles_y = tiles_y_;
  static constexpr int warps = tiles_x, threads = 32 * warps;
  static constexpr int words = 4 * tiles_x + 8 * steps;  ///< of a row of the frame
  using Frame = StagedRows<words, 4>;
  static constexpr int pitch = steps == 1 ? 8 : 24;  ///< of the window's rows
  static constexpr int window_rows = 8 * tiles + margin, window_words = window_rows * pitch;
  /// Rows of the frame's part that are read, with those that meet rows of zeros.
  static constexpr int read_rows = 8 * (tiles_y + tiles - 1);
  static constexpr int of_lane = 4 * tiles_y;  ///< shifts whose sums a lane has
};

/// Rows of words of the window between its rows of zeros, of so many planes, one after the other.
/// \param load  load(y, x, words) gives a word of each plane
/// \param add   add(words) is called for each place
template <class T, int planes, class Load, class Add>
__device__ void stage_words(const stage::WindowSearch::Problem& p, std::uint32_t* to, Load load,
                            Add add) {
  constexpr int across = 8 * T::steps;
  const auto at = [=](int plane, int row, int column) -> std::uint32_t& {
    return to[plane * T::window_words + (row + margin) * T::pitch + column];
  };
  for (int k = threadIdx.x; k < (T::window_rows - p.window) * across; k += T::threads) {
    const int row = k / across;
#pragma unroll
    for (int plane = 0; plane < planes; ++plane)
      at(plane, row < margin ? row - margin : row - margin + p.window, k % across) = 0;
  }
#pragma unroll 2
  for (int k = threadIdx.x; k < p.window * across; k += T::threads) {
    const int y = k / across, x = 4 * (k % across), rest = p.window - x;
    std::uint32_t words[planes];
    load(y, x, words);
#pragma unroll
    for (int plane = 0; plane < planes; ++plane) {
      if (rest < 4) words[plane] &= rest <= 0 ? 0 : (1u << 8 * rest) - 1;
      at(plane, y, x / 4) = words[plane];
    }
    add(words);
  }
}

/// The shifts of a lane: how far its i-th one lies from the first place. Rows g and g + 8 of A are
/// not eight shifts apart but four, and a lane's halves of the depth lie side by side: three words
/// in a row are all that it needs of A.
template <class T>
struct LaneShifts {
  int first_x, first_y;

  __device__ LaneShifts()
      : first_x(threadIdx.x / 32 * 16 + threadIdx.x / 16 % 2 * 8 + threadIdx.x / 4 % 4),
        first_y(2 * (threadIdx.x % 4)) {}
  __device__ int x(int i) const { return first_x + 4 * (i % 4 / 2); }
  __device__ int y(int i) const { return first_y + 8 * (i / 4) + i % 2; }
};

/// Adds the products at the lane's shifts. Below the frame's rows words of any kind meet the
/// window's rows of zeros, or shifts that are not asked for.
/// \param copy  words from one of the frame's copies to the next
template <class T>
__device__ void multiply(int copy, const std::uint32_t* copies, const std::uint32_t* window,
                         std::uint32_t (&products)[T::tiles_y][4]) {
  const int lane = threadIdx.x % 32, group = lane / 4, column = lane % 4;
  copies += group % 4 * copy + 4 * (threadIdx.x / 32) + 2 * (group / 4) + 2 * column;
  window += (margin - group) * T::pitch + 2 * column;
#pragma unroll 1
  for (int first = 0; first < 8; ++first)
#pragma unroll 1
    for (int step = 0; step < T::steps; ++step) {
      const std::uint32_t* const left = copies + first * T::words + 8 * step;
      const std::uint32_t* const right = window + first * T::pitch + 8 * step;
      multiply_rows<T::tiles_y, T::tiles>(
          [&](int q, std::uint32_t(&a)[4]) {
            // A lane has three words of A, but instructions take four registers in a row: what is
            // loaded twice need not be copied.
            const std::uint32_t* const at = left + 8 * q * T::words;
            const auto* const bytes = reinterpret_cast<const std::uint8_t*>(at);
            const uint2 low = *reinterpret_cast<const uint2*>(at);
            a[0] = low.x;
            a[1] = low.y;
            a[2] = load_word(bytes + 4);
            a[3] = load_word(bytes + 8);
          },
          [&](int d) { return *reinterpret_cast<const uint2*>(right + 8 * d * T::pitch); },
          products);
    }
}

/// Calls body(Tiling) with the least that holds the problem; `otherwise` if none does.
template <class Result, class Body>
Result with_tiling(const stage::WindowSearch::Problem& p, Result otherwise, Body body) {
  const auto with_shifts = [&](auto steps, auto tiles) {
    constexpr int s = decltype(steps)::value, t = decltype(tiles)::value;
    if (p.shifts() <= 16) return body(Tiling<s, t, 1, 2>{});
    if (p.shifts() <= 24) return body(Tiling<s, t, 2, 3>{});
    if (p.shifts() <= 40) return body(Tiling<s, t, 3, 5>{});
    return otherwise;
  };
  using std::integral_constant;
  if (p.window <= 32) return with_shifts(integral_constant<int, 1>{}, integral_constant<int, 5>{});
  if (p.window <= 40) return with_shifts(integral_constant<int, 2>{}, integral_constant<int, 6>{});
  if (p.window <= 64) return with_shifts(integral_constant<int, 2>{}, integral_constant<int, 9>{});
  return otherwise;
}

/// Whether the problem has a tiling, and a block room for that one's data.
template <template <class Tiling> class Layout>
bool tiling_fits(const stage::WindowSearch::Problem& p, const Device& device) {
  return with_tiling(p, false, [&](auto tiling) {
    return Layout<decltype(tiling)>(p).bytes() + search_static_bytes <= max_shared_bytes(device);
  });
}

}  // namespace xcorr::cuda
