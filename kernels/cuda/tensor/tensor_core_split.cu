// SPDX-License-Identifier: LGPL-2.1-or-later
//
// tensor-core-split: sums of products of float32 by matrix instructions, which take TF32, numbers
// with 11 significant bits. Each value is split into two of those, high + low, and high * high +
// low * high + high * low misses less than an ulp of a product; where no value of a block has a low
// part (integers up to 2048, values that were float16) the first product suffices. One row of the
// right is a banded (Toeplitz) matrix, B[k][n] = right[k - n], as in tensor_block.cuh: it has one
// more nonzero block of 8 x 8 than the row has blocks of 8. It is made for matrices of about 64
// pixels along a side and more; docs/performance/correlation.md has its expected rate.
#include <algorithm>
#include <array>
#include <bit>
#include <iterator>
#include <utility>

#include "cuda/common/async_copy.cuh"
#include "cuda/common/overlap.cuh"
#include "cuda/common/shared_memory.cuh"
#include "cuda/tensor/mma.cuh"
#include "cuda/tensor/tensor_core_split.cuh"
#include "stages/common/variant_name.hpp"

namespace xcorr::cuda {
namespace {

/// A warp's tiles of eight shifts in x, and its shifts in y.
constexpr int tiles = 8, tile_rows = 16;

/// Tiles whose products are interleaved, so that none waits for the previous one.
constexpr int tiles_at_once = 4;

/// One tuning. A warp computes 64 shifts in x and 16 in y; a block has `warps_y` of those one below
/// the other, each computed by `share` warps, which take turns with the rows. The block moves down
/// the left: left row r, and the 15 below it, meet right row r - dy. `rows` of both are staged at a
/// time, in rings of slots, `steps` blocks of eight columns of the right at once.
struct Row {
  int warps_y, share, rows, steps;
  int blocks;  ///< that should fit a multiprocessor

  constexpr int threads() const { return 32 * warps_y * share; }
  constexpr int block_y() const { return tile_rows * warps_y; }
  /// The rows of a stage, and those copied for the next one meanwhile.
  constexpr int left_slots() const { return std::bit_ceil(2u * rows + tile_rows - 1); }
  constexpr int right_slots() const { return std::bit_ceil(2u * rows + block_y() - tile_rows); }
  constexpr int left_columns() const { return eight * (tiles + steps - 1); }
  /// An odd multiple of 16 bytes, so that eight rows lie in different banks.
  constexpr int left_pitch() const { return left_columns() + 4; }
  constexpr int right_columns() const { return eight * (steps + 1); }
  constexpr int left_floats() const { return left_slots() * left_pitch(); }
  constexpr int plane_floats() const { return left_floats() + right_slots() * right_columns(); }
  constexpr int result_floats() const { return block_y() * result_pitch; }
  constexpr std::size_t shared_bytes() const {
    return sizeof(float) * std::max(2 * plane_floats(), share * result_floats());
  }

  static constexpr int block_columns = eight * tiles;
  /// Four rows of results lie in different banks.
  static constexpr int result_pitch = block_columns + eight;
};

// Names: y, warps one below the other; k, warps that share outputs; s, steps.
constexpr Row rows[] = {
    {.warps_y = 2, .share = 2, .rows = 8, .steps = 9, .blocks = 3},
    {.warps_y = 1, .share = 4, .rows = 8, .steps = 9, .blocks = 3},
    {.warps_y = 1, .share = 4, .rows = 8, .steps = 17, .blocks = 3},
};

// ---- multiplying ----------------------------------------------------------------------------

/// The blocks of B that a warp's tiles need, each with its high part and, with two parts, its low
/// one.
template <int parts>
using Blocks = std::uint32_t[tiles][parts][2];

/// Adds the products of block k of the left, which tile n multiplies with block k - n of the right,
/// if that is one of `steps`; it is b[(step - n) % tiles].
template <int parts>
__device__ void multiply_block(float (&sums)[tiles][4], const std::uint32_t (&a)[parts][4],
                               const Blocks<parts>& b, int step, int k, int steps) {
  const auto add = [&](int tile, auto wanted) {
    const auto product = [&](int a_part, int b_part) {
#pragma unroll
      for (int n = tile; n < tile + tiles_at_once; ++n)
        multiply_add_tf32(sums[n], a[a_part], b[(step - n) & (tiles - 1)][b_part], wanted(n));
    };
    if constexpr (parts == 2) {
      product(1, 0);
      product(0, 1);
    }
    product(0, 0);
  };
  const auto wanted = [&](int n) { return unsigned(k - n) < unsigned(steps); };
#pragma unroll
  for (int tile = 0; tile < tiles; tile += tiles_at_once) {
    const int last = tile + tiles_at_once - 1;
    if (wanted(tile) && wanted(last))  // and those between them
      add(tile, [](int) { return true; });
    else if (tile <= k && k - last < steps)
      add(tile, wanted);
  }
}

/// Adds the products of one row of the right, in blocks [0, steps), with the 16 rows of the left
/// that meet it, in those blocks [begin, end) that exist. A high part and its low one are `plane`
/// floats apart.
template <int parts>
__device__ void multiply_row(float (&totals)[tiles][4], const float* left, const float* right,
                             int plane, int begin, int end, int steps) {
  // The first tile's block is new in each step; the others move on by one tile.
  Blocks<parts> b = {};
  const auto load = [&](std::uint32_t(&to)[parts][2], int k) {
    if (unsigned(k) < unsigned(steps))
#pragma unroll
      for (int part = 0; part < parts; ++part)
#pragma unroll
        for (int half = 0; half < 2; ++half)
          to[part][half] = __float_as_uint(right[part * plane + eight * k + 4 * half]);
  };
#pragma unroll
  for (int n = 1; n < tiles; ++n) load(b[tiles - n], begin - n);

  for (int first = begin; first < end; first += tiles) {
    // Tensor cores truncate their sums, so these are short ones.
    float sums[tiles][4] = {};
#pragma unroll
    for (int step = 0; step < tiles; ++step) {
      const int k = first + step;
      if (k >= end) break;
      load(b[step], k);
      std::uint32_t a[parts][4];
#pragma unroll
      for (int part = 0; part < parts; ++part)
        load_matrices(a[part],
                      reinterpret_cast<const std::uint8_t*>(left + part * plane + eight * k));
      multiply_block<parts>(sums, a, b, step, k, steps);
    }
#pragma unroll
    for (int n = 0; n < tiles; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) totals[n][i] += sums[n][i];
  }
}

// ---- the kernel -----------------------------------------------------------------------------

/// Where a block is: its outputs, the shift of the first one, the rows and columns it processes.
struct Place {
  int x, y;            ///< the first output, which may lie before the first requested one
  int dx, dy;          ///< its shift; dx is a multiple of eight
  int begin_r, end_r;  ///< left rows
  int begin_k, end_k;  ///< blocks of k of the right
};

template <int number>
__device__ Place place_of(const Problem& p, int tile_x, int tile_y, int skew) {
  constexpr Row t = rows[number];
  const int x = tile_x * t.block_columns - skew, y = tile_y * t.block_y();
  const int dx = p.shifts.x + x, dy = p.shifts.y + y;
  return {x,
          y,
          dx,
          dy,
          max(dy, 1 - tile_rows),
          min(p.left.height, p.right.height + dy + t.block_y() - tile_rows),
          max(0, -dx / eight - (tiles - 1)),
          min(blocks_of_k(p), ceil_div(p.left.width, eight) - dx / eight)};
}

/// Copies rows [begin, end) of a matrix to their slots, `columns` from `first` on: those that
/// exist.
template <int threads, int columns, int pitch, int slots>
__device__ void stage(float* to, const float* from, const Split& side, int begin, int end,
                      int first) {
  constexpr int units = columns / 4;
  for (int i = threadIdx.x; i < (end - begin) * units; i += threads) {
    const int row = begin + i / units, column = first + i % units * 4;
    if (unsigned(column) >= unsigned(side.columns)) continue;
    const bool inside = unsigned(row) < unsigned(side.size.height);
    copy_async<16>(to + (row & (slots - 1)) * pitch + i % units * 4,
                   from + (inside ? std::int64_t{row} * side.columns + column : 0),
                   inside ? 16 : 0);
  }
}

/// Adds to `totals` the products with blocks of k [begin_k, end_k) of the right.
template <int number, int parts>
__device__ void add_products(float (&totals)[tiles][4], const Split& lefts, const Split& rights,
                             const float* left, const float* right, const Place& place, int begin_k,
                             int end_k) {
  constexpr Row t = rows[number];
  float* const shared = dynamic_shared<float>();
  float* const shared_right = shared + t.left_floats();
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int part = warp / t.warps_y, dy = place.dy + warp % t.warps_y * tile_rows;
  // Blocks of k of the left, counted from the first that the block's shifts meet here.
  const int first_k = place.dx / eight + begin_k;
  const int left_begin = max(0, -first_k),
            left_end = min(tiles + end_k - begin_k - 1, lefts.columns / eight - first_k);
  // Column l / 4 of B begins l / 4 columns before its row.
  const float* const my_right = shared_right + eight + lane % 4 - lane / 4;
  const float* const my_left = shared + lane / 16 * 4;

  int left_row = place.begin_r, right_row = max(0, left_row - place.dy - t.block_y() + tile_rows);
  const auto fill = [&](int r) {
    if (r < place.end_r) {
      const int left_rows_end = r + t.rows + tile_rows - 1,
                right_rows_end = min(rights.size.height, r + t.rows - place.dy);
      for (int plane = 0; plane < parts; ++plane) {
        stage<t.threads(), t.left_columns(), t.left_pitch(), t.left_slots()>(
            shared + plane * t.plane_floats(), left + plane * lefts.plane(), lefts, left_row,
            left_rows_end, eight * first_k);
        stage<t.threads(), t.right_columns(), t.right_columns(), t.right_slots()>(
            shared_right + plane * t.plane_floats(), right + plane * rights.plane(), rights,
            right_row, right_rows_end, eight * begin_k);
      }
      left_row = left_rows_end;
      right_row = max(right_row, right_rows_end);
    }
    commit_copies();
  };

  fill(place.begin_r);
  for (int stage_r = place.begin_r; stage_r < place.end_r; stage_r += t.rows) {
    fill(stage_r + t.rows);
    wait_copies<1>();
    __syncthreads();
    for (int r = stage_r + part; r < min(stage_r + t.rows, place.end_r); r += t.share) {
      const int j = r - dy;
      if (unsigned(j) >= unsigned(rights.size.height)) continue;
      multiply_row<parts>(
          totals, my_left + ((r + lane % tile_rows) & (t.left_slots() - 1)) * t.left_pitch(),
          my_right + (j & (t.right_slots() - 1)) * t.right_columns(), t.plane_floats(), left_begin,
          left_end, end_k - begin_k);
    }
    __syncthreads();
  }
}

/// Writes the block's outputs, or adds to them, through shared memory, where the sums that warps
/// share are added.
template <int number>
__device__ void write(const float (&totals)[tiles][4], const Problem& p, const Place& place,
                      bool add, float* out) {
  constexpr Row t = rows[number];
  float* const results = dynamic_shared<float>();
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
#pragma unroll
  for (int n = 0; n < tiles; ++n)
#pragma unroll
    for (int i = 0; i < 4; i += 2)
      *reinterpret_cast<float2*>(results + (warp * tile_rows + lane / 4 + i * 4) * t.result_pitch +
                                 n * eight + lane % 4 * 2) = {totals[n][i], totals[n][i + 1]};
  __syncthreads();
  for (int o = threadIdx.x; o < t.block_y() * t.block_columns; o += t.threads()) {
    const int column = o % t.block_columns, row = o / t.block_columns;
    const int x = place.x + column, y = place.y + row;
    if (x < 0 || x >= p.shifts.width || y >= p.shifts.height) continue;
    float* const to = out + std::int64_t{y} * p.shifts.width + x;
    float sum = 0;
    for (int k = 0; k < t.share; ++k)
      sum += results[k * t.result_floats() + row * t.result_pitch + column];
    *to = add ? *to + sum : sum;
  }
  __syncthreads();
}

/// Whether a row of the matrix has low parts.
__device__ inline bool any_low(const Split& side, std::int64_t matrix) {
  bool any = false;
  for (int row = threadIdx.x; row < side.size.height; row += blockDim.x)
    any |= side.has_low[matrix * side.size.height + row] != 0;
  return any;
}

template <int number>
__global__ void __launch_bounds__(rows[number].threads(), rows[number].blocks)
    tensor_core_split(Problem p, Split lefts, Split rights, int first_right, int right_count,
                      int tiles_x, int skew, float* out) {
  constexpr Row t = rows[number];
  const std::int64_t output = blockIdx.x / tiles_x;
  const Pair pair = pair_of(p, output, first_right, right_count);
  const Place place = place_of<number>(p, blockIdx.x % tiles_x, blockIdx.y, skew);
  const float *const left = lefts.matrix(pair.left), *const right = rights.matrix(pair.right);
  const bool with_low = __syncthreads_or(any_low(lefts, pair.left) || any_low(rights, pair.right));
  out += output * p.shifts.width * p.shifts.height;

  // Segments of about equal width, each summed separately, which keeps long sums accurate.
  const int blocks = max(0, place.end_k - place.begin_k),
            segments = max(1, ceil_div(blocks, t.steps));
  for (int i = 0; i < segments; ++i) {
    const int begin_k = place.begin_k + blocks * i / segments,
              end_k = place.begin_k + blocks * (i + 1) / segments;
    float totals[tiles][4] = {};
    if (with_low)
      add_products<number, 2>(totals, lefts, rights, left, right, place, begin_k, end_k);
    else
      add_products<number, 1>(totals, lefts, rights, left, right, place, begin_k, end_k);
    write<number>(totals, p, place, i > 0, out);
  }
}

// ---- plan and launch ------------------------------------------------------------------------

std::size_t workspace(const stage::Correlate::Problem& problem, const Device&) {
  return left_side(problem.correlate).bytes();
}

/// Columns by which tiles begin before the first shift, to align them to eight.
int skew_of(const Problem& p) { return p.shifts.x & (eight - 1); }

std::int64_t tiles_x(const Problem& p, const Row& t) {
  return ceil_div(std::int64_t{p.shifts.width} + skew_of(p), t.block_columns);
}

template <int number>
Status launch(const stage::Correlate::Problem& problem, const Device&,
              const stage::Correlate::Buffers& b, PlanState* state) {
  constexpr Row t = rows[number];
  const Problem& p = problem.correlate;
  const Split lefts = left_side(p).in(b.workspace);
  if (b.new_left)
    if (Status s = split(lefts, b.lefts, p.left_stride, p.left_pitch, b.stream); !s.ok()) return s;
  const auto across = static_cast<int>(tiles_x(p, t));
  const dim3 grid(static_cast<unsigned>(across * p.lefts * b.right_count),
                  static_cast<unsigned>(ceil_div(p.shifts.height, t.block_y())));
  return enqueue("tensor_core_split", tensor_core_split<number>, grid, dim3(t.threads()),
                 t.shared_bytes(), b.stream, p, lefts,
                 static_cast<const SplitRights*>(state)->side(), b.first_right, b.right_count,
                 across, skew_of(p), static_cast<float*>(b.products));
}

template <int number>
bool supports(const stage::Correlate::Problem& problem, const Device& device) {
  constexpr Row t = rows[number];
  constexpr std::int64_t max_blocks = 0x7fffffff;
  // With so many rows, sums of one sign are up to 11 eps off, which grows with the rows.
  constexpr int max_rows = 512;
  const Problem& p = problem.correlate;
  return supports_definition(problem) && device.compute_capability >= 80 &&
         t.shared_bytes() <= max_shared_bytes(device) && p.right.height <= max_rows &&
         left_side(p).lines() <= max_blocks && right_side(p).lines() <= max_blocks &&
         tiles_x(p, t) * p.lefts * problem.max_rights() <= max_blocks &&
         ceil_div(p.shifts.height, t.block_y()) <= 65535;
}

template <int number>
constexpr VariantName name = variant_name("tensor_core_split.y", rows[number].warps_y, "k",
                                          rows[number].share, "s", rows[number].steps);

template <std::size_t... numbers>
constexpr auto make_table(std::index_sequence<numbers...>) {
  return std::array{Variant<stage::Correlate>{
      {.name = name<numbers>.text,
       .backend = Backend::cuda,
       .features = {Feature::f32, Feature::several_images, Feature::partial_overlap}},
      {.supports = supports<numbers>,
       .launch = launch<numbers>,
       .workspace = workspace,
       .plan = SplitRights::make}}...};
}

constexpr auto table = make_table(std::make_index_sequence<std::size(rows)>());

}  // namespace

Family tensor_core_split_family() { return Family(table); }

}  // namespace xcorr::cuda
