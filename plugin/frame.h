// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The luma of a mapped video frame as a matrix of bytes. A plane of luma is used where it lies, on
// the GPU too; luma between other components (YUY2, UYVY) and that of packed RGB is gathered into a
// buffer, from host memory.
#pragma once

#include <cstdint>
#include <vector>

#include <gst/video/video.h>

#include <xcorr/types.hpp>

namespace cudaxcorr {

/// The formats of system memory that the element takes, for caps.
#define CUDAXCORR_FORMATS                                                                       \
  "{ GRAY8, NV12, NV21, I420, YV12, YUY2, UYVY, RGB, BGR, RGBx, xRGB, BGRx, xBGR, RGBA, ARGB, " \
  "BGRA, ABGR }"

/// Those of a GPU's memory: has_luma_plane() is true of them.
#define CUDAXCORR_GPU_FORMATS "{ NV12, NV21, I420, YV12 }"

/// Weights of R, G and B in the luma of packed RGB, in 256ths: BT.601's, full range. They add up
/// to 256, so gray stays as it is.
struct LumaWeights {
  int red, green, blue;
};
inline constexpr LumaWeights luma_weights{77, 150, 29};

/// Whether the luma lies by itself, one byte a pixel.
bool has_luma_plane(const GstVideoInfo& info);

class Luma {
 public:
  /// Of a frame mapped in that memory; in device memory only with a plane of luma. Valid while the
  /// frame is mapped and until the next call.
  xcorr::MatrixView view(const GstVideoFrame& frame, xcorr::Memory memory = xcorr::Memory::host);

 private:
  std::vector<std::uint8_t> buffer_;
};

}  // namespace cudaxcorr
