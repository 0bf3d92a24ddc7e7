// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The best places of cells on tensor cores. There are many images, so they are the columns of the
// matrix products: a row is one place of a cell, of which a warp's 16 rows have all, and k runs
// over the words of an image, row by row. The rows' words are read from four copies of the frame
// that begin a byte apart. A warp has the products of four cells with all images of its block in
// its registers, so what depends on the window alone is computed once. They are scored by way of
// shared memory, eight images at a time: a lane then has all places of one cell.
#include <algorithm>

#include "cuda/common/async_copy.cuh"
#include "cuda/common/launch.cuh"
#include "cuda/common/shared_memory.cuh"
#include "cuda/tensor/mma.cuh"
#include "device/runtime.hpp"
#include "stages/poses/fused_coarse_search.hpp"

namespace xcorr::cuda {
namespace {

using u32 = std::uint32_t;

constexpr int side = CoarseCells::side, places = CoarseCells::places;
/// A block's cells: of a warp side by side, of its warps two by two.
constexpr int cells_of_warp = 4, warps_across = 2, warps_down = 2;
constexpr int cells_across = cells_of_warp * warps_across, threads = 32 * warps_across * warps_down;
/// A step of k: words of an image. Some steps are staged at once.
constexpr int words_of_step = 8, steps_of_stage = 8;
constexpr int stage_words = words_of_step * steps_of_stage;
/// Of an image's part of a stage; an odd multiple of 16 bytes, so that eight lie in different
/// banks.
constexpr int stage_pitch = 4 * stage_words + 16;

/// How the words of images and frame lie.
struct Words {
  int width;  ///< words of an image's row
  int steps;  ///< of k
  /// Of the frame in shared memory: its rows, words of one, words of a copy.
  int rows, pitch, copy;

  explicit Words(Size image)
      : width(ceil_div(image.width, 4)),
        steps(ceil_div(width * image.height, words_of_step)),
        rows(side * warps_down + image.height - 1),
        // Eight places and four words lie in different banks: they are 4, 16 and 1 apart.
        pitch(16 + ceil_div(std::max(cells_across + width - 1 - 16, 0), 32) * 32),
        copy(rows * pitch / 32 * 32 + (rows * pitch % 32 <= 4 ? 4 : 36)) {}
  __host__ __device__ int padded() const { return steps * words_of_step; }
  __host__ __device__ int offsets_bytes() const { return padded() * 4; }
  __host__ __device__ int frame_bytes() const { return (side * copy * 4 + 15) / 16 * 16; }
};

/// `tiles`: of eight images.
template <int tiles>
constexpr int stage_bytes = (tiles + tiles % 2) * 8 * stage_pitch;

// ---- images -------------------------------------------------------------------------------

/// A block has an image.
__global__ void lay_out_images(Problem p, Words words, const std::uint8_t* rights, u32* to) {
  const std::uint8_t* from = rights + blockIdx.x * p.right_stride;
  to += std::int64_t{blockIdx.x} * words.padded();
  for (int i = threadIdx.x; i < words.padded(); i += blockDim.x) {
    const int y = i / words.width, x = 4 * (i % words.width);
    u32 word = 0;
    if (y < p.right.height)
      for (int k = 0; k < 4 && x + k < p.right.width; ++k)
        word |= u32{from[y * p.right_pitch + x + k]} << 8 * k;
    to[i] = word;
  }
}

class Images final : public PlanState {
 public:
  static Result<std::unique_ptr<PlanState>> make(const stage::FusedCoarseSearch::Problem& problem,
                                                 const Device&) {
    const Problem& p = problem.correlate;
    const std::size_t bytes = std::size_t(p.rights) * Words(p.right).padded() * sizeof(u32);
    auto block = Block::make(Backend::cuda, bytes);
    if (!block.ok()) return block.status();
    return std::unique_ptr<PlanState>(new Images(p, std::move(block.value())));
  }
  Status set_rights(const void* rights, Stream stream) override {
    return enqueue("lay_out_images", lay_out_images, dim3(problem_.rights), dim3(128), 0, stream,
                   problem_, Words(problem_.right), static_cast<const std::uint8_t*>(rights),
                   words());
  }
  u32* words() const { return block_.as<u32>(); }

 private:
  Images(const Problem& p, Block block) : problem_(p), block_(std::move(block)) {}
  Problem problem_;
  Block block_;
};

// ---- the frame ------------------------------------------------------------------------------

/// The word at byte x of a row, 0 outside. x is a multiple of 4.
__device__ u32 frame_word(const Problem& p, const std::uint8_t* left, int x, int y, bool aligned) {
  if (y < 0 || y >= p.left.height) return 0;
  const std::uint8_t* row = left + y * p.left_pitch;
  if (aligned && x >= 0 && x + 4 <= p.left.width) return *reinterpret_cast<const u32*>(row + x);
  u32 word = 0;
#pragma unroll
  for (int k = 0; k < 4; ++k)
    if (x + k >= 0 && x + k < p.left.width) word |= u32{row[x + k]} << 8 * k;
  return word;
}

/// Four copies of the frame from (x, y) on, the next a byte further.
__device__ void load_frame(const Problem& p, const Words& words, const std::uint8_t* left, int x,
                           int y, bool aligned, u32* to) {
  const int shift = x & 3, used = cells_across + words.width - 1;
  for (int i = threadIdx.x; i < words.rows * used; i += threads) {
    const int row = i / used, word = i - row * used;
    u32 here[3];
#pragma unroll
    for (int k = 0; k < 3; ++k)
      here[k] = frame_word(p, left, x - shift + 4 * (word + k), y + row, aligned);
#pragma unroll
    for (int copy = 0; copy < side; ++copy) {
      const int bytes = shift + copy;
      const u32 low = bytes < 4 ? here[0] : here[1], high = bytes < 4 ? here[1] : here[2];
      to[copy * words.copy + row * words.pitch + word] =
          __funnelshift_r(low, high, 8 * (bytes & 3));
    }
  }
}

/// What is known of a block's images.
template <int tiles>
struct alignas(16) OfImages {
  TemplateSums sums[8 * tiles];
  float norms[8 * tiles];
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
template <int tiles>
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
        multiply_add(sums[m][n + i], a[m], b[2 * i], b[2 * i + 1]);
  }
}

// ---- scores ---------------------------------------------------------------------------------

/// An unsigned number as a double, without a conversion, of which a GPU does few at a time.
__device__ double as_double(u32 value) {
  return __hiloint2double(0x43300000, static_cast<int>(value)) - 4503599627370496.0;
}

/// What depends on a window alone.
struct Window {
  double sum = 0;
  u32 squares = 0;
  float norm = 0;
};

/// What a warp keeps in shared memory while it scores: its products with one tile of images, so
/// that a lane then has all places of a cell, and its windows. Rows lie in different banks.
struct ScoreMemory {
  u32 products[places][8 * cells_of_warp + 8];
  Window windows[cells_of_warp][places + 1];
};

/// Measures the windows of a warp's cells, the first of whose shifts are at (x, y). Returns which
/// places of this lane's cell, number lane % 4, exist.
__device__ unsigned measure_windows(const stage::FusedCoarseSearch::Problem& p,
                                    const stage::FusedCoarseSearch::Buffers& b, int x, int y,
                                    ScoreMemory& memory) {
  static_assert(cells_of_warp == 4 && places == 16, "two places per lane");
  const Rect shifts = p.correlate.shifts;
  const int lane = threadIdx.x % 32;
  unsigned exist[2];
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int cell = 2 * i + lane / places, place = lane % places;
    const int left = x + side * cell + place % side, top = y + place / side;
    const bool exists = left >= 0 && left < shifts.width && top >= 0 && top < shifts.height;
    Window window;
    if (exists) {
      const std::int64_t at = std::int64_t{top} * shifts.width + left;
      window.sum = static_cast<const u32*>(b.window_sums)[at];
      window.squares = static_cast<const u32*>(b.window_squares)[at];
      window.norm =
          CoarseScore::norm(p.method, double(p.pixels()), window.sum, double(window.squares));
    }
    memory.windows[cell][place] = window;
    exist[i] = __ballot_sync(~0u, exists);
  }
  return (lane % 4 < 2 ? exist[0] : exist[1]) >> (lane % 2 * places) & 0xffff;
}

/// An image that is looked for.
struct Image {
  const TemplateSums& sums;
  float norm;
  u32 first_place;  ///< in this lane's cell
};

/// The best place of this lane's cell for an image of the tile, number lane / 4. `exist`: which
/// places do. By the method as a constant: branches in the loop would take most of the time.
template <Method method>
__device__ CoarseKey best_of_cell(const stage::FusedCoarseSearch::Problem& p, const Image& image,
                                  const ScoreMemory& memory, unsigned exist) {
  const int lane = threadIdx.x % 32;
  const CoarseScore score(method, p.polarity, p.pixels(), image.sums, image.norm);
  float best = -INFINITY;
  u32 best_place = 0;
#pragma unroll 4
  for (int place = 0; place < places; ++place) {
    const Window& window = memory.windows[lane % 4][place];
    const float similarity =
        score.similarity(as_double(memory.products[place][lane % 4 * 8 + lane / 4]), window.sum,
                         as_double(window.squares), window.norm);
    if (exist >> place & 1 && similarity > best) {
      best = similarity;
      best_place = place;
    }
  }
  return exist ? coarse_key(best, image.first_place + best_place) : 0;
}

__device__ CoarseKey best_of_cell(const stage::FusedCoarseSearch::Problem& p, const Image& image,
                                  const ScoreMemory& memory, unsigned exist) {
  switch (p.method) {
    case Method::sqdiff_normed:
      return best_of_cell<Method::sqdiff_normed>(p, image, memory, exist);
    case Method::ccorr_normed:
      return best_of_cell<Method::ccorr_normed>(p, image, memory, exist);
    default:
      return best_of_cell<Method::ccoeff_normed>(p, image, memory, exist);
  }
}

/// With eight tiles three blocks per multiprocessor would leave too few registers.
template <int tiles>
constexpr int blocks_of_processor = tiles < 8 ? 3 : 2;

template <int tiles>
__global__ void __launch_bounds__(threads, blocks_of_processor<tiles>)
    fused_coarse_search(stage::FusedCoarseSearch::Problem p, stage::FusedCoarseSearch::Buffers b,
                        CoarseCells cells, Words words, const u32* laid_out, bool aligned) {
  std::uint8_t* const stages = dynamic_shared<std::uint8_t>();
  auto& of_images = *reinterpret_cast<OfImages<tiles>*>(stages + 2 * stage_bytes<tiles>);
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
    const int word = min(i, words.width * correlate.right.height - 1);  // the rest is times 0
    offsets[i] = word / words.width * words.pitch + word % words.width;
  }
  for (int i = threadIdx.x; i < 8 * tiles; i += threads) {
    const TemplateSums sums =
        i < count ? b.template_sums[b.first_right + first + i] : TemplateSums{};
    of_images.sums[i] = sums;
    of_images.norms[i] = CoarseScore::norm(p.method, double(p.pixels()), sums.sum, sums.squares);
  }
  if (any)
    load_frame(correlate, words, static_cast<const std::uint8_t*>(b.lefts), x, y, aligned, frame);

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
      multiply_step<tiles>(sums, my_frame, 2 * words.pitch, my_offsets + step * words_of_step,
                           from + step * words_of_step * 4);
    __syncthreads();
  }

  wait_for_previous();  // for window sums
  __syncthreads();
  // The stages' memory is free now.
  auto& memory = reinterpret_cast<ScoreMemory*>(stages)[warp];
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
      b.best[right * cells.count() + cell] = best_of_cell(
          p, {of_images.sums[image], of_images.norms[image], static_cast<u32>(first_place)}, memory,
          exist);
    }
    __syncwarp();
  }
}

// ---- launch ---------------------------------------------------------------------------------

template <int tiles>
std::size_t shared_bytes(const Words& words) {
  static_assert(2 * stage_bytes<tiles> >= threads / 32 * sizeof(ScoreMemory));
  return 2 * stage_bytes<tiles> + sizeof(OfImages<tiles>) + words.offsets_bytes() +
         words.frame_bytes();
}

template <int tiles>
Status launch_as(const stage::FusedCoarseSearch::Problem& p, const Device& device,
                 const stage::FusedCoarseSearch::Buffers& b, PlanState* state) {
  const CoarseCells cells = p.cells();
  const Words words(p.correlate.right);
  const bool aligned =
      p.correlate.left_pitch % 4 == 0 && reinterpret_cast<std::uintptr_t>(b.lefts) % 4 == 0;
  const dim3 grid(ceil_div(cells.columns, cells_across), ceil_div(cells.rows, warps_down),
                  ceil_div(b.right_count, 8 * tiles));
  return enqueue_early(device, "fused_coarse_search", fused_coarse_search<tiles>, grid,
                       dim3(threads), shared_bytes<tiles>(words), b.stream, p, b, cells, words,
                       static_cast<const Images*>(state)->words(), aligned);
}

constexpr int most_tiles = 8;

Status launch(const stage::FusedCoarseSearch::Problem& p, const Device& device,
              const stage::FusedCoarseSearch::Buffers& b, PlanState* state) {
  // As few blocks as there can be, with as few images as they need.
  const int all = ceil_div(b.right_count, 8), tiles = ceil_div(all, ceil_div(all, most_tiles));
  switch (tiles) {
    case 8:
      return launch_as<8>(p, device, b, state);
    case 7:
      return launch_as<7>(p, device, b, state);
    case 6:
      return launch_as<6>(p, device, b, state);
    case 5:
      return launch_as<5>(p, device, b, state);
    default:
      return launch_as<4>(p, device, b, state);
  }
}

bool supports(const stage::FusedCoarseSearch::Problem& p, const Device& device) {
  return device.compute_capability >= 75 && p.is_countable() &&
         p.cells().rows <= 65535 * warps_down && p.max_rights() <= 65535 &&
         shared_bytes<most_tiles>(Words(p.correlate.right)) <= max_shared_bytes(device);
}

constexpr Variant<stage::FusedCoarseSearch> table[] = {
    {{.name = "tensor_cells",
      .backend = Backend::cuda,
      .features = {Feature::u8, Feature::mask, Feature::contrast}},
     {.supports = supports, .launch = launch, .plan = Images::make}},
};

}  // namespace

Family fused_coarse_search_family() { return Family(table); }

}  // namespace xcorr::cuda
