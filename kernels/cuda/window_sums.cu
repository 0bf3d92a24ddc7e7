// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Sum and sum of squares of the left's window under every shift. A block makes `columns` windows
// side by side and walks down `rows_per_block` rows. Each thread keeps the running sums of two
// columns: the one that its window loses and the one that it gains against its left neighbour's
// window. An inclusive scan of the differences, added to the first window's sum (itself running,
// kept up by all threads together), gives every window of the row. Needs no memory that grows with
// the window, and rounding stays that of one strip. For u8 all sums are exact: differences wrap
// around in unsigned arithmetic, windows do not.
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>

#include "launch.cuh"

namespace xcorr::cuda {
namespace {

constexpr int columns = 256;
constexpr int rows_per_block = 16;

template <class Sum, class Squares>
struct Moments {
  Sum sum;
  Squares squares;
  __device__ Moments operator+(const Moments& o) const { return {sum + o.sum, squares + o.squares}; }
  __device__ Moments operator-(const Moments& o) const { return {sum - o.sum, squares - o.squares}; }
};

template <class In, class M>
__device__ M moments_of(In value) {
  using Sum = decltype(M::sum);
  using Squares = decltype(M::squares);
  return {Sum(value), Squares(value) * Squares(value)};
}

template <class In, class Sum, class Squares>
__global__ void __launch_bounds__(columns)
    window_sums(Problem p, const std::byte* left, Sum* sums, Squares* squares) {
  using M = Moments<Sum, Squares>;
  using Scan = cub::BlockScan<M, columns>;
  using Reduce = cub::BlockReduce<M, columns>;
  __shared__ union {
    typename Scan::TempStorage scan;
    typename Reduce::TempStorage reduce;
  } scratch;
  __shared__ M first_window;

  const int t = threadIdx.x, w = p.right.width, h = p.right.height;
  const int x0 = p.shifts.x + blockIdx.x * columns, y0 = p.shifts.y + blockIdx.y * rows_per_block;
  const int rows = min(rows_per_block, p.shifts.y + p.shifts.height - y0);
  const auto at = [&](int x, int y) {
    return reinterpret_cast<const In*>(left + y * p.left_pitch)[x];
  };
  // Thread t > 0 loses column x0 + t - 1 and gains x0 + t - 1 + w, where that exists.
  const int lost = x0 + t - 1, gained = lost + w;
  const bool differs = t > 0 && gained < p.left.width;
  const auto difference = [&](int y) {
    return moments_of<In, M>(at(gained, y)) - moments_of<In, M>(at(lost, y));
  };

  M running{}, mine{};
  if (differs)
    for (int j = 0; j < h; ++j) running = running + difference(y0 + j);
  for (int j = 0; j < h; ++j)
    for (int i = t; i < w; i += columns) mine = mine + moments_of<In, M>(at(x0 + i, y0 + j));

  for (int row = 0; row < rows; ++row) {
    const M whole = Reduce(scratch.reduce).Sum(mine);
    if (t == 0) first_window = whole;
    __syncthreads();
    M scanned;
    Scan(scratch.scan).InclusiveSum(t == 0 ? first_window : running, scanned);
    const int x = blockIdx.x * columns + t;
    if (x < p.shifts.width) {
      const std::int64_t place =
          std::int64_t{blockIdx.y * rows_per_block + row} * p.shifts.width + x;
      sums[place] = scanned.sum;
      squares[place] = scanned.squares;
    }
    if (row + 1 < rows) {
      const int y = y0 + row;
      if (differs) running = running + (difference(y + h) - difference(y));
      for (int i = t; i < w; i += columns)
        mine = mine + (moments_of<In, M>(at(x0 + i, y + h)) - moments_of<In, M>(at(x0 + i, y)));
    }
    __syncthreads();  // scratch and first_window are used again
  }
}

template <class In, class Sum, class Squares>
Status launch_as(const Problem& p, const Buffers& b) {
  const dim3 grid(ceil_div(p.shifts.width, columns), ceil_div(p.shifts.height, rows_per_block));
  window_sums<In, Sum, Squares><<<grid, columns, 0, native(b.stream)>>>(
      p, static_cast<const std::byte*>(b.lefts), static_cast<Sum*>(b.window_sums),
      static_cast<Squares*>(b.window_squares));
  return launched("window_sums");
}

Status launch(const MatchProblem& p, const Device&, const Buffers& b, PlanState*) {
  return p.correlate.type == ElementType::u8
             ? launch_as<std::uint8_t, std::uint32_t, unsigned long long>(p.correlate, b)
             : launch_as<float, double, double>(p.correlate, b);
}

bool supports(const MatchProblem& p, const Device& device) {
  return supports_matching(p, device) &&
         p.correlate.shifts.height <= 65535LL * rows_per_block;
}

constexpr Variant table[] = {
    {"window_sums", Stage::window_sums, Backend::cuda, true, supports, no_workspace, launch},
};

}  // namespace

Family window_sums_family() { return table; }

}  // namespace xcorr::cuda
