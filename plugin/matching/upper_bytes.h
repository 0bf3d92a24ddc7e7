// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Colour is compared in 8 bits. In I420_10LE the upper 8 of 10 bits are no byte of their own that
// could be read where it lies, so they are copied.
#pragma once

#include <memory>

#include <gst/video/video.h>

#include "common/mapped_frame.h"

namespace cudaxcorr {

/// Whether it is such a format.
bool lacks_upper_bytes(const GstVideoInfo& info);

/// The format in which frames are compared in colour: theirs or that of the copy.
GstVideoInfo color_info(const GstVideoInfo& info);

/// The frame of `buffer`, which is mapped in the host's memory, as color_info() has it; the same
/// if that is its format.
std::unique_ptr<MappedFrame> in_upper_bytes(std::unique_ptr<MappedFrame> mapped, GstBuffer* buffer);

}  // namespace cudaxcorr
