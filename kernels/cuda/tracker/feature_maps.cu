// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Channels of windows on the GPU. Their pixels and colours are resampled. Of these some blocks make
// the learned channels and others the gradients' of four rows of cells each: gradients of the
// pixels that count in them and in the cells around, histograms by a thread a cell, and of these
// the channels by a thread a cell. The second kernel begins while the first one ends.
#include <algorithm>

#include "cuda/common/launch.cuh"
#include "cuda/common/warp.cuh"
#include "cuda/tracker/cut.cuh"
#include "cuda/tracker/learned_channels.cuh"

namespace xcorr::cuda {
namespace tracker {
namespace {

// ---- feature_maps -------------------------------------------------------------------------------

constexpr int threads = learned_threads;
constexpr int cell_rows = 4, cell_blocks = grid / cell_rows;
constexpr int padded = grid + 2;  ///< cells of a row, with those around
constexpr int cells_here = (cell_rows + 2) * padded;
static_assert(cells_here <= threads);
static_assert(learned_blocks + cell_blocks <= energy_parts);
/// In a cell count the pixels up to two away from it; cells are counted from the one before the
/// window.
constexpr int reach = 2 * cell;
constexpr int first_pixel_of(int in_cell) { return cell * in_cell - cell - cell / 2; }
/// The pixels that count in these cells, where there are none in the window as ones without a
/// gradient.
constexpr int pixel_rows = cell_rows * cell + 3 * cell, pixel_columns = window_size + 3 * cell;

struct Strip {
  float length[pixel_rows][pixel_columns];
  std::uint8_t direction[pixel_rows][pixel_columns];
  float histograms[directions][threads];  ///< the thread's cell
  float energies[threads];
  double sums[cell_rows * grid];
};

/// The direction that is the nearest to a gradient's: of the first quadrant's it is known by the
/// tangents half-way between them.
__device__ int direction_of(float gx, float gy) {
  static_assert(directions == 18);
  const bool below = gy < 0;  // turned by half a turn
  const float x = fabsf(gx), y = fabsf(gy);
  const int quarter =
      (y > 0.17632698f * x) + (y > 0.57735027f * x) + (y > 1.19175359f * x) + (y > 2.74747742f * x);
  const int upper = (gx < 0) != below && x > 0 ? orientations - quarter : quarter;
  const int direction = below ? upper + orientations : upper;
  return direction == directions ? 0 : direction;
}

/// Four pixels of a row of a strip, whose places there are even.
struct FourGradients {
  float length[4] = {};
  std::uint8_t direction[4] = {};

  /// Those of a window. \param x  a multiple of four
  __device__ void find(const float* window, int x, int y) {
    constexpr int last = window_size - 1;
    const float* const at = window + y * window_size + x;
    const auto four = [](const float* from) { return *reinterpret_cast<const float4*>(from); };
    const float4 here = four(at), above = four(y > 0 ? at - window_size : at),
                 below = four(y < last ? at + window_size : at);
    const float left = x > 0 ? at[-1] : here.x, right = x + 4 < window_size ? at[4] : here.w;
    const float gx[] = {here.y - left, here.z - here.x, here.w - here.y, right - here.z};
    const float gy[] = {below.x - above.x, below.y - above.y, below.z - above.z, below.w - above.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      length[i] = sqrtf(fmaf(gx[i], gx[i], gy[i] * gy[i]));
      direction[i] = static_cast<std::uint8_t>(direction_of(gx[i], gy[i]));
    }
  }
  __device__ void write(Strip& strip, int row, int column) const {
#pragma unroll
    for (int i = 0; i < 4; i += 2) {
      *reinterpret_cast<float2*>(&strip.length[row][column + i]) = {length[i], length[i + 1]};
      *reinterpret_cast<uchar2*>(&strip.direction[row][column + i]) = {direction[i],
                                                                       direction[i + 1]};
    }
  }
};

/// Makes the gradients of all pixels of a strip. \param first_row  of the window, may be negative
__device__ void find_gradients(const float* window, int first_row, Strip& strip) {
  constexpr int fours = window_size / 4, row_groups = threads / fours;
  constexpr int margin = -first_pixel_of(0), beyond = pixel_columns - window_size;
  const int x = threadIdx.x % fours * 4;
  const int first = threadIdx.x < row_groups * fours ? threadIdx.x / fours : pixel_rows;
#pragma unroll 2
  for (int row = first; row < pixel_rows; row += row_groups) {
    const int y = first_row + row;
    FourGradients four;
    if (y >= 0 && y < window_size) four.find(window, x, y);
    four.write(strip, row, margin + x);
  }
  for (int i = threadIdx.x; i < pixel_rows * beyond; i += threads) {
    const int row = i / beyond, column = i % beyond;
    const int at = column < margin ? column : window_size + column;
    strip.length[row][at] = 0;
    strip.direction[row][at] = 0;
  }
}

/// What of its i-th pixel counts in a cell.
constexpr float share_of(int i) {
  return (i < cell ? 2 * i + 1 : 4 * cell - 1 - 2 * i) / (2.0f * cell);
}

/// The histogram of the thread's cell, whose contrast is returned.
__device__ float make_histogram(Strip& strip) {
  const int x = cell * (threadIdx.x % padded), y = cell * (threadIdx.x / padded);
  float* const own = &strip.histograms[0][threadIdx.x];
#pragma unroll
  for (int k = 0; k < directions; ++k) own[k * threads] = 0;
#pragma unroll 2
  for (int row = 0; row < reach; ++row) {
    const float in_row = share_of(row);
#pragma unroll
    for (int part = 0; part < reach; part += cell) {
      const float4 lengths = *reinterpret_cast<const float4*>(&strip.length[y + row][x + part]);
      const uchar4 to = *reinterpret_cast<const uchar4*>(&strip.direction[y + row][x + part]);
      own[to.x * threads] += share_of(part) * (in_row * lengths.x);
      own[to.y * threads] += share_of(part + 1) * (in_row * lengths.y);
      own[to.z * threads] += share_of(part + 2) * (in_row * lengths.z);
      own[to.w * threads] += share_of(part + 3) * (in_row * lengths.w);
    }
  }
  float energy = 0;
#pragma unroll
  for (int k = 0; k < orientations; ++k) {
    const float both = own[k * threads] + own[(k + orientations) * threads];
    energy += both * both;
  }
  return energy;
}

/// Writes the gradients' channels of a cell and returns their squares' sum. \param faded  what is
/// left of them
__device__ double write_channels(const Strip& strip, int x, int y, int top, float faded,
                                 float* out) {
  const auto place = [=](int cx, int cy) {
    return (clamped(cy, 1, grid) - top) * padded + clamped(cx, 1, grid);
  };
  const int here = place(x + 1, y + 1);
  const auto energy_at = [&](int dx, int dy) {
    return strip.energies[place(x + 1 + dx, y + 1 + dy)];
  };
  float scales[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int dx = i & 1 ? 1 : -1, dy = i & 2 ? 1 : -1;
    scales[i] = rsqrtf(energy_at(0, 0) + energy_at(dx, 0) + energy_at(0, dy) + energy_at(dx, dy) +
                       least_energy);
  }
  float values[directions];
  double squares = 0;
#pragma unroll
  for (int k = 0; k < directions; ++k) {
    const float length = strip.histograms[k][here];
    values[k] = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) values[k] += 0.5f * fminf(length * scales[i], longest_gradient);
    values[k] *= learned_parameters[first_gain + k] * faded;
    squares += values[k] * values[k];
  }
#pragma unroll
  for (int k = 0; k < directions; k += 2)
    *reinterpret_cast<float2*>(out + place_of(0, k)) = {values[k], values[k + 1]};
  return squares;
}

/// A block's part of the gradients' channels of a window. Returns the sum of their squares, in its
/// first thread. \param top  of its rows of cells
__device__ double find_channels(Strip& strip, const Window& window, int top, const Fade& fade,
                                float* channels_of) {
  find_gradients(window.pixels, first_pixel_of(top), strip);
  __syncthreads();
  if (threadIdx.x < cells_here) strip.energies[threadIdx.x] = make_histogram(strip);
  __syncthreads();
  if (threadIdx.x < cell_rows * grid) {
    const int x = threadIdx.x % grid, y = top + threadIdx.x / grid;
    strip.sums[threadIdx.x] = write_channels(strip, x, y, top, fade.of[x] * fade.of[y],
                                             channels_of + place_of(y * grid + x, 0));
  }
  __syncthreads();
  double sum = 0;
  if (threadIdx.x < 32) {
    for (int i = threadIdx.x; i < cell_rows * grid; i += 32) sum += strip.sums[i];
    sum = warp_sum(sum);
  }
  return sum;
}

/// Which channels of windows blocks make: of few windows all at once, of many one after the other,
/// as each alone leaves registers for more blocks.
enum class Channels { all, learned, of_gradients };
constexpr unsigned blocks_for(Channels which) {
  return (which == Channels::of_gradients ? 0 : learned_blocks) +
         (which == Channels::learned ? 0 : cell_blocks);
}

constexpr std::size_t bytes_for(Channels which) {
  return which == Channels::learned        ? sizeof(LearnedPart)
         : which == Channels::of_gradients ? sizeof(Strip)
                                           : std::max(sizeof(LearnedPart), sizeof(Strip));
}

/// Grid: the parts of a window, windows.
template <Channels which>
__global__ void __launch_bounds__(threads)
    describe(stage::FeatureMaps::Buffers b, const Window* windows, Fade fade) {
  alignas(16) __shared__ std::uint8_t memory[bytes_for(which)];
  const std::int64_t number = blockIdx.y;
  wait_for_previous();
  if (b.looks[number].side == 0) return;
  const Window& window = windows[number];
  float* const channels_of = b.channels + number * cells * channels;
  double* const energies = b.energies + number * energy_parts;
  const int tile = which == Channels::of_gradients ? learned_blocks + blockIdx.x : blockIdx.x;
  double energy;
  if (which == Channels::learned || (which == Channels::all && tile < learned_blocks)) {
    auto& part = reinterpret_cast<LearnedPart&>(memory);
    energy = learn(part, window, tile, fade, channels_of);
  } else {
    auto& strip = reinterpret_cast<Strip&>(memory);
    energy = find_channels(strip, window, (tile - learned_blocks) * cell_rows, fade, channels_of);
  }
  constexpr int parts = learned_blocks + cell_blocks;
  if (threadIdx.x == 0) energies[tile] = energy;
  if (tile == 0 && threadIdx.x < energy_parts - parts) energies[parts + threadIdx.x] = 0;
}

// On the host, which hands it to the kernel.
const Fade whole_fade;

bool supports(const stage::FeatureMaps::Problem& p, const Device&) {
  return p.layout == PixelLayout();
}

/// So many share what windows are made into on the way: fewer leave multiprocessors without work at
/// the end of each kernel, more take memory. In the CPU emulation they are few, so that small
/// problems loop.
#ifdef XCORR_SIMT
constexpr int windows_at_once = 3;
#else
constexpr int windows_at_once = 192;
#endif

std::size_t workspace(const stage::FeatureMaps::Problem& p, const Device&) {
  return std::min(p.windows, windows_at_once) * sizeof(Window);
}

Status launch_some(const stage::FeatureMaps::Problem& p, const Device& device,
                   const stage::FeatureMaps::Buffers& b) {
  auto* const windows = static_cast<Window*>(b.workspace);
  if (Status s =
          enqueue_early(device, "feature_maps: cut", p.turned ? cut_turned : cut,
                        dim3(row_blocks, p.windows), cut_threads, 0, b.stream, p, b, windows);
      !s.ok())
    return s;
  const auto describe_by = [&](auto kernel, Channels which) {
    return enqueue_early(device, "feature_maps: describe", kernel,
                         dim3(blocks_for(which), p.windows), threads, 0, b.stream, b, windows,
                         whole_fade);
  };
  if (p.windows * blocks_for(Channels::all) <= 2u * device.multiprocessors)
    return describe_by(describe<Channels::all>, Channels::all);
  if (Status s = describe_by(describe<Channels::learned>, Channels::learned); !s.ok()) return s;
  return describe_by(describe<Channels::of_gradients>, Channels::of_gradients);
}

Status launch(const stage::FeatureMaps::Problem& p, const Device& device,
              const stage::FeatureMaps::Buffers& b, PlanState*) {
  for (int first = 0; first < p.windows; first += windows_at_once) {
    stage::FeatureMaps::Problem some = p;
    stage::FeatureMaps::Buffers of_some = b;
    some.windows = std::min(p.windows - first, windows_at_once);
    of_some.looks += first;
    of_some.croppings += first;
    of_some.channels += std::int64_t{first} * cells * channels;
    of_some.energies += std::int64_t{first} * energy_parts;
    if (Status s = launch_some(some, device, of_some); !s.ok()) return s;
  }
  return {};
}

constexpr Variant<stage::FeatureMaps> table[] = {
    {{.name = "feature_maps", .backend = Backend::cuda, .features = Feature::u8},
     {.supports = supports, .launch = launch, .workspace = workspace}},
};

}  // namespace
}  // namespace tracker

Family feature_maps_family() { return Family(tracker::table); }

}  // namespace xcorr::cuda
