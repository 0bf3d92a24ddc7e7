// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The best places of cells on tensor cores. There are many images, so they are the columns of the
// matrix products: a row is one place of a cell, of which a warp's 16 rows have all, and k runs
// over the words of an image, row by row and plane by plane, whose products are one sum. The rows'
// words are read from four copies of the frame that begin a byte apart. A warp has the products of
// four cells with all images of its block in its registers, so what depends on the window alone is
// computed once. They are scored by way of shared memory, eight images at a time: a lane then has
// all places of one cell. Edges are taken as bytes with a sign, whose products are the scores.
#include <algorithm>

#include "cuda/common/async_copy.cuh"
#include "cuda/common/launch.cuh"
#include "cuda/common/shared_memory.cuh"
#include "cuda/poses/cell_scores.cuh"
#include "cuda/poses/cell_words.cuh"
#include "cuda/tensor/mma.cuh"
#include "device/runtime.hpp"

namespace xcorr::cuda {
namespace {

/// Some steps of k are staged at once.
constexpr int steps_of_stage = 8;
constexpr int stage_words = words_of_step * steps_of_stage;
/// Of an image's part of a stage; an odd multiple of 16 bytes, so that eight lie in different
/// banks.
constexpr int stage_pitch = 4 * stage_words + 16;

/// `tiles`: of eight images.
template <int tiles>
constexpr int stage_bytes = (tiles + tiles % 2) * 8 * stage_pitch;

// ---- images -------------------------------------------------------------------------------

/// A block has an image. Past its pixels there are zeros.
__global__ void lay_out_images(Problem p, Words words, const std::uint8_t* rights, u32* to) {
  to += std::int64_t{blockIdx.x} * words.padded();
  const u32 sign = p.planes == edge_planes ? edge_signs : 0;
  for (int i = threadIdx.x; i < words.padded(); i += blockDim.x) {
    const int plane = i / words.plane, y = i % words.plane / words.width, x = 4 * (i % words.width);
    u32 word = 0;
    if (plane < words.planes) {
      const std::uint8_t* from =
          rights + (std::int64_t{plane} * p.rights + blockIdx.x) * p.right_stride;
      for (int k = 0; k < 4 && x + k < p.right.width; ++k)
        word |= (u32{from[y * p.right_pitch + x + k]} ^ (sign & 0xff)) << 8 * k;
    }
    to[i] = word;
  }
}

class Images final : public PlanState {
 public:
  static Result<std::unique_ptr<PlanState>> make(const stage::FusedCoarseSearch::Problem& problem,
                                                 const Device&) {
    const Problem& p = problem.correlate;
    const std::size_t bytes = std::size_t(p.rights) * Words(p).padded() * sizeof(u32);
    auto block = Block::make(Backend::cuda, bytes);
    if (!block.ok()) return block.status();
    return std::unique_ptr<PlanState>(new Images(p, std::move(block.value())));
  }
  Status set_rights(const void* rights, Stream stream) override {
    return enqueue("lay_out_images", lay_out_images, dim3(problem_.rights), dim3(128), 0, stream,
                   problem_, Words(problem_), static_cast<const std::uint8_t*>(rights), words());
  }
  u32* words() const { return block_.as<u32>(); }

 private:
  Images(const Problem& p, Block block) : problem_(p), block_(std::move(block)) {}
  Problem problem_;
  Block block_;
};

// ---- products -------------------------------------------------------------------------------

template <int tiles>
using Sums = u32[cells_of_warp][tiles][4];

/// Copies the block's images' part of a stage.
template <int tiles>
__device__ void stage_images(std::uint8_t* to, const u32* images, int count, int padded,
                             int stage) {
  const int first = stage * stage_words, words = min(padded - first, stage_words);
  for (int i = threadIdx.x; i < tiles * 8 * (stage_words / 4); i += threads) {
    const int image = i / (stage_words / 4), word = i % (stage_words / 4) * 4;
    const bool valid = image < count && word < words;
    copy_async<16>(to + image * stage_pitch + 4 * word,
                   images + (valid ? std::int64_t{image} * padded + first + word : 0),
                   valid ? 16 : 0);
  }
}

/// A step of a warp. `frame`: of this lane's row of the first cell; `offsets`: its words' places.
template <int tiles, bool with_sign>
__device__ void multiply_step(Sums<tiles>& sums, const u32* frame, int two_rows, const u32* offsets,
                              const std::uint8_t* images) {
  u32 a[cells_of_warp][4];
  const u32 low = offsets[0], high = offsets[words_of_step / 2];
#pragma unroll
  for (int m = 0; m < cells_of_warp; ++m) {
    a[m][0] = frame[m + low];
    a[m][1] = frame[m + two_rows + low];
    a[m][2] = frame[m + high];
    a[m][3] = frame[m + two_rows + high];
  }
#pragma unroll
  for (int n = 0; n < tiles; n += 2) {
    u32 b[4];
    load_matrices(b, images + n * 8 * stage_pitch);
#pragma unroll
    for (int i = 0; i < 2 && n + i < tiles; ++i)
#pragma unroll
      for (int m = 0; m < cells_of_warp; ++m)
        if constexpr (with_sign)
          multiply_add_signed(sums[m][n + i], a[m], b[2 * i], b[2 * i + 1]);
        else
          multiply_add(sums[m][n + i], a[m], b[2 * i], b[2 * i + 1]);
  }
}

/// With eight tiles three blocks per multiprocessor would leave too few registers.
template <int tiles>
constexpr int blocks_of_processor = tiles < 8 ? 3 : 2;

/// What is known of a block's images.
template <int tiles, int planes>
struct alignas(16) OfImages {
  CoarseSums<planes> sums[8 * tiles];
  float norms[8 * tiles];
};

/// The memory of stages, which is that of scores later.
template <int tiles, int planes>
constexpr int front_bytes = std::max<int>(2 * stage_bytes<tiles>,
                                          threads / 32 * sizeof(ScoreMemory<planes>));

template <int tiles, int planes>
__global__ void __launch_bounds__(threads, blocks_of_processor<tiles>)
    fused_coarse_search(stage::FusedCoarseSearch::Problem p, stage::FusedCoarseSearch::Buffers b,
                        CoarseCells cells, Words words, const u32* laid_out, bool aligned) {
  std::uint8_t* const stages = dynamic_shared<std::uint8_t>();
  constexpr bool on_edges = planes == edge_planes;
  auto& of_images =
      *reinterpret_cast<OfImages<tiles, planes>*>(stages + front_bytes<tiles, planes>);
  u32* const offsets = reinterpret_cast<u32*>(&of_images + 1);
  u32* const frame = offsets + words.padded();
  const Problem& correlate = p.correlate;
  const int first = blockIdx.z * 8 * tiles, count = min(8 * tiles, b.right_count - first);
  const int column = blockIdx.x * cells_across, row = blockIdx.y * warps_down;
  const int x = CoarseCells::shift(column, 0, correlate.right.width),
            y = CoarseCells::shift(row, 0, correlate.right.height);
  const bool any = x < correlate.shifts.width && x + side * cells_across > 0 &&
                   y < correlate.shifts.height && y + side * warps_down > 0;
  const int stage_count = any ? ceil_div(words.steps, steps_of_stage) : 0;
  const u32* const images = laid_out + std::int64_t{b.first_right + first} * words.padded();

  const auto fill = [&](int stage) {
    if (stage < stage_count)
      stage_images<tiles>(stages + stage % 2 * stage_bytes<tiles>, images, count, words.padded(),
                          stage);
    commit_copies();
  };
  fill(0);
  for (int i = threadIdx.x; i < words.padded(); i += threads) {
    const int word = min(i, planes * words.plane - 1);  // the rest is times 0
    const int plane = word / words.plane, within = word % words.plane;
    offsets[i] = (plane * words.rows + within / words.width) * words.pitch + within % words.width;
  }
  for (int i = threadIdx.x; i < 8 * tiles; i += threads) {
    if (i >= count) break;
    const auto sums =
        CoarseSums<planes>::of_right(correlate, b.template_sums, b.first_right + first + i);
    of_images.sums[i] = sums;
    of_images.norms[i] = CoarseScore<planes>::norm(p.method, double(p.pixels()), sums);
  }
  if (any)
    load_frame<planes>(correlate, words, static_cast<const std::uint8_t*>(b.lefts), x, y, aligned,
                       frame);

  // A lane's rows of the matrices are the places lane / 4 and eight more of a cell.
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, place = lane / 4;
  const int cell_x = warp % warps_across * cells_of_warp, cell_y = warp / warps_across;
  const u32* const my_frame =
      frame + place % side * words.copy + (side * cell_y + place / side) * words.pitch + cell_x;
  const std::uint8_t* const my_images =
      stages + (lane / 16 * 8 + lane % 8) * stage_pitch + lane / 8 % 2 * 16;
  Sums<tiles> sums = {};
  for (int stage = 0; stage < stage_count; ++stage) {
    fill(stage + 1);
    wait_copies<1>();
    __syncthreads();
    const int steps = min(steps_of_stage, words.steps - stage * steps_of_stage);
    const u32* my_offsets = offsets + stage * stage_words + lane % 4;
    const std::uint8_t* from = my_images + stage % 2 * stage_bytes<tiles>;
    for (int step = 0; step < steps; ++step)
      multiply_step<tiles, on_edges>(sums, my_frame, 2 * words.pitch,
                                     my_offsets + step * words_of_step,
                                     from + step * words_of_step * 4);
    __syncthreads();
  }

  wait_for_previous();  // for window sums, which come between this and what makes frame and images
  __syncthreads();
  // The stages' memory is free now.
  auto& memory = reinterpret_cast<ScoreMemory<planes>*>(stages)[warp];
  const unsigned exist = measure_windows(p, b, x + side * cell_x, y + side * cell_y, memory);
  const int cell_column = column + cell_x + lane % 4, cell_row = row + cell_y;
  const std::int64_t cell = std::int64_t{cell_row} * cells.columns + cell_column;
#pragma unroll
  for (int n = 0; n < tiles; ++n) {
#pragma unroll
    for (int m = 0; m < cells_of_warp; ++m)
#pragma unroll
      for (int half = 0; half < 2; ++half)
        *reinterpret_cast<uint2*>(&memory.products[place + 8 * half][8 * m + lane % 4 * 2]) = {
            sums[m][n][2 * half], sums[m][n][2 * half + 1]};
    __syncwarp();
    const int image = 8 * n + lane / 4;
    if (image < count && cell_column < cells.columns && cell_row < cells.rows) {
      const int right = b.first_right + first + image;
      const std::int64_t first_place = ((p.first_image + right) * cells.count() + cell) * places;
      b.best[right * cells.count() + cell] = best_of_cell<planes>(
          p, {of_images.sums[image], of_images.norms[image], static_cast<u32>(first_place)}, memory,
          exist);
    }
    __syncwarp();
  }
}

// ---- launch ---------------------------------------------------------------------------------

template <int tiles, int planes>
std::size_t shared_bytes(const Words& words) {
  return front_bytes<tiles, planes> + sizeof(OfImages<tiles, planes>) + words.offsets_bytes() +
         words.frame_bytes();
}

template <int tiles, int planes>
Status launch_as(const stage::FusedCoarseSearch::Problem& p, const Device& device,
                 const stage::FusedCoarseSearch::Buffers& b, PlanState* state) {
  const CoarseCells cells = p.cells();
  const Words words(p.correlate);
  const bool aligned = p.correlate.left_pitch % 4 == 0 && p.correlate.left_plane % 4 == 0 &&
                       reinterpret_cast<std::uintptr_t>(b.lefts) % 4 == 0;
  const dim3 grid(ceil_div(cells.columns, cells_across), ceil_div(cells.rows, warps_down),
                  ceil_div(b.right_count, 8 * tiles));
  return enqueue_early(device, "fused_coarse_search", fused_coarse_search<tiles, planes>, grid,
                       dim3(threads), shared_bytes<tiles, planes>(words), b.stream, p, b, cells,
                       words, static_cast<const Images*>(state)->words(), aligned);
}

constexpr int most_tiles = 8;

template <int planes>
Status launch_of(const stage::FusedCoarseSearch::Problem& p, const Device& device,
                 const stage::FusedCoarseSearch::Buffers& b, PlanState* state) {
  // As few blocks as there can be, with as few images as they need.
  const int all = ceil_div(b.right_count, 8), tiles = ceil_div(all, ceil_div(all, most_tiles));
  switch (tiles) {
    case 8:
      return launch_as<8, planes>(p, device, b, state);
    case 7:
      return launch_as<7, planes>(p, device, b, state);
    case 6:
      return launch_as<6, planes>(p, device, b, state);
    case 5:
      return launch_as<5, planes>(p, device, b, state);
    default:
      return launch_as<4, planes>(p, device, b, state);
  }
}

Status launch(const stage::FusedCoarseSearch::Problem& p, const Device& device,
              const stage::FusedCoarseSearch::Buffers& b, PlanState* state) {
  return with_coarse_planes(p.correlate.planes,
                            [&](auto planes) { return launch_of<planes()>(p, device, b, state); });
}

/// Products of all planes are one sum of 32 bits; of edges a pixel that does not count would have
/// to be told from one whose bytes are 0.
bool supports(const stage::FusedCoarseSearch::Problem& p, const Device& device) {
  const Problem& correlate = p.correlate;
  return device.compute_capability >= 75 && p.is_countable() &&
         correlate.planes * correlate.right.area() * 255 * 255 <= 0xffffffffLL &&
         (correlate.planes != edge_planes || !p.masking) && p.cells().rows <= 65535 * warps_down &&
         p.max_rights() <= 65535 && with_coarse_planes(correlate.planes, [&](auto planes) {
                                      return shared_bytes<most_tiles, planes()>(Words(correlate));
                                    }) <= max_shared_bytes(device);
}

constexpr Variant<stage::FusedCoarseSearch> table[] = {
    {{.name = "tensor_cells",
      .backend = Backend::cuda,
      .features = {Feature::u8, Feature::mask, Feature::contrast, Feature::planes}},
     {.supports = supports, .launch = launch, .plan = Images::make}},
};

}  // namespace

Family fused_coarse_search_family() { return Family(table); }

}  // namespace xcorr::cuda
