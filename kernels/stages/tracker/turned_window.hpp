// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The pixels of windows that are turned. Each is the mean of places in the frame that are read
// bilinearly, all in integers, so that every backend makes the same ones.
#pragma once

#include "stages/image/luma.hpp"
#include "stages/tracker/feature_maps.hpp"

namespace xcorr::tracker {

/// What is read bilinearly, in 2^-16 of a gray level. \param x, y  in 2^-16 of a pixel \param
/// luma_at that of a pixel
template <class LumaAt>
XCORR_HD std::uint32_t read_between(std::int32_t x, std::int32_t y, const LumaAt& luma_at) {
  const int left = x >> 16, top = y >> 16;
  const auto across = static_cast<std::uint32_t>(x >> 8 & 255);
  const auto down = static_cast<std::uint32_t>(y >> 8 & 255);
  const std::uint32_t upper = luma_at(left, top) * (256 - across) + luma_at(left + 1, top) * across;
  const std::uint32_t lower =
      luma_at(left, top + 1) * (256 - across) + luma_at(left + 1, top + 1) * across;
  return upper * (256 - down) + lower * down;
}

/// The mean of all samples of a pixel, the first of which is read at that place: a whole gray
/// level.
template <int samples, class LumaAt>
XCORR_HD int mean_of(const Cropping& from, std::int32_t x, std::int32_t y, const LumaAt& luma_at) {
  constexpr std::uint32_t places = samples * samples << 16;
  std::uint32_t sum = places / 2;
  for (int n = 0; n < samples; ++n)
    for (int m = 0; m < samples; ++m)
      sum += read_between(x + m * from.x_by_column + n * from.x_by_row,
                          y + m * from.y_by_column + n * from.y_by_row, luma_at);
  return static_cast<int>(sum / places);
}
template <class LumaAt>
XCORR_HD int mean_of_samples(const Cropping& from, std::int32_t x, std::int32_t y,
                             const LumaAt& luma_at) {
  static_assert(Cropping::most_samples == 4);
  switch (from.samples) {
    case 1:
      return mean_of<1>(from, x, y, luma_at);
    case 2:
      return mean_of<2>(from, x, y, luma_at);
    case 3:
      return mean_of<3>(from, x, y, luma_at);
    default:
      return mean_of<4>(from, x, y, luma_at);
  }
}

/// A pixel of a turned window.
template <int bytes>
XCORR_HD int turned_pixel(const stage::FeatureMaps::Problem& p, const std::uint8_t* pixels,
                          const Cropping& from, int column, int row) {
  const std::int64_t i = std::int64_t{column} * from.samples, j = std::int64_t{row} * from.samples;
  const std::int64_t x = from.x + i * from.x_by_column + j * from.x_by_row;
  const std::int64_t y = from.y + i * from.y_by_column + j * from.y_by_row;
  // A window may be anywhere; from the pixel that is read first all others are near.
  const int left = static_cast<int>(x >> 16), top = static_cast<int>(y >> 16);
  const auto first_x = static_cast<std::int32_t>(x & 0xffff),
             first_y = static_cast<std::int32_t>(y & 0xffff);
  // So far in either direction: the window's columns are at right angles to its rows.
  const int reach =
      ((from.samples - 1) * (std::abs(from.x_by_column) + std::abs(from.x_by_row)) >> 16) + 2;
  if (left >= reach && left + reach < p.frame.width && top >= reach &&
      top + reach < p.frame.height) {
    const std::uint8_t* const first = pixels + top * p.pitch + std::int64_t{left} * bytes;
    const auto pitch = static_cast<std::int32_t>(p.pitch);
    return mean_of_samples(from, first_x, first_y, [&](int u, int v) -> std::uint32_t {
      return luma_of<bytes>(p.layout, first + (v * pitch + u * bytes));
    });
  }
  return mean_of_samples(from, first_x, first_y, [&](int u, int v) -> std::uint32_t {
    const std::int64_t column = std::clamp(left + u, 0, p.frame.width - 1);
    const int row = std::clamp(top + v, 0, p.frame.height - 1);
    return luma_of<bytes>(p.layout, pixels + row * p.pitch + column * bytes);
  });
}

}  // namespace xcorr::tracker
