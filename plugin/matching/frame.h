// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The luma of a mapped video frame as the library's view of a matrix. Nothing is copied, in host
// memory or on the GPU: the library picks the luma out of interleaved components, and computes it
// from packed RGB. Luma of more than 8 bits is taken as its 16-bit words are.
#pragma once

#include <gst/video/video.h>

#include <xcorr/types.hpp>

#include "common/mapped_frame.h"

namespace cudaxcorr {

/// The formats of 8 bits that elements take in system memory, for caps.
#define CUDAXCORR_FORMATS                                                                       \
  "{ GRAY8, NV12, NV21, I420, YV12, Y42B, Y444, YUY2, UYVY, RGB, BGR, RGBx, xRGB, BGRx, xBGR, " \
  "RGBA, ARGB, BGRA, ABGR }"

/// Those of them that GStreamer 1.22 has in CUDA memory.
#define CUDAXCORR_GPU_FORMATS                                                                  \
  "{ NV12, NV21, I420, YV12, Y42B, Y444, YUY2, UYVY, RGB, BGR, RGBx, BGRx, RGBA, ARGB, BGRA, " \
  "ABGR }"

/// Those of 10 to 16 bits, in system memory and in CUDA memory.
#define CUDAXCORR_DEEP_FORMATS "{ GRAY16_LE, P010_10LE, I420_10LE }"
#define CUDAXCORR_DEEP_GPU_FORMATS "{ P010_10LE, I420_10LE }"

/// u8, or u16 for those of more bits.
xcorr::ElementType luma_type(const GstVideoInfo& info);

/// The levels of its luma in memory from one of 256 to the next.
int levels_of_gray(const GstVideoInfo& info);

/// Why the luma of a mapped frame cannot be read, or null if it can: words of 16 bits may begin at
/// odd addresses, or rows lie from the last to the first.
const char* fault_of_luma(const MappedFrame& mapped);

/// The image of a frame, of one of these formats, that is mapped in that memory; the view is
/// valid while it is.
xcorr::MatrixView luma_view(const MappedFrame& mapped, xcorr::Memory memory = xcorr::Memory::host);

}  // namespace cudaxcorr
