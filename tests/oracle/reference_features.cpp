// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The oracle of what filters see, in double precision: windows of frames, turned ones too, and
// their channels by their definition.
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include "oracle/turned_window.hpp"
#include "stages/image/luma.hpp"

namespace xcorr::cpu {
namespace {

using namespace xcorr::tracker;

// ---- feature_maps -------------------------------------------------------------------------------

double luma_at(const stage::FeatureMaps::Problem& p, const std::uint8_t* pixels, int x, int y) {
  x = std::clamp(x, 0, p.frame.width - 1);
  y = std::clamp(y, 0, p.frame.height - 1);
  const std::uint8_t* pixel = pixels + y * p.pitch + std::int64_t{x} * p.layout.bytes;
  int sum = 128;
  for (int i = 0; i < p.layout.bytes; ++i) sum += p.layout.weights[i] * pixel[i];
  return sum >> 8;
}

/// What the window's pixel i is made of in one direction: a pixel of the frame, and its weight.
std::vector<std::pair<int, double>> weights_of(double middle, double side, int i) {
  const double scale = side / window_size, half_width = std::max(1.0, scale);
  const int step = std::max(1, static_cast<int>(scale / 3));
  const double place = middle - side / 2 + (i + 0.5) * scale - 0.5;
  std::vector<std::pair<int, double>> weights;
  double sum = 0;
  for (int n = static_cast<int>(std::floor((place - half_width) / step));
       n * step < place + half_width; ++n)
    if (const double weight = 1 - std::abs(n * step - place) / half_width; weight > 0) {
      weights.emplace_back(n * step, weight);
      sum += weight;
    }
  for (auto& [_, weight] : weights) weight /= sum;
  return weights;
}

std::vector<double> upright_window(const stage::FeatureMaps::Problem& p, const std::uint8_t* pixels,
                                   const Look& look) {
  std::vector<double> window;
  for (int y = 0; y < window_size; ++y)
    for (int x = 0; x < window_size; ++x) {
      double sum = 0;
      for (const auto& [row, high] : weights_of(look.y, look.side, y))
        for (const auto& [column, wide] : weights_of(look.x, look.side, x))
          sum += high * wide * luma_at(p, pixels, column, row);
      window.push_back(sum);
    }
  return window;
}

/// Between pixels, by places in 2^-8 of one.
double read_at(const stage::FeatureMaps::Problem& p, const std::uint8_t* pixels, double x,
               double y) {
  const int left = static_cast<int>(std::floor(x)), top = static_cast<int>(std::floor(y));
  const double across = std::floor(256 * (x - left)) / 256,
               down = std::floor(256 * (y - top)) / 256;
  return (1 - down) * ((1 - across) * luma_at(p, pixels, left, top) +
                       across * luma_at(p, pixels, left + 1, top)) +
         down * ((1 - across) * luma_at(p, pixels, left, top + 1) +
                 across * luma_at(p, pixels, left + 1, top + 1));
}

}  // namespace

std::vector<double> turned_window(const stage::FeatureMaps::Problem& p, const std::uint8_t* pixels,
                                  const Cropping& from) {
  constexpr double unit = 1.0 / (1 << 16);
  std::vector<double> window;
  for (int i = 0; i < window_size * window_size; ++i) {
    const int column = i % window_size * from.samples, row = i / window_size * from.samples;
    double sum = 0;
    for (int y = row; y < row + from.samples; ++y)
      for (int x = column; x < column + from.samples; ++x) {
        const double dx = x, dy = y;
        sum += read_at(
            p, pixels,
            unit * (static_cast<double>(from.x) + dx * from.x_by_column + dy * from.x_by_row),
            unit * (static_cast<double>(from.y) + dx * from.y_by_column + dy * from.y_by_row));
      }
    window.push_back(std::floor(sum / (from.samples * from.samples) + 0.5));
  }
  return window;
}

namespace {

/// [cell][direction], with the cells around those of the window.
struct Histograms {
  std::vector<double> of = std::vector<double>((grid + 2) * (grid + 2) * directions);

  double& at(int x, int y, int k) { return of[((y + 1) * (grid + 2) + x + 1) * directions + k]; }
  double both(int x, int y, int k) { return at(x, y, k) + at(x, y, k + orientations); }
  double energy(int x, int y) {
    x = std::clamp(x, 0, grid - 1), y = std::clamp(y, 0, grid - 1);
    double sum = 0;
    for (int k = 0; k < orientations; ++k) sum += both(x, y, k) * both(x, y, k);
    return sum;
  }
};

Histograms histograms_of(const std::vector<double>& window) {
  const auto at = [&](int x, int y) {
    return window[std::clamp(y, 0, window_size - 1) * window_size +
                  std::clamp(x, 0, window_size - 1)];
  };
  const auto share = [](int pixel, int in_cell) {
    return std::max(0.0, 1 - std::abs((pixel + 0.5) / cell - (in_cell + 0.5)));
  };
  Histograms histograms;
  for (int y = 0; y < window_size; ++y)
    for (int x = 0; x < window_size; ++x) {
      const double gx = at(x + 1, y) - at(x - 1, y), gy = at(x, y + 1) - at(x, y - 1);
      int direction = 0;
      double longest = 0;
      for (int k = 0; k < orientations; ++k) {
        const double angle = k * std::numbers::pi / orientations;
        const double along = gx * std::cos(angle) + gy * std::sin(angle);
        if (std::abs(along) <= longest) continue;
        longest = std::abs(along);
        direction = along > 0 ? k : k + orientations;
      }
      for (int cy = y / cell - 1; cy <= y / cell + 1; ++cy)
        for (int cx = x / cell - 1; cx <= x / cell + 1; ++cx)
          histograms.at(cx, cy, direction) += share(x, cx) * share(y, cy) * std::hypot(gx, gy);
    }
  return histograms;
}

/// Blue's and red's distance from gray, of 2 x 2 pixels of a window.
std::array<double, 2> chroma_at(const stage::FeatureMaps::Problem& p,
                                const std::uint8_t* const (&planes)[color_planes],
                                const Cropping& window, int x, int y) {
  const auto along = [&](std::int64_t first, std::int64_t by_column, std::int64_t by_row,
                         int length) {
    const std::int64_t place =
        first + window.samples * ((2 * x + 1) * by_column + (2 * y + 1) * by_row);
    const double nearest = std::floor(static_cast<double>(place) / 65536 + 0.5);
    return static_cast<int>(std::clamp<double>(nearest, 0, length - 1));
  };
  const int at_x = along(window.x, window.x_by_column, window.x_by_row, p.frame.width);
  const int at_y = along(window.y, window.y_by_column, window.y_by_row, p.frame.height);
  const auto value = [&](int i) -> int {
    const auto& [pitch, step, position, shift_x, shift_y] = p.colors.planes[i];
    const int wide = 1 << shift_x, high = 1 << shift_y;
    return planes[i][at_y / high * pitch + at_x / wide * step + position];
  };
  if (p.colors.colors == Colors::none) return {};
  if (p.colors.colors == Colors::luma_chroma) return {value(1) - 128.0, value(2) - 128.0};
  const int luma = (77 * value(0) + 150 * value(1) + 29 * value(2) + 128) / 256;
  return {std::trunc((value(2) - luma) * 9 / 16.0), std::trunc((value(0) - luma) * 23 / 32.0)};
}

constexpr float parameters[] = {
#include "stages/tracker/learned_channels.inc"
};

/// Channels of square maps.
struct Maps {
  int side, count;
  std::vector<double> of = std::vector<double>(std::size_t(side) * side * count);

  double& at(int x, int y, int k) { return of[(std::size_t(y) * side + x) * count + k]; }
  bool has(int x, int y) const { return x >= 0 && y >= 0 && x < side && y < side; }
};

Maps convolved(int layer, Maps from) {
  const Convolution& made = convolutions[layer];
  const float* const weights = parameters + first_parameter(layer);
  Maps to{made.out_side(), made.out};
  for (int y = 0; y < to.side; ++y)
    for (int x = 0; x < to.side; ++x)
      for (int k = 0; k < made.out; ++k) {
        double sum = weights[made.weights() + k];
        for (int i = 0; i < made.size * made.size; ++i) {
          const int column = x * made.stride + i % made.size - made.before(),
                    row = y * made.stride + i / made.size - made.before();
          if (!from.has(column, row)) continue;
          const double* const values = &from.at(column, row, 0);
          const float* const of_place = weights + i * made.in * made.out + k;
          for (int c = 0; c < made.in; ++c) sum += of_place[c * made.out] * values[c];
        }
        to.at(x, y, k) = layer + 1 < convolution_count ? std::max(sum, 0.0) : sum;
      }
  return to;
}

/// Of all cells.
std::vector<std::array<double, learned_channels>> learned_of(
    const std::vector<double>& window, const stage::FeatureMaps::Problem& p,
    const std::uint8_t* const (&planes)[color_planes], const Cropping& cropping) {
  Maps pixels{window_size, 3};
  for (int y = 0; y < window_size; ++y)
    for (int x = 0; x < window_size; ++x) {
      const auto [blue, red] = chroma_at(p, planes, cropping, x / 2, y / 2);
      pixels.at(x, y, 0) = (window[y * window_size + x] - 128) / 64;
      pixels.at(x, y, 1) = blue / 32;
      pixels.at(x, y, 2) = red / 32;
    }
  Maps first = convolved(0, pixels), even = first;
  for (int y = 0; y < first.side; ++y)
    for (int x = 0; x < first.side; ++x) {
      double squares = 0;
      for (int i = 0; i < 25; ++i)
        for (int k = 0; k < first.count; ++k)
          if (const int u = x + i % 5 - 2, v = y + i / 5 - 2; first.has(u, v))
            squares += std::pow(first.at(u, v, k), 2);
      for (int k = 0; k < first.count; ++k)
        even.at(x, y, k) /= std::sqrt(squares / (25 * first.count) + 0.05);
    }
  Maps last = convolved(2, convolved(1, even));
  std::vector<std::array<double, learned_channels>> learned(cells);
  for (int i = 0; i < cells; ++i) {
    double squares = 0.05;
    for (int k = 0; k < learned_channels; ++k)
      squares += std::pow(last.at(i % grid, i / grid, k), 2);
    for (int k = 0; k < learned_channels; ++k)
      learned[i][k] =
          parameters[first_gain + directions] * last.at(i % grid, i / grid, k) / std::sqrt(squares);
  }
  return learned;
}

void describe(const std::vector<double>& window,
              const std::vector<std::array<double, learned_channels>>& learned, float* out,
              double* energies) {
  Histograms histograms = histograms_of(window);
  std::fill_n(energies, energy_parts, 0.0);
  for (int y = 0; y < grid; ++y) {
    for (int x = 0; x < grid; ++x) {
      double values[channels] = {};
      for (int i = 0; i < 4; ++i) {
        const int nx = i & 1 ? x + 1 : x - 1, ny = i & 2 ? y + 1 : y - 1;
        const double contrast =
            std::sqrt(histograms.energy(x, y) + histograms.energy(nx, y) +
                      histograms.energy(x, ny) + histograms.energy(nx, ny) + 0.1);
        for (int k = 0; k < directions; ++k)
          values[k] += std::min(histograms.at(x, y, k) / contrast, 0.2) / 2;
      }
      for (int k = 0; k < directions; ++k) values[k] *= parameters[first_gain + k];
      std::ranges::copy(learned[y * grid + x], values + directions);
      const auto faded = [](int i) {
        return 0.5 - 0.5 * std::cos(2 * std::numbers::pi * (i + 1) / (grid + 1));
      };
      for (int k = 0; k < channels; ++k) {
        const double value = values[k] * faded(x) * faded(y);
        out[place_of(y * grid + x, k)] = static_cast<float>(value);
        energies[y] += value * value;
      }
    }
  }
}

Status channels_of(const stage::FeatureMaps::Problem& p, const Device&,
                   const stage::FeatureMaps::Buffers& b, PlanState*) {
  const std::uint8_t* const planes[] = {b.plane_0, b.plane_1, b.plane_2};
  for (int i = 0; i < p.windows; ++i) {
    if (b.looks[i].side == 0) continue;
    const std::vector<double> window = p.turned ? turned_window(p, b.pixels, b.croppings[i])
                                                : upright_window(p, b.pixels, b.looks[i]);
    describe(window, learned_of(window, p, planes, b.croppings[i]),
             b.channels + std::int64_t{i} * cells * channels,
             b.energies + std::int64_t{i} * energy_parts);
  }
  return {};
}

constexpr Variant<stage::FeatureMaps> feature_maps_table[] = {
    {{.name = "reference", .backend = Backend::cpu, .features = Feature::u8},
     {.launch = channels_of}}};

}  // namespace

Family reference_features_family() { return Family(feature_maps_table); }

}  // namespace xcorr::cpu
