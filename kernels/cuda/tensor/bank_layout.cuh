// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What bank_products.cuh multiplies, as it lies in memory: groups of rights, laid out as columns of
// a matrix, and the rows of a left as words.
#pragma once

#include "cuda/common/async_copy.cuh"
#include "cuda/common/row_words.cuh"
#include "cuda/tensor/wgmma.cuh"
#include "device/runtime.hpp"
#include "stages/common/variant_name.hpp"

namespace xcorr::cuda {

/// One tuning, for rights of up to 32 * `chunks` columns, or of up to 16, of which two rows are
/// `packed` into the 32 bytes of k. A warp has 16 windows across and `tiles` down, `packed` rows
/// apart; a group has four of them, wherever they are.
template <int c, int p, int t, int g>
struct BankTiling {
  static constexpr int chunks = c, packed = p, tiles = t, groups = g;
  static constexpr int rights = 32;

  static constexpr VariantName name(const char* family) {
    return variant_name(family, packed > 1 ? ".p" : ".k", packed > 1 ? packed : chunks, "t", tiles);
  }
  static constexpr int warps() { return 4 * groups; }
  static constexpr int threads() { return 32 * warps(); }
  static constexpr int warp_columns = 16;
  static constexpr int max_width() { return packed > 1 ? 16 : 32 * chunks; }

  /// The first of the rows of windows that a warp has; how many warps have all rows.
  static constexpr __host__ __device__ int first_row(int number) {
    return number / packed * packed * tiles + number % packed;
  }
  static constexpr __host__ __device__ int warps_down(int height) {
    return ceil_div(height, packed * tiles) * packed;
  }
  /// Groups of warps that all windows take.
  static __host__ __device__ int groups_of(Size windows) {
    return ceil_div(ceil_div(windows.width, warp_columns) * warps_down(windows.height), 4);
  }

  /// Steps of k are packed rows of the right, whole rounds of which are laid out, a step a tile: so
  /// a round begins with the same row of the left for all tiles.
  static constexpr __host__ __device__ int rounds(int height) {
    return ceil_div(height, packed * tiles);
  }
  /// The rights, in chunks of 32 columns and 32 bytes of k.
  static constexpr int chunk_bytes = 1024, core_bytes = 128;
  static constexpr int step_bytes = chunks * chunk_bytes;
  static constexpr int round_bytes = tiles * step_bytes;
  static constexpr __host__ __device__ int right_bytes(int height) {
    return rounds(height) * round_bytes;
  }
  /// What of them is in shared memory: all, or of several planes a ring of rounds, namely that of
  /// the products, the one before, and the next one.
  static constexpr int ring = 3;
  static constexpr __host__ __device__ int staged_bytes(int height, int planes) {
    return planes > 1 ? ring * round_bytes : right_bytes(height);
  }

  /// Rows of the left that a round reads, as a warp stages them.
  static constexpr int stage_rows = tiles * packed;
  /// Words of a copy that a warp's windows read, and from copy to copy: so that the words of all
  /// copies that are read together lie in different banks.
  static constexpr int words = packed > 1 ? 7 : 3 + 8 * chunks;
  static constexpr int copy_pitch = words <= 8 ? 8 : 24;
  static_assert(words <= copy_pitch);
  static constexpr int row_words = 4 * copy_pitch, stage_words = stage_rows * row_words;
  /// Lanes that stage a row, which have the word that follows, too; and how many rows a lane does.
  static constexpr int row_lanes = words + 1 <= 8 ? 8 : words + 1 <= 16 ? 16 : 32;
  static constexpr int lane_rows = stage_rows * row_lanes / 32;

  /// What a block needs for such rights; what follows is the caller's.
  static constexpr __host__ __device__ int shared_bytes(int height, int planes) {
    return staged_bytes(height, planes) + warps() * 2 * stage_words * 4;
  }
};

/// A tiling's parameters by their names: a kernel's own must be numbers.
struct BankTuning {
  int chunks = 1, packed = 1, tiles, groups;
};
template <BankTuning t>
using OfBank = BankTiling<t.chunks, t.packed, t.tiles, t.groups>;

/// Groups of T::rights as words of shared memory. Grid: planes of a group, group by group; chunks,
/// row by row.
template <class T>
__global__ void lay_out_bank(Problem p, const std::byte* rights, std::uint32_t* to) {
  const int plane = blockIdx.x % p.planes, first = blockIdx.x / p.planes * T::rights;
  rights += std::int64_t{plane} * p.rights * p.right_stride;
  const int step = static_cast<int>(blockIdx.y) / T::chunks,
            chunk = static_cast<int>(blockIdx.y) % T::chunks;
  to += (std::int64_t{blockIdx.x} * gridDim.y + blockIdx.y) * T::chunk_bytes / 4;
  for (int word = threadIdx.x; word < T::chunk_bytes / 4; word += blockDim.x) {
    // Eight rights a core matrix, 16 bytes of k each.
    const int core = word / 32, right = first + core / 2 * 8 + word % 32 / 4,
              k = core % 2 * 16 + word % 4 * 4;
    const int y = T::packed > 1 ? T::packed * step + k / 16 : step,
              x = T::packed > 1 ? k % 16 : 32 * chunk + k;
    std::uint32_t value = 0;
    if (right < p.rights && y < p.right.height)
      for (int i = 0; i < 4; ++i)
        if (x + i < p.right.width)
          value |= std::to_integer<std::uint32_t>(
                       rights[right * p.right_stride + y * p.right_pitch + x + i])
                   << 8 * i;
    to[word] = value;
  }
}

template <class T>
class LaidOutBank final : public PlanState {
 public:
  static Result<std::unique_ptr<PlanState>> make(const Problem& p) {
    auto block = Block::make(Backend::cuda,
                             std::size_t(p.planes) * groups_of(p) * T::right_bytes(p.right.height));
    if (!block.ok()) return block.status();
    return std::unique_ptr<PlanState>(new LaidOutBank(p, std::move(block.value())));
  }
  static int groups_of(const Problem& p) { return ceil_div(p.rights, T::rights); }

  Status set_rights(const void* rights, Stream stream) override {
    const dim3 chunks(problem_.planes * groups_of(problem_),
                      T::right_bytes(problem_.right.height) / T::chunk_bytes);
    return enqueue("lay_out_bank", lay_out_bank<T>, chunks, dim3(128), 0, stream, problem_,
                   static_cast<const std::byte*>(rights), words());
  }
  std::uint32_t* words() const { return block_.template as<std::uint32_t>(); }

 private:
  LaidOutBank(const Problem& p, Block block) : problem_(p), block_(std::move(block)) {}

  Problem problem_;
  Block block_;
};

/// What all windows of a left have of it, as rows of words: they begin on words, and have whole
/// ones. `plane`: bytes from a plane to the next one.
struct WordRows {
  const std::byte* first;
  std::int64_t pitch, plane;
  Size size;

  static WordRows of(const Problem& p, const std::byte* left) {
    return {left + p.shifts.y * p.left_pitch + p.shifts.x, p.left_pitch,
            p.planes > 1 ? p.left_plane : 0, size_of(p)};
  }
  /// For a copy where they are not such rows.
  static WordRows copy(const Problem& p, const void* memory) {
    const Size size = size_of(p);
    const int width = ceil_div(size.width, 4) * 4;
    return {static_cast<const std::byte*>(memory),
            width,
            std::int64_t{width} * size.height,
            {width, size.height}};
  }
  static Size size_of(const Problem& p) {
    return {p.shifts.width + p.right.width - 1, p.shifts.height + p.right.height - 1};
  }
  bool are_words() const {
    return reinterpret_cast<std::uintptr_t>(first) % 4 == 0 && pitch % 4 == 0 && plane % 4 == 0 &&
           size.width % 4 == 0;
  }
  __device__ WordRows of_plane(int number) const {
    return {first + number * plane, pitch, plane, size};
  }
};

constexpr int copy_threads = 128;

/// Grid: columns, rows, planes.
static __global__ void __launch_bounds__(copy_threads) copy_rows(WordRows from, WordRows to) {
  wait_for_previous();
  const int x = 4 * static_cast<int>(blockIdx.x * copy_threads + threadIdx.x);
  if (x >= to.size.width) return;
  from = from.of_plane(blockIdx.z);
  to = to.of_plane(blockIdx.z);
  for (int y = blockIdx.y; y < from.size.height; y += gridDim.y) {
    std::uint32_t word[1];
    load_words(reinterpret_cast<const std::uint8_t*>(from.first + y * from.pitch), x,
               from.size.width, word);
    *reinterpret_cast<std::uint32_t*>(const_cast<std::byte*>(to.first) + y * to.pitch + x) =
        word[0];
  }
}

}  // namespace xcorr::cuda
