// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A mapped video frame as the library's view of a matrix: its luma and, of 8 bits, the planes of
// its colour, red, green and blue or luma and chroma as they come. Nothing is copied, in host
// memory or on the GPU: the library picks them out of interleaved components, and computes luma
// from packed RGB. Luma of more than 8 bits is taken as its 16-bit words are; in colour the frame
// is one of 8 bits, the upper bytes of such words, where it has them (see upper_bytes.h).
#pragma once

#include <gst/video/video.h>

#include <xcorr/match.hpp>

#include "common/mapped_frame.h"

namespace cudaxcorr {

/// u8, or u16 for those of more bits; `in_color`: u8 for all that have colour.
xcorr::ElementType luma_type(const GstVideoInfo& info, bool in_color = false);

/// Whether frames have colour that can be matched on: three components.
bool has_color(const GstVideoInfo& info);

/// Whether they have what is compared then: colour or edges are those of 8 bits.
bool can_match_on(xcorr::MatchOn match_on, const GstVideoInfo& info);

/// The levels of its luma in memory from one of 256 to the next.
int levels_of_gray(const GstVideoInfo& info);

/// Why the luma of a mapped frame cannot be read, or null if it can: words of 16 bits may begin at
/// odd addresses, or rows lie from the last to the first.
const char* fault_of_luma(const MappedFrame& mapped);

/// The image of a frame, of one of these formats, that is mapped in that memory; the view is
/// valid while it is. Of a frame that is cropped between two pixels of its chroma, the first of
/// these counts whole. `in_color`: as luma_type() takes it, of a frame as color_info() has it.
xcorr::MatrixView luma_view(const MappedFrame& mapped, xcorr::Memory memory = xcorr::Memory::host,
                            bool in_color = false);

}  // namespace cudaxcorr
