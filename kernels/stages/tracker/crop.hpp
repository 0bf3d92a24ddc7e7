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

/// What is read bilinearly at a place, in 2^-16 of a gray level.
template <int bytes>
XCORR_HD std::uint32_t read_between(const stage::Crop::Problem& p, const std::uint8_t* pixels,
                                    std::int64_t x, std::int64_t y) {
  const auto within = [](std::int64_t at, int begin, int length) {
    return static_cast<int>(at < begin ? 0 : at < begin + length ? at - begin : length - 1);
  };
  const int left = within(x >> 16, p.part.x, p.part.width);
  const int right = within((x >> 16) + 1, p.part.x, p.part.width);
  const int above = within(y >> 16, p.part.y, p.part.height);
  const int below = within((y >> 16) + 1, p.part.y, p.part.height);
  const auto luma = [&](int column, int row) -> std::uint32_t {
    return luma_of<bytes>(p.layout, pixels + row * p.pitch + std::int64_t{column} * bytes);
  };
  const auto across = static_cast<std::uint32_t>(x >> 8 & 255);
  const auto down = static_cast<std::uint32_t>(y >> 8 & 255);
  const std::uint32_t upper = luma(left, above) * (256 - across) + luma(right, above) * across;
  const std::uint32_t lower = luma(left, below) * (256 - across) + luma(right, below) * across;
  return upper * (256 - down) + lower * down;
}

/// An image's pixel.
template <int bytes>
XCORR_HD std::uint8_t cropped(const stage::Crop::Problem& p, const std::uint8_t* pixels,
                              const Cropping& from, int column, int row) {
  const std::int64_t i = std::int64_t{column} * from.samples, j = std::int64_t{row} * from.samples;
  const std::int64_t x = from.x + i * from.x_by_column + j * from.x_by_row;
  const std::int64_t y = from.y + i * from.y_by_column + j * from.y_by_row;
  std::uint32_t sum = 0;
  for (int n = 0; n < from.samples; ++n)
    for (int m = 0; m < from.samples; ++m)
      sum += read_between<bytes>(p, pixels, x + m * from.x_by_column + n * from.x_by_row,
                                 y + m * from.y_by_column + n * from.y_by_row);
  const auto places = static_cast<std::uint32_t>(from.samples * from.samples) << 16;
  return static_cast<std::uint8_t>((sum + places / 2) / places);
}

}  // namespace tracker
}  // namespace xcorr
