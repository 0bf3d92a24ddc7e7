// SPDX-License-Identifier: LGPL-2.1-or-later
//
// tensor-core: exact sums of products of bytes by matrix instructions. One row of the right is a
// banded (Toeplitz) matrix, B[k][n] = right[k - n], so that 16 x 32 shifts are pieces of 16 left
// rows, as they lie in memory, times B: no pixel is rearranged. The columns of B are the same bytes
// shifted, read from four copies of the row that begin a byte apart; set_rights() makes them. Sums
// wrap at 2^32, which is right while the true ones fit. It is the fastest way for 8-bit matrices
// but for the smallest ones and, past a hundred pixels a side, next to an FFT.
#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "../runtime.hpp"
#include "async_copy.cuh"
#include "launch.cuh"
#include "mma.cuh"
#include "overlap.cuh"
#include "shared_memory.cuh"

namespace xcorr::cuda {
namespace {

/// One tuning: a warp computes 32 shifts in x and 16 * tiles in y; a block has four of them side by
/// side. Rows of the right are staged `rows` at a time, `steps` times 32 bytes of k for each.
struct Row {
  const char* name;
  int steps, tiles, rows;

  /// Columns of a right that a row of k takes beside the 31 that B is shifted by: one less than
  /// would do, so that wider rights are cut where 16-byte copies begin.
  constexpr int most_columns() const { return 32 * steps - 32; }
  /// Words of one copy of a right's row: 32 zero bytes, the row, zero bytes. Copies lie 8 banks
  /// apart.
  constexpr int copy_words() const {
    int words = 8 * steps + 8;
    while (words % 32 != 8) words += 8;
    return words;
  }
  constexpr int row_words() const { return 4 * copy_words(); }
  constexpr int left_columns() const { return block_columns + 32 * (steps - 1); }
  /// An odd number of 16 bytes, so that eight rows lie in different banks.
  constexpr int left_pitch() const { return (left_columns() / 16 | 1) * 16; }
  constexpr int left_rows() const { return 16 * tiles + rows - 1; }
  constexpr int left_bytes() const { return left_rows() * left_pitch(); }
  constexpr int stage_bytes() const { return left_bytes() + rows * row_words() * 4; }

  static constexpr int block_columns = 128, threads = 128;
};

// Names: k, how many times 32 bytes of k; t, tiles of 16 rows a warp.
// clang-format off
constexpr Row rows[] = {
    {"tensor_core.k2t2", 2, 2, 16},
    {"tensor_core.k2t4", 2, 4, 16},
    {"tensor_core.k3t2", 3, 2, 16},
    {"tensor_core.k3t4", 3, 4, 16},
    {"tensor_core.k5t4", 5, 4, 16},
};
// clang-format on

// ---- preparing rights -----------------------------------------------------------------------

/// Bands of columns in which rights wider than a row of k are taken.
template <int number>
__host__ __device__ constexpr int bands_of(const Problem& p) {
  return ceil_div(p.right.width, rows[number].most_columns());
}

/// For each right, band and row: four copies, the c-th beginning c bytes in.
template <int number>
__global__ void shift_rights(Problem p, const std::byte* rights, std::uint32_t* to) {
  constexpr Row t = rows[number];
  const int bands = bands_of<number>(p);
  const int row = blockIdx.x % p.right.height, band = blockIdx.x / p.right.height % bands;
  const int index = blockIdx.x / p.right.height / bands;
  const auto* from =
      reinterpret_cast<const std::uint8_t*>(rights + index * p.right_stride + row * p.right_pitch) +
      band * t.most_columns();
  const int columns = min(t.most_columns(), p.right.width - band * t.most_columns());
  to += std::int64_t{blockIdx.x} * t.row_words();
  for (int word = threadIdx.x; word < t.row_words(); word += blockDim.x) {
    const int first = 4 * (word % t.copy_words()) + word / t.copy_words() - 32;
    std::uint32_t value = 0;
    for (int i = 0; i < 4; ++i)
      if (first + i >= 0 && first + i < columns) value |= std::uint32_t{from[first + i]} << 8 * i;
    to[word] = value;
  }
}

// ---- the kernel -----------------------------------------------------------------------------

/// 16 bytes from (x, y) on of the left; zeros where there is nothing. x is a multiple of 16.
__device__ inline void stage_left(std::uint8_t* to, const Problem& p, const std::byte* left, int x,
                                  int y, bool aligned) {
  const bool inside = unsigned(y) < unsigned(p.left.height) && x >= 0;
  const int valid = inside ? min(max(p.left.width - x, 0), 16) : 0;
  const auto* from = reinterpret_cast<const std::uint8_t*>(left + y * p.left_pitch) + x;
  if (aligned) return copy_async<16>(to, from, valid);
  for (int i = 0; i < 16; ++i) to[i] = i < valid ? from[i] : 0;
}

template <int number>
__global__ void __launch_bounds__(rows[number].threads)
    tensor_core(Problem p, const std::byte* lefts, const std::uint32_t* shifted, int first_right,
                int right_count, int skew, bool aligned, std::uint32_t* out) {
  constexpr Row t = rows[number];
  std::uint8_t* const shared = dynamic_shared<std::uint8_t>();
  const int x0 = int(blockIdx.x) * t.block_columns - skew, y0 = int(blockIdx.y) * 16 * t.tiles;
  const Pair pair = pair_of(p, blockIdx.z, first_right, right_count);
  const std::byte* const left = lefts + pair.left * p.left_stride;
  const int bands = bands_of<number>(p);
  const int row_steps = (p.right.height + t.rows - 1) / t.rows, stages = bands * row_steps;

  const auto fill = [&](int stage) {
    if (stage < stages) {
      const int band = stage / row_steps, first_row = stage % row_steps * t.rows;
      std::uint8_t* const to = shared + stage % 2 * t.stage_bytes();
      constexpr int units = t.left_columns() / 16;
      const int x = p.shifts.x + x0 + band * t.most_columns(), y = p.shifts.y + y0 + first_row;
      for (int i = threadIdx.x; i < t.left_rows() * units; i += t.threads)
        stage_left(to + i / units * t.left_pitch() + i % units * 16, p, left, x + i % units * 16,
                   y + i / units, aligned);
      const std::uint32_t* from =
          shifted + ((pair.right * bands + band) * p.right.height + first_row) * t.row_words();
      const int words = min(t.rows, p.right.height - first_row) * t.row_words();
      for (int i = threadIdx.x * 4; i < t.rows * t.row_words(); i += t.threads * 4)
        copy_async<16>(to + t.left_bytes() + i * 4, from + (i < words ? i : 0), i < words ? 16 : 0);
    }
    commit_copies();
  };

  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  // Column l / 4 of B begins l / 4 bytes before its row: that many words, in the copy that makes
  // up for the rest.
  const int copy = -(lane / 4) & 3, back = (lane / 4 + 3) / 4;
  const int my_right = t.left_bytes() + 4 * (copy * t.copy_words() + lane % 4 + 8 - back);
  const int my_left = (lane % 16) * t.left_pitch() + lane / 16 * 16 + warp * 32;

  std::uint32_t sums[t.tiles][4][4] = {};
  fill(0);
  for (int stage = 0; stage < stages; ++stage) {
    fill(stage + 1);
    wait_copies<1>();
    __syncthreads();
    const std::uint8_t* const base = shared + stage % 2 * t.stage_bytes();
    const int row_count = min(t.rows, p.right.height - stage % row_steps * t.rows);
    for (int j = 0; j < row_count; ++j) {
      // Eight shifts further is two words back: what neighbouring tiles and steps share.
      std::uint32_t b[4 * t.steps + 2];
#pragma unroll
      for (int i = 0; i < 4 * t.steps + 2; ++i)
        b[i] = *reinterpret_cast<const std::uint32_t*>(base + my_right +
                                                       4 * (j * t.row_words() + 2 * (i - 3)));
#pragma unroll
      for (int s = 0; s < t.steps; ++s)
#pragma unroll
        for (int m = 0; m < t.tiles; ++m) {
          std::uint32_t a[4];
          load_matrices(a, base + my_left + (j + 16 * m) * t.left_pitch() + 32 * s);
#pragma unroll
          for (int n = 0; n < 4; ++n)
            multiply_add(sums[m][n], a, b[4 * s - n + 3], b[4 * s + 2 - n + 3]);
        }
    }
    __syncthreads();
  }

  out += std::int64_t{blockIdx.z} * p.shifts.width * p.shifts.height;
#pragma unroll
  for (int m = 0; m < t.tiles; ++m)
#pragma unroll
    for (int n = 0; n < 4; ++n)
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const int y = y0 + 16 * m + lane / 4 + k / 2 * 8;
        const int x = x0 + warp * 32 + n * 8 + lane % 4 * 2 + k % 2;
        if (x >= 0 && x < p.shifts.width && y < p.shifts.height)
          out[std::int64_t{y} * p.shifts.width + x] = sums[m][n][k];
      }
}

// ---- plan and launch ------------------------------------------------------------------------

template <int number>
class ShiftedRights final : public PlanState {
 public:
  static Result<std::unique_ptr<PlanState>> make(const MatchProblem& problem, const Device&) {
    const Problem& p = problem.correlate;
    const std::int64_t lines = p.total_rights() * bands_of<number>(p) * p.right.height;
    auto block = Block::make(Backend::cuda, static_cast<std::size_t>(lines) *
                                                rows[number].row_words() * sizeof(std::uint32_t));
    if (!block.ok()) return block.status();
    return std::unique_ptr<PlanState>(new ShiftedRights(p, lines, std::move(block.value())));
  }

  Status set_rights(const void* rights, Stream stream) override {
    return enqueue("shift_rights", shift_rights<number>, dim3(static_cast<unsigned>(lines_)),
                   dim3(128), 0, stream, problem_, static_cast<const std::byte*>(rights), words());
  }
  std::uint32_t* words() const { return block_.template as<std::uint32_t>(); }

 private:
  ShiftedRights(const Problem& p, std::int64_t lines, Block block)
      : problem_(p), lines_(lines), block_(std::move(block)) {}

  Problem problem_;
  std::int64_t lines_;
  Block block_;
};

template <int number>
Status launch(const MatchProblem& problem, const Device&, const Buffers& b, PlanState* state) {
  constexpr Row t = rows[number];
  const Problem& p = problem.correlate;
  const int skew = p.shifts.x & 15;
  const bool aligned = p.left_pitch % 16 == 0 && p.left_stride % 16 == 0 &&
                       reinterpret_cast<std::uintptr_t>(b.lefts) % 16 == 0;
  const dim3 grid(ceil_div(p.shifts.width + skew, t.block_columns),
                  ceil_div(p.shifts.height, 16 * t.tiles),
                  static_cast<unsigned>(p.lefts * b.right_count));
  return enqueue(t.name, tensor_core<number>, grid, dim3(t.threads), 2 * t.stage_bytes(), b.stream,
                 p, static_cast<const std::byte*>(b.lefts),
                 static_cast<const ShiftedRights<number>*>(state)->words(), b.first_right,
                 b.right_count, skew, aligned, static_cast<std::uint32_t*>(b.products));
}

template <int number>
bool supports(const MatchProblem& problem, const Device& device) {
  constexpr Row t = rows[number];
  const Problem& p = problem.correlate;
  const int bands = bands_of<number>(p);
  const std::int64_t lines = p.total_rights() * bands * p.right.height;
  // Rights that are wider than a row of k go to the tilings of more steps first.
  return (bands == 1 || t.steps == std::prev(std::end(rows))->steps) &&
         problem.products == ElementType::u32 && p.type == ElementType::u8 &&
         device.compute_capability >= 75 && 2 * t.stage_bytes() <= most_shared_bytes(device) &&
         lines <= 0x7fffffff && p.shifts.height <= 65535 * 16LL &&
         std::int64_t{p.lefts} * problem.most_rights() <= 65535;
}

template <std::size_t... numbers>
constexpr auto make_table(std::index_sequence<numbers...>) {
  return std::array{Variant{rows[numbers].name, Stage::correlate, Backend::cuda, true,
                            supports<numbers>, no_workspace, launch<numbers>,
                            ShiftedRights<numbers>::make}...};
}

constexpr auto table = make_table(std::make_index_sequence<std::size(rows)>());

}  // namespace

Family tensor_core_family() { return table; }

}  // namespace xcorr::cuda
