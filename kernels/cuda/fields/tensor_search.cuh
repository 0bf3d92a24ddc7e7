// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the searches by matrix instructions share: images in shared memory, the scores of shifts
// by the sums of the frame's windows, and the bands for which there is memory for these sums.
#pragma once

#include "cuda/common/launch.cuh"
#include "cuda/common/row_words.cuh"
#include "cuda/fields/search.cuh"
#include "cuda/match/window_sums_strips.hpp"
#include "cuda/tensor/mma.cuh"

namespace xcorr::cuda {

__host__ __device__ constexpr int min_of(int a, int b) { return a < b ? a : b; }
__host__ __device__ constexpr int max_of(int a, int b) { return a < b ? b : a; }

// ---- images in shared memory --------------------------------------------------------------

/// A part of an image in shared memory.
/// \tparam words   of a row, a multiple of four
/// \tparam copies  each of which begins a byte further to the right
template <int words_, int copies_>
struct StagedRows {
  static constexpr int words = words_, copies = copies_;
  int rows, columns;  ///< that are wanted

  /// From copy to copy; they lie in banks of their own.
  __host__ __device__ int copy() const { return (rows * words + 31 - 8) / 32 * 32 + 8; }
};

/// \param pitch  words from row to row
/// \param load   load(row, x, words) gives words of the image
template <int threads, int words, int copies, class Load>
__device__ void stage_rows(const StagedRows<words, copies>& part, std::uint32_t* to, int pitch,
                           Load load) {
  constexpr int pieces = words / 4;
#pragma unroll 2
  for (int k = threadIdx.x; k < part.rows * pieces; k += threads) {
    const int row = k / pieces, piece = k % pieces;
    if (16 * piece >= part.columns) continue;  // only of shifts that are not asked for
    std::uint32_t loaded[copies > 1 ? 5 : 4];
    load(row, 16 * piece, loaded);
    std::uint32_t* const at = to + row * pitch + 4 * piece;
    *reinterpret_cast<uint4*>(at) = {loaded[0], loaded[1], loaded[2], loaded[3]};
#pragma unroll
    for (int i = 1; i < copies; ++i)
      *reinterpret_cast<uint4*>(at + i * part.copy()) = {
          __funnelshift_r(loaded[0], loaded[1], 8 * i),
          __funnelshift_r(loaded[1], loaded[2], 8 * i),
          __funnelshift_r(loaded[2], loaded[3], 8 * i),
          __funnelshift_r(loaded[3], loaded[copies > 1 ? 4 : 3], 8 * i)};
  }
}

/// The part begins at (left, top) of the image, which may lie outside, where all is 0.
template <int threads, int words, int copies>
__device__ void stage_part(const std::uint8_t* image, std::int64_t image_pitch, Size size,
                           const StagedRows<words, copies>& part, int left, int top,
                           std::uint32_t* to, int pitch) {
  const std::uint8_t* const first = image + top * image_pitch;
  const bool is_inside =
      left >= 3 && top >= 0 && left + 4 * words + 8 <= size.width && top + part.rows <= size.height;
  if (is_inside)  // without branches the loads of several rows are in flight at once
    return stage_rows<threads>(part, to, pitch, [&](int row, int x, auto& loaded) {
      load_words_inside(first + row * image_pitch, left + x, loaded);
    });
  stage_rows<threads>(part, to, pitch, [&](int row, int x, auto& loaded) {
    const int y = top + row;
    const int width = y >= 0 && y < size.height ? size.width : 0;
    load_words(first + row * image_pitch, left + x, width, loaded);
  });
}

// ---- products -------------------------------------------------------------------------------

/// Adds to the products at 16 shifts dx and 8 tiles_y shifts dy, of all rows of the frame that
/// differ by multiples of eight.
/// \param load_left   load_left(q, words) gives the lane's words of A of the q-th of them
/// \param load_right  load_right(d) gives the lane's two words of B of the d-th tile
template <int tiles_y, int tiles, class LoadLeft, class LoadRight>
__device__ void multiply_rows(LoadLeft load_left, LoadRight load_right,
                              std::uint32_t (&products)[tiles_y][4]) {
  uint2 b[tiles];
#pragma unroll
  for (int d = 0; d < tiles; ++d) b[d] = load_right(d);
#pragma unroll
  for (int q = 0; q < tiles_y + tiles - 1; ++q) {
    std::uint32_t a[4];
    load_left(q, a);
#pragma unroll
    for (int n = 0; n < tiles_y; ++n)
      if (const int d = q - n; d >= 0 && d < tiles) multiply_add(products[n], a, b[d].x, b[d].y);
  }
}

// ---- scores ---------------------------------------------------------------------------------

/// Of the frame's windows, at all places of a band.
struct WindowSums {
  const ScaledSum* sums;
  const std::uint32_t* squares;
  int pitch;  ///< from row to row

  __device__ WindowSums from(std::int64_t place) const {
    return {sums + place, squares + place, pitch};
  }
};

/// What the scores of a window's shifts are made of, besides the products.
struct WindowScores {
  std::uint32_t n, sum, squares;  ///< of the window of the reference
  WindowSums frame;               ///< from the window at the first place on

  /// The score up to a factor that the window's shifts share, off by less than 1e-6 of itself.
  /// \param there  of the frame's window; 0, 0 outside
  __device__ float estimate(std::uint32_t product, const ScaledSum& there) const {
    const auto wide = [](std::uint32_t a, int b) {  // a product and sum of one instruction
      return static_cast<std::int64_t>(static_cast<int>(a)) * b;
    };
    return static_cast<float>(wide(product, static_cast<int>(n)) +
                              wide(there.sum, -static_cast<int>(sum))) *
           there.scale;
  }
  __device__ FieldSums reference() const { return {double(n), double(sum), double(squares)}; }
  __device__ double exact(std::uint32_t product, int x, int y) const {
    const int at = y * frame.pitch + x;
    const FieldSums window = reference();
    return window_score(window, window.n2_variance(),
                        {window.n, double(frame.sums[at].sum), double(frame.squares[at])},
                        double(product));
  }
};

// ---- bands ----------------------------------------------------------------------------------

/// Rows of places in the frame. A launch searches the windows whose first place is in one of them.
struct Band {
  int top, until;

  __device__ bool contains(const SearchedPlaces& places) const {
    const int y = places.top + places.from_y;
    return y >= top && y < until;
  }
  /// The place's number among those of the band, at which a window's search begins.
  /// \param pitch  of the places' rows
  __device__ std::int64_t first(const SearchedPlaces& places, int pitch) const {
    return std::int64_t{places.top - top} * pitch + places.left;
  }
};

/// How the places of the frame are divided into bands, for whose sums there is memory.
struct Bands {
  Size places;  ///< of the frame
  int step;     ///< rows from band to band
  int rows;     ///< of a band, in which its last windows have all their places

  explicit Bands(const stage::WindowSearch::Problem& p)
      : places(frame_windows(p).correlate.shifts.size()), step(places.height), rows(step) {
#ifdef XCORR_SIMT
    constexpr int most = 1 << 11;  // small frames have several
#else
    constexpr int most = 1 << 24;  // 200 MB of sums of bytes, 270 of u16
#endif
    if (places.area() <= most) return;
    step = max_of(most / places.width - p.shifts() + 1, p.shifts());
    rows = min_of(step + p.shifts() - 1, places.height);
  }
  std::size_t numbers() const { return static_cast<std::size_t>(Size{places.width, rows}.area()); }
  /// \param of_place  bytes
  std::size_t bytes(std::size_t of_place) const { return of_place * numbers(); }
};

/// Calls make_sums(places) and search(band) for band after band: the first enqueues what makes the
/// sums at these places in the workspace, the second the searches.
template <class MakeSums, class Search>
Status search_in_bands(const Bands& bands, MakeSums make_sums, Search search) {
  for (int top = 0; top < bands.places.height; top += bands.step) {
    const Rect places{0, top, bands.places.width, min_of(bands.rows, bands.places.height - top)};
    if (Status s = make_sums(places); !s.ok()) return s;
    if (Status s = search(Band{top, top + bands.step}); !s.ok()) return s;
  }
  return {};
}

/// Of a place, with scaled sums.
constexpr std::size_t scaled_sum_bytes = sizeof(ScaledSum) + sizeof(std::uint32_t);

/// The same of bytes, with their scaled sums: search(band, sums).
template <class Search>
Status search_in_bands(const stage::WindowSearch::Problem& p, const Device& device,
                       const stage::WindowSearch::Buffers& b, Search search) {
  const Bands bands(p);
  auto* const sums = static_cast<ScaledSum*>(b.workspace);
  auto* const squares = reinterpret_cast<std::uint32_t*>(sums + bands.numbers());
  return search_in_bands(
      bands,
      [&](const Rect& places) {
        return launch_window_sums_strips(frame_windows(p, places), device,
                                         {{nullptr, b.stream}, b.frame, nullptr, nullptr, squares},
                                         sums);
      },
      [&](const Band& band) {
        return search(band, WindowSums{sums, squares, bands.places.width});
      });
}

}  // namespace xcorr::cuda
