// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The luma of a mapped video frame as the library's view of a matrix. Nothing is copied, in host
// memory or on the GPU: the library picks the luma out of interleaved components, and computes it
// from packed RGB.
#pragma once

#include <gst/video/video.h>

#include <xcorr/types.hpp>

#include "common/mapped_frame.h"

namespace cudaxcorr {

/// The formats that the element takes in system memory, for caps.
#define CUDAXCORR_FORMATS                                                                       \
  "{ GRAY8, NV12, NV21, I420, YV12, Y42B, Y444, YUY2, UYVY, RGB, BGR, RGBx, xRGB, BGRx, xBGR, " \
  "RGBA, ARGB, BGRA, ABGR }"

/// Those of them that GStreamer 1.22 has in CUDA memory.
#define CUDAXCORR_GPU_FORMATS                                                                  \
  "{ NV12, NV21, I420, YV12, Y42B, Y444, YUY2, UYVY, RGB, BGR, RGBx, BGRx, RGBA, ARGB, BGRA, " \
  "ABGR }"

/// The picture of a frame, of one of these formats, that is mapped in that memory; the view is
/// valid while it is.
xcorr::MatrixView luma_view(const MappedFrame& mapped, xcorr::Memory memory = xcorr::Memory::host);

}  // namespace cudaxcorr
