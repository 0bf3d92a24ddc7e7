// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Searches that score only windows which an upper bound from block means does not exclude, see
// stages/block_means.hpp and the family of that name on the CPU. Cells of the frame are the sums of
// two blocks, weights pairs of bytes, for an instruction that multiplies and adds both (dp2a). A
// thread bounds a window for `together` templates; what is left open in a block is scored by its
// warps, a window each, into surfaces, of which the peaks are those of the stage of that name.
#include "cuda/common/launch.cuh"
#include "cuda/common/shared_memory.cuh"
#include "cuda/common/warp.cuh"
#include "cuda/match/peaks.hpp"
#include "stages/block_means.hpp"

namespace xcorr::cuda {
namespace {

using u32 = std::uint32_t;

constexpr int together = 4;  ///< templates a thread
constexpr int sum_threads = 128;
constexpr int weigh_threads = 128;
constexpr int norm_threads = 128;
constexpr int tile_width = 64, tile_height = 4, tile_threads = tile_width * tile_height;

/// Less than any limit.
constexpr float excluded = -2;

/// What the exact score takes is cheap here, compared with CPUs: large blocks pay sooner.
int side_of(const Problem& p) { return std::min(p.right.width, p.right.height) < 48 ? 4 : 8; }

/// Weights of a pair of blocks for `together` templates, in the bytes of dp2a.
struct PairWeights {
  u32 of[together / 2];
};

/// In a workspace.
struct Memory {
  WindowNorms* norms;    ///< of each window
  BlockBound* bounds;    ///< of each right of the launch
  PairWeights* weights;  ///< of `together` rights after the other, their pairs in the order of rows
  std::int32_t* sums;    ///< of each right's blocks; -1: it does not count
  int* cells;            ///< as on the CPU, without prefix sums
  float* scores;         ///< a surface a right
  std::byte* peaks;
};

struct Shape {
  Problem correlate;
  BlockGrid grid;
  std::int64_t pixels;
  double threshold;

  explicit Shape(const stage::Search::Problem& p)
      : correlate(p.correlate),
        grid(p.correlate.right, side_of(p.correlate)),
        pixels(p.pixels()),
        threshold(p.threshold) {}
  __host__ __device__ int pairs_across() const { return (grid.columns + 1) / 2; }
  __host__ __device__ int pairs() const { return pairs_across() * grid.rows; }
};

/// Places the parts of the workspace; returns where it ends.
std::size_t place(const stage::Search::Problem& p, int rights, std::byte* workspace, Memory& to) {
  const Shape shape(p);
  const std::size_t area = p.correlate.shifts.size().area();
  std::size_t end = 0;
  const auto take = [&]<class T>(T*& part, std::size_t count) {
    constexpr std::size_t line = 128;
    part = reinterpret_cast<T*>(workspace + end);
    end += (count * sizeof(T) + line - 1) / line * line;
  };
  take(to.norms, area);
  take(to.bounds, rights);
  take(to.weights, std::size_t(ceil_div(rights, together)) * shape.pairs());
  take(to.sums, std::size_t(rights) * shape.grid.count());
  take(to.cells, p.correlate.left.area());
  take(to.scores, rights * area);
  take(to.peaks, peaks_workspace(p));
  return end;
}

/// Grid: columns, rows of blocks.
__global__ void __launch_bounds__(sum_threads)
    sum_blocks(Shape shape, const std::byte* left, int* cells) {
  int* const columns = dynamic_shared<int>();
  const Problem& p = shape.correlate;
  const int side = shape.grid.side, x0 = blockIdx.x * sum_threads;
  const int blocks_across = p.left.width - side + 1;
  for (int y = blockIdx.y; y <= p.left.height - side; y += gridDim.y) {
    for (int i = threadIdx.x; i < sum_threads + 2 * side - 1; i += sum_threads) {
      int sum = 0;
      if (x0 + i < p.left.width)
        for (int j = 0; j < side; ++j)
          sum += reinterpret_cast<const std::uint8_t*>(left + (y + j) * p.left_pitch)[x0 + i];
      columns[i] = sum;
    }
    __syncthreads();
    const int x = x0 + static_cast<int>(threadIdx.x);
    const auto block = [&](int at) {
      int sum = -shape.grid.middle();
      for (int i = 0; i < side; ++i) sum += columns[at - x0 + i];
      return sum;
    };
    if (x < blocks_across) {
      const int right = x + side < blocks_across ? block(x + side) : 0;
      cells[std::int64_t{y} * p.left.width + x] =
          static_cast<int>((static_cast<u32>(block(x)) & 0xffff) | static_cast<u32>(right) << 16);
    }
    __syncthreads();
  }
}

/// Grid: rights. The rights past the last of a group of `together` weigh nothing.
__global__ void __launch_bounds__(weigh_threads)
    weigh(Shape shape, const std::byte* templates, const std::uint8_t* mask,
          const TemplateSums* template_sums, int first_right, int rights, Memory memory) {
  const Problem& p = shape.correlate;
  const BlockGrid& grid = shape.grid;
  for (int r = blockIdx.x; r < ceil_div(rights, together) * together; r += gridDim.x) {
    auto* weights = reinterpret_cast<std::uint8_t*>(memory.weights + r / together * shape.pairs()) +
                    r % together * 2;
    for (int k = threadIdx.x; k < shape.pairs(); k += weigh_threads)
      weights[k * sizeof(PairWeights)] = weights[k * sizeof(PairWeights) + 1] = 0;
    if (r >= rights) continue;
    std::int32_t* sums = memory.sums + std::int64_t{r} * grid.count();
    const std::byte* pixels = templates + (first_right + r) * p.right_stride;
    for (int k = threadIdx.x; k < grid.count(); k += weigh_threads) {
      const int column = k % grid.columns, row = k / grid.columns;
      int sum = -1;
      if (grid.counts(mask, p.right.width, column, row)) {
        sum = 0;
        for (int j = 0; j < grid.side; ++j)
          for (int i = 0; i < grid.side; ++i)
            sum += reinterpret_cast<const std::uint8_t*>(
                pixels +
                (grid.y + row * grid.side + j) * p.right_pitch)[grid.x + column * grid.side + i];
      }
      sums[k] = sum;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      const TemplateSums& of_right = template_sums[first_right + r];
      const auto pixel_count = static_cast<double>(shape.pixels);
      memory.bounds[r] = block_bound(
          grid.count(), grid.side,
          score_limit(Method::ccoeff_normed, shape.threshold, pixel_count, of_right),
          of_right.n2_variance / pixel_count, [&](int k) { return sums[k]; },
          [&](int k, int weight) {
            const int column = k % grid.columns;
            const int pair = k / grid.columns * shape.pairs_across() + column / 2;
            weights[pair * sizeof(PairWeights) + column % 2] = static_cast<std::uint8_t>(weight);
          });
    }
  }
}

/// Grid: columns, rows of windows.
__global__ void __launch_bounds__(norm_threads)
    norms(Shape shape, const u32* window_sums, const u32* window_squares, Memory memory) {
  const Problem& p = shape.correlate;
  const BlockGrid& grid = shape.grid;
  const int x = blockIdx.x * norm_threads + threadIdx.x;
  if (x >= p.shifts.width) return;
  for (int y = blockIdx.y; y < p.shifts.height; y += gridDim.y) {
    std::int64_t squares = 0;
    int sum = 0, blocks = 0;
    for (int row = 0; row < grid.rows; ++row) {
      const int* cells = memory.cells +
                         std::int64_t{p.shifts.y + y + grid.y + row * grid.side} * p.left.width +
                         p.shifts.x + x + grid.x;
      for (int column = 0; column < grid.columns; ++column) {
        if (memory.sums[row * grid.columns + column] < 0) continue;
        const int block = static_cast<short>(cells[column * grid.side]);
        sum += block;
        squares += block * block;
        ++blocks;
      }
    }
    const std::int64_t at = std::int64_t{y} * p.shifts.width + x;
    memory.norms[at] = window_norms(double(shape.pixels), window_sums[at], window_squares[at],
                                    grid.side, blocks, sum, double(squares));
  }
}

/// A window that the bound leaves open, to be scored by a warp.
struct Open {
  std::int16_t x, y, right;  ///< in the tile; of those together
};

/// All lanes return the sum.
__device__ u32 product_of(const Problem& p, const std::byte* window, const std::byte* right) {
  u32 product = 0;
  for (int y = 0; y < p.right.height; ++y) {
    const auto* f = reinterpret_cast<const std::uint8_t*>(window + y * p.left_pitch);
    const auto* t = reinterpret_cast<const std::uint8_t*>(right + y * p.right_pitch);
    for (int x = threadIdx.x % 32; x < p.right.width; x += 32) product += u32{f[x]} * t[x];
  }
  return warp_sum(product);
}

struct Inputs {
  const std::byte *left, *templates;
  const TemplateSums* template_sums;
  const u32 *window_sums, *window_squares;
  int first_right, right_count;
};

/// Grid: tiles across, down, groups of `together` rights.
__global__ void __launch_bounds__(tile_threads)
    score_open(Shape shape, Inputs from, Memory memory) {
  auto* const pair_weights = dynamic_shared<PairWeights>();
  __shared__ Open open[tile_threads * together];
  __shared__ int open_count;
  const Problem& p = shape.correlate;
  const BlockGrid& grid = shape.grid;
  const int tx = threadIdx.x % tile_width, ty = threadIdx.x / tile_width;
  const int x0 = blockIdx.x * tile_width, y0 = blockIdx.y * tile_height;
  const int x = x0 + tx, y = y0 + ty;
  const bool inside = x < p.shifts.width && y < p.shifts.height;
  const std::int64_t at = std::int64_t{y} * p.shifts.width + x, area = p.shifts.size().area();
  const int groups = ceil_div(from.right_count, together);
  for (int group = blockIdx.z; group < groups; group += gridDim.z) {
    for (int k = threadIdx.x; k < shape.pairs(); k += tile_threads)
      pair_weights[k] = memory.weights[std::int64_t{group} * shape.pairs() + k];
    if (threadIdx.x == 0) open_count = 0;
    __syncthreads();
    if (inside) {
      int products[together] = {};
      const PairWeights* weights = pair_weights;
      for (int row = 0; row < grid.rows; ++row) {
        const int* cells = memory.cells +
                           std::int64_t{p.shifts.y + y + grid.y + row * grid.side} * p.left.width +
                           p.shifts.x + x + grid.x;
        for (int pair = 0; pair < shape.pairs_across(); ++pair, ++weights) {
          const int cell = cells[2 * pair * grid.side];
#pragma unroll
          for (int i = 0; i < together / 2; ++i) {
            const auto both = static_cast<int>(weights->of[i]);
            products[2 * i] = __dp2a_lo(cell, both, products[2 * i]);
            products[2 * i + 1] = __dp2a_hi(cell, both, products[2 * i + 1]);
          }
        }
      }
      const WindowNorms window = memory.norms[at];
#pragma unroll
      for (int i = 0; i < together; ++i) {
        const int r = group * together + i;
        if (r >= from.right_count) continue;
        if (memory.bounds[r].may_reach(products[i], window))
          open[atomicAdd(&open_count, 1)] = {static_cast<std::int16_t>(tx),
                                             static_cast<std::int16_t>(ty),
                                             static_cast<std::int16_t>(i)};
        else
          memory.scores[r * area + at] = excluded;
      }
    }
    __syncthreads();
    for (int k = threadIdx.x / 32; k < open_count; k += tile_threads / 32) {
      const int r = group * together + open[k].right, u = x0 + open[k].x, v = y0 + open[k].y;
      const u32 product =
          product_of(p, from.left + (p.shifts.y + v) * p.left_pitch + p.shifts.x + u,
                     from.templates + (from.first_right + r) * p.right_stride);
      if (threadIdx.x % 32 != 0) continue;
      const std::int64_t place = std::int64_t{v} * p.shifts.width + u;
      const TemplateSums& sums = from.template_sums[from.first_right + r];
      memory.scores[r * area + place] = static_cast<float>(score(
          Method::ccoeff_normed,
          WindowTerms<std::int64_t>{shape.pixels, product, from.window_sums[place],
                                    from.window_squares[place], static_cast<std::int64_t>(sums.sum),
                                    static_cast<std::int64_t>(sums.squares)}));
    }
    __syncthreads();  // shared memory is overwritten
  }
}

Status launch(const stage::Search::Problem& problem, const Device& device,
              const stage::Search::Buffers& b, PlanState*) {
  const Shape shape(problem);
  const Problem& p = problem.correlate;
  Memory memory;
  place(problem, problem.max_rights(), static_cast<std::byte*>(b.workspace), memory);
  const Inputs from{static_cast<const std::byte*>(b.lefts),
                    static_cast<const std::byte*>(b.templates),
                    b.template_sums,
                    static_cast<const u32*>(b.window_sums),
                    static_cast<const u32*>(b.window_squares),
                    b.first_right,
                    b.right_count};
  const int side = shape.grid.side;
  const std::size_t columns = (sum_threads + 2 * side - 1) * sizeof(int);
  const dim3 frame(ceil_div(p.left.width, sum_threads), grid_extent(p.left.height - side + 1));
  if (Status s = enqueue("sum_blocks", sum_blocks, frame, dim3(sum_threads), columns, b.stream,
                         shape, from.left, memory.cells);
      !s.ok())
    return s;
  const dim3 rights(grid_extent(ceil_div(b.right_count, together) * together));
  if (Status s =
          enqueue("weigh", weigh, rights, dim3(weigh_threads), 0, b.stream, shape, from.templates,
                  b.mask, b.template_sums, b.first_right, b.right_count, memory);
      !s.ok())
    return s;
  const dim3 windows(ceil_div(p.shifts.width, norm_threads), grid_extent(p.shifts.height));
  if (Status s = enqueue("norms", norms, windows, dim3(norm_threads), 0, b.stream, shape,
                         from.window_sums, from.window_squares, memory);
      !s.ok())
    return s;
  const dim3 tiles(ceil_div(p.shifts.width, tile_width), ceil_div(p.shifts.height, tile_height),
                   grid_extent(ceil_div(b.right_count, together)));
  if (Status s = enqueue("score_open", score_open, tiles, dim3(tile_threads),
                         shape.pairs() * sizeof(PairWeights), b.stream, shape, from, memory);
      !s.ok())
    return s;
  stage::Peaks::Buffers found{{{memory.peaks, b.stream}, b.first_right, b.right_count},
                              memory.scores,
                              b.template_sums,
                              b.candidates,
                              b.counts};
  return find_peaks(problem, device, found);
}

std::size_t workspace(const stage::Search::Problem& p, const Device&) {
  Memory nowhere;
  return place(p, p.max_rights(), nullptr, nowhere);
}

bool supports(const stage::Search::Problem& p, const Device& device) {
  constexpr std::size_t most_shared = 16 * 1024;
  return is_bounded_by_blocks(p, side_of(p.correlate)) && can_find_peaks(p) &&
         p.correlate.shifts.height <= 65535LL * tile_height && device.compute_capability >= 61 &&
         Shape(p).pairs() * sizeof(PairWeights) <= most_shared;
}

constexpr Variant<stage::Search> table[] = {
    {{"block_means",
      Backend::cuda,
      {Feature::u8, Feature::several_peaks, Feature::mask},
      requested_rank},
     supports,
     launch,
     workspace},
};

}  // namespace

Family block_means_family() { return Family(table); }

}  // namespace xcorr::cuda
