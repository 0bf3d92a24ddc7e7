// SPDX-License-Identifier: LGPL-2.1-or-later
//
// dot-product: exact sums of products of bytes, four products per instruction (dp4a, compute
// capability 6.1 and up). A thread has four neighbouring shifts in x and eight in y. For each of
// the four shifts in x, four bytes of the left are extracted from two words by a funnel shift, and
// used for all eight in y, each with another row of the right. It is for 8-bit matrices what
// register_tile is for float ones, and the choice where tensor cores are absent or do not pay.
#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "cuda/common/async_copy.cuh"
#include "cuda/common/launch.cuh"
#include "cuda/common/overlap.cuh"
#include "cuda/common/shared_memory.cuh"
#include "stages/common/variant_name.hpp"

namespace xcorr::cuda {
namespace {

/// Shifts of a thread; columns of the right staged at a time; bytes of a copy and of a load.
constexpr int shifts_x = 4, shifts_y = 8, segment = 64, unit = 16;

/// One tuning. The lanes of a warp lie `lanes_x` side by side and the rest of them one below the
/// other, a row apart, with a thread's further shifts in y as many apart as there are lanes; the
/// block's warps lie one below the other, `share` for the same outputs. `rows` of the left are
/// staged at a time and divided among those warps.
struct Row {
  int lanes_x, warps_y, share, rows;

  constexpr int threads() const { return 32 * warps_y * share; }
  constexpr int lanes_y() const { return 32 / lanes_x; }
  constexpr int block_x() const { return shifts_x * lanes_x; }
  constexpr int warp_y() const { return shifts_y * lanes_y(); }
  constexpr int block_y() const { return warp_y() * warps_y; }
  constexpr int outputs() const { return block_x() * block_y(); }
  constexpr int left_pitch() const { return segment + block_x() + unit; }
  constexpr int right_rows() const { return rows + block_y() - 1; }
  /// An odd number of units, so that lanes' rows lie in different banks.
  static constexpr int right_pitch() { return segment + unit; }
  constexpr int left_bytes() const { return rows * left_pitch(); }
  constexpr int stage_bytes() const { return left_bytes() + right_rows() * right_pitch(); }
  constexpr std::size_t shared_bytes() const {
    return std::max<std::size_t>(2 * stage_bytes(), sizeof(std::uint32_t) * share * outputs());
  }
};

// Names: x and y shifts of a block; k, warps that share outputs.
constexpr Row rows[] = {
    {.lanes_x = 8, .warps_y = 1, .share = 8, .rows = 32},
    {.lanes_x = 32, .warps_y = 1, .share = 4, .rows = 16},
};

// ---- staging --------------------------------------------------------------------------------

/// Rows of a matrix in global memory; zero outside.
struct Source {
  const std::byte* first;
  std::int64_t pitch;
  int width;
  Span rows;
  bool aligned;  ///< every address of a multiple of 16 columns is one of 16 bytes

  /// 16 bytes from (x, y) on; x is a multiple of 16.
  __device__ void copy(std::uint8_t* to, int x, int y) const {
    const bool inside = y >= rows.begin && y < rows.end && x >= 0;
    const int valid = inside ? min(max(width - x, 0), unit) : 0;
    const auto* from = reinterpret_cast<const std::uint8_t*>(first + y * pitch + x);
    if (aligned) return copy_async<unit>(to, from, valid);
    for (int i = 0; i < unit; ++i) to[i] = i < valid ? from[i] : 0;
  }
};

/// `count` rows of `columns` from (x, y) on.
template <int threads, int count, int columns, int pitch>
__device__ void stage(std::uint8_t* to, const Source& from, int x, int y) {
  constexpr int units = columns / unit;
  for (int i = threadIdx.x; i < count * units; i += threads)
    from.copy(to + i / units * pitch + i % units * unit, x + i % units * unit, y + i / units);
}

// ---- multiplying ----------------------------------------------------------------------------

using Sums = std::uint32_t[shifts_y][shifts_x];

/// Adds the products of one left row and, for each of the shifts in y, the row of the right that
/// meets it, for `columns` columns of the right (a multiple of 16).
template <int row_step>
__device__ void multiply(Sums& sums, const std::uint32_t* left, const std::uint8_t* right,
                         int columns) {
  constexpr int words = unit / 4;
  std::uint32_t next = left[0];
#pragma unroll 1
  for (int column = 0; column < columns; column += unit) {
    std::uint32_t shifted[words][shifts_x];
#pragma unroll
    for (int i = 0; i < words; ++i) {
      shifted[i][0] = next;
      next = left[column / 4 + i + 1];
#pragma unroll
      for (int x = 1; x < shifts_x; ++x)
        shifted[i][x] = __funnelshift_r(shifted[i][0], next, 8 * x);
    }
#pragma unroll
    for (int y = 0; y < shifts_y; ++y) {
      const uint4 four = *reinterpret_cast<const uint4*>(right + column - y * row_step);
      const std::uint32_t factors[words] = {four.x, four.y, four.z, four.w};
#pragma unroll
      for (int i = 0; i < words; ++i)
#pragma unroll
        for (int x = 0; x < shifts_x; ++x)
          sums[y][x] = __dp4a(shifted[i][x], factors[i], sums[y][x]);
    }
  }
}

// ---- the kernel -----------------------------------------------------------------------------

/// Sums the products at the block's shifts, from (dx, dy) on, and leaves the sums in shared memory,
/// one part for each of the warps that share them.
template <int number>
__device__ void add_products(const Source& left, const Source& right, int dx, int dy) {
  constexpr Row t = rows[number];
  std::uint8_t* const shared = dynamic_shared<std::uint8_t>();
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int part = warp / t.warps_y;
  const int my_x = lane % t.lanes_x * shifts_x,
            my_y = warp % t.warps_y * t.warp_y() + lane / t.lanes_x;

  // The rows of the left and the columns of the right that any shift of the block needs.
  const int first_row = max(0, right.rows.begin + dy),
            end_row = min(left.rows.end, right.rows.end + dy + t.block_y() - 1);
  const int first_column = max(0, -(dx + t.block_x() - 1)) / unit * unit,
            end_column = min(right.width, left.width - dx);

  struct {
    int row, column;
  } now{first_row, first_row < end_row ? first_column : end_column}, ahead = now;
  const auto fill_ahead = [&](int buffer) {
    if (ahead.column < end_column) {
      std::uint8_t* const to = shared + buffer * t.stage_bytes();
      stage<t.threads(), t.rows, t.left_pitch(), t.left_pitch()>(to, left, dx + ahead.column,
                                                                 ahead.row);
      // The first left row staged meets right row 0 at the block's last shift.
      stage<t.threads(), t.right_rows(), segment, t.right_pitch()>(
          to + t.left_bytes(), right, ahead.column, ahead.row - dy - t.block_y() + 1);
    }
    commit_copies();
  };

  Sums sums{};
  fill_ahead(0);
  for (int buffer = 0; now.column < end_column; buffer ^= 1) {
    ahead.row += t.rows;
    if (ahead.row >= end_row) ahead = {first_row, ahead.column + segment};
    fill_ahead(buffer ^ 1);
    wait_copies<1>();
    __syncthreads();
    const int columns = min((end_column - now.column + unit - 1) / unit * unit, segment);
    const std::uint8_t* const base = shared + buffer * t.stage_bytes();
    for (int row = part; row < t.rows; row += t.share) {
      // The last and the first of the right's rows that the warp's shifts meet here.
      const int last = now.row + row - dy - warp % t.warps_y * t.warp_y();
      if (last < right.rows.begin || last - t.warp_y() + 1 >= right.rows.end) continue;
      multiply<t.lanes_y() * t.right_pitch()>(
          sums, reinterpret_cast<const std::uint32_t*>(base + row * t.left_pitch() + my_x),
          base + t.left_bytes() + (row + t.block_y() - 1 - my_y) * t.right_pitch(), columns);
    }
    __syncthreads();
    now = ahead;
  }

  std::uint32_t* const results = dynamic_shared<std::uint32_t>() + part * t.outputs();
#pragma unroll
  for (int y = 0; y < shifts_y; ++y)
    *reinterpret_cast<uint4*>(results + (my_y + y * t.lanes_y()) * t.block_x() + my_x) = {
        sums[y][0], sums[y][1], sums[y][2], sums[y][3]};
  __syncthreads();
}

/// Out: std::uint32_t, or 64 bits, to which the sums of `part_rows` rows at a time are added.
/// Requiring only one block per multiprocessor keeps all sums in registers on Turing.
template <int number, class Out>
__global__ void __launch_bounds__(rows[number].threads(), 1)
    dot_product(Problem p, const std::byte* lefts, const std::byte* rights, int first_right,
                int right_count, int tiles_x, int skew, int part_rows, bool aligned, Out* out) {
  constexpr Row t = rows[number];
  const std::int64_t output = blockIdx.x / tiles_x;
  const Pair pair = pair_of(p, output, first_right, right_count);
  const Source left{
      lefts + pair.left * p.left_stride, p.left_pitch, p.left.width, {0, p.left.height}, aligned};
  const int first_x = int(blockIdx.x % tiles_x) * t.block_x() - skew,
            first_y = int(blockIdx.y) * t.block_y();
  out += output * p.shifts.width * p.shifts.height;

  const std::uint32_t* const results = dynamic_shared<std::uint32_t>();
  for (int row = 0; row < p.right.height; row += part_rows) {
    const Source right{rights + pair.right * p.right_stride,
                       p.right_pitch,
                       p.right.width,
                       {row, min(row + part_rows, p.right.height)},
                       aligned};
    add_products<number>(left, right, p.shifts.x + first_x, p.shifts.y + first_y);
    for (int o = threadIdx.x; o < t.outputs(); o += t.threads()) {
      const int x = first_x + o % t.block_x(), y = first_y + o / t.block_x();
      if (x < 0 || x >= p.shifts.width || y >= p.shifts.height) continue;
      std::uint32_t sum = 0;
      for (int k = 0; k < t.share; ++k) sum += results[k * t.outputs() + o];
      Out& to = out[std::int64_t{y} * p.shifts.width + x];
      to = row > 0 ? to + sum : sum;
    }
    __syncthreads();
  }
}

// ---- launch ---------------------------------------------------------------------------------

/// Columns by which tiles begin before the first shift, to align them to the size of a copy.
int skew_of(const Problem& p) { return p.shifts.x & (unit - 1); }

std::int64_t tiles_x(const Problem& p, const Row& t) {
  return ceil_div(std::int64_t{p.shifts.width} + skew_of(p), t.block_x());
}

template <int number, class Out>
Status launch_as(const Problem& p, const stage::Correlate::Buffers& b, int part_rows) {
  constexpr Row t = rows[number];
  const auto across = static_cast<int>(tiles_x(p, t));
  const dim3 grid(static_cast<unsigned>(across * p.lefts * b.right_count),
                  static_cast<unsigned>(ceil_div(p.shifts.height, t.block_y())));
  return enqueue("dot_product", dot_product<number, Out>, grid, dim3(t.threads()), t.shared_bytes(),
                 b.stream, p, static_cast<const std::byte*>(b.lefts),
                 static_cast<const std::byte*>(b.rights), b.first_right, b.right_count, across,
                 skew_of(p), part_rows, is_aligned(p, b), static_cast<Out*>(b.products));
}

template <int number>
Status launch(const stage::Correlate::Problem& problem, const Device&,
              const stage::Correlate::Buffers& b, PlanState*) {
  const Problem& p = problem.correlate;
  if (p.output_type() == ElementType::u32)
    return launch_as<number, std::uint32_t>(p, b, p.right.height);
  return launch_as<number, unsigned long long>(
      p, b,
      static_cast<int>(std::min<std::int64_t>(widest_u8_row / p.right.width, p.right.height)));
}

template <int number>
bool supports(const stage::Correlate::Problem& problem, const Device& device) {
  constexpr Row t = rows[number];
  const Problem& p = problem.correlate;
  return supports_definition(problem) && device.compute_capability >= 61 &&
         t.shared_bytes() <= max_shared_bytes(device) &&
         tiles_x(p, t) * p.lefts * problem.max_rights() <= 0x7fffffff &&
         ceil_div(p.shifts.height, t.block_y()) <= 65535;
}

template <int number>
constexpr VariantName name = [] {
  constexpr Row t = rows[number];
  VariantName made = variant_name("dot_product.x", t.block_x(), "y", t.block_y());
  made.add_if(t.share > 1, "k", t.share);
  return made;
}();

template <std::size_t... numbers>
constexpr auto make_table(std::index_sequence<numbers...>) {
  return std::array{
      Variant<stage::Correlate>{{.name = name<numbers>.text,
                                 .backend = Backend::cuda,
                                 .features = {Feature::u8, Feature::several_images,
                                              Feature::partial_overlap, Feature::wide_sums}},
                                {.supports = supports<numbers>, .launch = launch<numbers>}}...};
}

constexpr auto table = make_table(std::make_index_sequence<std::size(rows)>());

}  // namespace

Family dot_product_family() { return Family(table); }

}  // namespace xcorr::cuda
