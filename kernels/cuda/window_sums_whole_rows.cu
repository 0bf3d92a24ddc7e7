// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Window sums of u8, a block a few whole rows. Each thread keeps the sums of four neighbouring
// columns over a window's height and walks down; of each row each warp makes the prefix sums of its
// columns in shared memory, and a window's sum is the difference of two, with what whole warps
// between them have. Each pixel is loaded as a part of a word and worked on a few times only, so
// this is the faster one where it applies: exact in 32 bits (windows of up to 66,051 pixels;
// differences wrap around, windows do not), up to 256 rows high, and rows of up to 4096 columns.
#include "launch.cuh"
#include "shared_memory.cuh"
#include "warp.cuh"

namespace xcorr::cuda {
namespace {

using u32 = std::uint32_t;
using u64 = unsigned long long;

constexpr int most_threads = 1024, most_warps = most_threads / 32;
constexpr int rows = 8, phase = 4;  // of a block; of them at once
constexpr int most_height = 256;    // with one row more 16 bits still hold a column's sum

/// Column c lies in place c + shift, so that four places are an aligned word of the left's memory.
struct Columns {
  int count, shift;
};

/// Four pixels, from column c on, in the order of memory; 0 where there is none.
template <bool whole>
__device__ u32 load4(const std::byte* row, int c, int count) {
  if constexpr (whole) return *reinterpret_cast<const u32*>(row + c);
  u32 pixels = 0;
  for (int i = 0; i < 4; ++i)
    if (c + i >= 0 && c + i < count) pixels |= u32(row[c + i]) << (8 * i);
  return pixels;
}

/// Four columns over a window's height.
struct Four {
  u32 even = 0, odd = 0;           ///< sums of columns 0 and 2, 1 and 3, 16 bits each
  u32 came[4] = {}, went[4] = {};  ///< squares
  __device__ void add(u32 pixels) {
    even += pixels & 0x00ff00ff;
    odd += pixels >> 8 & 0x00ff00ff;
#pragma unroll
    for (int i = 0; i < 4; ++i) came[i] = __dp4a(pixels & 255u << 8 * i, pixels, came[i]);
  }
  __device__ void remove(u32 pixels) {
    even -= pixels & 0x00ff00ff;
    odd -= pixels >> 8 & 0x00ff00ff;
#pragma unroll
    for (int i = 0; i < 4; ++i) went[i] = __dp4a(pixels & 255u << 8 * i, pixels, went[i]);
  }
};

/// Prefix sums of one row's column sums, in shared memory: of each warp's columns, and of the
/// warps the totals.
struct Prefix {
  u32 *columns, *totals;

  /// Bytes, of all in a block: sums and squares of `phase` rows.
  static constexpr int columns_of(int threads) { return 4 * threads + 4; }
  static std::size_t bytes(int threads) {
    return 2 * phase * sizeof(u32) * (columns_of(threads) + most_warps);
  }
  __device__ explicit Prefix(int number) {
    const int words = columns_of(blockDim.x);
    u32* const all = dynamic_shared<u32>();
    columns = all + number * words;
    totals = all + 2 * phase * words + number * most_warps;
  }
  /// By all threads.
  __device__ void store(const u32 (&v)[4]) const {
    const u32 own = v[0] + v[1] + v[2] + v[3], inclusive = warp_scan(own), first = inclusive - own;
    reinterpret_cast<uint4*>(columns)[threadIdx.x] = {first, first + v[0], first + v[0] + v[1],
                                                      first + v[0] + v[1] + v[2]};
    if (threadIdx.x % 32 == 31) totals[threadIdx.x / 32] = inclusive;
    if (threadIdx.x == 0) columns[4 * blockDim.x] = 0;
  }
  /// After a barrier: the sum of columns [begin, end).
  __device__ u32 between(int begin, int end) const {
    u32 sum = columns[end] - columns[begin];
    for (int warp = begin / 128; warp < end / 128; ++warp) sum += totals[warp];
    return sum;
  }
};

__global__ void __launch_bounds__(most_threads)
    whole_rows(Problem p, const std::byte* left, Columns columns, u32* sums, u64* squares) {
  let_next_begin();
  const int c = threadIdx.x * 4 - columns.shift, h = p.right.height;
  const int y0 = blockIdx.x * rows, last = p.shifts.height + h - 2;
  const std::byte* base = left + p.shifts.y * p.left_pitch + p.shifts.x;
  const bool whole = p.left_pitch % 4 == 0 && c >= 0 && c + 4 <= columns.count;

  // The pixels that the window's top and bottom pass, all asked for at once.
  Four running;
  u32 above[rows], below[rows];
  const auto load = [&](auto is_whole) {
    const auto pixels = [&](int y) {
      return load4<is_whole>(base + min(y, last) * p.left_pitch, c, columns.count);
    };
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      above[r] = pixels(y0 + r);
      below[r] = pixels(y0 + r + h);
    }
#pragma unroll 16
    for (int j = 0; j < h; ++j) running.add(pixels(y0 + j));
  };
  if (whole)
    load(std::true_type());
  else
    load(std::false_type());

#pragma unroll
  for (int first = 0; first < rows; first += phase) {
#pragma unroll
    for (int r = 0; r < phase; ++r) {
      Prefix(r).store(
          {running.even & 0xffff, running.odd & 0xffff, running.even >> 16, running.odd >> 16});
      Prefix(phase + r).store({running.came[0] - running.went[0], running.came[1] - running.went[1],
                               running.came[2] - running.went[2],
                               running.came[3] - running.went[3]});
      running.add(below[first + r]);
      running.remove(above[first + r]);
    }
    __syncthreads();
    for (int x = threadIdx.x; x < p.shifts.width; x += blockDim.x) {
      const int begin = x + columns.shift, end = begin + p.right.width;
#pragma unroll
      for (int r = 0; r < phase; ++r) {
        const int y = y0 + first + r;
        if (y >= p.shifts.height) break;
        sums[std::int64_t{y} * p.shifts.width + x] = Prefix(r).between(begin, end);
        squares[std::int64_t{y} * p.shifts.width + x] = Prefix(phase + r).between(begin, end);
      }
    }
    __syncthreads();  // the prefix sums are written anew
  }
}

int threads_of(const Problem& p, int shift) {
  return ceil_div(p.shifts.width + p.right.width - 1 + shift, 4 * 32) * 32;
}

Status launch(const MatchProblem& problem, const Device&, const Buffers& b, PlanState*) {
  const Problem& p = problem.correlate;
  const auto first =
      reinterpret_cast<std::uintptr_t>(b.lefts) + p.shifts.y * p.left_pitch + p.shifts.x;
  const Columns columns{p.shifts.width + p.right.width - 1, static_cast<int>(first % 4)};
  const int threads = threads_of(p, columns.shift);
  return enqueue("whole_rows", whole_rows, ceil_div(p.shifts.height, rows), threads,
                 Prefix::bytes(threads), b.stream, p, static_cast<const std::byte*>(b.lefts),
                 columns, static_cast<u32*>(b.window_sums), static_cast<u64*>(b.window_squares));
}

bool supports(const MatchProblem& problem, const Device& device) {
  const Problem& p = problem.correlate;
  const int threads = threads_of(p, 3);  // whatever the first column's place in a word
  return supports_matching(problem, device) && p.output_type() == ElementType::u32 &&
         p.right.height <= most_height && threads <= most_threads &&
         Prefix::bytes(threads) <= most_shared_bytes(device);
}

constexpr Variant table[] = {
    {"whole_rows", Stage::window_sums, Backend::cuda, true, supports, no_workspace, launch},
};

}  // namespace

Family window_sums_whole_rows_family() { return table; }

}  // namespace xcorr::cuda
