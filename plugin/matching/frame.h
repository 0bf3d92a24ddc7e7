// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A mapped video frame as a matrix of pixels whose luma counts. It is used where it lies, in host
// memory or on the GPU: the library reads luma from between other components and makes that of
// packed RGB.
#pragma once

#include <gst/video/video.h>

#include <xcorr/types.hpp>

namespace cudaxcorr {

/// The formats of system memory that the element takes, for caps.
#define CUDAXCORR_FORMATS                                                                       \
  "{ GRAY8, NV12, NV21, I420, YV12, Y42B, Y444, YUY2, UYVY, RGB, BGR, RGBx, xRGB, BGRx, xBGR, " \
  "RGBA, ARGB, BGRA, ABGR }"

/// Of these, those that GStreamer's CUDA memory has, by version 1.22.
#define CUDAXCORR_GPU_FORMATS                                                                  \
  "{ NV12, NV21, I420, YV12, Y42B, Y444, YUY2, UYVY, RGB, BGR, RGBx, BGRx, RGBA, ARGB, BGRA, " \
  "ABGR }"

/// Of a frame of these formats mapped in that memory; valid while it is.
xcorr::MatrixView luma_view(const GstVideoFrame& frame, xcorr::Memory memory = xcorr::Memory::host);

}  // namespace cudaxcorr
