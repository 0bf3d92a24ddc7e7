// SPDX-License-Identifier: LGPL-2.1-or-later
#include "cpu/simd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "match/tracker/channels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "match/tracker/channels.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

HWY_BEFORE_NAMESPACE();
namespace xcorr::tracker::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// The lengths of a row of gradients, and the direction that is the nearest to each.
void classify(const float* gx, const float* gy, const float (*axes)[2], float* length,
              float* direction) {
  const hn::CappedTag<float, 8> d;
  using V = hn::Vec<decltype(d)>;
  for (int at = 0; at < window_size; at += static_cast<int>(hn::Lanes(d))) {
    const V x = hn::LoadU(d, gx + at), y = hn::LoadU(d, gy + at);
    V longest = hn::Zero(d), nearest = hn::Zero(d);
    for (int i = 0; i < orientations; ++i) {
      const V along = hn::MulAdd(x, hn::Set(d, axes[i][0]), hn::Mul(y, hn::Set(d, axes[i][1])));
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

}  // namespace xcorr::tracker::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace xcorr::tracker {
namespace {

HWY_EXPORT(classify);

constexpr int padded = grid + 2;  ///< cells of a row, with those around, which get a share too

/// Longer gradients count no more than this, relative to the contrast around.
constexpr float most = 0.2f;

/// What the contrast is at least, so that noise alone counts little. Pixels squared.
constexpr float least_energy = 0.1f;

/// The sum of squares of all channels of a flat window is less, but for rounding.
constexpr double nothing = 1e-4;

using Row = std::array<float, window_size>;

struct Gradients {
  Row length, direction;  ///< the latter are whole numbers
};

/// Unit vectors along the orientations.
const auto& axes() {
  static const auto all = [] {
    std::array<float[2], orientations> made;
    for (int i = 0; i < orientations; ++i) {
      const double angle = i * std::numbers::pi / orientations;
      made[i][0] = static_cast<float>(std::cos(angle));
      made[i][1] = static_cast<float>(std::sin(angle));
    }
    return made;
  }();
  return all;
}

void find_gradients(const float* window, int y, Gradients& out) {
  const float* row = window + y * window_size;
  const float* above = y > 0 ? row - window_size : row;
  const float* below = y + 1 < window_size ? row + window_size : row;
  Row gx, gy;
  for (int x = 0; x < window_size; ++x) gy[x] = below[x] - above[x];
  gx.front() = row[1] - row[0];
  gx.back() = row[window_size - 1] - row[window_size - 2];
  for (int x = 1; x + 1 < window_size; ++x) gx[x] = row[x + 1] - row[x - 1];
  HWY_DYNAMIC_DISPATCH(classify)
  (gx.data(), gy.data(), axes().data(), out.length.data(), out.direction.data());
}

/// A gradient counts in the four nearest cells, the more the nearer their middles are.
std::vector<float> histograms_of(std::span<const float> window) {
  std::vector<float> histograms(padded * padded * directions);
  Gradients gradients;
  for (int y = 0; y < window_size; ++y) {
    find_gradients(window.data(), y, gradients);
    const float at_y = (static_cast<float>(y) + 0.5f) / cell + 0.5f;
    const int cell_y = static_cast<int>(at_y);
    const float lower = at_y - static_cast<float>(cell_y);
    for (int x = 0; x < window_size; ++x) {
      const float at_x = (static_cast<float>(x) + 0.5f) / cell + 0.5f;
      const int cell_x = static_cast<int>(at_x);
      const float right = at_x - static_cast<float>(cell_x);
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
  return histograms;
}

std::vector<float> energies_of(const std::vector<float>& histograms) {
  std::vector<float> energies(padded * padded);
  for (std::size_t i = 0; i < energies.size(); ++i)
    for (int k = 0; k < orientations; ++k) {
      const float both =
          histograms[i * directions + k] + histograms[i * directions + k + orientations];
      energies[i] += both * both;
    }
  return energies;
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

void normalise(const float* histogram, const std::array<float, 4>& scales, float* out) {
  constexpr float half = 0.5f, share = 0.2357f;  // 1 / sqrt(18), as in the paper
  std::array<float, 4> sums{};
  for (int k = 0; k < directions; ++k, ++out) {
    *out = 0;
    for (int i = 0; i < 4; ++i) {
      const float value = std::min(histogram[k] * scales[i], most);
      *out += half * value;
      sums[i] += share * value;
    }
  }
  for (int k = 0; k < orientations; ++k, ++out) {
    *out = 0;
    for (float scale : scales)
      *out += half * std::min((histogram[k] + histogram[k + orientations]) * scale, most);
  }
  std::ranges::copy(sums, out);
}

/// 0 to 1.
float mean_of(std::span<const float> window, int x, int y) {
  float sum = 0;
  for (int i = 0; i < cell * cell; ++i)
    sum += window[(y * cell + i / cell) * window_size + x * cell + i % cell];
  return sum / (cell * cell * 255);
}

float hann(int i) {
  return static_cast<float>(0.5 - 0.5 * std::cos(2 * std::numbers::pi * (i + 1) / (grid + 1)));
}

}  // namespace

std::vector<float> channels_of(std::span<const float> window) {
  const std::vector<float> histograms = histograms_of(window), energies = energies_of(histograms);
  std::vector<float> out(grid * grid * channels);
  float mean = 0;
  for (float pixel : window) mean += pixel;
  mean /= static_cast<float>(window.size()) * 255;
  double sum = 0;
  for (int y = 0; y < grid; ++y)
    for (int x = 0; x < grid; ++x) {
      float* here = &out[(y * grid + x) * channels];
      normalise(&histograms[((y + 1) * padded + x + 1) * directions],
                scales_at(energies, x + 1, y + 1), here);
      here[channels - 1] = mean_of(window, x, y) - mean;
      const float fade = hann(x) * hann(y);
      for (int k = 0; k < channels; ++k) {
        here[k] *= fade;
        sum += here[k] * here[k];
      }
    }
  const float scale = sum > nothing ? static_cast<float>(std::sqrt(out.size() / sum)) : 0;
  for (float& value : out) value *= scale;
  return out;
}

}  // namespace xcorr::tracker
#endif
