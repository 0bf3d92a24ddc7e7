// SPDX-License-Identifier: LGPL-2.1-or-later
//
// register-tile: computes the definition directly and uses every value loaded into a register many
// times. A thread keeps a tile of outputs in registers: several neighbouring shifts in x, which
// slide over the same left pixels, times several shifts in y or pairs of matrices, which share left
// or right pixels. Warps read both sides from shared memory, 16 bytes per load, where the block
// stages rows by asynchronous copies one stage ahead. Compared with the warp-shuffle families it
// has no shuffles, which cost four multiply-adds each. It is the fastest definition-based way for
// most problems of float matrices; the tilings below differ in what the problem has many of:
// shifts, rights, or pairs.
#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "cuda/common/overlap.cuh"
#include "cuda/common/resident.cuh"
#include "cuda/common/shared_memory.cuh"
#include "cuda/definition/register_tile.cuh"
#include "stages/common/variant_name.hpp"

namespace xcorr::cuda {
namespace {

// Names: what a thread holds (x and y shifts, r rights), then k: warps that share outputs.
// clang-format off
constexpr Tile rows[] = {
    // one pair: few outputs, so many warps share them
    {.x = 4, .y = 1, .lanes_x = 4, .lanes_y = 8, .share = 16, .rows = 32, .every_type = true},
    {.x = 4, .y = 2, .lanes_x = 4, .lanes_y = 8, .share = 8, .rows = 16},
    // many rights of one left: from small matrices to large ones
    {.x = 8, .y = 1, .rights = 4, .lanes_x = 4, .lanes_rights = 8,
     .share = 8, .blocks = 2, .rows = 8},
    {.x = 8, .y = 1, .rights = 4, .lanes_x = 2, .lanes_y = 2, .lanes_rights = 8,
     .share = 4, .warps_y = 4, .rows = 8},
    {.x = 8, .y = 1, .rights = 4, .lanes_x = 4, .lanes_rights = 8,
     .share = 2, .warps_y = 4, .blocks = 2, .rows = 8, .every_type = true},
    {.x = 8, .y = 1, .rights = 5, .lanes_x = 2, .lanes_y = 8, .lanes_rights = 2,
     .share = 4, .warps_y = 2, .blocks = 2, .rows = 16},
    // many lefts and many rights
    {.x = 8, .y = 1, .rights = 4, .lanes_lefts = 4, .lanes_rights = 8,
     .warps_lefts = 4, .blocks = 5, .rows = 4, .every_type = true},
    {.x = 8, .y = 1, .rights = 8, .lanes_lefts = 8, .lanes_rights = 4,
     .warps_y = 2, .warps_lefts = 4, .blocks = 2, .rows = 4},
};
// clang-format on

// ---- multiplying ----------------------------------------------------------------------------

/// Loads a multiple of four values, 16 bytes at a time.
template <class V>
__device__ void load_four(const V* from, V* to) {
  struct alignas(16) Load {
    V v[16 / sizeof(V)];
  };
#pragma unroll
  for (int i = 0; i < 4; i += 16 / sizeof(V)) {
    const Load load = *reinterpret_cast<const Load*>(from + i);
#pragma unroll
    for (int k = 0; k < int(16 / sizeof(V)); ++k) to[i + k] = load.v[k];
  }
}

template <class E, int number>
struct Sums {
  static constexpr Tile t = rows[number];
  typename E::Row v[t.lefts][t.rights][t.y][t.x];
};

/// Adds the products of one left row, at the lane's shifts, for `columns` columns of the right (a
/// multiple of four).
template <class E, int number>
__device__ void multiply(Sums<E, number>& sums, const typename E::Value* left,
                         const typename E::Value* right, int columns) {
  using V = typename E::Value;
  using R = typename E::Row;
  constexpr Tile t = rows[number];
  constexpr StageLayout s = StageLayout::of(t);
#pragma unroll 2
  for (int i = 0; i < columns; i += 4) {
    // Reloading the values shared with the last step costs less than moving them between registers.
    V window[t.lefts][t.x + 4];
#pragma unroll
    for (int l = 0; l < t.lefts; ++l)
#pragma unroll
      for (int x = 0; x < t.x + 4; x += 4)
        load_four(left + 4 * l * t.lanes_lefts * s.left_stride + i + x, &window[l][x]);
    V fours[t.rights][t.y][4];
#pragma unroll
    for (int r = 0; r < t.rights; ++r)
#pragma unroll
      for (int y = 0; y < t.y; ++y)
        load_four(
            right + 4 * r * t.lanes_rights * s.right_stride - 4 * y * t.lanes_y * s.right_pitch + i,
            fours[r][y]);
#pragma unroll
    for (int k = 0; k < 4; ++k)
#pragma unroll
      for (int l = 0; l < t.lefts; ++l)
#pragma unroll
        for (int r = 0; r < t.rights; ++r)
#pragma unroll
          for (int y = 0; y < t.y; ++y)
#pragma unroll
            for (int x = 0; x < t.x; ++x)
              sums.v[l][r][y][x] += R(window[l][x + k]) * R(fours[r][y][k]);
  }
}

// ---- the kernel -----------------------------------------------------------------------------

/// Where a block's tile begins: shifts relative to the first requested one, and matrices.
struct Corner {
  int x, y, left, right;
};

/// Where a thread's tile lies in the block's: shifts, matrices, and the number of this warp among
/// those that share it. Further matrices and shifts in y follow at a distance of the number of
/// lanes.
template <int number>
struct Seat {
  static constexpr Tile t = rows[number];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  int part = warp % t.share, group = warp / t.share;
  int x = lane % t.lanes_x * t.x;
  int y = group % t.warps_y * t.lanes_y * t.y + lane / t.lanes_x % t.lanes_y;
  int left =
      group / t.warps_y * t.lanes_lefts * t.lefts + lane / (t.lanes_x * t.lanes_y) % t.lanes_lefts;
  int right = lane / (t.lanes_x * t.lanes_y * t.lanes_lefts);
};

/// Tiles in y are taken from the middle outwards: for full shifts the middle has the most work, and
/// the longest blocks should begin first.
__device__ inline int from_the_middle(int index, int count) {
  const int away = (index + 1) / 2;
  return (count - 1) / 2 + (index % 2 ? away : -away);
}

/// Blocks that should fit a multiprocessor; fewer where registers would not suffice: for 64-bit
/// sums, and on Turing.
template <class E>
__host__ __device__ constexpr int blocks_of(const Tile& t) {
  return sizeof(typename E::Row) == 4 ? resident_blocks(t.blocks, 1) : 1;
}

template <class E, int number>
__global__ void __launch_bounds__(rows[number].threads(), blocks_of<E>(rows[number]))
    register_tile(Problem p, const std::byte* lefts, const std::byte* rights, int first_right,
                  int right_count, int tiles_x, int tiles_right, int skew, bool aligned,
                  typename E::Out* out) {
  using V = typename E::Value;
  using Out = typename E::Out;
  constexpr Tile t = rows[number];
  static_assert(t.lanes() == 32 && t.rows % t.share == 0);
  constexpr StageLayout s = StageLayout::of(t);
  V* const shared = dynamic_shared<V>();

  const int pairs = blockIdx.x / tiles_x;
  const Corner corner{int(blockIdx.x % tiles_x) * t.block_x() - skew,
                      from_the_middle(blockIdx.y, gridDim.y) * t.block_y(),
                      pairs / tiles_right * t.block_lefts(),
                      pairs % tiles_right * t.block_rights()};
  const int dx = p.shifts.x + corner.x, dy = p.shifts.y + corner.y;

  const Source left{lefts + corner.left * p.left_stride,
                    p.left_pitch,
                    p.left_stride,
                    p.left,
                    p.lefts - corner.left,
                    aligned};
  const Source right{
      rights + p.right_of(std::int64_t{corner.left} * p.rights + first_right + corner.right) *
                   p.right_stride,
      p.right_pitch,
      p.right_stride,
      p.right,
      right_count - corner.right,
      aligned};

  const Seat<number> seat;
  const V* const my_lefts = shared + 4 * seat.left * s.left_stride + seat.x;
  // The first left row staged meets right row 0 at the block's last shift.
  const V* const my_rights = shared + 4 * (s.left_units + seat.right * s.right_stride +
                                           (t.block_y() - 1 - seat.y) * s.right_pitch);

  // The rows of the left and the columns of the right that any shift of the tile needs.
  const int first_row = max(0, dy);
  const int end_row = min(p.left.height, p.right.height + dy + t.block_y() - 1);
  const int first_column = max(0, -(dx + t.block_x() - 1)) / 4 * 4;
  const int end_column = min(p.right.width, p.left.width - dx);

  struct {
    int row, column;
  } now{first_row, first_row < end_row ? first_column : end_column}, ahead = now;
  const auto fill_ahead = [&](int buffer) {
    if (ahead.column < end_column) {
      V* const to = shared + buffer * 4 * s.units;
      stage<E, t.threads(), t.block_lefts(), t.rows, (segment + t.block_x()) / 4, s.left_pitch,
            s.left_stride>(to, left, dx + ahead.column, ahead.row, threadIdx.x);
      // Threads in reverse order, so that both sides together keep all threads busy when there is
      // little to copy.
      stage<E, t.threads(), t.block_rights(), s.right_rows, segment / 4, s.right_pitch,
            s.right_stride>(to + 4 * s.left_units, right, ahead.column,
                            ahead.row - dy - (t.block_y() - 1), t.threads() - 1 - threadIdx.x);
    }
    commit_copies();
  };

  Sums<E, number> sums{};
  fill_ahead(0);
  for (int buffer = 0; now.column < end_column; buffer ^= 1) {
    ahead.row += t.rows;
    if (ahead.row >= end_row) ahead = {first_row, ahead.column + segment};
    fill_ahead(buffer ^ 1);
    wait_copies<1>();
    __syncthreads();
    const int columns = min((end_column - now.column + 3) / 4 * 4, segment);
    const int base = buffer * 4 * s.units;
    for (int row = seat.part; row < t.rows; row += t.share)
      multiply<E, number>(sums, my_lefts + base + 4 * row * s.left_pitch,
                          my_rights + base + 4 * row * s.right_pitch, columns);
    __syncthreads();
    now = ahead;
  }

  // Through shared memory, to add what warps share and to write whole rows of shifts.
  Out* const results = dynamic_shared<Out>();
#pragma unroll
  for (int l = 0; l < t.lefts; ++l)
#pragma unroll
    for (int r = 0; r < t.rights; ++r)
#pragma unroll
      for (int y = 0; y < t.y; ++y)
#pragma unroll
        for (int x = 0; x < t.x; ++x) {
          const int pair =
              (seat.left + l * t.lanes_lefts) * t.block_rights() + seat.right + r * t.lanes_rights;
          const int at_y = seat.y + y * t.lanes_y;
          results[seat.part * t.outputs() + (pair * t.block_y() + at_y) * t.block_x() + seat.x +
                  x] = sums.v[l][r][y][x];
        }
  __syncthreads();
  for (int o = threadIdx.x; o < t.outputs(); o += t.threads()) {
    Out sum = results[o];
    for (int k = 1; k < t.share; ++k) sum += results[k * t.outputs() + o];
    const int x = corner.x + o % t.block_x(), y = corner.y + o / t.block_x() % t.block_y();
    const int pair = o / (t.block_x() * t.block_y());
    const int l = pair / t.block_rights(), r = pair % t.block_rights();
    if (l < left.count && r < right.count && x >= 0 && x < p.shifts.width && y < p.shifts.height)
      out[((std::int64_t{corner.left + l} * right_count + corner.right + r) * p.shifts.height + y) *
              p.shifts.width +
          x] = sum;
  }
}

// ---- launch ---------------------------------------------------------------------------------

/// For two stages, or the sums that warps share at the end.
constexpr std::size_t shared_bytes(const Tile& t, std::size_t value, std::size_t out) {
  return std::max(2 * 4 * value * StageLayout::of(t).units, out * t.share * t.outputs());
}

struct Grid {
  int skew;  ///< columns by which tiles begin before the first shift, to align them to four
  std::int64_t tiles_x, tiles_y, tiles_left, tiles_right;

  Grid(const Problem& p, const Tile& t, int right_count)
      : skew(p.shifts.x & 3),
        tiles_x(ceil_div(std::int64_t{p.shifts.width} + skew, t.block_x())),
        tiles_y(ceil_div(p.shifts.height, t.block_y())),
        tiles_left(ceil_div(p.lefts, t.block_lefts())),
        tiles_right(ceil_div(right_count, t.block_rights())) {}
  std::int64_t width() const { return tiles_x * tiles_left * tiles_right; }
};

template <int number>
Status launch(const stage::Correlate::Problem& problem, const Device&,
              const stage::Correlate::Buffers& b, PlanState*) {
  const Problem& p = problem.correlate;
  const auto run = [&]<class E>() {
    constexpr Tile t = rows[number];
    const Grid g(p, t, b.right_count);
    return enqueue(
        "register_tile", register_tile<E, number>,
        dim3(static_cast<unsigned>(g.width()), static_cast<unsigned>(g.tiles_y)), dim3(t.threads()),
        shared_bytes(t, sizeof(typename E::Value), sizeof(typename E::Out)), b.stream, p,
        static_cast<const std::byte*>(b.lefts), static_cast<const std::byte*>(b.rights),
        b.first_right, b.right_count, static_cast<int>(g.tiles_x), static_cast<int>(g.tiles_right),
        g.skew, is_aligned(p, b), static_cast<typename E::Out*>(b.products));
  };
  if constexpr (rows[number].every_type)
    return with_narrow_element(p, run);
  else
    return run.template operator()<ElementF32>();
}

template <int number>
bool supports(const stage::Correlate::Problem& problem, const Device& device) {
  constexpr Tile t = rows[number];
  const Problem& p = problem.correlate;
  const Grid g(p, t, problem.max_rights());
  const std::size_t value = std::max(size_of(p.type), sizeof(std::uint32_t));
  return supports_definition(problem) && (t.block_lefts() == 1 || p.form == Form::n_to_m) &&
         (t.block_rights() == 1 || p.rights > 1) && g.width() <= 0x7fffffff &&
         shared_bytes(t, value, size_of(p.output_type())) <= max_shared_bytes(device) &&
         g.tiles_y <= 65535;
}

template <int number>
constexpr VariantName name = [] {
  constexpr Tile t = rows[number];
  VariantName made = variant_name("register_tile.x", t.x);
  made.add_if(t.y > 1, "y", t.y);
  made.add_if(t.rights > 1, "r", t.rights);
  made.add_if(t.share > 1, "k", t.share);
  return made;
}();

template <int number>
constexpr Features features = rows[number].every_type
                                  ? narrow_features
                                  : Features(Feature::f32, Feature::several_images,
                                             Feature::partial_overlap);

template <std::size_t... numbers>
constexpr auto make_table(std::index_sequence<numbers...>) {
  return std::array{Variant<stage::Correlate>{
      {.name = name<numbers>.text, .backend = Backend::cuda, .features = features<numbers>},
      {.supports = supports<numbers>, .launch = launch<numbers>}}...};
}

constexpr auto table = make_table(std::make_index_sequence<std::size(rows)>());

}  // namespace

Family register_tile_family() { return Family(table); }

}  // namespace xcorr::cuda
