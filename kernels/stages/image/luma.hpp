// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage luma: packed pixels (see PixelLayout) -> their luma, by one formula for the CPU and the
// GPU: of an image, or of several parts of it, each of which becomes an image.
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

  struct Problem {
    Size size;  ///< of the luma: the image's, or each part's
    PixelLayout layout;
    std::int64_t pitch = 0;       ///< bytes from row to row of the pixels
    std::int64_t luma_pitch = 0;  ///< of the luma: a multiple of 4, at least the width

    int parts = 0;                 ///< 0: the whole image
    Size image = {};               ///< the luma of all of it, where there are parts
    std::int64_t luma_stride = 0;  ///< bytes from one part's luma to the next: a multiple of 4

    /// 1: a pixel is two of the luma in that direction. Where that is `odd`, the first one only
    /// one; not of parts, which may begin at any of the two.
    int halved_x = 0, halved_y = 0, odd_x = 0, odd_y = 0;

    constexpr Features features() const {
      return Features(Feature::u8)
          .with(Feature::several_images, parts > 0)
          .with(Feature::subsampled, halved_x || halved_y);
    }
    /// The pixels that make the luma of all.
    constexpr Size pixels() const {
      const Size all = parts ? image : size;
      return {((odd_x + all.width - 1) >> halved_x) + 1,
              ((odd_y + all.height - 1) >> halved_y) + 1};
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
    const Size read = p.pixels();
    visit("pixels", &Buffers::pixels,
          Extent{(read.height - 1) * p.pitch + std::int64_t{read.width} * p.layout.bytes, 1});
    visit("corners", &Buffers::corners, records<PartCorner>(p.parts));
    visit("luma", &Buffers::luma,
          Extent{std::max(p.parts - 1, 0) * p.luma_stride + p.size.height * p.luma_pitch});
  }
};

}  // namespace stage
}  // namespace xcorr
