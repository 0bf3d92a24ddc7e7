// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Frames in `memory:NVMM`, as decoders and converters on Jetson and in DeepStream have them: their
// buffers hold an NvBufSurface, which says where the planes are.
#pragma once

#include <memory>

#include <gst/video/video.h>

#include "common/mapped_frame.h"

namespace cudaxcorr::nvmm {

inline constexpr char feature[] = "memory:NVMM";

bool is_in_nvmm(const GstCaps* caps);

/// CUDA's number of the GPU that may read the frame where it lies, in the device's primary context,
/// which is that of NVIDIA's elements. -1 if none may.
int gpu_of(GstBuffer* frame);

/// For that GPU, whose primary context is made current for it.
std::unique_ptr<LentPlanes> lend_to_gpu(const GstVideoInfo& info, GstBuffer* frame);
/// In the host's memory; what lies in a GPU's is copied.
std::unique_ptr<LentPlanes> lend_to_host(const GstVideoInfo& info, GstBuffer* frame);

}  // namespace cudaxcorr::nvmm
