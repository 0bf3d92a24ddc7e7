// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage luma: packed pixels (see PixelLayout) -> their luma, by one formula for the CPU and the
// GPU.
#pragma once

#include "stages/host_device.hpp"
#include "stages/stage.hpp"

namespace xcorr {

/// The luma of the pixel at `pixel`; `bytes` is the layout's.
template <int bytes>
XCORR_HD inline std::uint8_t luma_of(const PixelLayout& layout, const std::uint8_t* pixel) {
  int sum = 128;
  for (int i = 0; i < bytes; ++i) sum += layout.weights[i] * pixel[i];
  return static_cast<std::uint8_t>(sum >> 8);
}

namespace stage {

struct Luma {
  static constexpr const char* name = "luma";

  struct Problem {
    Size size;
    PixelLayout layout;
    std::int64_t pitch = 0;       ///< bytes from row to row of the pixels
    std::int64_t luma_pitch = 0;  ///< of the luma: a multiple of 4, at least the width

    constexpr Features features() const { return Feature::u8; }
  };

  struct Buffers : Launch {
    const std::uint8_t* pixels = nullptr;
    /// On a 4-byte boundary. Up to three bytes of a row's pitch past the width are overwritten.
    std::uint8_t* luma = nullptr;
  };

  template <class Visit>
  static void arguments(const Problem& p, Visit visit) {
    const std::int64_t rows = p.size.height - 1;
    visit("pixels", &Buffers::pixels,
          Extent{rows * p.pitch + std::int64_t{p.size.width} * p.layout.bytes, 1});
    visit("luma", &Buffers::luma, Extent{(rows + 1) * p.luma_pitch});
  }

  using Extra = NoExtra;
};

}  // namespace stage
}  // namespace xcorr
