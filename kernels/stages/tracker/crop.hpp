// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage crop: square parts of a frame, at any angle -> images of them, upright, of 160 x 160
// pixels, one below the other: what the stage feature_maps sees of targets that turn. A pixel is
// the mean of places in the frame that are read bilinearly, all in integers, so that every backend
// makes the same images.
#pragma once

#include "stages/common/stage.hpp"
#include "stages/image/luma.hpp"
#include "stages/tracker/window.hpp"

namespace xcorr {
namespace tracker {

/// The look, through the stage feature_maps, at an image among others.
inline Look look_at_image(const Look& look, int image) {
  if (look.side == 0) return look;
  const double middle = window_size / 2.0;
  return {middle, image * window_size + middle, window_size, look.scale, look.filter};
}

}  // namespace tracker

namespace stage {

struct Crop {
  static constexpr const char* name = "crop";

  struct Problem {
    Size frame;  ///< outside, its edge pixels are repeated
    /// What of the frame is there. Places outside are read at its edge.
    Rect part;
    std::int64_t pitch = 0;  ///< bytes; may be negative
    PixelLayout layout = {};
    int images = 1;

    constexpr Features features() const { return Feature::u8; }
  };

  struct Buffers : Launch {
    const std::uint8_t* pixels = nullptr;  ///< the part's first one
    const tracker::Cropping* croppings = nullptr;
    std::uint8_t* images = nullptr;  ///< dense
  };

  template <class Visit>
  static void arguments(const Problem& p, Visit visit) {
    visit("pixels", &Buffers::pixels,
          Extent{(p.part.height - 1) * p.pitch + std::int64_t{p.part.width} * p.layout.bytes, 1});
    visit("croppings", &Buffers::croppings, records<tracker::Cropping>(p.images));
    visit("images", &Buffers::images,
          records<std::uint8_t>(std::int64_t{p.images} * tracker::window_size *
                                tracker::window_size));
  }
};

}  // namespace stage

namespace tracker {

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

/// Of all samples of an image's pixel, the first of which is read at that place.
template <int samples, class LumaAt>
XCORR_HD std::uint32_t sum_of(const Cropping& from, std::int32_t x, std::int32_t y,
                              const LumaAt& luma_at) {
  std::uint32_t sum = 0;
  for (int n = 0; n < samples; ++n)
    for (int m = 0; m < samples; ++m)
      sum += read_between(x + m * from.x_by_column + n * from.x_by_row,
                          y + m * from.y_by_column + n * from.y_by_row, luma_at);
  return sum;
}
template <class LumaAt>
XCORR_HD std::uint32_t sum_of_samples(const Cropping& from, std::int32_t x, std::int32_t y,
                                      const LumaAt& luma_at) {
  static_assert(Cropping::most_samples == 4);
  switch (from.samples) {
    case 1:
      return sum_of<1>(from, x, y, luma_at);
    case 2:
      return sum_of<2>(from, x, y, luma_at);
    case 3:
      return sum_of<3>(from, x, y, luma_at);
    default:
      return sum_of<4>(from, x, y, luma_at);
  }
}

/// An image's pixel.
template <int bytes>
XCORR_HD std::uint8_t cropped(const stage::Crop::Problem& p, const std::uint8_t* pixels,
                              const Cropping& from, int column, int row) {
  const std::int64_t i = std::int64_t{column} * from.samples, j = std::int64_t{row} * from.samples;
  const std::int64_t x = from.x + i * from.x_by_column + j * from.x_by_row;
  const std::int64_t y = from.y + i * from.y_by_column + j * from.y_by_row;
  // A frame may be anywhere; from the part's pixel that is read first all others are near.
  const int left = static_cast<int>(x >> 16) - p.part.x, top = static_cast<int>(y >> 16) - p.part.y;
  const auto first_x = static_cast<std::int32_t>(x & 0xffff),
             first_y = static_cast<std::int32_t>(y & 0xffff);
  // So far in either direction: the image's columns are at right angles to its rows.
  const int reach =
      ((from.samples - 1) * (std::abs(from.x_by_column) + std::abs(from.x_by_row)) >> 16) + 2;
  std::uint32_t sum;
  if (left >= reach && left + reach < p.part.width && top >= reach && top + reach < p.part.height) {
    const std::uint8_t* const first = pixels + top * p.pitch + std::int64_t{left} * bytes;
    const auto pitch = static_cast<std::int32_t>(p.pitch);
    sum = sum_of_samples(from, first_x, first_y, [&](int u, int v) -> std::uint32_t {
      return luma_of<bytes>(p.layout, first + (v * pitch + u * bytes));
    });
  } else {
    sum = sum_of_samples(from, first_x, first_y, [&](int u, int v) -> std::uint32_t {
      const std::int64_t column = std::clamp(left + u, 0, p.part.width - 1);
      const int row = std::clamp(top + v, 0, p.part.height - 1);
      return luma_of<bytes>(p.layout, pixels + row * p.pitch + column * bytes);
    });
  }
  const auto places = static_cast<std::uint32_t>(from.samples * from.samples) << 16;
  return static_cast<std::uint8_t>((sum + places / 2) / places);
}

}  // namespace tracker
}  // namespace xcorr
