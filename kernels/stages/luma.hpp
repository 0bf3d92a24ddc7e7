// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The luma of packed pixels (see PixelLayout): its formula, once for the CPU and the GPU, and the
// conversion of a picture, which each backend's Runtime has.
#pragma once

#include <string>

#include <xcorr/types.hpp>

#include "stages/host_device.hpp"

namespace xcorr {

/// Of the pixel at `pixel`; `bytes` is the layout's.
template <int bytes>
XCORR_HD inline std::uint8_t luma_of(const PixelLayout& layout, const std::uint8_t* pixel) {
  int sum = 128;
  for (int i = 0; i < bytes; ++i) sum += layout.weights[i] * pixel[i];
  return static_cast<std::uint8_t>(sum >> 8);
}

/// Rows of pixels that become rows of their luma.
struct LumaCopy {
  std::uint8_t* to;
  std::ptrdiff_t to_pitch;
  const std::uint8_t* from;
  std::ptrdiff_t from_pitch;
  Size size;
  PixelLayout pixels;
};

namespace cpu {
Status copy_luma(const LumaCopy& copy, Stream stream);
}

namespace cuda {
/// Of pixels of 2 to 4 bytes. `to` and `to_pitch` are multiples of 4; up to three bytes of the
/// pitch past the width are overwritten.
Status copy_luma(const LumaCopy& copy, Stream stream);
}  // namespace cuda

/// Whether rows of such elements can lie so. Errors (invalid_argument) name the matrix.
Status check_rows(const MatrixView& view, const std::string& name);

}  // namespace xcorr
