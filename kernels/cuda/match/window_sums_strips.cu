// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Window sums of u8 in small independent pieces: a warp, or a few side by side, computes a strip of
// windows and moves down a band of rows. Each thread keeps the sums of eight adjacent columns over
// a window's height. For a few rows at once the prefix sums of the strip's columns go to shared
// memory, and a window's sum is the difference of two of them. Four rows of a column are packed
// into a word, which one instruction sums, so that starting each band with a whole window's height
// costs little. Exact in 32 bits (windows of up to 66,051 pixels; differences wrap around, window
// sums do not), up to about 2000 columns wide.
#include "cuda/common/launch.cuh"
#include "cuda/common/shared_memory.cuh"
#include "cuda/common/warp.cuh"
#include "cuda/match/window_sums_strips.hpp"

namespace xcorr::cuda {
namespace {

using u32 = std::uint32_t;

constexpr int share = 8;                  // columns per thread
constexpr int max_unit = share;           // bytes loaded at once
constexpr int warp_columns = 32 * share;  // columns per warp
constexpr int max_across = 8;             // warps side by side
constexpr int max_threads = 32 * max_across;
constexpr int phase = 4;        // rows at once
constexpr int start_rows = 16;  // loaded at once for a band's first window

/// How blocks divide the work. Column c of the searched area lies at position c + shift of a strip
/// that begins with it, so that a thread's columns are aligned words of the search region's memory.
struct Plan {
  int shift, unit;      ///< unit: bytes of such a word
  int across, outputs;  ///< warps side by side, and windows of their strip: a multiple of share
  int strips;
  int rows;  ///< per warp, in a band
  int down;  ///< bands, one below the other, that share rows through the first-level cache
};

/// Eight pixels side by side, in the order of memory.
struct Octet {
  u32 words[2] = {};
  __device__ u32 operator[](int i) const { return __byte_perm(words[i / 4], 0, 0x4440 + i % 4); }
  __device__ void put(int i, u32 pixel) {
    words[0] |= i < 4 ? pixel << 8 * i : 0;
    words[1] |= i < 4 ? 0 : pixel << 8 * (i - 4);
  }
};

/// A thread's columns in the search region.
struct Columns {
  const std::byte* top;  ///< in row 0
  std::int64_t pitch;
  int first, count;  ///< its first one, and all of the search region
  int unit;          ///< bytes loaded at once: 1 where not all of them exist

  /// Rows y to y + n that lie before `limit`; the others are 0, as are columns that do not exist.
  template <int n>
  __device__ void load(Octet (&rows)[n], int y, int limit) const {
    const std::byte* row = top + y * pitch;
    const int exist = min(n, limit - y);
    if (unit == max_unit) {
#pragma unroll
      for (int r = 0; r < n; ++r, row += pitch) {
        uint2 words{0, 0};
        if (r < exist) words = *reinterpret_cast<const uint2*>(row);
        rows[r] = {{words.x, words.y}};
      }
    } else if (unit == 4) {
#pragma unroll
      for (int r = 0; r < n; ++r, row += pitch)
#pragma unroll
        for (int i = 0; i < 2; ++i)
          rows[r].words[i] = r < exist ? reinterpret_cast<const u32*>(row)[i] : 0;
    } else {
#pragma unroll
      for (int r = 0; r < n; ++r) rows[r] = {};
#pragma unroll 1
      for (int i = max(0, -first); i < min(share, count - first); ++i) {
        const std::byte* pixel = row + i;
#pragma unroll
        for (int r = 0; r < n; ++r, pixel += pitch)
          if (r < exist) rows[r].put(i, u32(*pixel));
      }
    }
  }
};

/// Transposes 4 x 4 bytes: words of rows become words of columns.
__device__ inline void transpose(u32 (&words)[4]) {
  const u32 low[2] = {__byte_perm(words[0], words[1], 0x5140),
                      __byte_perm(words[2], words[3], 0x5140)};
  const u32 high[2] = {__byte_perm(words[0], words[1], 0x7362),
                       __byte_perm(words[2], words[3], 0x7362)};
  words[0] = __byte_perm(low[0], low[1], 0x5410);
  words[1] = __byte_perm(low[0], low[1], 0x7632);
  words[2] = __byte_perm(high[0], high[1], 0x5410);
  words[3] = __byte_perm(high[0], high[1], 0x7632);
}

/// Sums of each of a thread's columns over a window's height.
/// \tparam powers  1: no squares
template <int powers>
struct Moments {
  u32 sums[share] = {}, squares[share] = {};

  template <int n>
  __device__ void add(const Octet (&rows)[n]) {
#pragma unroll
    for (int r = 0; r < n; r += 4)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        u32 columns[4] = {rows[r].words[half], rows[r + 1].words[half], rows[r + 2].words[half],
                          rows[r + 3].words[half]};
        transpose(columns);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          u32 &sum = sums[4 * half + i], &square = squares[4 * half + i];
          sum = __dp4a(columns[i], 0x01010101u, sum);
          if constexpr (powers > 1) square = __dp4a(columns[i], columns[i], square);
        }
      }
  }
  /// One row further down.
  __device__ void move(const Octet& above, const Octet& below) {
#pragma unroll
    for (int i = 0; i < share; ++i) {
      const u32 gained = below[i], lost = above[i];
      sums[i] += gained - lost;
      if constexpr (powers > 1) squares[i] += (gained - lost) * (gained + lost);
    }
  }
};

/// One by the root of pixels * squares - sum^2; 0 where all pixels are alike.
__device__ inline float window_scale(int pixels, u32 sum, u32 square) {
  const std::uint64_t variance = std::uint64_t{square} * u32(pixels) - std::uint64_t{sum} * sum;
  const float scale = rsqrtf(static_cast<float>(variance));
  return variance > 0 ? scale : 0;
}

/// A barrier where warps are side by side: all others of the block do as many steps.
__device__ inline void wait_for_strip() {
  if (blockDim.x == 32)
    __syncwarp();
  else
    __syncthreads();
}

/// Where in a line of prefix sums a column lies: in every second group of four shares the halves
/// are swapped, so that eight threads' halves lie in different banks.
__device__ inline int place(int column) { return column ^ (column >> 3 & 4); }

/// Prefix sums of a strip's columns in shared memory, for `phase` rows of sums and of squares.
template <int powers>
class Prefix {
 public:
  static constexpr int lines = powers * phase;
  /// For one strip: the lines, its warps' totals in each, and padding, since windows past the last
  /// one are also read, so that no branch separates the loads.
  __host__ __device__ static constexpr int words(int across, int window) {
    return lines * across * (warp_columns + 1) + ceil_div(window + 2 * share, 4) * 4;
  }
  __device__ explicit Prefix(int window)
      : columns_(dynamic_shared<u32>() + threadIdx.y * words(blockDim.x / 32, window)) {}

  /// Called by all threads: stores the prefix sums of the values of the threads' columns.
  __device__ void store(u32 (&values)[lines][share]) const {
    const int warp = threadIdx.x / 32;
    u32* const totals = columns_ + lines * width();
    u32 before[lines];  // of the thread's columns
#pragma unroll
    for (int line = 0; line < lines; ++line)
#pragma unroll
      for (int i = 1; i < share; ++i) values[line][i] += values[line][i - 1];
#pragma unroll
    for (int line = 0; line < lines; ++line) before[line] = warp_scan(values[line][share - 1]);
    if (threadIdx.x % 32 == 31)
#pragma unroll
      for (int line = 0; line < lines; ++line) totals[warp * lines + line] = before[line];
    wait_for_strip();  // also until the last rows' sums are read
#pragma unroll
    for (int line = 0; line < lines; ++line) before[line] -= values[line][share - 1];
#pragma unroll 1
    for (int other = 0; other < warp; ++other)
#pragma unroll
      for (int line = 0; line < lines; ++line) before[line] += totals[other * lines + line];
    const int first = place(share * threadIdx.x);
#pragma unroll
    for (int line = 0; line < lines; ++line)
#pragma unroll
      for (int i = 0; i < share; i += 4)
        *reinterpret_cast<uint4*>(&columns_[line * width() + (first ^ i)]) = {
            before[line] + (i ? values[line][i - 1] : 0), before[line] + values[line][i],
            before[line] + values[line][i + 1], before[line] + values[line][i + 2]};
    wait_for_strip();
  }
  __device__ const u32* line(int number) const { return columns_ + number * width(); }

 private:
  __device__ static int width() { return share * blockDim.x; }

  u32* columns_;
};

/// The sums of windows of a strip, from a line's prefix sums: each warp has those of its columns.
struct Outputs {
  int x, begin, end;  ///< of the thread's first window, and its first and last column's places
  int count;          ///< of the strip's windows

  __device__ Outputs(int width, const Plan& plan, int count_)
      : x(threadIdx.x / 32 * warp_columns + threadIdx.x % 32),
        begin(x + plan.shift),
        end(begin + width),
        count(count_) {}

  __device__ void load(const u32* line, u32 (&sums)[share]) const {
    // Columns 64 further on lie 64 positions further on.
    const u32* const first[2] = {line + place(begin), line + place(begin + 32)};
    const u32* const last[2] = {line + place(end), line + place(end + 32)};
    u32 before[share];  // all loaded before the first is used
#pragma unroll
    for (int k = 0; k < share; ++k) {
      before[k] = first[k % 2][k / 2 * 64];
      sums[k] = last[k % 2][k / 2 * 64];
    }
#pragma unroll
    for (int k = 0; k < share; ++k) sums[k] -= before[k];
  }
  /// Writes value(k) of the thread's k-th window.
  template <class T, class Value>
  __device__ void write(T* to, Value value) const {
#pragma unroll
    for (int k = 0; k < share; ++k)
      if (x + 32 * k < count) to[x + 32 * k] = value(k);
  }
};

/// \tparam Sum     u32, or ScaledSum
/// \tparam powers  1: no squares
template <class Sum, int powers>
__global__ void __launch_bounds__(max_threads)
    strips(Problem p, Plan plan, const std::byte* __restrict__ left, Sum* sums, u32* squares,
           const unsigned* wanted) {
  left += p.left_offset(blockIdx.z);
  sums += first_window(p, blockIdx.z);
  squares += first_window(p, blockIdx.z);
  const int h = p.right.height, w = p.right.width;
  const int x0 = blockIdx.y * plan.outputs;                            // the strip's first shift
  const int y0 = (blockIdx.x * blockDim.y + threadIdx.y) * plan.rows;  // the band's first one
  const int limit = p.shifts.height + h - 1;                           // of rows in use
  const int c = p.shifts.x + x0 + threadIdx.x * share - plan.shift;    // in the search region
  const Columns columns{left + p.shifts.y * p.left_pitch + c, p.left_pitch, c, p.left.width,
                        c >= 0 && c + share <= p.left.width ? plan.unit : 1};
  const Outputs outputs(w, plan, min(plan.outputs, p.shifts.width - x0));
  const Prefix<powers> prefix(w);

  wait_for_previous();  // before let_next_begin(): what then begins reads the frame at once
  if (wanted && *static_cast<const volatile unsigned*>(wanted) == 0) return;
  Octet above[phase], below[phase];  // the rows that the window's top and bottom pass
  columns.load(above, y0, limit);
  columns.load(below, y0 + h, limit);
  Moments<powers> running;
  for (int j = 0; j < h; j += start_rows) {
    Octet pixels[start_rows];
    columns.load(pixels, y0 + j, min(y0 + h, limit));
    running.add(pixels);
  }
  let_next_begin();

  for (int y = y0; y < y0 + plan.rows; y += phase) {
    u32 values[Prefix<powers>::lines][share];
#pragma unroll
    for (int r = 0; r < phase; ++r) {
#pragma unroll
      for (int i = 0; i < share; ++i) {
        values[r][i] = running.sums[i];
        if constexpr (powers > 1) values[phase + r][i] = running.squares[i];
      }
      running.move(above[r], below[r]);
    }
    prefix.store(values);
    if (y + phase < y0 + plan.rows) {
      columns.load(above, y + phase, limit);
      columns.load(below, y + phase + h, limit);
    }
#pragma unroll 1
    for (int r = 0; r < min(phase, p.shifts.height - y); ++r) {
      const std::int64_t row = std::int64_t{y + r} * p.shifts.width + x0;
      u32 sum[share], square[share];
      outputs.load(prefix.line(r), sum);
      if constexpr (powers > 1) outputs.load(prefix.line(phase + r), square);
      outputs.write(sums + row, [&](int k) {
        if constexpr (std::is_same_v<Sum, ScaledSum>)
          return ScaledSum{sum[k], window_scale(w * h, sum[k], square[k])};
        else
          return sum[k];
      });
      if constexpr (powers > 1) outputs.write(squares + row, [&](int k) { return square[k]; });
    }
  }
}

/// The fewest warps for a row of windows, and among these the narrowest strips; no strips where
/// even the widest one is too narrow. Bands that fill the device, if there are enough rows:
/// measured.
Plan plan_of(const Problem& p, const Device& device, int first_byte) {
  Plan best{};
  const std::int64_t steps = p.left_pitch | p.left_offset(1);
  best.unit = steps % max_unit == 0 ? max_unit : steps % 4 == 0 ? 4 : 1;
  best.shift = first_byte % best.unit;
  for (int across = 1; across <= max_across; ++across) {
    const int outputs = (across * warp_columns - p.right.width - best.shift) / share * share;
    if (outputs <= 0) continue;
    const int strips = ceil_div(p.shifts.width, outputs);
    if (best.strips && strips * across >= best.strips * best.across) continue;
    best.across = across;
    best.outputs = outputs;
    best.strips = strips;
  }
  const bool fills = p.total_lefts() * ceil_div(p.shifts.height, 8) * best.strips * best.across >=
                     2 * device.multiprocessors;
  best.rows = fills ? 8 : 4;
  best.down = fills || 2 * best.across > max_across ? 1 : 2;
  return best;
}

template <int powers>
std::size_t shared_bytes(const Problem& p, const Plan& plan) {
  return sizeof(u32) * plan.down * Prefix<powers>::words(plan.across, p.right.width);
}

}  // namespace

Status launch_window_sums_strips(const stage::WindowSums::Problem& problem, const Device& device,
                                 const stage::WindowSums::Buffers& b, ScaledSum* scaled,
                                 const unsigned* wanted) {
  const Problem& p = problem.correlate;
  const auto* left = static_cast<const std::byte*>(b.lefts);
  const auto first =
      reinterpret_cast<std::uintptr_t>(left) + p.shifts.y * p.left_pitch + p.shifts.x;
  const Plan plan = plan_of(p, device, static_cast<int>(first % max_unit));
  const dim3 grid(ceil_div(p.shifts.height, plan.rows * plan.down), plan.strips,
                  static_cast<unsigned>(p.total_lefts()));
  const auto enqueue_for = [&]<int powers>(auto* sums) {
    return enqueue_early(device, "strips", strips<std::remove_pointer_t<decltype(sums)>, powers>,
                         grid, dim3(32 * plan.across, plan.down), shared_bytes<powers>(p, plan),
                         b.stream, p, plan, left, sums, static_cast<u32*>(b.window_squares),
                         wanted);
  };
  if (scaled) return enqueue_for.operator()<2>(scaled);
  auto* const sums = static_cast<u32*>(b.window_sums);
  return problem.squares ? enqueue_for.operator()<2>(sums) : enqueue_for.operator()<1>(sums);
}

bool supports_window_sums_strips(const stage::WindowSums::Problem& problem, const Device& device) {
  const Problem& p = problem.correlate;
  if (p.total_lefts() > 65535) return false;
  for (int first = 0; first < max_unit; ++first) {  // for every alignment of the search region
    const Plan plan = plan_of(p, device, first);
    if (plan.strips < 1 || plan.strips > 65535 ||
        shared_bytes<2>(p, plan) > max_shared_bytes(device))
      return false;
  }
  return true;
}

Family window_sums_strips_family() {
  static constexpr Variant<stage::WindowSums> table[] = {
      {{.name = "strips",
        .backend = Backend::cuda,
        .features = {Feature::u8, Feature::own_lefts},
        .rank = 1},
       {.supports = supports_window_sums_strips,
        .launch = [](const stage::WindowSums::Problem& p, const Device& device,
                     const stage::WindowSums::Buffers& b,
                     PlanState*) { return launch_window_sums_strips(p, device, b, nullptr); }}},
  };
  return Family(table);
}

}  // namespace xcorr::cuda
