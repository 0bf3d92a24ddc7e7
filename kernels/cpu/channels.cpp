// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Channels of windows on the CPU, a window a thread: it is resampled row by row, and so are its
// gradients found.
#include "cpu/simd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/channels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef XCORR_CPU_CHANNELS
#define XCORR_CPU_CHANNELS
#include <array>
#include <span>
#include <utility>
#include <vector>

#include "cpu/common.hpp"
#include "stages/channels.hpp"
#include "stages/luma.hpp"
#endif

HWY_BEFORE_NAMESPACE();
namespace xcorr::cpu::channels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using namespace tracker;

/// The lengths of a row of gradients, and the direction that is the nearest to each.
void classify(const float* gx, const float* gy, const Axes& axes, float* length, float* direction) {
  const hn::CappedTag<float, 8> d;
  using V = hn::Vec<decltype(d)>;
  for (int at = 0; at < window_size; at += static_cast<int>(hn::Lanes(d))) {
    const V x = hn::LoadU(d, gx + at), y = hn::LoadU(d, gy + at);
    V longest = hn::Zero(d), nearest = hn::Zero(d);
    for (int i = 0; i < orientations; ++i) {
      const V along =
          hn::MulAdd(x, hn::Set(d, axes.of[i][0]), hn::Mul(y, hn::Set(d, axes.of[i][1])));
      const V there = hn::Set(d, static_cast<float>(i));
      const V back = hn::Set(d, static_cast<float>(i + orientations));
      const V so_long = hn::Abs(along);
      nearest = hn::IfThenElse(hn::Gt(so_long, longest),
                               hn::IfThenElse(hn::Gt(along, hn::Zero(d)), there, back), nearest);
      longest = hn::Max(longest, so_long);
    }
    hn::StoreU(nearest, d, direction + at);
    hn::StoreU(hn::Sqrt(hn::MulAdd(x, x, hn::Mul(y, y))), d, length + at);
  }
}

}  // namespace xcorr::cpu::channels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace xcorr::cpu {
namespace channels {

HWY_EXPORT(classify);

using namespace tracker;

constexpr int padded = grid + 2;  ///< cells of a row, with those around, which get a share too

/// What a thread needs on the way, kept: to allocate it costs as much as to fill it.
struct Scratch {
  std::vector<float> window = std::vector<float>(window_size * window_size);
  float sum = 0;  ///< of the window's pixels
  std::vector<float> lumas, row;
  std::vector<float> histograms = std::vector<float>(padded * padded * directions);
  std::vector<float> energies = std::vector<float>(padded * padded);
};

// ---- windows --------------------------------------------------------------------------------

/// Which pixels of the frame, and how much of each, are in the pixels of a window in one direction:
/// `positions[i * each]` and so on are in pixel i.
struct Taps {
  int each;
  std::array<int, window_size * WindowTaps::most> positions;
  std::array<float, window_size * WindowTaps::most> weights;

  Taps(double middle, double side, int length) {
    const WindowTaps taps(middle, side);
    each = taps.each;
    for (int i = 0; i < window_size; ++i) {
      const int first = taps.first(i);
      const double sum = taps.sum(i);
      for (int k = 0; k < each; ++k) {
        positions[i * each + k] = std::clamp((first + k) * taps.step, 0, length - 1);
        weights[i * each + k] = static_cast<float>(taps.weight(i, first + k) / sum);
      }
    }
  }
  int first() const { return positions.front(); }
  int last() const { return positions[window_size * each - 1]; }
};

/// Calls body(offset, luma) with how to read a pixel of that layout.
template <class Body>
void with_luma(const PixelLayout& layout, const Body& body) {
  const auto packed = [&]<int bytes>() {
    body([&](const std::uint8_t* row, int x) { return luma_of<bytes>(layout, row + x * bytes); });
  };
  if (layout == PixelLayout())
    body([](const std::uint8_t* row, int x) { return row[x]; });
  else if (layout.bytes == 1)
    packed.template operator()<1>();
  else if (layout.bytes == 2)
    packed.template operator()<2>();
  else if (layout.bytes == 3)
    packed.template operator()<3>();
  else
    packed.template operator()<4>();
}

void cut(const stage::Channels::Problem& p, const std::uint8_t* pixels, const Look& look,
         Scratch& scratch) {
  const Taps across(look.x, look.side, p.frame.width);
  const Taps down(look.y, look.side, p.frame.height);
  const int left = across.first(), width = across.last() + 1 - left;
  scratch.row.resize(width);
  float* const row = scratch.row.data();
  // Rows of the window share rows of the frame: their lumas are kept meanwhile.
  scratch.lumas.resize(std::size_t{WindowTaps::most} * width);
  std::array<int, WindowTaps::most> kept;
  kept.fill(-1);
  float total = 0;
  with_luma(p.layout, [&](const auto& luma) {
    const auto lumas_of = [&](int y) {
      const std::size_t slot = y % WindowTaps::most;
      float* const lumas = &scratch.lumas[slot * width];
      if (std::exchange(kept[slot], y) == y) return lumas;
      const std::uint8_t* from =
          pixels + (y - p.part.y) * p.pitch + std::int64_t{left - p.part.x} * p.layout.bytes;
      for (int x = 0; x < width; ++x) lumas[x] = static_cast<float>(luma(from, x));
      return lumas;
    };
    for (int y = 0; y < window_size; ++y) {
      std::fill_n(row, width, 0.0f);
      for (int k = y * down.each; k < (y + 1) * down.each; ++k) {
        const float weight = down.weights[k];
        if (weight == 0) continue;
        const float* lumas = lumas_of(down.positions[k]);
        for (int x = 0; x < width; ++x) row[x] += weight * lumas[x];
      }
      for (int x = 0; x < window_size; ++x) {
        float sum = 0;
        for (int k = x * across.each; k < (x + 1) * across.each; ++k)
          sum += across.weights[k] * row[across.positions[k] - left];
        scratch.window[y * window_size + x] = sum;
        total += sum;
      }
    }
  });
  scratch.sum = total;
}

// ---- channels -------------------------------------------------------------------------------

using Row = std::array<float, window_size>;

struct Gradients {
  Row length, direction;  ///< the latter are whole numbers
};

void find_gradients(const float* window, int y, Gradients& out) {
  static const Axes axes;
  const float* row = window + y * window_size;
  const float* above = y > 0 ? row - window_size : row;
  const float* below = y + 1 < window_size ? row + window_size : row;
  Row gx, gy;
  for (int x = 0; x < window_size; ++x) gy[x] = below[x] - above[x];
  gx.front() = row[1] - row[0];
  gx.back() = row[window_size - 1] - row[window_size - 2];
  for (int x = 1; x + 1 < window_size; ++x) gx[x] = row[x + 1] - row[x - 1];
  HWY_DYNAMIC_DISPATCH(classify)
  (gx.data(), gy.data(), axes, out.length.data(), out.direction.data());
}

/// A gradient counts in the four nearest cells, the more the nearer their middles are.
void make_histograms(const std::vector<float>& window, std::vector<float>& histograms) {
  std::ranges::fill(histograms, 0.0f);
  Gradients gradients;
  for (int y = 0; y < window_size; ++y) {
    find_gradients(window.data(), y, gradients);
    const auto [cell_y, lower] = NearestCells(y);
    for (int x = 0; x < window_size; ++x) {
      const auto [cell_x, right] = NearestCells(x);
      const float above = (1 - lower) * gradients.length[x], below = lower * gradients.length[x];
      float* to = &histograms[(cell_y * padded + cell_x) * directions +
                              static_cast<int>(gradients.direction[x])];
      to[0] += (1 - right) * above;
      to[directions] += right * above;
      to += padded * directions;
      to[0] += (1 - right) * below;
      to[directions] += right * below;
    }
  }
}

void make_energies(const std::vector<float>& histograms, std::vector<float>& energies) {
  std::ranges::fill(energies, 0.0f);
  for (std::size_t i = 0; i < energies.size(); ++i)
    for (int k = 0; k < orientations; ++k) {
      const float both =
          histograms[i * directions + k] + histograms[i * directions + k + orientations];
      energies[i] += both * both;
    }
}

/// One over the contrast of the four blocks of 2 x 2 cells to which this one belongs. Blocks at the
/// window's edge have fewer.
std::array<float, 4> scales_at(const std::vector<float>& energies, int x, int y) {
  const auto at = [&](int cx, int cy) {
    return energies[std::clamp(cy, 1, grid) * padded + std::clamp(cx, 1, grid)];
  };
  std::array<float, 4> scales;
  for (int i = 0; i < 4; ++i) {
    const int nx = i & 1 ? x + 1 : x - 1, ny = i & 2 ? y + 1 : y - 1;
    scales[i] = 1 / std::sqrt(at(x, y) + at(nx, y) + at(x, ny) + at(nx, ny) + least_energy);
  }
  return scales;
}

/// With loops over directions, and over scales, that compilers turn into vectors.
void normalise(const float* histogram, const std::array<float, 4>& scales, float* out) {
  constexpr float half = 0.5f;
  constexpr int both = directions + orientations;
  std::array<float, both> lengths, results{};
  for (int k = 0; k < directions; ++k) lengths[k] = histogram[k];
  for (int k = 0; k < orientations; ++k)
    lengths[directions + k] = histogram[k] + histogram[k + orientations];
  for (float scale : scales)
    for (int k = 0; k < both; ++k)
      results[k] += half * std::min(lengths[k] * scale, longest_gradient);
  std::array<float, 4> sums{};
  for (int k = 0; k < directions; ++k)
    for (int i = 0; i < 4; ++i)
      sums[i] += contrast_share * std::min(lengths[k] * scales[i], longest_gradient);
  std::ranges::copy(sums, std::ranges::copy(results, out).out);
}

/// 0 to 1.
float mean_of(std::span<const float> window, int x, int y) {
  float sum = 0;
  for (int i = 0; i < cell * cell; ++i)
    sum += window[(y * cell + i / cell) * window_size + x * cell + i % cell];
  return sum / (cell * cell * 255);
}

/// Writes the channels of a window, and the energies of its rows of cells.
void describe(const Scratch& scratch, float* out, double* row_energies) {
  static const Fade fade;
  const float mean = scratch.sum / (static_cast<float>(scratch.window.size()) * 255);
  for (int y = 0; y < grid; ++y)
    for (int x = 0; x < grid; ++x) {
      float* here = &out[(y * grid + x) * tracker::channels];
      normalise(&scratch.histograms[((y + 1) * padded + x + 1) * directions],
                scales_at(scratch.energies, x + 1, y + 1), here);
      here[tracker::channels - 1] = mean_of(scratch.window, x, y) - mean;
      const float left = fade.of[x] * fade.of[y];
      for (int k = 0; k < tracker::channels; ++k) here[k] *= left;
    }
  // Several rows at once: each addition to a sum waits for the one before.
  constexpr int rows = 4, row_floats = grid * tracker::channels;
  static_assert(grid % rows == 0);
  for (int y = 0; y < grid; y += rows, out += rows * row_floats) {
    std::array<double, rows> sums{};
    for (int i = 0; i < row_floats; ++i)
      for (int r = 0; r < rows; ++r) {
        const float value = out[r * row_floats + i];
        sums[r] += value * value;
      }
    std::ranges::copy(sums, row_energies + y);
  }
}

Status launch(const stage::Channels::Problem& p, const Device&, const stage::Channels::Buffers& b,
              PlanState*) {
  tbb::parallel_for(0, p.windows, [&](int i) {
    if (b.looks[i].side == 0) return;
    static thread_local Scratch scratch;
    cut(p, b.pixels, b.looks[i], scratch);
    make_histograms(scratch.window, scratch.histograms);
    make_energies(scratch.histograms, scratch.energies);
    describe(scratch, b.channels + std::int64_t{i} * cells * tracker::channels,
             b.energies + std::int64_t{i} * grid);
  });
  return {};
}

constexpr Variant<stage::Channels> table[] = {
    {{"channels", Backend::cpu, Feature::u8}, supports_all, launch},
};

}  // namespace channels

Family channels_family() { return Family(channels::table); }

}  // namespace xcorr::cpu
#endif
