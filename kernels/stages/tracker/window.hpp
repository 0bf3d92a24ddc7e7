// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The windows in which filters look: square parts of a frame, at any angle, resampled to 160 x 160
// pixels in cells of 4 x 4.
#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>

#include "stages/common/host_device.hpp"

namespace xcorr::tracker {

constexpr int cell = 4;   ///< pixels
constexpr int grid = 40;  ///< cells of a window in each direction
constexpr int cells = grid * grid;
constexpr int window_size = grid * cell;

/// A look at a square part of a frame, pixels, with a filter.
struct Look {
  double x, y;   ///< of its middle
  double side;   ///< 0: there is none, and what would be made of it stays as it is
  double scale;  ///< the target's size there, relative to that when it was shown first
  std::int32_t filter;
};

/// A pixel of a frame.
struct PixelPlace {
  int x, y;
};

/// Places in a frame, in 2^-16 of a pixel: the first one, and from one to the next along the rows
/// and the columns of an image.
struct Cropping {
  static constexpr int most_samples = 4;

  std::int64_t x = 0, y = 0;
  std::int32_t x_by_column = 0, y_by_column = 0, x_by_row = 0, y_by_row = 0;
  std::int32_t samples = 0;  ///< of a pixel in each direction; 0: no image is made

  Cropping() = default;
  /// What a look sees at an angle, in degrees, counter-clockwise as seen.
  Cropping(const Look& look, double angle) {
    if (look.side == 0) return;
    const double pixel = look.side / window_size;
    samples = std::clamp(static_cast<int>(std::ceil(pixel - 1e-9)), 1, most_samples);
    const double turned = angle * std::numbers::pi / 180, step = pixel / samples * (1 << 16);
    x_by_column = y_by_row = static_cast<std::int32_t>(std::lround(step * std::cos(turned)));
    x_by_row = static_cast<std::int32_t>(std::lround(step * std::sin(turned)));
    y_by_column = -x_by_row;
    // The middle lies between the two samples next to it.
    const int before = window_size * samples - 1;
    const auto first = [&](double middle, std::int32_t by_column, std::int32_t by_row) {
      return std::llround((middle - 0.5) * (1 << 16)) -
             (std::int64_t{by_column} + by_row) * before / 2;
    };
    x = first(look.x, x_by_column, x_by_row);
    y = first(look.y, y_by_column, y_by_row);
  }

  /// The nearest one to a pixel of the image.
  XCORR_HD PixelPlace nearest(int column, int row) const {
    constexpr int half = 1 << 15;
    const std::int64_t i = std::int64_t{column} * samples, j = std::int64_t{row} * samples;
    return {static_cast<int>((x + i * x_by_column + j * x_by_row + half) >> 16),
            static_cast<int>((y + i * y_by_column + j * y_by_row + half) >> 16)};
  }
  /// The same of one of the four pixels of a cell that stand for all of it.
  XCORR_HD PixelPlace nearest_in_cell(int x_of_cell, int y_of_cell, int i) const {
    return nearest(x_of_cell * cell + 1 + i % 2 * 2, y_of_cell * cell + 1 + i / 2 * 2);
  }
};

}  // namespace xcorr::tracker
