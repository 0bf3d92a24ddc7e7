// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Channels of windows on the GPU. A block resamples four rows of a window, first downwards, of all
// columns of the frame that it needs, then across. Then a block makes the channels of four rows of
// cells: gradients of the pixels that count in them and in the cells around, histograms by a thread
// a cell, and of these the channels by a thread a cell.
#include "cuda/common/block_sums.cuh"
#include "cuda/common/launch.cuh"
#include "stages/channels.hpp"

namespace xcorr::cuda {
namespace tracker {
namespace {

using namespace xcorr::tracker;

constexpr int threads = 256, warps = threads / 32;

// ---- windows --------------------------------------------------------------------------------

constexpr int rows_of_block = 4, row_blocks = window_size / rows_of_block;
/// Columns of the frame that a window can need: six a pixel, and what its edges read past them.
constexpr int most_columns = 6 * window_size + 2 * WindowTaps::most;

/// What a window is made into on the way.
struct Window {
  float pixels[window_size * window_size];
  float sums[row_blocks];  ///< of the rows of each block
};

/// For a pixel of the window in one direction.
struct Weights {
  int first;
  float of[WindowTaps::most];

  __device__ void set(const WindowTaps& taps, int i) {
    first = taps.first(i);
    const double sum = taps.sum(i);
    for (int k = 0; k < taps.each; ++k) of[k] = static_cast<float>(taps.weight(i, first + k) / sum);
  }
};

__device__ int clamped(int i, int least, int most) { return min(max(i, least), most); }

__global__ void __launch_bounds__(threads)
    cut(stage::Channels::Problem p, const std::uint8_t* pixels, const Look* looks,
        Window* windows) {
  __shared__ Weights down[rows_of_block], across[window_size];
  __shared__ float columns[rows_of_block][most_columns];
  const Look look = looks[blockIdx.y];
  if (look.side == 0) return;
  const WindowTaps taps_x(look.x, look.side), taps_y(look.y, look.side);
  const int top = blockIdx.x * rows_of_block;
  if (threadIdx.x < window_size)
    across[threadIdx.x].set(taps_x, threadIdx.x);
  else if (const int i = threadIdx.x - window_size; i < rows_of_block)
    down[i].set(taps_y, top + i);
  __syncthreads();

  const int left = across[0].first;
  const int count = min(across[window_size - 1].first + taps_x.each - left, most_columns);
  for (int i = threadIdx.x; i < count; i += threads) {
    const int x = clamped((left + i) * taps_x.step, 0, p.frame.width - 1) - p.part.x;
#pragma unroll
    for (int r = 0; r < rows_of_block; ++r) {
      float sum = 0;
      for (int k = 0; k < taps_y.each; ++k) {
        const float weight = down[r].of[k];
        if (weight == 0) continue;
        const int y = clamped((down[r].first + k) * taps_y.step, 0, p.frame.height - 1) - p.part.y;
        sum += weight * static_cast<float>(pixels[y * p.pitch + x]);
      }
      columns[r][i] = sum;
    }
  }
  __syncthreads();

  float total[] = {0};
  float* const to = windows[blockIdx.y].pixels + top * window_size;
  for (int i = threadIdx.x; i < rows_of_block * window_size; i += threads) {
    const Weights& weights = across[i % window_size];
    const float* const from = columns[i / window_size] + weights.first - left;
    float sum = 0;
    for (int k = 0; k < taps_x.each; ++k) sum += weights.of[k] * from[k];
    to[i] = sum;
    total[0] += sum;
  }
  block_sums<warps>(total);
  if (threadIdx.x == 0) windows[blockIdx.y].sums[blockIdx.x] = total[0];
}

// ---- channels -------------------------------------------------------------------------------

constexpr int cell_rows = 4, cell_blocks = grid / cell_rows;
constexpr int padded = grid + 2;  ///< cells of a row, with those around
constexpr int cells_here = (cell_rows + 2) * padded;
static_assert(cells_here <= threads);
/// The pixels that count in these cells: in a cell those up to two away from it.
constexpr int pixel_rows = (cell_rows + 2) * cell + cell;

struct Strip {
  float length[pixel_rows][window_size];
  std::uint8_t direction[pixel_rows][window_size];
  float histograms[directions][threads];  ///< the thread's cell
  float energies[threads];
  double sums[cell_rows * grid];
};

/// The length of the gradient at a pixel, and the direction that is the nearest to it.
__device__ void find_gradient(const float* window, const Axes& axes, int x, int y, float& length,
                              std::uint8_t& direction) {
  const float* const row = window + y * window_size;
  const float gx = row[min(x + 1, window_size - 1)] - row[max(x - 1, 0)];
  const float gy = window[min(y + 1, window_size - 1) * window_size + x] -
                   window[max(y - 1, 0) * window_size + x];
  float longest = 0;
  direction = 0;
#pragma unroll
  for (int i = 0; i < orientations; ++i) {
    const float along = fmaf(gx, axes.of[i][0], gy * axes.of[i][1]);
    if (fabsf(along) > longest)
      direction = static_cast<std::uint8_t>(along > 0 ? i : i + orientations);
    longest = fmaxf(longest, fabsf(along));
  }
  length = sqrtf(fmaf(gx, gx, gy * gy));
}

/// What of a pixel counts in a cell, in one direction; cells are counted from the one before the
/// window.
__device__ float share_of(int pixel, int in_cell) {
  const NearestCells nearest(pixel);
  return nearest.first == in_cell ? 1 - nearest.second_share : nearest.second_share;
}

/// The histogram of the thread's cell, whose contrast is returned. \param top  of its rows of cells
__device__ float make_histogram(Strip& strip, int top, int first_pixel) {
  const int x = threadIdx.x % padded, y = top + threadIdx.x / padded;
  float* const own = &strip.histograms[0][threadIdx.x];
  for (int k = 0; k < directions; ++k) own[k * threads] = 0;
  const auto least = [](int in_cell) { return max(cell * in_cell - 6, 0); };
  const auto end = [](int in_cell) { return min(cell * in_cell + 2, window_size); };
  for (int py = least(y); py < end(y); ++py) {
    const float in_row = share_of(py, y);
    for (int px = least(x); px < end(x); ++px) {
      const int row = py - first_pixel;
      own[strip.direction[row][px] * threads] += share_of(px, x) * (in_row * strip.length[row][px]);
    }
  }
  float energy = 0;
  for (int k = 0; k < orientations; ++k) {
    const float both = own[k * threads] + own[(k + orientations) * threads];
    energy += both * both;
  }
  return energy;
}

/// Writes the channels of a cell and returns their squares' sum. \param faded  what is left of them
__device__ double write_channels(const Strip& strip, const float* window, int x, int y, int top,
                                 float mean, float faded, float* out) {
  const auto place = [=](int cx, int cy) {
    return (clamped(cy, 1, grid) - top) * padded + clamped(cx, 1, grid);
  };
  const int here = place(x + 1, y + 1);
  const auto energy_at = [&](int dx, int dy) {
    return strip.energies[place(x + 1 + dx, y + 1 + dy)];
  };
  float scales[4], sums[4] = {};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int dx = i & 1 ? 1 : -1, dy = i & 2 ? 1 : -1;
    scales[i] = 1 / sqrtf(energy_at(0, 0) + energy_at(dx, 0) + energy_at(0, dy) +
                          energy_at(dx, dy) + least_energy);
  }
  float values[channels];
#pragma unroll
  for (int k = 0; k < directions; ++k) {
    values[k] = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float value = fminf(strip.histograms[k][here] * scales[i], longest_gradient);
      values[k] += 0.5f * value;
      sums[i] += contrast_share * value;
    }
  }
#pragma unroll
  for (int k = 0; k < orientations; ++k) {
    const float both = strip.histograms[k][here] + strip.histograms[k + orientations][here];
    float sum = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) sum += 0.5f * fminf(both * scales[i], longest_gradient);
    values[directions + k] = sum;
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) values[directions + orientations + i] = sums[i];
  float pixels = 0;
  for (int i = 0; i < cell * cell; ++i)
    pixels += window[(y * cell + i / cell) * window_size + x * cell + i % cell];
  values[channels - 1] = pixels / (cell * cell * 255) - mean;
  double squares = 0;
#pragma unroll
  for (int k = 0; k < channels; k += 4) {
#pragma unroll
    for (int i = k; i < k + 4; ++i) {
      values[i] *= faded;
      squares += values[i] * values[i];
    }
    *reinterpret_cast<float4*>(out + k) = {values[k], values[k + 1], values[k + 2], values[k + 3]};
  }
  return squares;
}

__global__ void __launch_bounds__(threads)
    describe(const Look* looks, const Window* windows, Axes axes, Fade fade, float* channels_of,
             double* energies) {
  __shared__ Strip strip;
  const std::int64_t number = blockIdx.y;
  if (looks[number].side == 0) return;
  const Window& window = windows[number];
  const int top = blockIdx.x * cell_rows;  // with the row above it, counted from that one
  const int first = max(cell * top - 6, 0), end = min(first + pixel_rows, window_size);
  for (int i = threadIdx.x; i < (end - first) * window_size; i += threads) {
    const int x = i % window_size, row = i / window_size;
    find_gradient(window.pixels, axes, x, first + row, strip.length[row][x],
                  strip.direction[row][x]);
  }
  __syncthreads();
  if (threadIdx.x < cells_here) strip.energies[threadIdx.x] = make_histogram(strip, top, first);
  __syncthreads();
  if (threadIdx.x < cell_rows * grid) {
    const int x = threadIdx.x % grid, y = top + threadIdx.x / grid;
    float mean = 0;
    for (int i = 0; i < row_blocks; ++i) mean += window.sums[i];
    mean /= static_cast<float>(window_size * window_size) * 255;
    strip.sums[threadIdx.x] =
        write_channels(strip, window.pixels, x, y, top, mean, fade.of[x] * fade.of[y],
                       channels_of + (number * cells + y * grid + x) * channels);
  }
  __syncthreads();
  if (threadIdx.x < cell_rows) {
    double sum = 0;
    for (int x = 0; x < grid; ++x) sum += strip.sums[threadIdx.x * grid + x];
    energies[number * grid + top + threadIdx.x] = sum;
  }
}

// On the host, which hands them to the kernel.
const Axes all_axes;
const Fade whole_fade;

bool supports(const stage::Channels::Problem& p, const Device&) {
  return p.windows <= 65535 && p.layout == PixelLayout();
}

std::size_t workspace(const stage::Channels::Problem& p, const Device&) {
  return static_cast<std::size_t>(p.windows) * sizeof(Window);
}

Status launch(const stage::Channels::Problem& p, const Device&, const stage::Channels::Buffers& b,
              PlanState*) {
  auto* const windows = static_cast<Window*>(b.workspace);
  if (Status s = enqueue("channels: cut", cut, dim3(row_blocks, p.windows), threads, 0, b.stream, p,
                         b.pixels, b.looks, windows);
      !s.ok())
    return s;
  return enqueue("channels: describe", describe, dim3(cell_blocks, p.windows), threads, 0, b.stream,
                 b.looks, windows, all_axes, whole_fade, b.channels, b.energies);
}

constexpr Variant<stage::Channels> table[] = {
    {{"channels", Backend::cuda, Feature::u8}, supports, launch, workspace},
};

}  // namespace
}  // namespace tracker

Family channels_family() { return Family(tracker::table); }

}  // namespace xcorr::cuda
