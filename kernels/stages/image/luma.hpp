// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage luma: packed pixels (see PixelLayout) -> their luma, by one formula for the CPU and the
// GPU: of an image, or of several parts of it, each of which becomes an image. Or the planes of an
// image's colour, each of which is made as its luma would be.
#pragma once

#include <algorithm>

#include "stages/common/host_device.hpp"
#include "stages/common/stage.hpp"

namespace xcorr {

/// The luma of the pixel at `pixel`; `bytes` is the layout's.
template <int bytes>
XCORR_HD inline std::uint8_t luma_of(const PixelLayout& layout, const std::uint8_t* pixel) {
  int sum = 128;
  for (int i = 0; i < bytes; ++i) sum += layout.weights[i] * pixel[i];
  return static_cast<std::uint8_t>(sum >> 8);
}

/// Of a part of an image: its first pixel's place in the luma.
struct PartCorner {
  std::int32_t x, y;
};

namespace stage {

struct Luma {
  static constexpr const char* name = "luma";

  /// What a plane is made of.
  struct Source {
    PixelLayout layout;
    std::int64_t pitch = 0;  ///< bytes from row to row of the pixels
    std::int64_t place = 0;  ///< bytes from Buffers::pixels to the first one
    /// 1: a pixel is two of the luma in that direction. Where that is `odd`, the first one only
    /// one; not of parts, which may begin at any of the two.
    int halved_x = 0, halved_y = 0, odd_x = 0, odd_y = 0;

    /// The pixels that make a luma of that size.
    constexpr Size pixels(Size luma) const {
      return {((odd_x + luma.width - 1) >> halved_x) + 1,
              ((odd_y + luma.height - 1) >> halved_y) + 1};
    }
    /// Whether the other is of the same pixels.
    constexpr bool shares_pixels_of(const Source& other) const {
      return place == other.place && pitch == other.pitch && layout.bytes == other.layout.bytes &&
             halved_x == other.halved_x && halved_y == other.halved_y && odd_x == other.odd_x &&
             odd_y == other.odd_y;
    }
  };

  struct Problem {
    Size size;  ///< of the luma: the image's, or each part's
    Source sources[color_planes] = {};
    std::int64_t luma_pitch = 0;  ///< of the luma: a multiple of 4, at least the width

    int parts = 0;                 ///< 0: the whole image
    Size image = {};               ///< the luma of all of it, where there are parts
    std::int64_t luma_stride = 0;  ///< bytes from one part or plane to the next: a multiple of 4
    int planes = 1;                ///< how many of the sources there are; one where there are parts

    constexpr Features features() const {
      const bool halved = std::any_of(sources, sources + planes, [](const Source& source) {
        return source.halved_x || source.halved_y;
      });
      return Features(Feature::u8)
          .with(Feature::several_images, parts > 0)
          .with(Feature::subsampled, halved)
          .with(Feature::planes, planes > 1);
    }
    /// Of all sources' pixels, from the first one's on.
    constexpr std::int64_t pixel_bytes() const {
      std::int64_t end = 0;
      for (int i = 0; i < planes; ++i) {
        const Source& source = sources[i];
        const Size read = source.pixels(parts ? image : size);
        end = std::max(end, source.place + (read.height - 1) * source.pitch +
                                std::int64_t{read.width} * source.layout.bytes);
      }
      return end;
    }
  };

  struct Buffers : Launch {
    const std::uint8_t* pixels = nullptr;
    /// On a 4-byte boundary. Up to three bytes of a row's pitch past the width are overwritten.
    std::uint8_t* luma = nullptr;
    const PartCorner* corners = nullptr;  ///< of the parts; they lie inside the image
  };

  template <class Visit>
  static void arguments(const Problem& p, Visit visit) {
    visit("pixels", &Buffers::pixels, Extent{p.pixel_bytes(), 1});
    visit("corners", &Buffers::corners, records<PartCorner>(p.parts));
    visit("luma", &Buffers::luma,
          Extent{(std::max(p.parts, p.planes) - 1) * p.luma_stride + p.size.height * p.luma_pitch});
  }
};

}  // namespace stage
}  // namespace xcorr
