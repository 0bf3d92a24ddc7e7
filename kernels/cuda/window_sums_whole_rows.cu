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

constexpr int most_threads = 1024, most_warps = most_threads / 32;
constexpr int phase = 4;          // rows at once
constexpr int most_height = 256;  // with one row more 16 bits still hold a column's sum

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

/// The sums of four columns over a window's height: of columns 0 and 2, and of 1 and 3, 16 bits
/// each.
struct Sums {
  u32 even = 0, odd = 0;
  __device__ void add(u32 pixels) {
    even += pixels & 0x00ff00ff;
    odd += pixels >> 8 & 0x00ff00ff;
  }
  __device__ void remove(u32 pixels) {
    even -= pixels & 0x00ff00ff;
    odd -= pixels >> 8 & 0x00ff00ff;
  }
  __device__ u32 of(int i) const { return (i % 2 ? odd : even) >> i / 2 * 16 & 0xffff; }
};

/// Their sums of squares.
struct Squares {
  u32 columns[4] = {};
  __device__ static u32 square(u32 pixels, int i) {
    return __dp4a(pixels & 255u << 8 * i, pixels, 0u);
  }
  __device__ void add(u32 pixels) {
#pragma unroll
    for (int i = 0; i < 4; ++i) columns[i] += square(pixels, i);
  }
  __device__ void remove(u32 pixels) {
#pragma unroll
    for (int i = 0; i < 4; ++i) columns[i] -= square(pixels, i);
  }
  __device__ u32 of(int i) const { return columns[i]; }
};

static_assert(phase == 4);  // the rows of a uint4

__device__ inline void operator+=(uint4& a, const uint4& b) {
  a = {a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w};
}
__device__ inline uint4 operator-(const uint4& a, const uint4& b) {
  return {a.x - b.x, a.y - b.y, a.z - b.z, a.w - b.w};
}

/// Prefix sums in shared memory, of `phase` rows at once: of each warp's columns, and of the warps
/// the totals.
class Prefix {
 public:
  /// Bytes of a block's two.
  static constexpr std::size_t bytes(int threads) {
    return 2 * sizeof(uint4) * (place(4 * threads) + 1 + most_warps);
  }
  __device__ explicit Prefix(int number)
      : columns_(dynamic_shared<uint4>() + number * (place(4 * blockDim.x) + 1 + most_warps)),
        totals_(columns_ + place(4 * blockDim.x) + 1) {}

  /// By all threads: the values of four columns each.
  __device__ void store(const uint4 (&columns)[4]) const {
    uint4 own = columns[0];
#pragma unroll
    for (int i = 1; i < 4; ++i) own += columns[i];
    const uint4 inclusive{warp_scan(own.x), warp_scan(own.y), warp_scan(own.z), warp_scan(own.w)};
    uint4 sum = inclusive - own;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      columns_[place(4 * threadIdx.x + i)] = sum;
      sum += columns[i];
    }
    if (threadIdx.x % 32 == 31) totals_[threadIdx.x / 32] = inclusive;
    if (threadIdx.x == 0) columns_[place(4 * blockDim.x)] = {};
  }
  /// After a barrier: the sums of columns [begin, end).
  __device__ uint4 between(int begin, int end) const {
    uint4 sum = columns_[place(end)] - columns_[place(begin)];
    for (int warp = begin / 128; warp < end / 128; ++warp) sum += totals_[warp];
    return sum;
  }

 private:
  /// With a gap after each eight, so that every fourth one lies in another bank.
  __host__ __device__ static constexpr int place(int column) { return column + column / 8; }

  uint4 *columns_, *totals_;
};

/// Moves a window down by the rows of a phase; stores what it was at each.
template <class T>
__device__ void walk(T& running, const u32 (&above)[phase], const u32 (&below)[phase],
                     const Prefix& to) {
  u32 columns[4][phase];
#pragma unroll
  for (int r = 0; r < phase; ++r) {
#pragma unroll
    for (int i = 0; i < 4; ++i) columns[i][r] = running.of(i);
    running.add(below[r]);
    running.remove(above[r]);
  }
  uint4 values[4];
#pragma unroll
  for (int i = 0; i < 4; ++i)
    values[i] = {columns[i][0], columns[i][1], columns[i][2], columns[i][3]};
  to.store(values);
}

/// A block does `rows` rows.
template <int rows>
__global__ void __launch_bounds__(most_threads)
    whole_rows(Problem p, const std::byte* left, Columns columns, u32* sums, u32* squares) {
  const int c = threadIdx.x * 4 - columns.shift, h = p.right.height;
  const int y0 = blockIdx.x * rows, last = p.shifts.height + h - 2;
  const std::byte* base = left + p.shifts.y * p.left_pitch + p.shifts.x;
  const bool whole = p.left_pitch % 4 == 0 && c >= 0 && c + 4 <= columns.count;
  const auto row = [&](int y) { return base + min(y, last) * p.left_pitch; };

  Sums running_sums;
  Squares running_squares;
  const auto add = [&](u32 pixels) {
    running_sums.add(pixels);
    running_squares.add(pixels);
  };
  if (whole) {
#pragma unroll 16
    for (int j = 0; j < h; ++j) add(load4<true>(row(y0 + j), c, columns.count));
  } else {
#pragma unroll 1
    for (int j = 0; j < h; ++j) add(load4<false>(row(y0 + j), c, columns.count));
  }

  let_next_begin();
  for (int first = y0; first < min(y0 + rows, p.shifts.height); first += phase) {
    // The pixels that the window's top and bottom pass.
    u32 above[phase], below[phase];
#pragma unroll
    for (int r = 0; r < phase; ++r) {
      above[r] = whole ? load4<true>(row(first + r), c, columns.count)
                       : load4<false>(row(first + r), c, columns.count);
      below[r] = whole ? load4<true>(row(first + r + h), c, columns.count)
                       : load4<false>(row(first + r + h), c, columns.count);
    }
    walk(running_sums, above, below, Prefix(0));
    walk(running_squares, above, below, Prefix(1));
    __syncthreads();
    const int count = min(phase, p.shifts.height - first);
    for (int x = threadIdx.x; x < p.shifts.width; x += blockDim.x) {
      const int begin = x + columns.shift, end = begin + p.right.width;
      const uint4 s = Prefix(0).between(begin, end), q = Prefix(1).between(begin, end);
      const u32 of_rows[2][phase] = {{s.x, s.y, s.z, s.w}, {q.x, q.y, q.z, q.w}};
      const std::int64_t place = std::int64_t{first} * p.shifts.width + x;
#pragma unroll
      for (int r = 0; r < phase; ++r) {
        if (r >= count) break;
        sums[place + r * p.shifts.width] = of_rows[0][r];
        squares[place + r * p.shifts.width] = of_rows[1][r];
      }
    }
    __syncthreads();  // the prefix sums are written anew
  }
}

int threads_of(const Problem& p, int shift) {
  return ceil_div(p.shifts.width + p.right.width - 1 + shift, 4 * 32) * 32;
}

template <int rows>
Status launch_with(const Problem& p, const Buffers& b) {
  const auto first =
      reinterpret_cast<std::uintptr_t>(b.lefts) + p.shifts.y * p.left_pitch + p.shifts.x;
  const Columns columns{p.shifts.width + p.right.width - 1, static_cast<int>(first % 4)};
  const int threads = threads_of(p, columns.shift);
  return enqueue("whole_rows", whole_rows<rows>, ceil_div(p.shifts.height, rows), threads,
                 Prefix::bytes(threads), b.stream, p, static_cast<const std::byte*>(b.lefts),
                 columns, static_cast<u32*>(b.window_sums), static_cast<u32*>(b.window_squares));
}

/// More rows a block save sums over the window's height, and leave room for what follows to begin
/// beside them; fewer end sooner, where there are not many.
Status launch(const MatchProblem& problem, const Device& device, const Buffers& b, PlanState*) {
  const Problem& p = problem.correlate;
  return ceil_div(p.shifts.height, 8) < device.multiprocessors / 2 ? launch_with<4>(p, b)
                                                                   : launch_with<8>(p, b);
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
