// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Sum and sum of squares of the search region's window at every shift. A block computes `columns`
// adjacent windows and moves down a strip of rows, a few rows per round. Each thread keeps the
// running sums of two columns: the one that its window loses and the one that it gains relative to
// the window on its left, as one difference; all threads together update the first window's sum.
// Once a round's differences lie in shared memory, each warp computes prefix sums of one row of
// them: the first window's sum plus the differences up to a window is that window's sum. The memory
// needed does not grow with the window, and rounding errors do not spread beyond a strip. For u8
// and u16 all sums are exact: differences wrap around in unsigned arithmetic, window sums do not,
// and squares of up to 66,051 bytes fit 32 bits too.
#include "cuda/common/launch.cuh"
#include "cuda/common/warp.cuh"
#include "cuda/match/window_sums.hpp"

namespace xcorr::cuda {
namespace {

constexpr int columns = 256, warps = columns / 32;
constexpr int rounds = 4, rows_per_block = warps * rounds;  // each warp does one row per round
constexpr int per_lane = columns / 32;
constexpr int padded_columns = columns + 32;  // one more per lane's share, against bank conflicts

__device__ int padded(int column) { return column + column / per_lane; }

template <class Sum, class Squares>
struct Moments {
  Sum sum = 0;
  Squares squares = 0;
  __device__ void add(const Moments& o) {
    sum += o.sum;
    squares += o.squares;
  }
};

template <class In, class Sum, class Squares>
__global__ void __launch_bounds__(columns)
    window_sums(Problem p, const std::byte* left, Sum* sums, Squares* squares) {
  using M = Moments<Sum, Squares>;
  let_next_begin();  // itself it begins when all before has ended: what begins now may read that
  left += p.left_offset(blockIdx.z);
  sums += first_window(p, blockIdx.z);
  squares += first_window(p, blockIdx.z);
  __shared__ Sum row_sums[warps][padded_columns];
  __shared__ Squares row_squares[warps][padded_columns];
  __shared__ M first_window[warps][warps];  // for each row, what each warp adds to it

  const int t = threadIdx.x, lane = t % 32, warp = t / 32;
  const int w = p.right.width, h = p.right.height;
  const int x0 = p.shifts.x + blockIdx.x * columns, y0 = p.shifts.y + blockIdx.y * rows_per_block;
  const int rows = min(rows_per_block, p.shifts.y + p.shifts.height - y0);
  const int last = y0 + rows - 1 + h - 1;  // of the search region's rows in use
  // Thread t > 0 loses column x0 + t - 1 and gains x0 + t - 1 + w. Where these do not exist, and
  // for t = 0, both are the same column, whose difference is 0.
  const int left_edge = min(x0 + max(t - 1, 0), p.left.width - 1);
  const bool differs = t > 0 && left_edge + w < p.left.width;
  const int lost = left_edge, gained = differs ? left_edge + w : left_edge;
  const bool helps = warp * 32 < w;  // with the first window; the same for a whole warp

  const auto row_of = [&](int y) {
    return reinterpret_cast<const In*>(left + min(y, last) * p.left_pitch);
  };
  // In int for integers: in a difference of 64-bit squares nvcc 13.0 loses the borrow (seen on
  // sm_90).
  using Wide = std::conditional_t<std::is_integral_v<In>, int, Sum>;
  using Product = std::conditional_t<sizeof(In) == 2, long long, Wide>;
  const auto take = [](M& m, Wide plus, Wide minus) {
    m.sum += Sum(plus - minus);
    m.squares += Squares(Product(plus - minus) * (plus + minus));
  };

  M running, mine;
#pragma unroll 8
  for (int j = 0; j < h; ++j) take(running, row_of(y0 + j)[gained], row_of(y0 + j)[lost]);
  for (int i = t; i < w; i += columns)
#pragma unroll 8
    for (int j = 0; j < h; ++j) take(mine, row_of(y0 + j)[x0 + i], 0);

  for (int round = 0; round < rows; round += warps) {
    const int count = min(warps, rows - round);
    // All of a round's pixels are loaded before the first is used; rows past the last one repeat it
    // and are not used.
    In above_gained[warps], above_lost[warps], below_gained[warps], below_lost[warps];
#pragma unroll
    for (int r = 0; r < warps; ++r) {
      const In *above = row_of(y0 + round + r), *below = row_of(y0 + round + r + h);
      above_gained[r] = above[gained];
      above_lost[r] = above[lost];
      below_gained[r] = below[gained];
      below_lost[r] = below[lost];
    }
#pragma unroll
    for (int r = 0; r < warps; ++r) {
      row_sums[r][padded(t)] = running.sum;
      row_squares[r][padded(t)] = running.squares;
      take(running, below_gained[r], above_gained[r]);
      take(running, above_lost[r], below_lost[r]);
    }
    M change[warps];
    for (int i = t; i < w; i += columns)
#pragma unroll
      for (int r = 0; r < warps; ++r)
        take(change[r], row_of(y0 + round + r + h)[x0 + i], row_of(y0 + round + r)[x0 + i]);
#pragma unroll
    for (int r = 0; r < warps; ++r) {
      M part;
      if (helps) part = {warp_sum(mine.sum), warp_sum(mine.squares)};
      if (lane == 0) first_window[r][warp] = part;
      mine.add(change[r]);
    }
    __syncthreads();
    if (warp < count) {
      // A lane sums its own share; the sum of all shares to its left comes from the other lanes.
      Sum* share_sums = &row_sums[warp][padded(lane * per_lane)];
      Squares* share_squares = &row_squares[warp][padded(lane * per_lane)];
      M share;
      for (int i = 0; i < per_lane; ++i) share.add({share_sums[i], share_squares[i]});
      M before{warp_scan(share.sum) - share.sum, warp_scan(share.squares) - share.squares};
      for (int i = 0; i < warps; ++i) before.add(first_window[warp][i]);
      for (int i = 0; i < per_lane; ++i) {
        before.add({share_sums[i], share_squares[i]});
        share_sums[i] = before.sum;
        share_squares[i] = before.squares;
      }
      __syncwarp();
      const std::int64_t place =
          std::int64_t{blockIdx.y * rows_per_block + round + warp} * p.shifts.width;
      for (int i = lane; i < columns; i += 32) {
        const int x = blockIdx.x * columns + i;
        if (x >= p.shifts.width) break;
        sums[place + x] = row_sums[warp][padded(i)];
        squares[place + x] = row_squares[warp][padded(i)];
      }
    }
    __syncthreads();  // the rows are overwritten
  }
}

template <class In, class Sum, class Squares>
Status launch_as(const Problem& p, const stage::WindowSums::Buffers& b) {
  const dim3 grid(ceil_div(p.shifts.width, columns), ceil_div(p.shifts.height, rows_per_block),
                  static_cast<unsigned>(p.total_lefts()));
  return enqueue("window_sums", window_sums<In, Sum, Squares>, grid, columns, 0, b.stream, p,
                 static_cast<const std::byte*>(b.lefts), static_cast<Sum*>(b.window_sums),
                 static_cast<Squares*>(b.window_squares));
}

}  // namespace

Status launch_window_sums(const stage::WindowSums::Problem& p, const Device&,
                          const stage::WindowSums::Buffers& b, PlanState*) {
  using u32 = std::uint32_t;
  using u64 = unsigned long long;
  if (p.correlate.type == ElementType::f32) return launch_as<float, double, double>(p.correlate, b);
  if (p.correlate.type == ElementType::u16)
    return launch_as<std::uint16_t, u64, u64>(p.correlate, b);
  return p.correlate.output_type() == ElementType::u32
             ? launch_as<std::uint8_t, u32, u32>(p.correlate, b)
             : launch_as<std::uint8_t, u32, u64>(p.correlate, b);
}

bool supports_window_sums(const stage::WindowSums::Problem& p, const Device&) {
  return p.correlate.shifts.height <= 65535LL * rows_per_block &&
         p.correlate.total_lefts() <= 65535;
}

namespace {

constexpr Variant<stage::WindowSums> table[] = {
    {{.name = "window_sums",
      .backend = Backend::cuda,
      .features = {Feature::u8, Feature::u16, Feature::f32, Feature::wide_sums,
                   Feature::own_lefts}},
     {.supports = supports_window_sums, .launch = launch_window_sums}},
};

}  // namespace

Family window_sums_family() { return Family(table); }

}  // namespace xcorr::cuda
