// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Window sums of u8, a block a few whole rows. Each thread keeps the sums of four neighbouring
// columns over a window's height and walks down; of each row the block makes the prefix sums in
// shared memory, and a window's sum is the difference of two. Each pixel is loaded as a part of a
// word and worked on a few times only, so this is the faster one where it applies: exact in 32 bits
// (windows of up to 66,051 pixels; differences wrap around, windows do not), and rows of up to 4096
// columns.
#include "launch.cuh"
#include "shared_memory.cuh"
#include "warp.cuh"

namespace xcorr::cuda {
namespace {

using u32 = std::uint32_t;
using u64 = unsigned long long;

constexpr int most_threads = 1024, most_warps = most_threads / 32;
constexpr int rows = 8;  // of a block

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

struct Four {
  u32 sums[4] = {}, squares[4] = {};
  __device__ void add(u32 plus, u32 minus) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int p = plus >> (8 * i) & 255, m = minus >> (8 * i) & 255;
      sums[i] += p - m;
      squares[i] += (p - m) * (p + m);
    }
  }
};

/// Writes the block's exclusive prefix sums of four values a thread. Has a barrier inside, wants
/// one behind it.
__device__ void store_prefix_sums(const u32 (&v)[4], u32* of_warps, u32* prefix) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const u32 own = v[0] + v[1] + v[2] + v[3], inclusive = warp_scan(own);
  if (lane == 31) of_warps[warp] = inclusive;
  __syncthreads();
  const u32 warps_scan = warp_scan(lane < blockDim.x / 32 ? of_warps[lane] : 0u);
  const u32 before = __shfl_sync(~0u, warps_scan, warp) - of_warps[warp];
  const u32 first = before + inclusive - own;
  reinterpret_cast<uint4*>(prefix)[threadIdx.x] = {first, first + v[0], first + v[0] + v[1],
                                                   first + v[0] + v[1] + v[2]};
  if (threadIdx.x == blockDim.x - 1) prefix[4 * blockDim.x] = first + own;
}

__global__ void __launch_bounds__(most_threads)
    whole_rows(Problem p, const std::byte* left, Columns columns, u32* sums, u64* squares) {
  __shared__ u32 of_warps[2][most_warps];
  u32* prefix = dynamic_shared<u32>();
  u32* prefix_of_squares = prefix + 4 * blockDim.x + 4;

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
#pragma unroll 8
    for (int j = 0; j < h; ++j) running.add(pixels(y0 + j), 0);
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      above[r] = pixels(y0 + r);
      below[r] = pixels(y0 + r + h);
    }
  };
  if (whole)
    load(std::true_type());
  else
    load(std::false_type());

#pragma unroll
  for (int r = 0; r < rows; ++r) {
    if (y0 + r >= p.shifts.height) break;
    store_prefix_sums(running.sums, of_warps[0], prefix);
    store_prefix_sums(running.squares, of_warps[1], prefix_of_squares);
    __syncthreads();
    const std::int64_t place = std::int64_t{y0 + r} * p.shifts.width;
    for (int x = threadIdx.x; x < p.shifts.width; x += blockDim.x) {
      const int begin = x + columns.shift, end = begin + p.right.width;
      sums[place + x] = prefix[end] - prefix[begin];
      squares[place + x] = prefix_of_squares[end] - prefix_of_squares[begin];
    }
    running.add(below[r], above[r]);
    __syncthreads();  // the prefix sums are written anew
  }
}

Status launch(const MatchProblem& problem, const Device&, const Buffers& b, PlanState*) {
  const Problem& p = problem.correlate;
  const auto first =
      reinterpret_cast<std::uintptr_t>(b.lefts) + p.shifts.y * p.left_pitch + p.shifts.x;
  const Columns columns{p.shifts.width + p.right.width - 1, static_cast<int>(first % 4)};
  const int threads = ceil_div(columns.count + columns.shift, 4 * 32) * 32;
  return enqueue("whole_rows", whole_rows, ceil_div(p.shifts.height, rows), threads,
                 2 * sizeof(u32) * (4 * threads + 4), b.stream, p,
                 static_cast<const std::byte*>(b.lefts), columns, static_cast<u32*>(b.window_sums),
                 static_cast<u64*>(b.window_squares));
}

bool supports(const MatchProblem& p, const Device& device) {
  constexpr int most_columns = 4 * most_threads - 3;  // whatever the first one's place in a word
  return supports_matching(p, device) && p.correlate.output_type() == ElementType::u32 &&
         p.correlate.shifts.width + p.correlate.right.width - 1 <= most_columns;
}

constexpr Variant table[] = {
    {"whole_rows", Stage::window_sums, Backend::cuda, true, supports, no_workspace, launch},
};

}  // namespace

Family window_sums_whole_rows_family() { return table; }

}  // namespace xcorr::cuda
