// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Searches of windows of f32 by matrix instructions of float64, one block per window, as in
// tensor_window.cuh: for a row y of the frame's part A[dx][i] = frame[y][i + dx] times
// B[i][dy] = window[y - dy][i]. Ranges are mostly powers of two, so that there is one shift more
// along each axis than tiles of 16 hold: those of the last column are the sums along diagonals of
// frame[y][i + dx] window[j][i] over i, and so are those of the last row, a sixth or less of what
// tiles for them would cost. Sums over the frame's windows are sums of sums down columns, none of
// which are differences: what is flat beside something bright has no variance but its own.
#include "cuda/fields/block_search.cuh"
#include "cuda/tensor/mma.cuh"

namespace xcorr::cuda {
namespace {

constexpr int warps = 4, threads = 32 * warps;

constexpr int most_window = 32;
/// Of eight rows, which hold the window's and seven rows more.
constexpr int window_tiles = most_window / 8 + 1;
constexpr int window_rows = margin + 8 * window_tiles;

/// From row to row, so that eight of them lie in banks of their own.
constexpr int bank_shift = 4, window_pitch = most_window + bank_shift;

/// Windows next to each other whose sums a thread makes.
constexpr int run = 11;

/// What a kernel is made for. \tparam tiles_x  of 16 shifts dx
template <int tiles_x_>
struct Tiling {
  static constexpr int tiles_x = tiles_x_, tiles_y = 2 * tiles_x;  ///< the latter of eight dy
  static constexpr int tiled = 16 * tiles_x;                       ///< shifts along an axis
  static constexpr int side = most_window + tiled;  ///< of the frame's part, in pixels
  static constexpr int pitch = side + bank_shift;
  static constexpr int parts = warps / tiles_x;  ///< of the rows y, for a warp each
  static constexpr int runs = (tiled + run) / run;
  static_assert(runs * run > tiled && 2 * side <= threads && runs * run * runs <= threads);

  /// A line of the frame's part; what is past the last one has no part in a shift that there is.
  __device__ static int in_part(int line) {
    return runs * run - 1 + most_window <= side ? line : min(line, side - 1);
  }

  /// Numbers in shared memory: the frame's part, and later sums down its columns of values and of
  /// squares; the window, and later what is made of products.
  static constexpr int sums_pitch = side + 1, column_sums = run * runs * sums_pitch;
  static constexpr int squares = (tiled + 1) * (tiled + 1);  ///< behind sums over windows
  static constexpr int frame = side * pitch;
  static constexpr int rim_pitch = most_window + 1;
  static constexpr int window = window_rows * window_pitch, rim = side * rim_pitch;
  static_assert(2 * column_sums <= frame && squares + (squares + 1) / 2 <= rim);
  static constexpr int second = frame, end = second + (window > rim ? window : rim);
};

/// A lane's place in a tile: row of A and column of B; column of A and row of B.
struct LanePlace {
  int row = threadIdx.x % 32 / 4, depth = threadIdx.x % 4;
};

// ---- images in shared memory --------------------------------------------------------------

/// 0 outside the frame.
template <class T>
__device__ void stage_frame(const stage::WindowSearch::Problem& p, const std::uint8_t* frame,
                            const SearchedPlaces& places, double* to) {
  const auto stage = [&](auto pixel_at) {
#pragma unroll 16
    for (int k = threadIdx.x; k < T::side * T::side; k += threads) {
      const int x = k % T::side, y = k / T::side;
      to[y * T::pitch + x] = counted_pixel(pixel_at(places.left + x, places.top + y));
    }
  };
  const auto inside = [&](int x, int y) { return row_of<float>(frame, p.frame_pitch, y)[x]; };
  if (places.left >= 0 && places.top >= 0 && places.left + T::side <= p.frame.width &&
      places.top + T::side <= p.frame.height)  // without branches many loads are in flight at once
    return stage(inside);
  stage([&](int x, int y) {
    const bool exists = x >= 0 && y >= 0 && x < p.frame.width && y < p.frame.height;
    return exists ? inside(x, y) : 0.0F;
  });
}

/// With zeros round it. \param sums  this thread's part of its sum and sum of squares
__device__ void stage_window(const stage::WindowSearch::Problem& p, const std::uint8_t* reference,
                             const InterrogationWindow& window, double* to, double (&sums)[2]) {
#pragma unroll 12
  for (int k = threadIdx.x; k < window_rows * most_window; k += threads) {
    const int x = k % most_window, y = k / most_window - margin;
    const bool exists = x < p.window && y >= 0 && y < p.window;
    const int row = exists ? y : 0, column = exists ? x : 0;  // without branches, again
    const float pixel = row_of<float>(reference, p.pitch, window.y + row)[window.x + column];
    const double value = exists ? counted_pixel(pixel) : 0;
    to[(y + margin) * window_pitch + x] = value;
    sums[0] += value;
    sums[1] += value * value;
  }
}

// ---- products -------------------------------------------------------------------------------

/// Adds the products of this warp's rows of the frame at its 16 shifts dx and all tiles of dy.
template <class T>
__device__ void multiply_tiles(int columns, const double* frame, const double* window,
                               double (&products)[T::tiles_y][4]) {
  const LanePlace lane;
  const int warp = threadIdx.x / 32;
  frame += 16 * (warp % T::tiles_x) + lane.row + lane.depth;
  window += (margin - lane.row) * window_pitch + lane.depth;
#pragma unroll 1
  for (int first = warp / T::tiles_x; first < 8; first += T::parts)
#pragma unroll 1
    for (int i = 0; i < columns; i += 4) {
      const double* const left = frame + first * T::pitch + i;
      const double* const right = window + first * window_pitch + i;
      double b[window_tiles];
#pragma unroll
      for (int d = 0; d < window_tiles; ++d) b[d] = right[8 * d * window_pitch];
#pragma unroll
      for (int q = 0; q < T::tiles_y + window_tiles - 1; ++q) {
        const double a[2] = {left[8 * q * T::pitch], left[8 * q * T::pitch + 8]};
#pragma unroll
        for (int n = 0; n < T::tiles_y; ++n)
          if (const int d = q - n; d >= 0 && d < window_tiles)
            multiply_add_f64(products[n], a, b[d]);
      }
    }
}

/// How far it is to the next row and column of G's operands, and to the next of what is summed.
struct RimSteps {
  int frame, frame_depth, window, window_depth;
};

/// 16 rows of G for this warp: products of lines of the frame's part, from the last shift on, with
/// those of the window.
template <class T>
__device__ void multiply_rim(int depth, const double* frame, const double* window,
                             const RimSteps& steps, double (&products)[most_window / 8][4]) {
  const LanePlace lane;
  const int first = 16 * (threadIdx.x / 32);
  if (first >= T::side) return;
  frame += (first + lane.row) * steps.frame + (T::tiled + lane.depth) * steps.frame_depth;
  window += margin * window_pitch + lane.row * steps.window + lane.depth * steps.window_depth;
#pragma unroll 2
  for (int i = 0; i < depth; i += 4) {
    const double* const left = frame + i * steps.frame_depth;
    const double a[2] = {left[0], left[8 * steps.frame]};
#pragma unroll
    for (int n = 0; n < most_window / 8; ++n)
      multiply_add_f64(products[n], a, window[8 * n * steps.window + i * steps.window_depth]);
  }
}

/// The sum along the diagonal of G that this thread's shift has. All threads call it.
template <class T>
__device__ double sum_diagonal(const double (&products)[most_window / 8][4], double* rim) {
  const LanePlace lane;
  const int first = 16 * (threadIdx.x / 32);
  __syncthreads();  // what was there is not needed any more
  if (first < T::side)
#pragma unroll
    for (int n = 0; n < most_window / 8; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        rim[(first + lane.row + i / 2 * 8) * T::rim_pitch + 8 * n + 2 * lane.depth + i % 2] =
            products[n][i];
  __syncthreads();
  double sum = 0;
  if (threadIdx.x <= T::tiled)
#pragma unroll 8
    for (int j = 0; j < most_window; ++j) sum += rim[(threadIdx.x + j) * T::rim_pitch + j];
  return sum;
}

/// The products of all shifts, row by row, in the place of the window; seen after a barrier.
template <class T>
__device__ void multiply(const stage::WindowSearch::Problem& p, const double* frame,
                         double* window) {
  double products[T::tiles_y][4] = {};
  multiply_tiles<T>(p.window, frame, window, products);
  double column = 0, row = 0;
  const bool has_rim = p.shifts() > T::tiled;
  if (has_rim) {
    double of_column[most_window / 8][4] = {}, of_row[most_window / 8][4] = {};
    multiply_rim<T>(p.window, frame, window, {T::pitch, 1, window_pitch, 1}, of_column);
    multiply_rim<T>(p.window, frame, window, {1, T::pitch, 1, window_pitch}, of_row);
    column = sum_diagonal<T>(of_column, window);
    row = sum_diagonal<T>(of_row, window);
  }
  const int shifts = p.shifts(), own = threadIdx.x;
  const LanePlace lane;
#pragma unroll 1
  for (int part = 0; part < T::parts; ++part) {
    __syncthreads();
    if (own / 32 / T::tiles_x != part) continue;
#pragma unroll
    for (int i = 0; i < 4 * T::tiles_y; ++i) {
      const int x = 16 * (own / 32 % T::tiles_x) + lane.row + i % 4 / 2 * 8,
                y = 8 * (i / 4) + 2 * lane.depth + i % 2;
      if (x >= shifts || y >= shifts) continue;
      double& sum = window[y * shifts + x];
      sum = part == 0 ? products[i / 4][i % 4] : sum + products[i / 4][i % 4];
    }
  }
  if (!has_rim || own > T::tiled) return;
  window[own * shifts + T::tiled] = column;
  if (own < T::tiled) window[T::tiled * shifts + own] = row;
}

// ---- sums of the frame's windows ------------------------------------------------------------

/// Sums of `window` numbers, those from each of the first `run` on: what all of them have, and what
/// is before and after that; of several lists side by side, since additions wait for each other.
/// \param at  at(i, j) gives the j-th number of the i-th list
template <int lists, class At>
__device__ void sum_runs(int window, At at, double (&sums)[lists][run]) {
  double common[lists] = {}, after[lists] = {};
#pragma unroll 4
  for (int j = run - 1; j < window; ++j)
#pragma unroll
    for (int i = 0; i < lists; ++i) common[i] += at(i, j);
#pragma unroll
  for (int i = 0; i < lists; ++i) sums[i][run - 1] = common[i];
#pragma unroll
  for (int k = run - 2; k >= 0; --k)
#pragma unroll
    for (int i = 0; i < lists; ++i) sums[i][k] = sums[i][k + 1] + at(i, k);
#pragma unroll
  for (int k = 1; k < run; ++k)
#pragma unroll
    for (int i = 0; i < lists; ++i) {
      after[i] += at(i, window + k - 1);
      sums[i][k] += after[i];
    }
}

/// Those down the columns of the frame's part, of the values and then of their squares, in its
/// place; seen after a barrier. A thread has a column of either.
template <class T>
__device__ void sum_columns(int window, double* frame) {
  const int x = threadIdx.x % T::side, power = threadIdx.x / T::side;
  double sums[T::runs][run] = {};
  if (power < 2)
    sum_runs(
        window,
        [&](int i, int j) {
          const double value = frame[T::in_part(run * i + j) * T::pitch + x];
          return power == 0 ? value : value * value;
        },
        sums);
  __syncthreads();
  if (power >= 2) return;
#pragma unroll
  for (int i = 0; i < T::runs; ++i)
#pragma unroll
    for (int k = 0; k < run; ++k)
      frame[power * T::column_sums + (run * i + k) * T::sums_pitch + x] = sums[i][k];
}

/// Those over windows at all shifts, row by row, in the place of the sums down columns; seen after
/// a barrier.
template <class T>
__device__ void sum_windows(const stage::WindowSearch::Problem& p, double* frame) {
  const int y = threadIdx.x % (run * T::runs), first = threadIdx.x / (run * T::runs) * run;
  const bool has_some = y < p.shifts() && first < p.shifts();
  double sums[2][run] = {};
  if (has_some)
    sum_runs(
        p.window,
        [&](int power, int j) {
          return frame[power * T::column_sums + y * T::sums_pitch + T::in_part(first + j)];
        },
        sums);
  __syncthreads();
  if (!has_some) return;
#pragma unroll
  for (int power = 0; power < 2; ++power)
#pragma unroll
    for (int k = 0; k < run; ++k)
      if (first + k < p.shifts())
        frame[power * T::squares + y * p.shifts() + first + k] = sums[power][k];
}

// ---- the search -----------------------------------------------------------------------------

template <class T>
__global__ void __launch_bounds__(threads, 4)
    window_search_tensor_f32(stage::WindowSearch::Problem p, SearchBuffers b) {
  __shared__ double reference[2];  // its window's sum and sum of squares
  auto* const frame = dynamic_shared<double>();
  double* const second = frame + T::second;
  const int index = static_cast<int>(blockIdx.x);
  const InterrogationWindow& window = b.windows[index];
  {
    const SearchedPlaces places(window, p.frame, p.window, p.range);
    if (write_if_left_out(p, window, places, b.vectors[index])) return;
    stage_frame<T>(p, b.frame, places, frame);
    double own[2] = {};
    stage_window(p, b.reference, window, second, own);
    block_sums<warps>(own);
    if (threadIdx.x == 0) {
      reference[0] = own[0];
      reference[1] = own[1];
    }
  }
  multiply<T>(p, frame, second);
  sum_columns<T>(p.window, frame);
  __syncthreads();
  sum_windows<T>(p, frame);
  __syncthreads();
  const double n = p.window * p.window;
  const double variance = n2_covariance(n, reference[1], reference[0], reference[0]);
  const double scale = variance > 0 ? rsqrt(variance) : 0;
  const auto terms_of = [=](int shift) {
    return WindowTerms<double>{
        n, second[shift], frame[shift], frame[T::squares + shift], reference[0], reference[1]};
  };
  search_by_estimates<warps>(
      p, b, index, SearchedPlaces(window, p.frame, p.window, p.range),
      reinterpret_cast<float*>(second + T::squares),
      [=](int shift) {
        const ScoreTerms<double> terms(terms_of(shift));
        return is_flat_variance(terms.left_variance, n * terms.left_squares)
                   ? 0.0F
                   : static_cast<float>(terms.covariance * scale * rsqrt(terms.left_variance));
      },
      [=](int shift) { return u16_f32_score<float>(terms_of(shift)); });
}

/// Calls body(Tiling) with the least that holds the problem.
template <class Body>
auto with_tiling(const stage::WindowSearch::Problem& p, Body body) {
  return p.shifts() <= Tiling<1>::tiled + 1 ? body(Tiling<1>{}) : body(Tiling<2>{});
}

template <class T>
constexpr std::size_t shared_bytes = T::end * sizeof(double);

bool supports(const stage::WindowSearch::Problem& p, const Device& device) {
  return device.compute_capability >= 80 && p.window >= run && p.window <= most_window &&
         p.shifts() <= Tiling<2>::tiled + 1 &&
         with_tiling(p, [](auto tiling) { return shared_bytes<decltype(tiling)>; }) +
                 search_static_bytes <=
             max_shared_bytes(device);
}

/// Other GPUs have a thirty-second or less of the rate, by any instruction.
bool has_f64_tensor_cores(const stage::WindowSearch::Problem&, const Device& device) {
  const int cc = device.compute_capability;
  return cc == 80 || cc == 90 || cc == 100;
}

Status launch(const stage::WindowSearch::Problem& p, const Device&,
              const stage::WindowSearch::Buffers& b, PlanState*) {
  return with_tiling(p, [&](auto tiling) {
    using T = decltype(tiling);
    return enqueue(
        "window_search_tensor_f32", window_search_tensor_f32<T>,
        dim3(static_cast<unsigned>(p.count)), dim3(threads), shared_bytes<T>, b.stream, p,
        SearchBuffers{b.reference, b.frame, b.mask, b.windows, b.vectors, b.sums, b.next_sums});
  });
}

constexpr Variant<stage::WindowSearch> table[] = {
    {{.name = "window_search_tensor_f32",
      .backend = Backend::cuda,
      .features = {Feature::f32, Feature::ensemble},
      .rank = 1},
     {.supports = supports, .launch = launch, .is_preferred = has_f64_tensor_cores}},
};

}  // namespace

Family window_search_tensor_f32_family() { return Family(table); }

}  // namespace xcorr::cuda
